// The filters of the list of deliveries. They are only in the address: Back, a reload and a bookmark keep them.
import { el, foreign } from "./dom.js";
import { field, incomplete, judge } from "./field.js";
import { searchesNothing } from "./find.js";
import { labelOf } from "./hooks.js";
import { link } from "./router.js";
import { fromZoned, startOfDay, toZoned, zone, zonedShort } from "./time.js";
import { EVENTS, SOME_FAILURE, STATES } from "./words.js";

const NAMES = ["webhook", "estado", "conFallos", "evento", "desde", "hasta", "busca"];

/** The filters of an address, without its page. @param {Object<string, string>} query */
export const filtersOf = (query) => Object.fromEntries(NAMES.filter((name) => query[name]).map((name) => [name, query[name]]));

/** The address of the list with these filters. @param {Object<string, any>} filters */
export const listLink = (filters) => link("/entregas", filters);

/** The search, the states, the days, the other filters, and what is set of them. @param {{query: Object<string, string>}} place @param {any[]} hooks */
export function filterBar(portal, { query }, hooks) {
  const set = filtersOf(query);
  return [searchForm(portal, set), states(set), days(set, portal.clock.now()), moreFilters(portal, set, hooks), chips(set, hooks)];
}

function searchForm(portal, set) {
  const busca = field({ label: "Buscar", hint: "Un título, un número (de evaluación, de documento, de entrega…) o un webhook-id.", attributes: { id: "busca", type: "search", autocomplete: "off", spellcheck: "false", value: set.busca ?? "" } });
  const unfit = (text) => (searchesNothing(text) ? "Escriba una palabra o un número." : "");
  busca.setError(unfit(set.busca));
  return el("form", { class: "search", role: "search", novalidate: true, onsubmit: (event) => {
    event.preventDefault();
    if (judge([[busca, unfit(busca.value())]])) portal.go(listLink({ ...set, busca: busca.value().trim() }));
  } }, busca.node, el("button", { type: "submit", class: "button primary", id: "buscar" }, "Buscar"));
}

/** Filters of which one is in force. @param {Object<string, string>} set @param {[string, string, Object<string, string>][]} choices the id, the words and the filters of each */
function choice(label, set, choices) {
  const inForce = (filters) => Object.entries(filters).every(([name, value]) => (set[name] ?? "") === value);
  return el("nav", { "aria-label": label }, el("ul", { class: "chips" }, choices.map(([id, words, filters]) => el("li", {},
    inForce(filters) ? el("span", { class: "chip", id, "aria-current": "true" }, words) : el("a", { class: "chip", id, href: listLink({ ...set, ...filters }) }, words)))));
}

const states = (set) => choice("Estado", set, [
  ["ver-todas", "Todas", { estado: "", conFallos: "" }], ["ver-con-fallos", SOME_FAILURE, { estado: "", conFallos: "true" }],
  ...Object.entries(STATES).map(([estado, [, , , , many]]) => [`ver-${estado}`, many, { estado, conFallos: "" }]),
]);

function days(set, now) {
  const today = startOfDay(now, 0);
  return choice("Creadas", set, [["ver-siempre", "De cualquier día", { desde: "", hasta: "" }], ["ver-hoy", "De hoy", { desde: today, hasta: "" }], ["ver-ayer", "De ayer", { desde: startOfDay(now, 1), hasta: today }]]);
}

function moreFilters(portal, set, hooks) {
  const options = (pairs, selected) => pairs.map(([value, words]) => el("option", { value, selected: value === selected }, words));
  const select = (id, label, pairs) => field({ label, attributes: { id }, control: el("select", { name: id }, options(pairs, set[id] ?? "")) });
  const webhook = select("webhook", "Webhook", [["", "Todos"], ...hooks.map((hook) => [String(hook.id), labelOf(hook)])]);
  const evento = select("evento", "Evento", [["", "Todos"], ...Object.entries(EVENTS)]);
  const time = (id, label) => field({ label, hint: `Hora ${zone().of}.`, attributes: { id, type: "datetime-local", value: toZoned(set[id] ?? "") } });
  const desde = time("desde", "Creadas desde");
  const hasta = time("hasta", "y antes de");
  const submit = (event) => {
    event.preventDefault();
    const from = fromZoned(desde.value());
    const to = fromZoned(hasta.value());
    const wrong = from && to && from > to ? "Es posterior a la otra fecha." : "";
    if (judge([[desde, incomplete(desde) || wrong], [hasta, incomplete(hasta)]])) portal.go(listLink({ ...set, webhook: webhook.value(), evento: evento.value(), desde: from, hasta: to }));
  };
  return el("details", { class: "card", id: "filtros" }, el("summary", {}, "Más filtros"),
    el("form", { class: "filters", onsubmit: submit, novalidate: true }, webhook.node, evento.node, desde.node, hasta.node,
      el("div", { class: "actions" }, el("button", { type: "submit", class: "button primary", id: "filtrar" }, "Filtrar"))));
}

/** Takes a filter away. @param {string} name of the filter @param {string} href the address without it @param {import("./dom.js").Child} words */
export const setChip = (name, href, words) => el("a", { class: "chip", id: `quitar-${name}`, href }, el("span", { class: "hidden" }, "Quitar "), words, el("span", { "aria-hidden": "true" }, " ✕"));

/** What is set, except the state: each can be taken away alone. */
function chips(set, hooks) {
  const hook = hooks.find(({ id }) => String(id) === set.webhook);
  const words = {
    busca: ["Contiene: ", foreign(set.busca)], webhook: ["Webhook: ", hook ? foreign(labelOf(hook)) : set.webhook], evento: ["Evento: ", EVENTS[set.evento] ?? foreign(set.evento)],
    desde: ["Desde el ", shortTime(set.desde)], hasta: ["Antes del ", shortTime(set.hasta)],
  };
  const shown = Object.keys(words).filter((name) => set[name]);
  if (!shown.length) return null;
  return el("ul", { class: "chips set", "aria-label": "Filtros puestos" },
    shown.map((name) => el("li", {}, setChip(name, listLink({ ...set, [name]: "" }), words[name]))),
    (shown.length > 1 || set.estado || set.conFallos) && el("li", {}, el("a", { class: "button quiet", id: "quitar", href: listLink({}) }, "Quitar todos los filtros")));
}

const shortTime = (iso) => (iso && !Number.isNaN(Date.parse(iso)) ? zonedShort(iso) : foreign(iso));
