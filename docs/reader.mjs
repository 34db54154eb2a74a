// The reader's fold: gives the same text whatever happened to a turn's released frames on their way. See wire.md.
// In a browser, hand in another SHA-256 (hex, of the UTF-8 bytes) in place of node's.
import { createHash } from "node:crypto";

const ENDINGS = new Set(["completed", "blocked", "rejected", "failed", "cancelled"]);
const KINDS = new Set(["text", "reset", "postprocess-complete", ...ENDINGS]);
const sha256 = (text) => createHash("sha256").update(text, "utf8").digest("hex");
const codePoints = (text) => Array.from(text); // offsets count these; text.length counts UTF-16 units
const newStep = (attempt) => ({ attempt, chars: [], waiting: [], contradicted: false });
const stepsOf = (view) => Object.values(view.steps); // an object has whole-numbered keys in ascending order

export const newView = (tenant, thread_id, turn_id) =>
  ({ tenant, thread_id, turn_id, steps: {}, postprocessed: null, pending: null, ended: null, disputed: false });

/** The released text of all steps. */
export const textOf = (view) => stepsOf(view).map((step) => step.chars.join("")).join("");

/** What to show the user. */
export const replyOf = (view) =>
  view.postprocessed ?? (view.ended?.kind === "blocked" ? view.ended.response : textOf(view));

/** Whether frames disagree; on a partition read in order from the turn's first frame on, show nothing of it then. */
export function isContradicted(view) {
  const end = view.pending;
  if (view.disputed || stepsOf(view).some((step) => step.contradicted)) return true;
  if (end?.kind !== "completed" || view.ended) return false;
  return end.reply != null || codePoints(textOf(view)).length >= end.length;
}

/** Take one frame into `view`, which is changed and returned. Frames of other turns change nothing. */
export function fold(view, frame) {
  const { tenant = "default", thread_id, turn_id, kind, step: number = 0, attempt = 0, offset = 0 } = frame;
  const mine = tenant === view.tenant && thread_id === view.thread_id && turn_id === view.turn_id;
  if (view.ended || !mine || !KINDS.has(kind)) return view;
  let step = view.steps[number] ?? newStep(0);
  if (attempt > step.attempt) step = view.steps[number] = newStep(attempt); // with or without its reset
  if (kind === "text") {
    if (attempt === step.attempt) place((view.steps[number] = step), offset, codePoints(frame.text));
  } else if (kind === "postprocess-complete") {
    view.postprocessed ??= frame.text;
    view.disputed ||= view.postprocessed !== frame.text;
  } else if (ENDINGS.has(kind)) {
    view.pending ??= frame;
    view.disputed ||= JSON.stringify(view.pending) !== JSON.stringify(frame); // a repeat has the same bytes
  }
  if (view.pending && isComplete(view, view.pending)) view.ended = view.pending;
  return view;
}

/** Put `chars` at `offset`: drop what is there already, keep what lies past the end until the gap is filled. */
function place(step, offset, chars) {
  const before = step.chars.length;
  const late = [];
  for (const [start, piece] of [...step.waiting, [offset, chars]].sort((a, b) => a[0] - b[0])) {
    if (start > step.chars.length) {
      late.push([start, piece]);
    } else if (step.contradicted || piece.some((char, i) => char !== (step.chars[start + i] ?? char))) {
      step.contradicted = true; // other characters where some are already: believe no more of this attempt
      step.chars.length = before;
      return;
    } else {
      for (const char of piece.slice(step.chars.length - start)) step.chars.push(char);
    }
  }
  step.waiting = late;
}

/** Whether the ending `end` may take effect: nothing that comes before it is missing. */
function isComplete(view, end) {
  const { step: number = 0, attempt = 0, offset = 0 } = end;
  if (end.kind !== "completed") return (view.steps[number]?.chars.length ?? 0) >= offset;
  if (view.disputed || stepsOf(view).some((step) => step.contradicted)) return false;
  const text = textOf(view);
  if (end.reply == null) {
    return codePoints(text).length === end.length && (end.sha256 == null || end.sha256 === sha256(text));
  }
  if (!end.reply.startsWith(text)) return false;
  const last = Math.max(number, ...Object.keys(view.steps)); // the reply has the rest of the last step's text
  const rest = codePoints(end.reply.slice(text.length));
  const step = view.steps[last] ?? newStep(attempt);
  const filled = { ...step, chars: [...step.chars], waiting: [...step.waiting] };
  place(filled, step.chars.length, rest);
  const fits = filled.chars.length === step.chars.length + rest.length; // not if something that waited disagrees
  if (!fits || filled.waiting.length || stepsOf(view).some((other) => other !== step && other.waiting.length)) return false;
  view.steps[last] = filled;
  return true;
}
