// How to reach the operator of the service, for what only the operator can do.
import { el, foreign } from "./dom.js";

/** "soporte@ejemplo.es · 900 000 000"; null if the operator has published nothing. @param {{entity: any}} session */
export function contactOf({ entity }) {
  const { correo, telefono, pagina } = entity?.contacto ?? {};
  const ways = [correo, telefono, pagina].filter(Boolean);
  return ways.length ? ways.map((way, i) => [i > 0 && " · ", foreign(way)]) : null;
}

/** A paragraph that says to ask the operator, and how. @param {{entity: any}} session @param {string} [what] */
export function askOperator(session, what = "Hable con el operador del servicio") {
  const contact = contactOf(session);
  return el("p", {}, what, contact ? [": ", contact] : ".");
}
