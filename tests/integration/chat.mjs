// What OpenAI's own client for Node makes of a gateway: prints one JSON object. Arguments: the base URL.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "unused", maxRetries: 0 });
const messages = [{ role: "user", content: "my pin?" }];
const scripted = (script, more = {}) => ({ model: "default", messages, turngate: { params: { script } }, ...more });
const pin = ["my pin ", "is 12", "34, ", "and that is ", "all"];

const whole = await client.chat.completions.create(scripted(pin));
let streamed = "";
for await (const chunk of await client.chat.completions.create(scripted(pin, { stream: true }))) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
}
const rejected = await client.chat.completions.create(scripted(["oh darn it"]));
let failed = null;
try {
  await client.chat.completions.create(scripted([{ error: { type: "Overloaded" } }]));
} catch (error) {
  failed = { name: error.constructor.name, status: error.status, code: error.code };
}
const models = [];
for await (const model of client.models.list()) models.push(model.id);
console.log(
  JSON.stringify({
    whole: whole.choices[0].message.content,
    streamed,
    rejected: rejected.choices[0].finish_reason,
    failed,
    models,
  }),
);
