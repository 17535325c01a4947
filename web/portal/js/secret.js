// A new secret of a webhook. It is made or typed on a screen of the portal, shown only there, and never stored in the browser.
import { copyButton } from "./copy.js";
import { el, freshId, replace } from "./dom.js";
import { field } from "./field.js";
import { notice } from "./problem.js";

/** In the form of Standard Webhooks: whsec_ and 24 random bytes in base64. */
export function newSecret(random = (bytes) => crypto.getRandomValues(bytes)) {
  return `whsec_${btoa(String.fromCharCode(...random(new Uint8Array(24))))}`;
}

/** Whether a secret begins like one of Standard Webhooks, and its libraries cannot verify with it. The API's rule (lib/webhook/signature.cpp). */
export function isUnverifiable(secret) {
  if (!/^(v1,)?whsec_/.test(secret)) return false;
  const [, digits, padding] = /^whsec_([A-Za-z0-9+/]*)(={0,2})$/.exec(secret) ?? [];
  return !digits || digits.length % 4 === 1 || (padding && (digits.length + padding.length) % 4 !== 0);
}

/** The attributes of a field for a secret: one that browsers do not offer to store, as they do with passwords. */
export const SECRET = { type: "text", class: "mono", "data-unkept": true, autocomplete: "off", autocapitalize: "none", autocorrect: "off", spellcheck: "false" };

/** A field with a new secret. The user can copy the secret, have another one generated, or type one. */
export function secretField() {
  const one = field({
    label: "Secreto nuevo",
    hint: "Lo ha generado este navegador. También puede escribir otro.",
    attributes: SECRET,
  });
  one.control.value = newSecret();
  const again = el("button", { type: "button", class: "button", onclick: () => {
    one.control.value = newSecret();
    one.control.focus();
  } }, "Generar otro");
  const warning = el("div", { role: "status" });
  const warn = () => replace(warning, isUnverifiable(one.value()) && notice("warning", el("p", {}, "Así escrito, este secreto no puede verificarse con las bibliotecas de Standard Webhooks. Pulse «Generar otro».")));
  one.control.addEventListener("input", warn);
  again.addEventListener("click", warn);
  one.node.append(el("div", { class: "actions tight" }, copyButton("Copiar el secreto", one.value), again), warning);
  return one;
}

/** Shows a secret for the last time. The secret is now in force. @param {string} secret */
export function lastSight(secret) {
  return el("div", { class: "secret" },
    el("p", {}, el("strong", {}, "El secreto"), " (al salir de aquí no se volverá a mostrar, en ninguna parte):"),
    el("p", {}, el("code", { class: "code-line" }, secret)), el("div", { class: "actions tight" }, copyButton("Copiar el secreto", () => secret)));
}

/** A checkbox that must be ticked to continue. It has the members of a field of field.js; value() tells whether it is ticked. @param {string} label */
export function promise(label) {
  const id = freshId("si");
  const error = el("p", { class: "field-error", id: `${id}-error` });
  error.hidden = true;
  const control = el("input", { type: "checkbox", id, "data-unkept": true }); // it confirms something about a secret
  return {
    node: el("div", { class: "field" }, el("div", { class: "check" }, control, el("label", { for: id }, label)), error),
    control,
    value: () => control.checked,
    setError(text) {
      replace(error, text && el("span", { class: "mark", "aria-hidden": "true" }, "✕ "), text);
      error.hidden = !text;
      for (const [name, value] of [["aria-invalid", "true"], ["aria-describedby", error.id]]) {
        if (text) control.setAttribute(name, value);
        else control.removeAttribute(name);
      }
    },
  };
}
