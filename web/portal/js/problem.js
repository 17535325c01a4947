// Shows an unsuccessful answer: what happened, what to do, and when to try again.
import { el, foreign } from "./dom.js";
import { span } from "./time.js";

const TITLES = {
  invalid: "No se ha podido hacer", unauthorized: "El token no vale", forbidden: "No está permitido", notFound: "No se encuentra",
  conflict: "Ahora no se puede", precondition: "Ha cambiado entretanto", tooMany: "Demasiadas peticiones", unavailable: "El servicio no está disponible",
  network: "Sin conexión", timeout: "El servicio tarda demasiado", error: "Error del servicio",
};

const HOPELESS = new Set(["invalid", "forbidden", "notFound", "conflict", "precondition"]); // the same request would be refused again

/**
 * A box with the problem. `retry` gives it a button. If the service said how long to wait, the box counts down, and with `auto` it then retries by itself, but not while the page is hidden.
 * @param {import("./api.js").Answer} answer
 * @param {{retry?: () => any, auto?: boolean, id?: string}} [how]
 */
export function problemBox(answer, { retry, auto = false, id } = {}) {
  const wait = answer.retryAfter;
  const again = retry && !HOPELESS.has(answer.kind) && el("button", { class: "button", type: "button", id: id && `${id}-reintentar`, onclick: () => again.hasAttribute("aria-disabled") || retry() }, "Reintentar");
  const rest = wait > 0 && el("p", { class: "wait" }, `Se puede reintentar dentro de ${span(wait * 1000)}.`);
  const reference = answer.status >= 500 && answer.requestId && el("p", { class: "muted small" }, "Si se repite, indique al operador esta referencia: ", el("code", {}, answer.requestId));
  const box = el("div", { class: "notice bad", role: "alert", id }, el("p", { class: "notice-title" }, el("span", { class: "mark", "aria-hidden": "true" }, "✕ "), TITLES[answer.kind] ?? TITLES.error),
    el("p", {}, foreign(answer.message)), rest, again, reference);
  if (rest) countDown(box, rest, again, wait, again && auto ? retry : null);
  return box;
}

// The seconds are hidden from screen readers, which would announce each of them.
function countDown(box, text, button, seconds, then) {
  const until = Date.now() + seconds * 1000;
  button?.setAttribute("aria-disabled", "true");
  const visible = el("span", { "aria-hidden": "true" });
  const timer = setInterval(() => {
    if (!box.isConnected) return clearInterval(timer);
    const left = Math.ceil((until - Date.now()) / 1000);
    if (left > 0) {
      visible.textContent = `Se puede reintentar dentro de ${span(left * 1000)}.`;
      if (!visible.isConnected) text.replaceChildren(visible);
      return;
    }
    if (then && document.hidden) return;
    clearInterval(timer);
    text.replaceChildren("Ya se puede reintentar.");
    button?.removeAttribute("aria-disabled");
    then?.();
  }, 1000);
}

/** A box that is no error. @param {"good" | "warning" | "info"} kind */
export const notice = (kind, ...children) => el("div", { class: `notice ${kind}` }, ...children);

/** Makes screen readers announce the box at once; for a box that appears after an action. */
export function alerted(box) {
  box.setAttribute("role", "alert");
  return box;
}
