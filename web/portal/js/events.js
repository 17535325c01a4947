// The events, in groups and in plain words, and the field to choose them or other values.
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

function checkbox(value, checked, words, meaning) {
  const id = freshId("evento");
  const input = el("input", { type: "checkbox", id, value, checked, "aria-describedby": meaning && `${id}-ayuda` });
  const text = el("div", {}, el("label", { for: id }, words), meaning && el("p", { class: "hint", id: `${id}-ayuda` }, meaning));
  return { input, node: el("div", { class: "check" }, input, text) };
}

/**
 * Makes a checkbox for each event. The result is used like a field of field.js, but value() returns the list of the checked events.
 * @param {object} what
 * @param {string} what.legend
 * @param {string[]} what.all
 * @param {string[]} what.chosen
 */
export const eventsField = ({ legend, all, chosen }) => choicesField({ legend, groups: groupsOf(all), chosen, wordsOf: eventName, meanings: MEANINGS });

/**
 * Makes a checkbox for each value, as eventsField().
 * @param {object} what
 * @param {string} what.legend
 * @param {[string, string[]][]} what.groups name and values of each group
 * @param {string[]} what.chosen
 * @param {(value: string) => string} what.wordsOf
 * @param {Object<string, string>} what.meanings what some values mean, in a sentence
 */
export function choicesField({ legend, groups, chosen, wordsOf, meanings }) {
  const errorId = freshId("error");
  const error = el("p", { class: "field-error", id: errorId });
  error.hidden = true;
  const boxes = [];
  const sets = groups.map(([name, values]) => {
    const made = values.map((value) => checkbox(value, chosen.includes(value), wordsOf(value), meanings[value]));
    boxes.push(...made.map((one) => one.input));
    return el("fieldset", { class: "field-set group" }, el("legend", {}, name), made.map((one) => one.node));
  });
  const all = groups.flatMap(([, values]) => values);
  const first = boxes[0];
  const firstHint = first?.getAttribute("aria-describedby");
  const set = (values) => boxes.forEach((box) => (box.checked = values.includes(box.value)));
  const button = (words, values) => el("button", { type: "button", class: "button quiet", onclick: () => set(values) }, words);
  const node = el("fieldset", { class: "field-set" }, el("legend", {}, legend), error,
    el("div", { class: "actions" }, button("Marcar todo", all), button("Desmarcar todo", [])), el("div", { class: "groups" }, sets));
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
