// The events, in groups and in plain words, and the field to choose them.
import { el, freshId, replace } from "./dom.js";
import { eventName } from "./words.js";

const GROUPS = { evaluacion: "Evaluaciones", resultados: "Resultados", alegaciones: "Alegaciones", incidencia: "Incidencias", documento: "Documentos" };

const MEANINGS = {
  "evaluacion.abierta": "Se abre una evaluación en la que participa su entidad.",
  "evaluacion.prorroga": "Se amplía el plazo para subir datos.",
  "evaluacion.cierre_proximo": "Quedan pocos días para subir datos.",
  "evaluacion.cerrada": "La evaluación se cierra: ya no se admiten datos.",
  "resultados.provisionales": "Se publican las notas provisionales.",
  "resultados.definitivos": "Se publican las notas definitivas.",
  "alegaciones.periodo_abierto": "Empieza el plazo para presentar alegaciones.",
  "alegaciones.periodo_cierre": "Termina el plazo para presentar alegaciones.",
  "incidencia.respuesta": "Responden a una incidencia de su entidad.",
  "incidencia.cerrada": "Se cierra una incidencia de su entidad.",
  "documento.disponible": "Hay un informe o un documento nuevo para descargar.",
};

/** [name of the group, its events][], in the order of `events`. Events of an unknown group are in "Otros". @param {string[]} events */
export function groupsOf(events) {
  const groups = new Map();
  for (const event of events) {
    const name = GROUPS[event.split(".")[0]] ?? "Otros";
    groups.set(name, [...(groups.get(name) ?? []), event]);
  }
  return [...groups];
}

/** A list of the names of these events. @param {string[]} events */
export const eventList = (events) => el("ul", { class: "plain-list" }, events.map((event) => el("li", {}, eventName(event))));

function checkbox(event, checked) {
  const id = freshId("evento");
  const input = el("input", { type: "checkbox", id, value: event, checked, "aria-describedby": MEANINGS[event] && `${id}-ayuda` });
  const words = el("div", {}, el("label", { for: id }, eventName(event)), MEANINGS[event] && el("p", { class: "hint", id: `${id}-ayuda` }, MEANINGS[event]));
  return { input, node: el("div", { class: "check" }, input, words) };
}

/**
 * Makes a checkbox for each event. The result is used like a field of field.js, but value() returns the list of the checked events.
 * @param {object} what
 * @param {string} what.legend
 * @param {string[]} what.all
 * @param {string[]} what.chosen
 */
export function eventsField({ legend, all, chosen }) {
  const errorId = freshId("error");
  const error = el("p", { class: "field-error", id: errorId });
  error.hidden = true;
  const boxes = [];
  const groups = groupsOf(all).map(([name, events]) => {
    const made = events.map((event) => checkbox(event, chosen.includes(event)));
    boxes.push(...made.map((one) => one.input));
    return el("fieldset", { class: "field-set group" }, el("legend", {}, name), made.map((one) => one.node));
  });
  const first = boxes[0];
  const firstHint = first?.getAttribute("aria-describedby");
  const set = (events) => boxes.forEach((box) => (box.checked = events.includes(box.value)));
  const button = (words, events) => el("button", { type: "button", class: "button quiet", onclick: () => set(events) }, words);
  const node = el("fieldset", { class: "field-set" }, el("legend", {}, legend), error,
    el("div", { class: "actions" }, button("Marcar todos", all), button("Quitar todos", [])), el("div", { class: "groups" }, groups));
  return {
    node,
    control: first,
    value: () => boxes.filter((box) => box.checked).map((box) => box.value),
    set,
    setError(text) {
      replace(error, text && el("span", { class: "mark", "aria-hidden": "true" }, "✕ "), text);
      error.hidden = !text;
      first.setAttribute("aria-describedby", [text && errorId, firstHint].filter(Boolean).join(" "));
      if (text) first.setAttribute("aria-invalid", "true");
      else first.removeAttribute("aria-invalid");
    },
  };
}
