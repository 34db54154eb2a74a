// Parses the AsyncAPI document on stdin with AsyncAPI's own parser; prints what it found, and what is wrong with it.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(readFileSync(0, "utf8"));
const wrong = diagnostics
  .filter(({ severity, code }) => severity < 2 || code !== "asyncapi-latest-version")
  .map(({ code, message, path }) => `${path.join("/")}: ${message} (${code})`);
const names = (found) => found.all().map((one) => one.id());
const operations = document?.operations().all().map((one) => ({ id: one.id(), action: one.action(), channels: names(one.channels()) }));
console.log(JSON.stringify({ wrong, channels: document && names(document.channels()), operations }));
