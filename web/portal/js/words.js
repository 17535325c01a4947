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

/** States of a delivery: [word, kind, mark, meaning]. The kind decides the colour; mark and word suffice without it. */
export const STATES = {
  pendiente: ["En espera", "info", "◷", "Espera su intento."],
  en_curso: ["Enviándose", "info", "➤", "Se está enviando."],
  entregada: ["Entregada", "good", "✓", "El receptor la aceptó."],
  fallida: ["Fallida", "bad", "✕", "No se entregó y ya no se reintenta: puede reenviarla."],
  cancelada: ["Cancelada", "muted", "–", "La canceló el operador, o el aviso no era para su entidad."],
  retenida: ["Retenida", "warning", "‖", "Espera a que el webhook vuelva a estar activo, o a que el operador resuelva lo que no se puede leer."],
};

export function stateBadge(state) {
  const [word, kind, mark] = STATES[state] ?? [state, "muted", "?"];
  return el("span", { class: `badge ${kind}` }, el("span", { class: "mark", "aria-hidden": "true" }, `${mark} `), word);
}

/** "1 entrega", "3 entregas". */
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("es-ES")} ${number === 1 ? one : many}`;
