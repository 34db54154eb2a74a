// The console: what is asked when, and what each key and button does.

import { cancel, get, key, pause, submit } from "./api.js";
import { $, el, put } from "./dom.js";
import { drawProcessors, drawTurns, sent } from "./lists.js";
import { drawPulse } from "./plots.js";
import { TurnView } from "./turn.js";

const LATEST = 100;
const EVERY_MS = 3000;
const PROCESSORS_EVERY_MS = 10_000;
const SINGLE_KEYS = "turngate.single-keys";

const context = { own: null, processors: null, fault: tell, broken: (fault) => tell(fault), ended: () => refresh() };
const view = new TurnView(context);
let latestPulse = null;

// -- who ---------------------------------------------------------------------------------------------------------------

/** Ask whose key this is; without one that works, ask for one. */
async function enter() {
  try {
    context.own = await get("v1/key");
  } catch (fault) {
    context.own = null;
    if (fault.status === 401 || fault.status === 403) {
      $("who").textContent = "No key";
      askKey(key.get() ? fault.message : "");
    } else {
      tell(fault);
    }
    return;
  }
  tell(null);
  const { name, tenant, user, operator } = context.own;
  const words = key.get() ? [`key ${name}`, `tenant ${tenant}`] : ["open to this machine", `tenant ${tenant}`];
  $("who").textContent = [...words, user ? `user ${user}` : "", operator ? "operator" : ""].filter(Boolean).join(" · ");
  await Promise.all([refreshProcessors(), refresh()]);
  fromAddress();
}

function askKey(fault = "") {
  $("key-fault").textContent = fault;
  $("key").value = "";
  if (!$("key-dialog").open) $("key-dialog").showModal();
  $("key").focus();
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = $("key").value.trim();
  if (given) key.set(given);
  $("key-dialog").close();
  $("key").value = "";
  view.clear();
  enter();
});
$("key-forget").addEventListener("click", () => {
  key.forget();
  sent.forget();
  view.clear();
  $("key-dialog").close();
  for (const name of ["answer", "turns", "pulse", "processors"]) put($(name));
  enter();
});
$("key-close").addEventListener("click", () => $("key-dialog").close());
$("key-button").addEventListener("click", () => askKey());
$("help-button").addEventListener("click", () => $("help-dialog").showModal());

// -- what is wrong -----------------------------------------------------------------------------------------------------

/** Say what is wrong, or that nothing is. */
function tell(fault) {
  if (fault?.status === 401) return void askKey(fault.message);
  $("trouble").hidden = !fault;
  $("trouble").textContent = fault ? fault.message : "";
}

// -- sending -----------------------------------------------------------------------------------------------------------

const newThread = () => ($("thread").value = `console-${crypto.randomUUID?.().slice(0, 8) ?? Date.now().toString(36)}`);

async function send() {
  const message = $("message").value;
  if (!message.trim() || $("send-button").disabled) return;
  let params = null;
  try {
    params = $("params").value.trim() ? JSON.parse($("params").value) : null;
  } catch {
    $("send-note").textContent = "The parameters are no JSON object.";
    $("params").closest("details").open = true;
    return void $("params").focus();
  }
  const fields = { message, delivery: $("delivery").value };
  for (const name of ["thread", "agent", "channel"]) {
    if ($(name).value.trim()) fields[name === "thread" ? "thread_id" : name] = $(name).value.trim();
  }
  $("send-button").disabled = true;
  $("send-note").textContent = "";
  try {
    const turn = await submit(params ? { ...fields, params } : fields);
    $("thread").value = turn.thread_id;
    $("message").value = "";
    sent.add({ id: turn.id, thread_id: turn.thread_id, began_at: Date.now() / 1000, state: "pending" });
    tell(null);
    showTurn(turn.id, { final: fields.delivery === "final" });
    history.replaceState(null, "", `#${turn.id}`);
    refresh();
  } catch (fault) {
    $("send-note").textContent = fault.message;
    if (fault.status === 401) tell(fault);
  } finally {
    $("send-button").disabled = false;
    $("message").focus();
  }
}

$("send").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
$("message").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  }
});
$("new-thread").addEventListener("click", () => {
  newThread();
  $("message").focus();
});
$("cancel").addEventListener("click", cancelShown);

async function cancelShown() {
  if (!view.open) return;
  await cancel(view.id).catch(tell);
}

// -- the turn that is shown --------------------------------------------------------------------------------------------

function showTurn(id, options = {}) {
  view.show(id, { ids: named(id), ...options });
}

/** Return a turn's thread and turn id, which its public id spells. */
function named(id) {
  try {
    const bytes = Uint8Array.from(atob(id.slice(2).replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
    const [thread, turn] = new TextDecoder().decode(bytes).split("/");
    return `thread ${thread} · turn ${turn}`;
  } catch {
    return id;
  }
}

/** Show the turn that the address names, if that is another one. */
function fromAddress() {
  const id = location.hash.slice(1);
  if (/^t_[A-Za-z0-9_-]+$/.test(id) && id !== view.id) showTurn(id);
}
window.addEventListener("hashchange", fromAddress);

// -- lists and plots ---------------------------------------------------------------------------------------------------

async function refresh() {
  if (context.own === null) return;
  try {
    if (context.own.user === null) {
      await Promise.all([refreshTurns(), refreshPulse()]);
    } else {
      listOwn();
    }
    if (!view.open) tell(null);
  } catch (fault) {
    tell(fault);
    await pause(1000 * (fault.retryAfter ?? 0));
  }
}

async function refreshTurns() {
  const wanted = new URLSearchParams({ limit: LATEST });
  if ($("filter-state").value) wanted.set("state", $("filter-state").value);
  if ($("filter-thread").value.trim()) wanted.set("thread", $("filter-thread").value.trim());
  const { turns } = await get(`v1/turns?${wanted}`);
  drawTurns($("turns"), turns, view.id);
  const filtered = wanted.has("state") || wanted.has("thread");
  $("turns-note").textContent = turns.length ? (turns.length === LATEST ? `The latest ${LATEST}.` : "") : filtered ? "No turn that this gateway holds is like that." : "No turn yet.";
}

/** List what was sent from here: a key that is bound to a user sees no list of its tenant's. */
function listOwn() {
  const [state, thread] = [$("filter-state").value, $("filter-thread").value.trim()];
  const own = sent.get().map((turn) => (turn.id === view.id ? { ...turn, state: view.end?.kind ?? "running" } : turn));
  const turns = own.filter((turn) => (!state || turn.state === state) && turn.thread_id.includes(thread));
  drawTurns($("turns"), turns, view.id);
  $("turns-note").textContent = "This key is bound to a user: listed are the turns that were sent from this tab.";
  put($("pulse"), "Not for a key that is bound to a user.");
}

async function refreshPulse() {
  latestPulse = await get("v1/pulse");
  drawPulse($("pulse"), latestPulse);
}

async function refreshProcessors() {
  if (context.own === null) return;
  context.processors = await get("v1/processors").catch(() => context.processors);
  if (!context.processors) return;
  const { agents } = context.processors;
  drawProcessors($("processors"), $("processors-note"), context.processors);
  put($("agents"), agents.map((value) => el("option", { value })));
  // Where agents are declared, there are no others.
  if (agents.length && $("agent").value === "default" && !agents.includes("default")) $("agent").value = agents[0];
}

new ResizeObserver(() => latestPulse && context.own?.user === null && drawPulse($("pulse"), latestPulse)).observe($("pulse"));
$("filter-state").addEventListener("change", refresh);
$("filter-thread").addEventListener("input", refresh);

async function everySoOften(ms, what) {
  for (;;) {
    await pause(ms);
    if (!document.hidden) await what();
  }
}

// -- keys --------------------------------------------------------------------------------------------------------------

const SHORTCUTS = {
  "/": () => $("message").focus(),
  j: () => step(1),
  k: () => step(-1),
  f: () => $("filter-state").focus(),
  n: () => $("new-thread").click(),
  x: cancelShown,
  "?": () => $("help-dialog").showModal(),
};

function step(by) {
  const links = [...$("turns").querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select");
  if (event.key === "Escape" && typing && !event.target.closest("dialog")) return void event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const does = $("single-keys").checked ? SHORTCUTS[event.key] : null;
  if (does) {
    event.preventDefault();
    does();
  }
});
$("single-keys").checked = sessionStorage.getItem(SINGLE_KEYS) !== "off";
$("single-keys").addEventListener("change", () => sessionStorage.setItem(SINGLE_KEYS, $("single-keys").checked ? "on" : "off"));

newThread();
enter();
everySoOften(EVERY_MS, refresh);
everySoOften(PROCESSORS_EVERY_MS, refreshProcessors);
if (!(window.matchMedia("(pointer: coarse)").matches)) $("message").focus();
