// The course of a turn as a picture: a lane for each phase, time from left to right.

import { brief, count, el, entry, picture, put, span, svg } from "./dom.js";

const LANES = ["governance", "pre", "input", "model", "gate", "tools", "post"];
const ROW = 26;
const LEFT = 78;
const RIGHT = 10;
const FOOT = 20;
/** A picture narrower than this is not drawn: the place for it is not laid out yet. */
const NARROWEST = 220;

const lane = (phase) => LANES.indexOf(phase === "output" ? "gate" : phase);

function colour(ran) {
  if (ran.verdict === "reject" || ran.verdict === "failed") return "f-bad";
  if (ran.verdict === "block") return "f-block";
  if (ran.verdict === "skipped") return "f-warn";
  return ran.verdict === "replace" || ran.changes > 0 ? "f-change" : "f-plain";
}

/** Return what became of a processor, in words. */
const verdict = (ran) =>
  [ran.verdict, ran.changes ? count(ran.changes, "change") : "", ran.error ?? ""].filter(Boolean).join(", ");

/** Return when the tools of each step ran: from the end of its answer to the next step's beginning. */
function toolSpans(course) {
  const spans = [];
  const steps = [...new Set(course.wrote.map((one) => one.step))];
  for (const step of steps.slice(1)) {
    const before = course.ran.filter((one) => one.phase === "output" && one.step === step - 1).map((one) => one.end);
    before.push(...course.wrote.filter((one) => one.step === step - 1).map((one) => one.end ?? 0));
    const after = course.ran.filter((one) => one.phase === "input" && one.step === step).map((one) => one.start);
    after.push(...course.wrote.filter((one) => one.step === step).map((one) => one.start ?? Infinity));
    const [start, end] = [Math.max(...before), Math.min(...after)];
    if (start > 0 && end > start && end < Infinity) spans.push({ step: step - 1, start, end });
  }
  return spans;
}

/** Draw `course` into `place`; `now` is the gateway's time, in epoch seconds. */
export function drawTimeline(place, course, now) {
  const width = Math.max(NARROWEST, place.clientWidth);
  const from = course.began_at;
  if (from === null) return put(place);
  const open = course.ended_at === null;
  const known = [from, course.ended_at ?? now, ...course.ran.map((one) => one.end), ...course.out.map((one) => one.at)];
  const to = Math.max(...known, from + 0.05);
  const x = (at) => LEFT + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (width - LEFT - RIGHT);
  const height = LANES.length * ROW + FOOT;
  const bar = (row, start, end, name, title, inset = 5) =>
    svg(
      "rect",
      { x: x(start), y: row * ROW + inset, width: Math.max(3, x(end) - x(start)), height: ROW - 2 * inset, rx: 2, class: name },
      svg("title", {}, title),
    );

  const parts = [hatch()];
  LANES.forEach((name, row) => {
    if (row % 2 === 0) parts.push(svg("rect", { x: 0, y: row * ROW, width, height: ROW, class: "lane" }));
    parts.push(svg("text", { x: 6, y: row * ROW + ROW / 2 + 4 }, name));
  });
  parts.push(...axis(x, from, to, width));
  for (const call of course.wrote) {
    if (call.start === null) continue;
    const end = call.end ?? (open ? now : call.start);
    const chars = call.chars === null ? "" : `, ${count(call.chars, "character")} in ${count(call.frames, "frame")}`;
    const title = `model, step ${call.step + 1}, attempt ${call.attempt + 1}: ${span(end - call.start)}${chars}`;
    parts.push(bar(lane("model"), call.start, end, `f-model${call.finished ? "" : " pulse"}`, title));
    const outs = course.out.filter((one) => one.step === call.step && one.attempt === call.attempt);
    const judged = course.ran.filter((one) => one.phase === "output" && one.step === call.step && one.attempt === call.attempt);
    const last = Math.max(call.start, ...outs.map((one) => one.at), ...judged.map((one) => one.end));
    const holds = open && call === course.wrote[course.wrote.length - 1] ? now : last;
    const row = lane("gate") * ROW;
    const box = { x: x(call.start), y: row + 4, width: Math.max(3, x(holds) - x(call.start)), height: ROW - 8, rx: 2 };
    parts.push(svg("rect", { ...box, fill: "url(#hatching)" }), svg("rect", { ...box, class: "held-ground" }, svg("title", {}, "text waits here until it may be released")));
  }
  const most = Math.max(1, ...course.out.map((one) => one.chars));
  for (const one of course.out) {
    const tall = one.chars ? 6 + (ROW - 8) * Math.sqrt(one.chars / most) : ROW - 4;
    const middle = lane("gate") * ROW + ROW / 2;
    const title = one.chars ? `${count(one.chars, "character")} out after ${span(one.at - from)}` : "text was taken back";
    parts.push(
      svg("line", { x1: x(one.at), x2: x(one.at), y1: middle - tall / 2, y2: middle + tall / 2, class: one.chars ? "tick" : "tick back" }, svg("title", {}, title)),
    );
  }
  for (const tools of toolSpans(course)) {
    parts.push(bar(lane("tools"), tools.start, tools.end, "f-model", `tools of step ${tools.step + 1}: ${span(tools.end - tools.start)}`));
  }
  for (const ran of course.ran) {
    const title = `${ran.processor}@${ran.version}: ${verdict(ran)}, ${span(ran.end - ran.start)}`;
    if (lane(ran.phase) >= 0) parts.push(bar(lane(ran.phase), ran.start, ran.end, colour(ran), title, 7));
  }
  if (open) parts.push(svg("line", { x1: x(now), x2: x(now), y1: 0, y2: LANES.length * ROW, class: "now" }));
  put(place, picture(width, height, inWords(course, now), ...parts), legend());
}

function hatch() {
  const line = svg("path", { d: "M-1 7 L7 -1 M-1 1 L1 -1 M5 7 L7 5", class: "hatch" });
  return svg("defs", {}, svg("pattern", { id: "hatching", width: 6, height: 6, patternUnits: "userSpaceOnUse" }, line));
}

function axis(x, from, to, width) {
  const room = Math.max(2, Math.floor((width - LEFT) / 90));
  const rough = (to - from) / room;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const every = [1, 2, 5, 10].map((one) => one * unit).find((one) => one >= rough);
  const bottom = LANES.length * ROW;
  const marks = [];
  for (let after = 0; after <= to - from; after += every) {
    const at = x(from + after);
    marks.push(svg("line", { x1: at, x2: at, y1: 0, y2: bottom + 3, class: "axis" }));
    const anchor = at > width - 30 ? "end" : "middle";
    marks.push(svg("text", { x: at, y: bottom + 16, "text-anchor": anchor }, after === 0 ? "0" : brief(after)));
  }
  return marks;
}

function legend() {
  return el(
    "ul",
    { class: "legend" },
    entry("f-plain", "passed"),
    entry("f-change", "changed"),
    entry("f-bad", "rejected, failed"),
    entry("f-block", "blocked"),
    entry("f-warn", "skipped"),
    entry("tick", "text released", svg("line", { x1: 7, x2: 7, y1: 0, y2: 10, class: "tick" })),
  );
}

/** Return the course in a sentence, for those who do not see the picture. */
function inWords(course, now) {
  const whole = (course.ended_at ?? now) - course.began_at;
  const first = course.first_text_at === null ? "no text so far" : `first text after ${span(course.first_text_at - course.began_at)}`;
  const steps = new Set(course.wrote.map((one) => one.step)).size;
  return `Timeline: ${course.state}, ${span(whole)}, ${first}, ${count(steps, "step")}, ${count(course.ran.length, "processor run")}`;
}

/** Write `course` as a table. */
export function tabulate(table, course) {
  const rows = [
    ...course.ran.map((one) => [one.start, one.phase, `${one.processor}@${one.version}`, one, verdict(one)]),
    ...course.wrote
      .filter((one) => one.start !== null)
      .map((one) => [one.start, "model", one.model ?? "", one, one.chars === null ? (one.outcome ?? "") : count(one.chars, "character")]),
  ].sort((one, other) => one[0] - other[0]);
  const cell = ([start, phase, name, one, words]) =>
    el(
      "tr",
      {},
      el("td", { class: "n" }, span(start - course.began_at)),
      el("td", {}, phase),
      el("td", {}, name),
      el("td", { class: "n" }, `${one.step + 1}.${one.attempt + 1}`),
      el("td", { class: "n" }, one.end === null ? "" : span(one.end - start)),
      el("td", {}, words),
    );
  const heads = [["n", "after"], ["", "phase"], ["", "who"], ["n", "step.attempt"], ["n", "took"], ["", "what"]];
  put(table, el("thead", {}, el("tr", {}, heads.map(([name, words]) => el("th", { class: name, scope: "col" }, words)))), el("tbody", {}, rows.map(cell)));
}
