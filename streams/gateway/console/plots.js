// How many turns come and end, and how long they take.

import { brief, el, entry, picture, put, span, svg } from "./dom.js";

const HIGH = 84;
const LEFT = 46;
const FOOT = 18;
const TOP = 6;
const OUTCOMES = ["completed", "cancelled", "blocked", "rejected", "failed"];

/** Draw the pulse into `place`. */
export function drawPulse(place, pulse) {
  const width = Math.max(220, place.clientWidth);
  put(place, el("h3", {}, "Turns that ended, by outcome"), rate(pulse, width), el("h3", {}, "Time to first text, and to the end"), latency(pulse, width));
}

const total = (slot) => Object.values(slot.ended).reduce((sum, one) => sum + one, 0);

function rate(pulse, width) {
  const tallest = nice(Math.max(1, ...pulse.slots.map((slot) => total(slot))));
  const { x, y, wide, frame } = plane(pulse, width, tallest, (value) => (tallest / pulse.slot_s >= 2 ? `${round(value / pulse.slot_s)}/s` : `${round((60 * value) / pulse.slot_s)}/min`));
  const bars = pulse.slots.flatMap((slot, number) => {
    let base = 0;
    return OUTCOMES.filter((name) => slot.ended[name]).map((name) => {
      const bottom = y(base);
      base += slot.ended[name];
      return svg("rect", { x: x(number) + 0.5, width: Math.max(1, wide - 1), y: y(base), height: bottom - y(base), class: `f-${name}` }, svg("title", {}, `${slot.ended[name]} ${name}`));
    });
  });
  const sums = OUTCOMES.map((name) => [name, pulse.slots.reduce((sum, slot) => sum + (slot.ended[name] ?? 0), 0)]);
  const words = sums.filter(([, number]) => number).map(([name, number]) => `${number} ${name}`).join(", ") || "no turn";
  const keys = sums.filter(([, number]) => number).map(([name, number]) => entry(`f-${name}`, `${name} ${number}`));
  return [picture(width, TOP + HIGH + FOOT, `Rate of the last ten minutes: ${words}`, ...frame, ...bars), el("ul", { class: "legend" }, keys.length ? keys : el("li", {}, "none"))];
}

function latency(pulse, width) {
  const spreads = pulse.slots.flatMap((slot) => [slot.first_s, slot.whole_s]).filter(Boolean);
  const tallest = nice(Math.max(0.1, ...spreads.map((one) => one.p95)));
  const { x, y, wide, frame } = plane(pulse, width, tallest, brief);
  const lines = ["first", "whole"].flatMap((name) => ["p50", "p95"].flatMap((share) => {
    const points = pulse.slots.map((slot) => slot[`${name}_s`]?.[share]).map((value, number) => (value === undefined ? null : [x(number) + wide / 2, y(value)]));
    // Where nothing ended there is no line.
    const path = points.map((point, number) => (point ? `${points[number - 1] ? "L" : "M"}${point.join(" ")}` : "")).join("");
    const faint = share === "p95";
    const dots = points.filter((point) => point && !faint).map(([cx, cy]) => svg("circle", { cx, cy, r: 2.4, class: `d-${name}` }));
    return [svg("path", { d: path, class: `l-${name}${faint ? " faint" : ""}` }), ...dots];
  }));
  const latest = (name) => pulse.slots.map((slot) => slot[name]).filter(Boolean).pop();
  const said = (name, words) => {
    const one = latest(name);
    return one ? `${words}: half within ${span(one.p50)}, 95 of 100 within ${span(one.p95)}` : `${words}: none`;
  };
  const label = `Latency of the last ten minutes. Latest ${said("first_s", "time to first text")}; ${said("whole_s", "time to the end")}`;
  const keys = spreads.length ? [entry("d-first", said("first_s", "first text")), entry("d-whole", said("whole_s", "end"))] : el("li", {}, "none; turns that began before this gateway did have no times");
  return [picture(width, TOP + HIGH + FOOT, label, ...frame, ...lines), el("ul", { class: "legend" }, keys)];
}

const round = (value) => Number(value.toPrecision(2)).toString();

function nice(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((one) => one * unit).find((one) => one >= value - 1e-9);
}

function plane(pulse, width, tallest, words) {
  const wide = (width - LEFT) / pulse.slots.length;
  const x = (number) => LEFT + number * wide;
  const y = (value) => TOP + HIGH * (1 - value / tallest);
  const ends = [
    [0, "start", `${Math.round((pulse.slots.length * pulse.slot_s) / 60)} min ago`],
    [pulse.slots.length, "end", "now"],
  ];
  const frame = [
    ...[0, tallest / 2, tallest].flatMap((value) => [
      svg("line", { x1: LEFT, x2: width, y1: y(value), y2: y(value), class: "axis" }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, value ? words(value) : "0"),
    ]),
    ...ends.map(([number, anchor, text]) => svg("text", { x: x(number), y: TOP + HIGH + 14, "text-anchor": anchor }, text)),
  ];
  return { x, y, wide, frame };
}
