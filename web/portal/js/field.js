// A field of a form. Its label, hint and error are tied to its control, so that screen readers read them with it.
import { el, freshId, replace } from "./dom.js";

/**
 * @param {object} what
 * @param {string} what.label
 * @param {string} [what.hint]
 * @param {any} [what.control] an input, select or textarea; otherwise an <input> is made of `attributes`
 * @param {Object<string, any>} [what.attributes]
 * @returns {{node: any, control: any, value: () => string, setError: (text: string) => void}}
 */
export function field({ label, hint = "", control, attributes = {} }) {
  const id = attributes.id ?? freshId("campo");
  const input = control ?? el("input", { type: "text", ...attributes, id });
  input.id = id;
  const hintId = `${id}-ayuda`;
  const errorId = `${id}-error`;
  const error = el("p", { class: "field-error", id: errorId });
  error.hidden = true;
  if (hint) input.setAttribute("aria-describedby", hintId);
  const node = el("div", { class: "field" }, el("label", { for: id }, label), hint && el("p", { class: "hint", id: hintId }, hint), input, error);
  return {
    node,
    control: input,
    value: () => input.value,
    setError(text) {
      replace(error, text && el("span", { class: "mark", "aria-hidden": "true" }, "✕ "), text);
      error.hidden = !text;
      const describedBy = [text && errorId, hint && hintId].filter(Boolean).join(" ");
      if (describedBy) input.setAttribute("aria-describedby", describedBy);
      else input.removeAttribute("aria-describedby");
      if (text) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    },
  };
}

/** The field for a webhook's name. @param {string} [value] */
export const nameField = (value = "") => field({
  label: "Nombre (opcional)", hint: "Para distinguirlo de los demás. Por ejemplo: Producción", attributes: { type: "text", autocomplete: "off", value },
});

/** Returns an error if only a part of a date and time was typed, otherwise "". The browser gives an empty value for such a part. */
export const incomplete = ({ control }) => (control.validity.badInput ? "Complete el día y la hora, o déjelo vacío." : "");

/** Shows each error, and focuses the first field with an error. Returns true if there is none. @param {[ReturnType<typeof field>, string][]} judged */
export function judge(judged) {
  for (const [one, text] of judged) one.setError(text);
  const wrong = judged.find(([, text]) => text);
  wrong?.[0].control.focus();
  return !wrong;
}
