// Shared by all screens that change data: a button that runs once at a time, an error at its field, and a message of what was done.
import { announce } from "./announce.js";
import { el, replace } from "./dom.js";
import { notice, problemBox } from "./problem.js";

/** True if the request may have been carried out although no answer says so: the connection failed, the time ran out, or a 502, 503 or 504 came. @param {import("./api.js").Answer} answer */
export const unsure = (answer) => answer.kind === "network" || answer.kind === "timeout" || answer.kind === "unavailable";

/**
 * A button that shows that it is busy, and does not run twice at a time.
 * @param {object} what
 * @param {string} what.label
 * @param {string} what.busy
 * @param {() => Promise<any>} what.work
 * @param {string} [what.kind] "primary" or "danger"
 * @param {string} [what.id]
 * @param {boolean} [what.submit] its form calls run()
 * @param {boolean} [what.sends] its work sends what was typed into the form: drafts.js asks differently before it is left then
 * @returns {{node: any, run: () => Promise<void>, rename: (label: string) => void}}
 */
export function workButton({ label, busy, work, kind = "", id, submit = false, sends = submit }) {
  const node = el("button", { class: `button ${kind}`, type: submit ? "submit" : "button", id, onclick: submit ? null : () => run() }, label);
  async function run() {
    if (node.hasAttribute("aria-disabled")) return;
    node.setAttribute("aria-disabled", "true");
    node.toggleAttribute("data-sending", sends);
    node.textContent = busy;
    announce(busy);
    try {
      await work();
    } finally {
      node.removeAttribute("aria-disabled");
      node.removeAttribute("data-sending");
      node.textContent = label;
    }
  }
  const rename = (text) => {
    label = text;
    if (!node.hasAttribute("aria-disabled")) node.textContent = text;
  };
  return { node, run, rename };
}

/** A form that never leaves the page, and keeps what is typed into it until it is sent. @param {import("./main.js").Portal} portal @param {() => any} submit calls portal.drafts.forget() once it is sent */
export function form({ drafts }, submit, ...children) {
  const node = el("form", { class: "card", novalidate: true, onsubmit: (event) => {
    event.preventDefault();
    submit();
  } }, ...children);
  drafts.watch(node);
  return node;
}

/** Splits a message of the API. `name` is the member of the request that the message is about, or empty. `text` is the message as a sentence, without that name and its colon. @param {string} message */
export function fieldOf(message) {
  if (message.startsWith("Eventos no válidos")) return { name: "eventos", text: message };
  const [, name = "", rest = message] = /^([a-zA-Z]+): (.*)$/s.exec(message) ?? [];
  return { name, text: rest.charAt(0).toUpperCase() + rest.slice(1) };
}

/**
 * Shows a refusal: at the field that it names, otherwise in the box.
 * @param {import("./api.js").Answer} answer
 * @param {Object<string, {control: any, setError: (text: string) => void}>} fields of the form; each key is the name of the field in the API's messages
 * @param {Element} box
 * @param {object} [how] passed on to problemBox()
 */
export function showRefusal(answer, fields, box, how) {
  const { name, text } = fieldOf(answer.message);
  const at = answer.status >= 400 && answer.status < 500 && answer.status !== 429 ? fields[name] : undefined;
  for (const one of Object.values(fields)) one.setError(one === at ? text : "");
  replace(box, !at && problemBox(answer, how));
  at?.control.focus();
}

export function clearRefusal(fields, box) {
  for (const one of Object.values(fields)) one.setError("");
  replace(box);
}

const DONE = "hecho";

/** Shows what was done and what comes next, above the screen at `hash`, until another screen is shown. */
export function tellDone(hash, title, ...children) {
  const region = document.getElementById(DONE);
  if (!region) return;
  region.dataset.at = hash;
  replace(region, notice("good", el("p", { class: "notice-title" }, el("span", { class: "mark", "aria-hidden": "true" }, "✓ "), title), ...children));
}

/** Removes what tellDone() shows, unless it belongs to the screen at `hash`. @param {string} [hash] */
export function forgetDone(hash) {
  const region = document.getElementById(DONE);
  if (region && region.dataset.at !== hash) replace(region);
}
