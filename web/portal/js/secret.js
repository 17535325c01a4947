// A new secret of a webhook. It is made or typed on a screen of the portal, shown only there, and never stored in the browser.
import { copyButton } from "./copy.js";
import { el, freshId, replace } from "./dom.js";
import { field } from "./field.js";

/** In the form of Standard Webhooks: whsec_ and 24 random bytes in base64. */
export function newSecret(random = (bytes) => crypto.getRandomValues(bytes)) {
  return `whsec_${btoa(String.fromCharCode(...random(new Uint8Array(24))))}`;
}

/** A field with a new secret. The user can copy the secret, have another one generated, or type one. */
export function secretField() {
  const one = field({
    label: "Secreto nuevo",
    hint: "Lo ha generado este navegador. También puede escribir otro.",
    attributes: { type: "text", class: "mono", autocomplete: "off", autocapitalize: "none", autocorrect: "off", spellcheck: "false" },
  });
  one.control.value = newSecret();
  const again = el("button", { type: "button", class: "button", onclick: () => {
    one.control.value = newSecret();
    one.control.focus();
  } }, "Generar otro");
  one.node.append(el("div", { class: "actions tight" }, copyButton("Copiar el secreto", one.value), again));
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
  const control = el("input", { type: "checkbox", id });
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
