// Does what comes on stdin with docs/sealing.mjs: a line is {what: "seal" | "open", id, secret, topic, key, value}, the
// bytes in base64; the answer to it is a line with {value} or {error}.
import { createInterface } from "node:readline";
import { isSealed, open, seal } from "../../docs/sealing.mjs";

const bytes = (text) => Buffer.from(text, "base64");

for await (const line of createInterface({ input: process.stdin })) {
  const { what, id, secret, topic, key, value } = JSON.parse(line);
  let answer;
  try {
    const made =
      what === "seal"
        ? seal({ id, secret: bytes(secret) }, topic, bytes(key), bytes(value))
        : open({ [id]: bytes(secret) }, topic, bytes(key), bytes(value));
    answer = { value: made.toString("base64"), sealed: isSealed(made) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
