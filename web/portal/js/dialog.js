// A modal question, in the browser's own <dialog>: it keeps the focus within, Escape closes it, and the focus returns to where it was.
import { el, freshId } from "./dom.js";

/**
 * @param {object} what
 * @param {string} what.title
 * @param {import("./dom.js").Child} what.body
 * @param {string} [what.confirm] the words of the button that says yes
 * @param {string} [what.cancel] the words of the button that says no; "": no such button
 * @param {boolean} [what.danger]
 * @param {() => boolean | Promise<boolean>} [what.onConfirm] called at yes; false keeps the dialog open
 * @param {AbortSignal} [what.signal]
 * @returns {Promise<boolean>} whether yes was said
 */
export function ask({ title, body, confirm = "Aceptar", cancel = "Cancelar", danger = false, onConfirm = () => true, signal }) {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const id = freshId("dialogo");
    const opener = document.activeElement;
    let yes = false;
    const submit = async (event) => {
      event.preventDefault();
      button.setAttribute("aria-disabled", "true");
      try {
        yes = await onConfirm();
      } finally {
        button.removeAttribute("aria-disabled");
      }
      if (yes) dialog.close();
    };
    const button = el("button", { class: danger ? "button danger" : "button primary", type: "submit" }, confirm);
    const dialog = el("dialog", { class: "dialog", "aria-labelledby": id },
      el("form", { onsubmit: (event) => (button.hasAttribute("aria-disabled") ? event.preventDefault() : submit(event)) },
        el("h2", { id }, title), el("div", { class: "dialog-body" }, body),
        el("div", { class: "actions" }, button, cancel && el("button", { class: "button", type: "button", onclick: () => dialog.close() }, cancel))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      const again = opener?.isConnected ? opener : document.getElementById(opener?.id); // a redraw may have replaced the opener
      if (again instanceof HTMLElement) again.focus();
      resolve(yes);
    });
    signal?.addEventListener("abort", () => dialog.close());
    document.body.append(dialog);
    dialog.showModal();
  });
}
