// The table of deliveries: when, what it was about, to which webhook, and what became of it.
import { el, foreign } from "./dom.js";
import { aboutOf } from "./find.js";
import { nameOf } from "./hooks.js";
import { causeOf } from "./remedies.js";
import { link } from "./router.js";
import { due, utcBeside, when, zonedCompact } from "./time.js";
import { capital, count, eventName, stateBadge, stateMark } from "./words.js";

/**
 * @param {any[]} deliveries of GET /entregas
 * @param {object} what
 * @param {Map<number, any>} what.hooks by id
 * @param {boolean} what.oneHook all are of one webhook: its column is left out
 * @param {boolean} what.oneState all are in one state: it is not repeated
 * @param {((delivery: any) => any) | null} what.box makes the checkbox that chooses a delivery; null: none can be chosen
 * @param {(delivery: any) => string} what.note what to say of a delivery instead of what became of it; "": nothing
 * @param {number} what.now by the service's clock
 */
// Has explicit roles: on a telephone the rows are laid out as cards, and some browsers then no longer treat the element as a table.
export function deliveryTable(deliveries, what) {
  const head = [what.box && el("span", { class: "hidden" }, "Elegir"), "Creada", "Aviso", !what.oneHook && "Webhook", "Qué pasó"].filter(Boolean);
  return el("table", { class: "deliveries", role: "table" },
    el("caption", { class: "hidden" }, "Entregas, las más recientes primero"),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head.map((name) => el("th", { scope: "col", role: "columnheader" }, name)))),
    el("tbody", { role: "rowgroup" }, deliveries.map((one) => row(one, what))));
}

const cell = (name, ...children) => el("td", { role: "cell", "data-name": name }, ...children);

function row(one, { hooks, oneHook, oneState, box, note, now }) {
  const hook = hooks.get(one.webhook);
  const about = aboutOf(one.datos);
  const noted = note(one);
  return el("tr", { role: "row" },
    box && cell("Elegir", box(one)),
    cell("Creada", el("a", { href: link(`/entregas/${one.webhook}/${one.id}`), id: `entrega-${one.id}`, class: "target" }, el("time", { datetime: one.creada }, zonedCompact(one.creada, now))), el("span", { class: "utc small" }, " ", utcBeside(one.creada))),
    cell("Aviso", one.byNumber && el("strong", {}, `Entrega n.º ${one.id}: `), eventName(one.evento), one.prueba && el("span", { class: "muted" }, " (prueba)"), about && el("span", { class: "summary" }, " ", foreign(about))),
    !oneHook && cell("Webhook", hook ? foreign(nameOf(hook)) : `Webhook ${one.webhook}`),
    cell("Qué pasó", noted ? el("span", { class: "muted" }, noted) : [oneState ? null : one.estado === "entregada" ? stateMark(one.estado) : [stateBadge(one.estado), " "], outcome(one, hook, now)]));
}

function outcome(one, hook, now) {
  const tries = one.intentos > 1 && el("span", { class: "muted tries" }, ` (${count(one.intentos, "intento")})`);
  if (one.estado === "entregada") return el("span", { class: "muted" }, when(one.entregada ?? one.terminada, now), tries);
  const cause = causeOf(one.ultimoError);
  const next = one.estado === "retenida" ? `se enviará ${hook?.activo ? "en cuanto sea posible" : "al reactivar el webhook"}, salvo que caduque o se anule` : one.proximoIntento && `se intentará ${due(one.proximoIntento, now)}`;
  if (cause) return [foreign(capital(cause)), next && `; ${next}`, tries];
  return next ? capital(next) : null;
}
