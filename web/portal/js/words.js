// The portal's words for the API's names.
import { el } from "./dom.js";

export const EVENTS = {
  "evaluacion.abierta": "Evaluación abierta",
  "evaluacion.prorroga": "Prórroga de la evaluación",
  "evaluacion.cierre_proximo": "Cierre próximo de la evaluación",
  "evaluacion.cerrada": "Evaluación cerrada",
  "resultados.provisionales": "Resultados provisionales",
  "resultados.definitivos": "Resultados definitivos",
  "alegaciones.periodo_abierto": "Se abre el plazo de alegaciones",
  "alegaciones.periodo_cierre": "Se cierra el plazo de alegaciones",
  "incidencia.respuesta": "Respuesta a una incidencia",
  "incidencia.cerrada": "Incidencia cerrada",
  "documento.disponible": "Documento disponible",
};

export const eventName = (event) => EVENTS[event] ?? event;

/** States of a delivery: [word, kind, mark, meaning, word for many]. The kind decides the colour; mark and word suffice without it. */
export const STATES = {
  pendiente: ["En espera", "info", "◷", "Espera su intento.", "En espera"],
  en_curso: ["Enviándose", "info", "➤", "Se está enviando.", "Enviándose"],
  entregada: ["Entregada", "good", "✓", "El receptor la aceptó.", "Entregadas"],
  fallida: ["Fallida", "bad", "✕", "No se entregó y ya no se reintenta: puede reenviarla.", "Fallidas"],
  cancelada: ["Cancelada", "muted", "–", "La anuló el operador o el sistema de evaluación, el aviso caducó antes de entregarse, o no era para su entidad.", "Canceladas"],
  retenida: ["Retenida", "warning", "‖", "Se enviará cuando el webhook vuelva a estar activo, o cuando el operador corrija un problema del servicio, salvo que caduque o se anule.", "Retenidas"],
};

export const SOME_FAILURE = "Con algún fallo"; // deliveries that failed at least once before they arrived, whatever their state

export function stateBadge(state) {
  const [word, kind, mark] = STATES[state] ?? [state, "muted", "?"];
  return el("span", { class: `badge ${kind}` }, el("span", { class: "mark", "aria-hidden": "true" }, `${mark} `), word);
}

/** The mark alone, for a list in which the word would be repeated; screen readers say the word. */
export function stateMark(state) {
  const [word, kind, mark] = STATES[state] ?? [state, "muted", "?"];
  return el("span", { class: `${kind}-words` }, el("span", { "aria-hidden": "true" }, `${mark} `), el("span", { class: "hidden" }, `${word} `));
}

/** "1 entrega", "3 entregas". */
export const count = (number, one, many = `${one}s`) => `${thousands(number)} ${number === 1 ? one : many}`;

/** 1.234: with a point from a thousand on. */
export const thousands = (number) => number.toLocaleString("es-ES", { useGrouping: "always" });

/** The text with a capital first letter. */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const ADDED = ["se añade", "se añaden"];
export const REMOVED = ["se quita", "se quitan"];

/** "se quitan A y B"; "" without events. @param {string[]} verb for one and for many @param {string[]} events */
export const withEvents = ([one, many], events) => events.length > 0 ? `${events.length > 1 ? many : one} ${listed(events.map((event) => eventName(String(event))))}` : "";

/** "A, B y C". @param {string[]} words */
export const listed = (words) => new Intl.ListFormat("es").format(words);
