// Elements and words: everything is made with textContent, so nothing that was released can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** Return the element with this id. */
export const $ = (id) => document.getElementById(id);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined).map(textOrNode));
  return element;
}

const textOrNode = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));

/** Return a new HTML element. */
export const el = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);

/** Return a new SVG element. */
export const svg = (name, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);

/** Return a picture of this size, in CSS pixels, with a text for those who do not see it. */
export const picture = (width, height, label, ...children) =>
  svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...children);

/** Return an entry of a legend: a mark in the colours of a class, and what it stands for. */
export function entry(name, words, mark = svg("rect", { width: 14, height: 10, rx: 2, class: name })) {
  return el("li", {}, svg("svg", { viewBox: "0 0 14 10", "aria-hidden": "true" }, mark), words);
}

/** Put these children in place of what is in `element`, unless nothing has changed: what has the focus keeps it. */
export function put(element, ...children) {
  const made = el(element.tagName, {}, ...children);
  if (made.innerHTML !== element.innerHTML) element.replaceChildren(...made.childNodes);
}

/** Return a time span in seconds, in words. */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 0.0995) return `${Math.max(0, seconds * 1000).toFixed(seconds < 0.00995 ? 1 : 0)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(2)} s`;
  if (seconds < 99.5) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return whole < 3600 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${(whole / 3600).toFixed(1)} h`;
}

/** Return a round time span in seconds, as short as it can be said. */
export function brief(seconds) {
  if (seconds >= 120) return `${Number((seconds / 60).toPrecision(3))} min`;
  return seconds < 1 ? `${Number((1000 * seconds).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`;
}

/** Return a time of day. */
export const clock = (at) => (at ? new Date(at * 1000).toLocaleTimeString([], { hour12: false }) : "");

/** Return a number with its noun. */
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** Return names with commas and an "and". */
export const listed = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
