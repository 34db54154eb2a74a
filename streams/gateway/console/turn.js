// The turn that is shown: its released text, what is held, its course.

import { follow, get, pause } from "./api.js";
import { $, count, el, picture, put, span, svg } from "./dom.js";
import { badge, reason } from "./lists.js";
import { drawTimeline, tabulate } from "./timeline.js";

const TERMINAL = new Set(["completed", "blocked", "rejected", "failed", "cancelled", "contradicted"]);
/** How often an open turn's course is asked for, and how often after its end: what is told of the end comes a little later. */
const EVERY_MS = 1000;
const AFTERWARDS_MS = [150, 700, 2000, 4000];

/** Shows one turn at a time. `context` says what is declared, whose key this is, and is told of faults and endings. */
export class TurnView {
  #stop = new AbortController();
  #steps = new Map();
  #course = null;
  #behind = 0;

  constructor(context) {
    this.context = context;
    this.id = null;
    this.end = null;
    this.final = false;
    new ResizeObserver(() => this.#draw()).observe($("timeline"));
  }

  /** Show the turn `id` from its beginning; `final` if it is known to be delivered so. */
  show(id, { ids = "", final = false } = {}) {
    this.#stop.abort();
    this.#stop = new AbortController();
    Object.assign(this, { id, end: null, final });
    this.#steps = new Map();
    this.#course = null;
    this.changed = null;
    $("turn-id").textContent = ids;
    $("written").hidden = !(this.context.own?.operator && this.context.own.frames === "show");
    $("written-text").textContent = "";
    for (const name of ["held", "course"]) $(name).hidden = true;
    this.#write();
    const { signal } = this.#stop;
    follow(id, signal, (name, frame) => this.#take(name, frame), (fault) => this.context.broken(fault)).catch((fault) => this.context.fault(fault));
    this.#watch(id, signal);
    this.#tick(signal);
  }

  /** Show none. */
  clear() {
    this.#stop.abort();
    this.id = this.end = null;
    $("turn-id").textContent = $("turn-state").textContent = "";
    for (const name of ["held", "course", "cancel"]) $(name).hidden = true;
  }

  get open() {
    return this.id !== null && this.end === null;
  }

  #take(name, frame) {
    if (name === "text" || name === "reset") {
      const step = this.#steps.get(frame.step);
      const had = step && step.attempt === frame.attempt ? step.text : "";
      this.#steps.set(frame.step, { attempt: frame.attempt, text: name === "text" ? had + frame.text : "" });
    } else if (name === "postprocess-complete") {
      this.changed = frame.text;
    } else if (TERMINAL.has(name)) {
      this.end = { kind: name, ...frame };
      this.context.ended();
    }
    this.#write();
  }

  #write() {
    const answer = $("answer");
    const bottom = answer.scrollHeight - answer.scrollTop - answer.clientHeight < 40;
    const steps = [...this.#steps].sort(([one], [other]) => one - other).map(([, step]) => step.text);
    const end = this.end;
    const shown = this.changed ?? null;
    // Where no text came before the end, the ending has it.
    const reply = steps.some(Boolean) ? [] : [end?.kind === "blocked" ? end.response : (end?.reply ?? "")];
    const texts = end?.kind === "contradicted" ? [] : shown !== null ? [shown] : [...steps, ...reply].filter(Boolean);
    put(
      answer,
      texts.map((text) => el("div", { class: "step" }, text)),
      texts.length || end ? null : el("p", { class: "muted" }, this.id ? "Nothing is released yet." : "No turn is chosen: send a message, or choose one of the latest."),
      end ? el("span", { class: `ending s-${end.kind}` }, ending(end, shown !== null)) : null,
    );
    answer.setAttribute("aria-busy", String(this.open));
    put($("turn-state"), this.id ? this.#badge() : "");
    $("cancel").hidden = !this.open;
    if (bottom) answer.scrollTop = answer.scrollHeight;
  }

  #badge() {
    return badge(this.end?.kind ?? (this.#steps.size ? "running" : (this.#course?.state ?? "pending")));
  }

  async #watch(id, signal) {
    let after = 0;
    while (!signal.aborted) {
      const closed = this.end !== null;
      let wait = EVERY_MS;
      try {
        if (!document.hidden) {
          const course = await get(`v1/turns/${id}/timeline`, { signal });
          if (signal.aborted) return;
          this.#behind = Date.now() / 1000 - course.now;
          this.#course = course;
          this.#draw();
          if (!$("written").hidden) await this.#readWritten(id, signal);
        }
      } catch (fault) {
        if (signal.aborted) return;
        wait = 1000 * Math.max(2, fault.retryAfter ?? 0);
      }
      if (closed) {
        if (after >= AFTERWARDS_MS.length) return;
        wait = AFTERWARDS_MS[after];
        after += 1;
      }
      await pause(wait, signal);
    }
  }

  async #readWritten(id, signal) {
    const { written } = await get(`v1/turns/${id}/written`, { signal });
    const parts = written.map((one) => `${one.text}${one.complete ? "" : " […]"}`);
    if (!signal.aborted) $("written-text").textContent = parts.join("\n\n");
  }

  /** Let time pass in the pictures of an open turn. */
  async #tick(signal) {
    while (!signal.aborted) {
      await pause(250, signal);
      if (this.open && !document.hidden) this.#draw();
    }
  }

  #draw() {
    const course = this.#course;
    if (course === null || this.id === null) return;
    const now = this.end ? course.now : Date.now() / 1000 - this.#behind;
    $("course").hidden = course.began_at === null;
    drawTimeline($("timeline"), course, now);
    tabulate($("timeline-table"), course);
    put($("turn-state"), this.#badge());
    const missing = course.whole ? "" : " It began before this gateway read decisions, or too many turns have come since: this may not be all.";
    const model = course.wrote.some((one) => one.counted) || !course.wrote.length ? "" : " When the model wrote is not told to this gateway: shown is when its prompt was ready until its end was taken in.";
    $("timeline-note").textContent = (course.began_at === null ? "" : took(course, now)) + model + missing;
    this.#drawHeld(course, now);
  }

  #drawHeld(course, now) {
    const last = course.wrote[course.wrote.length - 1];
    $("held").hidden = !last && !this.open;
    // Of the same moment as what was written, though more may be on the page by now.
    const out = last?.released ?? 0;
    const written = last?.chars ?? null;
    const held = this.end || written === null ? 0 : Math.max(0, written - out);
    put($("held-picture"), written === null ? null : meter($("held-picture").clientWidth, out, held, written));
    const lastOut = course.out.length ? course.out[course.out.length - 1].at : null;
    const since = lastOut === null ? "nothing is out yet" : `text was last released ${now - lastOut < 1 ? "just now" : `${Math.floor(now - lastOut)} s ago`}`;
    let words;
    if (this.end) {
      words = written === null ? `${count(out, "character")} released.` : `The model wrote ${count(written, "character")} in its last step, ${out} were released.`;
    } else if (!last) {
      words = "Not with a model yet: rules, pre-processors and input processors come first.";
    } else if (written === null) {
      words = `How much the model has written is not told to this gateway (TURNGATE_GATEWAY_FRAMES); ${since}.`;
    } else {
      words = `${count(written, "character")} written, ${out} out, ${held} held; ${since}.`;
    }
    $("held-text").textContent = words;
    $("held-why").textContent = this.end ? "" : this.#why(last, held);
  }

  #why(last, held) {
    if (this.final) return "This turn was asked for with final delivery: its reader gets the ending only.";
    if (last?.finished) return "The model is done: the whole answer is being judged.";
    return held > 0 || last?.chars == null ? reason(this.context.processors) : "";
  }
}

function took(course, now) {
  const first = course.first_text_at === null ? "" : `, first text after ${span(course.first_text_at - course.began_at)}`;
  return course.ended_at === null ? `Open for ${span(now - course.began_at)}${first}.` : `Took ${span(course.ended_at - course.began_at)}${first}.`;
}

function meter(width, out, held, written) {
  const wide = Math.max(200, width);
  const most = Math.max(1, written, out + held);
  const [first, second] = [(wide * out) / most, (wide * held) / most];
  return picture(
    wide,
    14,
    `${out} characters released, ${held} held`,
    svg("rect", { width: wide, height: 14, rx: 3, class: "lane" }),
    svg("rect", { width: first, height: 14, rx: 3, class: "f-good" }),
    held ? svg("rect", { x: first, width: second, height: 14, fill: "url(#hatching)" }) : "",
    held ? svg("rect", { x: first, width: second, height: 14, class: "held-ground" }) : "",
  );
}

function ending(end, changed) {
  const by = end.processor ? ` by ${end.processor}` : "";
  if (end.kind === "completed") {
    const tools = end.tool_calls?.length ? `, asks for ${count(end.tool_calls.length, "tool call")}` : "";
    const refusal = end.refusal ? `: ${end.refusal}` : "";
    return `completed: ${count(end.length, "character")}, ${end.finish_reason}${tools}${changed ? ", changed by post-processing" : ""}${refusal}`;
  }
  if (end.kind === "blocked") return `blocked${by}: the model was not asked`;
  if (end.kind === "rejected") return `rejected${by}: what was to come is withheld`;
  if (end.kind === "failed") return `failed: ${end.error}${end.phase ? ` in ${end.phase}` : ""}${by}. ${end.message ?? ""}`;
  if (end.kind === "contradicted") return "The released frames of this turn contradict each other: none of it is shown. Tell the operator.";
  return end.kind;
}
