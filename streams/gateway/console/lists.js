// The latest turns, and the processors.

import { clock, el, listed, put, span } from "./dom.js";

const SENT = "turngate.sent";
const KEPT = 100;

/** The turns that were sent from this tab: what a key that is bound to a user can list. */
export const sent = {
  get: () => JSON.parse(sessionStorage.getItem(SENT) ?? "[]"),
  add: (turn) => sessionStorage.setItem(SENT, JSON.stringify([turn, ...sent.get()].slice(0, KEPT))),
  forget: () => sessionStorage.removeItem(SENT),
};

/** Return a state as a badge. */
export const badge = (state) => el("span", { class: `badge s-${state}` }, state);

/** Write rows of turns; `chosen` is the id of the one that is shown. */
export function drawTurns(table, turns, chosen) {
  const heads = [["", "began"], ["", "outcome"], ["", "thread"], ["n wide", "took"], ["n wide", "chars"], ["wide", "by"]];
  const row = (turn) =>
    el(
      "tr",
      { "aria-current": turn.id === chosen ? "true" : null },
      el("td", {}, el("a", { href: `#${turn.id}`, "aria-label": `turn in thread ${turn.thread_id}, ${turn.state}, began ${clock(turn.began_at)}` }, clock(turn.began_at) || "unknown")),
      el("td", {}, badge(turn.state)),
      el("td", { class: "name", title: turn.thread_id }, turn.thread_id),
      el("td", { class: "n wide" }, ended(turn) ? span(turn.changed_at - turn.began_at) : ""),
      el("td", { class: "n wide" }, turn.length ?? ""),
      el("td", { class: "name wide" }, turn.processor ?? turn.error ?? ""),
    );
  put(table, head(heads), el("tbody", {}, turns.map(row)));
}

const ended = (turn) => !["running", "pending"].includes(turn.state) && turn.began_at && turn.changed_at;

const head = (heads) => el("thead", {}, el("tr", {}, heads.map(([name, words]) => el("th", { class: name, scope: "col" }, words))));

/** Write what is declared and what became of it. */
export function drawProcessors(table, note, list) {
  const heads = [["", "kind"], ["", "name"], ["wide", "version"], ["n wide", "window"], ["n", "runs"], ["n wide", "changed"], ["n wide", "refused"], ["n", "skipped"], ["n wide", "failed"]];
  const number = (name, one) => {
    const loud = LOUD.has(name) && one.counts?.[name];
    return el("td", { class: `n${loud ? " some" : ""}${ALWAYS.has(name) ? "" : " wide"}` }, one.counts?.[name] ?? "");
  };
  const row = (one) =>
    el(
      "tr",
      {},
      el("td", {}, one.kind.replace("_", " ")),
      el("td", {}, one.name, el("span", { class: "narrow muted" }, one.version)),
      el("td", { class: "wide" }, one.version),
      el("td", { class: "n wide" }, one.kind === "output" ? (one.scans ? "open matches" : (one.lookback_chars ?? "whole answer")) : ""),
      ...["runs", "changed", "refused", "skipped", "failed"].map((name) => number(name, one)),
    );
  put(table, head(heads), el("tbody", {}, list.processors.map(row)));
  const counted = list.processors.some((one) => one.counts) ? ` Counted are turns of this key's tenant since ${clock(list.counted_since)}.` : "";
  const required = list.required_controls.length ? ` Required: ${listed(list.required_controls)}.` : "";
  note.textContent = list.processors.length
    ? `As this gateway was started with. ${RELEASE[list.release]}${required}${counted}`
    : "None is declared: text goes out as it comes, judged by nobody.";
}

/** Counts that are shown on narrow screens too, and those that somebody should look into. */
const ALWAYS = new Set(["runs", "skipped"]);
const LOUD = new Set(["skipped", "failed"]);

const RELEASE = {
  live: "No output processor: text goes out as it comes.",
  whole: "Answers are released once they are whole and approved.",
  incremental: "Answers are released but for a window at their end.",
  scan: "Answers are released but for what may still become part of a finding.",
};

/** Return why text is held, from how the declared chain releases. */
export function reason(list) {
  if (!list) return "";
  const output = list.processors.filter((one) => one.kind === "output");
  const names = (members) => listed(members.map((one) => one.name));
  if (list.release === "live") return "Nothing judges answers here: text goes out as it comes.";
  if (list.release === "whole") {
    const whole = output.filter((one) => one.lookback_chars === null);
    return `The whole answer waits for its end: ${names(whole)} ${whole.length === 1 ? "judges" : "judge"} whole answers only.`;
  }
  if (list.release === "incremental") {
    const widest = output.filter((one) => one.lookback_chars === Math.max(...output.map((other) => other.lookback_chars)));
    return `The last ${list.window_chars} characters wait for what follows them: ${names(widest)} may still change them.`;
  }
  return `Text waits as long as it may still become part of what ${names(output)} ${output.length === 1 ? "looks" : "look"} for.`;
}
