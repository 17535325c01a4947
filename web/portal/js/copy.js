// A button that copies a text, and says so.
import { announce } from "./announce.js";
import { el } from "./dom.js";

/** @param {string} words @param {() => string} text @param {string} id */
export function copyButton(words, text, id) {
  const button = el("button", { type: "button", class: "button", id, onclick: async () => {
    const done = await navigator.clipboard.writeText(text()).then(() => true, () => false);
    button.textContent = done ? "Copiado" : "No se pudo copiar: selecciónelo a mano";
    announce(button.textContent);
  } }, words);
  button.addEventListener("blur", () => (button.textContent = words));
  return button;
}
