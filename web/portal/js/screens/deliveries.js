// Entregas: what was sent to the entity's webhooks, newest first, a page at a time. The page is in the address: Back, a reload and a bookmark lead to the same page.
import { workButton } from "../change.js";
import { el, replace } from "../dom.js";
import { exporter } from "../export.js";
import { filterBar, filtersOf, listLink } from "../filters.js";
import { matches, searchOf, searchesNothing, summaryOf } from "../find.js";
import { fetchHooks, hookLink, nameOf } from "../hooks.js";
import { poll } from "../poll.js";
import { notice, problemBox } from "../problem.js";
import { chooser } from "../resend.js";
import { link } from "../router.js";
import { deliveryTable } from "../rows.js";
import { SOME_FAILURE, STATES, count, thousands } from "../words.js";

const LIMIT = 50; // deliveries of a page
const MOST = 100; // deliveries of one answer, and of the pages that lead to the last one
const LOOKS = 5; // the most requests for one page: the API may answer with a short or empty page although further pages follow
const SEARCH_LOOKS = 40; // the same for a search, which reads MOST deliveries with each
const END_LOOKS = 100; // the most pages to go through to the last one
const EVERY_MS = 30_000;

// What the pages of one session's lists told.
const told = {
  session: 0,
  before: new Map(), // maps a page's address to the address of the page with the next newer deliveries, for "Más recientes"
  newest: new Map(), // maps the address of a list's first page to the id of its newest delivery
  totals: new Map(), // maps the same address to {newest, total} once the last page was seen
  stopped: new Set(), // addresses at which "Última página" stopped before the last one
};

/** What the lists of another session told is forgotten: it may be of another entity. */
function toldIn(session) {
  if (told.session === session.number) return told;
  told.session = session.number;
  for (const one of [told.before, told.newest, told.totals, told.stopped]) one.clear();
  return told;
}

export async function deliveriesScreen(portal, place) {
  place.title("Entregas");
  const filters = el("div");
  const files = el("div");
  const fresh = el("div", { role: "status" });
  const body = el("div", { id: "entregas" }, el("p", { class: "loading" }, "Consultando…"));
  const chosenOnes = el("div");
  replace(place.root, el("h1", {}, "Entregas"), filters, files, fresh, chosenOnes, body);
  const answer = await fetchHooks(portal.api, place.signal);
  if (place.signal.aborted) return;
  if (!answer.ok) return replace(body, problemBox(answer, { retry: portal.show, auto: true }));
  const hooks = answer.data;
  if (!hooks.length) return replace(body, notice("info", el("p", {}, "Su entidad no tiene webhooks, y por eso no hay entregas. ", el("a", { href: link("/") }, "Por dónde empezar"))));
  const chosen = hooks.find(({ id }) => String(id) === place.query.webhook);
  place.title(titleOf(place.query, chosen));
  replace(filters, filterBar(portal, place, hooks));
  if (place.query.webhook && !chosen) return replace(body, notice("warning", el("p", {}, "Ese webhook ya no existe. ", el("a", { href: listLink({ ...filtersOf(place.query), webhook: "" }) }, "Ver las entregas de todos"))));
  if (searchesNothing(place.query.busca)) return replace(body, notice("warning", el("p", {}, "No se ha buscado nada: escriba una palabra o un número.")));
  const choice = chooser(portal, place, hooks, () => list.refresh());
  replace(chosenOnes, choice.node);
  const list = listOf(portal, place, hooks, chosen, { body, fresh, choice });
  replace(files, exporter(portal, place, list.source));
  await list.load();
  if (!place.query.busca) poll(list.refresh, { every: EVERY_MS, signal: place.signal });
}

/** "Entregas: fallidas · Producción": tells the tabs of two lists apart. */
function titleOf({ estado, conFallos, busca, n }, chosen) {
  const what = [(STATES[estado]?.[4] ?? (conFallos ? SOME_FAILURE : "")).toLowerCase(), busca && `«${busca}»`, Number(n) > 0 && `desde la ${Number(n) + 1}`].filter(Boolean).join(", ");
  return [what ? `Entregas: ${what}` : "Entregas", chosen && nameOf(chosen)].filter(Boolean).join(" · ");
}

/** Loads one page of the list, and refreshes it without moving the visible rows. */
function listOf(portal, place, hooks, chosen, { body, fresh, choice }) {
  const set = filtersOf(place.query);
  const { busca, ...filter } = set;
  const search = searchOf(busca ?? "");
  const { cursor = "" } = place.query;
  const skipped = /^\d{1,9}$/.test(place.query.n ?? "") ? Number(place.query.n) : cursor ? NaN : 0; // how many newer deliveries the earlier pages show
  const size = place.query.tam === String(MOST) ? MOST : LIMIT;
  const here = (more) => listLink({ ...set, ...more });
  const first = here({});
  const { before, newest, totals, stopped } = toldIn(portal.session);
  let shown = [];
  let next = null;
  let loaded = false;

  const ask = (limite, at, signal = place.signal) => portal.api.get("/entregas", { ...filter, mensaje: search.message, datos: "resumen", limite, cursor: at }, signal);

  /** Fetches until it has `size` deliveries that match, or no more follow, or the most requests for a page are made. `reached`: all matches with this id or a higher one are found. */
  async function collect(from) {
    const numbered = search.number && !from ? await withNumber() : { ok: true, found: [] };
    if (!numbered.ok || (search.number && !search.words.length)) return { next: null, reached: 0, ...numbered };
    const { found } = numbered;
    const looks = search.words.length ? SEARCH_LOOKS : LOOKS;
    let at = from;
    let looked = 0;
    let reached = Infinity;
    for (let look = 0; look < looks; ++look) {
      const answer = await ask(search.words.length ? MOST : size - found.length, at);
      if (!answer.ok && !looked) return answer;
      if (!answer.ok) break; // what was found so far is shown, and the search can go on from here
      looked += answer.data.entregas.length;
      reached = answer.data.siguiente ? answer.data.entregas.at(-1)?.id ?? reached : 0;
      found.push(...answer.data.entregas.filter((one) => matches(one, search.words) && !found.some(({ id }) => id === one.id)));
      at = answer.data.siguiente;
      if (!at || found.length >= size) break;
      if (search.words.length) replace(body, el("p", { class: "loading" }, `Buscando… ${count(looked, "entrega mirada", "entregas miradas")}, ${count(found.length, "encontrada")}.`));
    }
    return { ok: true, kind: "ok", found, next: at, looked, reached };
  }

  /** The delivery with the number that is searched for, which the API gives with its webhook only. */
  async function withNumber(signal = place.signal) {
    const asked = chosen ? [chosen] : hooks;
    const answers = await Promise.all(asked.map(({ id }) => portal.api.get(`/webhooks/${id}/entregas/${search.number}`, {}, signal)));
    const failed = answers.find((answer) => !answer.ok && answer.kind !== "notFound");
    if (failed) return failed;
    const one = answers.map((answer, i) => answer.ok && { ...answer.data, webhook: asked[i].id, datos: summaryOf(answer.data), byNumber: true }).find(Boolean);
    return { ok: true, kind: "ok", found: one && fits(one, filter) ? [one] : [] };
  }

  async function load() {
    const answer = await collect(cursor);
    if (place.signal.aborted) return answer;
    loaded = answer.ok;
    if (!answer.ok) {
      replace(body, wrongPage(answer));
      return answer;
    }
    take(answer);
    draw();
    portal.announce(shown.length ? `${count(shown.length, "entrega")} en esta página` : "Ninguna entrega");
    return answer;
  }

  function take(answer) {
    shown = answer.found;
    next = answer.next;
    if (!cursor) newest.set(first, shown[0]?.id);
    if (next) before.set(onward(), location.hash);
    else if (!Number.isNaN(skipped) && !set.estado && !set.conFallos) totals.set(first, { newest: newest.get(first), total: skipped + shown.length }); // states change at any time
  }

  /** How many deliveries the list has; undefined if that is not known. */
  function totalOf() {
    if (!next) return skipped + shown.length;
    const known = totals.get(first);
    return known?.newest === newest.get(first) ? known?.total : undefined;
  }

  const pageAt = (at, n, tam = "") => here({ cursor: at, n: Number.isNaN(n) ? "" : n, tam });
  const onward = () => pageAt(next, skipped + shown.length);

  function wrongPage(answer) {
    if (answer.kind === "invalid" && cursor) return notice("warning", el("p", {}, "Esta página ya no existe."), el("a", { class: "button", href: first }, "Ver las más recientes"));
    return problemBox(answer, { retry: answer.kind === "invalid" ? undefined : load, auto: true, id: "problema" });
  }

  function draw() {
    const what = { hooks: new Map(hooks.map((hook) => [hook.id, hook])), oneHook: Boolean(chosen) || hooks.length === 1, oneState: Boolean(set.estado), box: choice.any() ? choice.box : null, note: choice.note, now: portal.clock.now() };
    replace(body, next && stopped.has(location.hash) && notice("info", el("p", {}, `No es la última: se han recorrido ${count(skipped, "entrega")}; siga desde aquí.`)),
      shown.length > 0 && el("div", { class: "over" }, el("p", { id: "cuantas", class: "muted" }, amount()), many()), shown.length ? deliveryTable(shown, what) : nothing(), pages());
    choice.show(shown);
  }

  function amount() {
    const total = totalOf();
    if (busca) return `${count(shown.length, "encontrada")}${cursor ? " en esta página" : ""}${next ? "; quedan entregas más antiguas por mirar" : ""}`;
    if (total !== undefined && skipped === 0 && shown.length >= total) return count(total, "entrega");
    if (Number.isNaN(skipped)) return count(shown.length, "entrega");
    return `De la ${thousands(skipped + 1)} a la ${thousands(skipped + shown.length)}${total === undefined ? "" : ` de ${thousands(total)}`}`;
  }

  /** Where many of them are sent again: for the failed ones of one webhook. */
  function many() {
    const hook = chosen ?? (hooks.length === 1 ? hooks[0] : null);
    if (set.estado !== "fallida" || busca || !hook?.activo || portal.session.readOnly) return null;
    return el("a", { id: "reenviar-muchas", class: "target", href: hookLink(hook.id, "/reenvios", { evento: set.evento, desde: set.desde, hasta: set.hasta }) }, "Reenviar muchas");
  }

  function nothing() {
    if (next) return notice("info", el("p", {}, busca ? "Hasta aquí no hay ninguna que lo contenga, pero quedan entregas por mirar." : "Hasta aquí no hay ninguna con esos filtros, pero quedan entregas por mirar."));
    if (cursor) return notice("info", el("p", {}, "No quedan más entregas."));
    if (busca) return notice("info", el("p", {}, "No hay ninguna entrega que contenga lo que busca", Object.keys(filter).length > 0 && ", con esos filtros", "."));
    if (!Object.keys(filter).length) return notice("info", el("p", {}, "Todavía no hay ninguna entrega."));
    return notice("info", el("p", {}, "No hay ninguna entrega con esos filtros."), (set.desde || set.hasta) && el("p", {}, "Los días son los de su creación: las que han fallado hoy o ayer suelen ser anteriores. ", el("a", { href: here({ desde: "", hasta: "" }) }, "Ver las de cualquier día")));
  }

  function pages() {
    if (!next && !cursor) return null;
    const newer = before.get(location.hash) ?? first;
    return el("nav", { class: "pages", "aria-label": "Páginas" },
      cursor && newer !== first && el("a", { class: "button quiet", id: "primeras", href: first }, "Primera página"),
      cursor && el("a", { class: "button", id: "mas-recientes", href: newer }, "← Más recientes"),
      next && el("a", { class: "button", id: "mas-antiguas", href: onward() }, shown.length && !busca ? "Más antiguas →" : "Seguir buscando →"),
      next && !busca && shown.length > 0 && workButton({ label: "Última página", busy: "Contando…", kind: "quiet", id: "ultima", work: toTheEnd }).node);
  }

  /** Goes through the pages to the last one, or to the last of END_LOOKS, and so learns how many deliveries there are. */
  async function toTheEnd() {
    let at = { cursor: next, n: skipped + shown.length };
    let address = pageAt(at.cursor, at.n, MOST);
    let last = false;
    before.set(address, location.hash);
    for (let look = 0; look < END_LOOKS && !last; ++look) {
      const answer = await portal.api.get("/entregas", { ...filter, limite: MOST, cursor: at.cursor }, place.signal);
      if (place.signal.aborted) return;
      if (!answer.ok) return replace(fresh, problemBox(answer));
      const { siguiente, entregas } = answer.data;
      last = !siguiente;
      if (last) break;
      at = { cursor: siguiente, n: at.n + entregas.length };
      before.set(pageAt(at.cursor, at.n, MOST), address);
      address = pageAt(at.cursor, at.n, MOST);
    }
    if (!last) stopped.add(address);
    portal.go(address);
  }

  /** States change in place, and a row that no longer belongs to the list says so. New rows wait behind a button, so that the list does not move while it is read. */
  async function refresh() {
    if (!loaded) return load();
    const answer = await collect(cursor);
    if (!answer.ok || place.signal.aborted) return answer;
    const known = new Set(shown.map(({ id }) => id));
    const changed = new Map(answer.found.map((one) => [one.id, one]));
    const newer = cursor ? [] : answer.found.filter(({ id }) => !known.has(id) && (shown.length === 0 || id > shown[0].id));
    const left = ({ id }) => id >= answer.reached || String(id) === search.number;
    shown = shown.map((one) => changed.get(one.id) ?? (left(one) ? { ...one, gone: true } : one));
    if (newer.length > 0 || shown.some(({ gone }) => gone)) totals.delete(first); // it has grown or shrunk
    draw();
    replace(fresh, newer.length > 0 && el("button", { type: "button", class: "button fresh", id: "nuevas", onclick: () => {
      take(answer);
      replace(fresh);
      draw();
      body.querySelector("a[id^=entrega-]")?.focus();
    } }, `Hay ${newer.length >= size ? `${size} o más entregas nuevas` : count(newer.length, "entrega nueva", "entregas nuevas")}: verlas`));
    return answer;
  }

  return { load, refresh, source: { hooks, filters: set, search, ask, withNumber } };
}

/** Whether a delivery passes the filters, as the API judges it. */
function fits(delivery, filter) {
  const { estado, evento, creada } = delivery;
  const at = Date.parse(creada);
  return (!filter.conFallos || hasFailed(delivery)) && (!filter.estado || filter.estado === estado) && (!filter.evento || filter.evento === evento) && !(at < Date.parse(filter.desde)) && !(at >= Date.parse(filter.hasta));
}

const hasFailed = ({ estado, intentos, entregada, historial }) => estado === "fallida" || (entregada ? historial.some(({ numero, error }) => numero === 1 && error) : intentos > 0);
