// The gateway's API. The key is kept for this tab only, and goes into one header.

const STORED = "turngate.key";

/** What went wrong, in the gateway's words. */
export class Fault extends Error {
  constructor(status, code, message, retryAfter = 0) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

export const key = {
  get: () => sessionStorage.getItem(STORED),
  set: (value) => sessionStorage.setItem(STORED, value),
  forget: () => sessionStorage.removeItem(STORED),
};

async function request(path, { headers = {}, ...options } = {}) {
  const given = key.get();
  const all = given ? { ...headers, Authorization: `Bearer ${given}` } : headers;
  let response;
  try {
    // Beside the page, wherever a proxy has put it.
    response = await fetch(new URL(path, document.baseURI), {
      ...options,
      headers: all,
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Fault(0, "unreachable", "The gateway does not answer.");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const error = body.error ?? {};
  const wait = Number(response.headers.get("Retry-After")) || 0;
  throw new Fault(response.status, error.code, error.message ?? `The gateway answered ${response.status}.`, wait);
}

/** Return what a GET answers. */
export const get = async (path, options) => (await request(path, options)).json();

/** Submit a turn, and return its ids. */
export const submit = async (body) =>
  (
    await request("v1/turns", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    })
  ).json();

/** Ask for a turn to be ended. */
export const cancel = (id) => request(`v1/turns/${id}`, { method: "DELETE" });

/**
 * Follow a turn from its beginning: tell `told(name, frame)` each released frame once, whatever happens to the connection.
 * `broken(fault)` is told while there is none, and `broken(null)` when there is one again. Ends with the turn or `signal`.
 */
export async function follow(id, signal, told, broken) {
  let last = null;
  while (!signal.aborted) {
    try {
      const headers = last ? { "Last-Event-ID": last } : {};
      const response = await request(`v1/turns/${id}/events`, { headers, signal });
      broken(null);
      if (response.status === 204) return;
      for await (const event of events(response.body)) {
        last = event.id || last;
        told(event.name, event.data);
        if (last?.endsWith(".e")) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Fault && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
      broken(error instanceof Fault ? error : new Fault(0, "broken", "The connection broke: trying again."));
      await pause(1000 * Math.max(1, error.retryAfter ?? 0), signal);
    }
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const event = parsed(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parsed(block) {
  const fields = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
  }
  return fields.data ? { name: fields.event, id: fields.id, data: JSON.parse(fields.data) } : null;
}

/** Wait so many milliseconds, or until `signal` says stop. */
export const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
