// Folds what comes on stdin with docs/reader.mjs: a line is {turn: [tenant, thread, turn], frames: [JSON text, ...]},
// and the answer to it is a line with the view after each frame.
import { createInterface } from "node:readline";
import { fold, isContradicted, newView, replyOf, textOf } from "../../docs/reader.mjs";

for await (const line of createInterface({ input: process.stdin })) {
  const { turn, frames } = JSON.parse(line);
  const view = newView(...turn);
  const views = frames.map((frame) => {
    fold(view, JSON.parse(frame));
    const steps = Object.entries(view.steps).map(([number, { attempt, chars }]) => [+number, attempt, chars.join("")]);
    return { text: textOf(view), reply: replyOf(view), ended: view.ended, contradicted: isContradicted(view), steps };
  });
  process.stdout.write(JSON.stringify(views) + "\n");
}
