// What a notification is about, in words, and the search for such words: the API itself only finds a webhook-id.
import { parse } from "./api.js";
import { zonedDate } from "./time.js";
import { eventName } from "./words.js";

const NOUNS = { evaluacionId: "Evaluación", declaracionId: "Declaración", incidenciaId: "Incidencia", documentoId: "Documento" };
const DATES = { fechaFin: "hasta el", fechaCierre: "cierra el" };
const TEXTS = new Set(["titulo", "descripcion"]);

/** "Evaluación 42 · Convocatoria 2026"; "" if nothing is known. @param {Object<string, any> | null} datos with `datos=resumen`, or the `data` of a notification */
export function aboutOf(datos) {
  return Object.entries(datos ?? {}).map(([name, value]) => {
    if (NOUNS[name]) return `${NOUNS[name]} ${value}`;
    if (DATES[name]) return `${DATES[name]} ${zonedDate(value)}`;
    return TEXTS.has(name) ? String(value) : "";
  }).filter(Boolean).join(" · ");
}

const SUMMARIES = {
  evaluacion: ["evaluacionId", "titulo", "fechaFin", "fechaCierre"], resultados: ["evaluacionId", "declaracionId"], alegaciones: ["evaluacionId", "declaracionId"],
  incidencia: ["incidenciaId", "titulo"], documento: ["documentoId", "descripcion"],
};

/** What `datos=resumen` gives of a delivery (lib/webhook/event_summary.cpp), from its body; null if it cannot be read, and of a test. */
export function summaryOf({ evento, prueba, cuerpo }) {
  const data = prueba ? null : parse(cuerpo)?.data;
  return data instanceof Object ? Object.fromEntries((SUMMARIES[evento.split(".")[0]] ?? []).filter((name) => name in data).map((name) => [name, data[name]])) : null;
}

const WORD = /[\p{L}\p{N}]+/gu;
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/**
 * Reads what was typed into the search.
 * @param {string} text
 * @returns {{message: string, number: string, words: string[]}} a webhook-id, the number of a delivery, or words; a number alone may be both
 */
export function searchOf(text) {
  const typed = text.trim();
  const [, message] = /^(?:webhook-id\s*:\s*)?(msg_\d{1,18}_[1-9]\d{0,17})$/i.exec(typed) ?? [];
  if (message) return { message: message.toLowerCase(), number: "", words: [] };
  const [, said, number = ""] = /^((?:entrega\s+)?(?:n\.?\s?º\s*|#)?)([1-9]\d{0,17})$/i.exec(typed) ?? [];
  return { message: "", number, words: said ? [] : plain(typed).match(WORD) ?? [] };
}

/** Whether something was typed in which there is no word and no number. @param {string | undefined} text */
export function searchesNothing(text) {
  const { message, number, words } = searchOf(text ?? "");
  return Boolean(text?.trim()) && !message && !number && words.length === 0;
}

/** Whether all words occur in what the list shows of the delivery. A number must occur between other characters than digits: 42 is not in 2042, but in acta_42.pdf. @param {any} delivery of GET /entregas with datos=resumen @param {string[]} words of searchOf() */
export function matches(delivery, words) {
  const there = plain(`${eventName(delivery.evento)} ${delivery.evento} ${aboutOf(delivery.datos)} ${delivery.prueba ? "prueba" : ""}`);
  return words.every((word) => (/^\d+$/.test(word) ? new RegExp(`(?<!\\d)${word}(?!\\d)`).test(there) : there.includes(word)));
}
