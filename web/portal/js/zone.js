// The footer's sentence about the times, and the button that shows them in the other zone. The choice is only in memory, as the token is.
import { announce } from "./announce.js";
import { ask } from "./dialog.js";
import { el, replace } from "./dom.js";
import { otherZone, useZone, zone } from "./time.js";

/**
 * @param {object} what
 * @param {ReturnType<typeof import("./drafts.js").createDrafts>} what.drafts
 * @param {() => void} what.changed draws all that shows times again
 */
export function offerZones({ drafts, changed }) {
  const sentence = document.getElementById("horas");
  const button = /** @type {HTMLButtonElement} */ (document.getElementById("otra-zona"));

  function show() {
    replace(sentence, `Todas las horas son ${zone().of} (${zone().name}).`);
    replace(button, `Ver la hora ${otherZone().of}`);
  }

  button.addEventListener("click", async () => {
    if (drafts.changed() && !(await askToChange())) return;
    drafts.keep();
    useZone(otherZone().name);
    show();
    changed();
    announce(`Ahora las horas son ${zone().of}`);
  });
  button.hidden = false;
  show();
}

const askToChange = () => ask({
  title: `¿Ver ya la hora ${otherZone().of}?`, confirm: "Cambiar", cancel: "Seguir así",
  body: el("p", {}, "Esta página se mostrará de nuevo con lo que ha escrito, salvo los secretos."),
});
