// The filters of the list of deliveries. They are only in the address: Back, a reload and a bookmark keep them.
import { el, foreign } from "./dom.js";
import { field, incomplete, judge } from "./field.js";
import { searchesNothing } from "./find.js";
import { labelOf } from "./hooks.js";
import { link } from "./router.js";
import { fromZoned, toZoned, zone, zonedShort } from "./time.js";
import { EVENTS, STATES } from "./words.js";

const NAMES = ["webhook", "estado", "evento", "desde", "hasta", "busca"];

/** The filters of an address, without its page. @param {Object<string, string>} query */
export const filtersOf = (query) => Object.fromEntries(NAMES.filter((name) => query[name]).map((name) => [name, query[name]]));

/** The address of the list with these filters. @param {Object<string, any>} filters */
export const listLink = (filters) => link("/entregas", filters);

/** The search, the states, the other filters, and what is set of them. @param {{query: Object<string, string>}} place @param {any[]} hooks */
export function filterBar(portal, { query }, hooks) {
  const set = filtersOf(query);
  return [searchForm(portal, set), states(set), moreFilters(portal, set, hooks), chips(set, hooks)];
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

function states(set) {
  const id = (estado) => `ver-${estado || "todas"}`;
  const one = (estado, words) => el("li", {}, (set.estado ?? "") === estado ? el("span", { class: "chip", id: id(estado), "aria-current": "true" }, words) : el("a", { class: "chip", id: id(estado), href: listLink({ ...set, estado }) }, words));
  return el("nav", { "aria-label": "Estado" }, el("ul", { class: "chips" }, one("", "Todas"), Object.entries(STATES).map(([estado, [, , , , many]]) => one(estado, many))));
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
    shown.map((name) => el("li", {}, el("a", { class: "chip", id: `quitar-${name}`, href: listLink({ ...set, [name]: "" }) }, el("span", { class: "hidden" }, "Quitar "), words[name], el("span", { "aria-hidden": "true" }, " ✕")))),
    (shown.length > 1 || set.estado) && el("li", {}, el("a", { class: "button quiet", id: "quitar", href: listLink({}) }, "Quitar todos los filtros")));
}

const shortTime = (iso) => (iso && !Number.isNaN(Date.parse(iso)) ? zonedShort(iso) : foreign(iso));
