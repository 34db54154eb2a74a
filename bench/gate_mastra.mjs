// Mastra's regex filter over frames of text, told to redact: `node gate_mastra.mjs DIR`, where @mastra/core is in DIR.
// Reads a line of JSON {patterns, frames}, writes one {seconds, releases}: of processor time, and what came out of each
// frame, and at last of the end.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(process.argv[2] + "/"));
const { RegexFilterProcessor } = require("@mastra/core/processors");

async function filtered(patterns, frames) {
  const rules = Object.entries(patterns).map(([name, text]) => ({
    name,
    pattern: new RegExp(text, "g"),
    replacement: `[${name}]`,
  }));
  const filter = new RegexFilterProcessor({ rules, strategy: "redact", phase: "output" });
  const parts = frames.map((text) => ({ type: "text-delta", payload: { id: "1", text } }));
  parts.push({ type: "finish", payload: {} });
  const releases = [];
  const state = {};
  const started = process.cpuUsage();
  for (const part of parts) {
    const out = await filter.processOutputStream({ part, state });
    releases.push(out?.payload?.text ?? "");
  }
  const { user, system } = process.cpuUsage(started);
  return { seconds: (user + system) / 1e6, releases };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { patterns, frames } = JSON.parse(line);
  console.log(JSON.stringify(await filtered(patterns, frames)));
}
