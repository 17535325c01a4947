// Entregas: what was sent to one webhook, newest first, a page at a time. The page is in the address: Back, a reload and a bookmark lead to the same page.
import { el, foreign, replace, urlOf } from "../dom.js";
import { field, incomplete, judge } from "../field.js";
import { poll } from "../poll.js";
import { notice, problemBox } from "../problem.js";
import { causeOf } from "../remedies.js";
import { link } from "../router.js";
import { fromMadrid, madridCompact, toMadrid, utcBeside, when } from "../time.js";
import { EVENTS, STATES, count, eventName, stateBadge } from "../words.js";

const LIMIT = 50;
const LOOKS = 5; // the most requests for one page: the API may answer with a short or empty page although further pages follow
const EVERY_MS = 30_000;
const before = new Map(); // maps a page's address to the address of the page with the next newer deliveries, for "Más recientes"

export async function deliveriesScreen(portal, place) {
  place.title("Entregas");
  const subtitle = el("p", { class: "muted" });
  const filters = el("div");
  const fresh = el("div", { role: "status" });
  const body = el("div", { id: "entregas" }, el("p", { class: "loading" }, "Consultando…"));
  replace(place.root, el("h1", {}, "Entregas"), subtitle, filters, fresh, body);
  const webhooks = await portal.api.get("/webhooks", {}, place.signal);
  if (place.signal.aborted) return;
  if (!webhooks.ok) return replace(body, problemBox(webhooks, { retry: portal.show, auto: true }));
  if (!webhooks.data.length) return replace(body, notice("info", el("p", {}, "Su entidad no tiene webhooks, y por eso no hay entregas. ", el("a", { href: link("/") }, "Por dónde empezar"))));
  const chosen = webhooks.data.find(({ id }) => String(id) === place.query.webhook) ?? webhooks.data[0];
  replace(subtitle, urlOf(chosen.url), place.query.estado === "fallida" && chosen.activo && !portal.session.readOnly && [" · ", el("a", { id: "reenviar-muchas", class: "target", href: manyOf(chosen, place.query) }, "Reenviar muchas")]);
  replace(filters, filterForm(portal, place, webhooks.data, chosen));
  const list = listOf(portal, place, chosen.id, { body, fresh });
  await list.load();
  poll(list.refresh, { every: EVERY_MS, signal: place.signal });
}

function filterForm(portal, { query }, webhooks, chosen) {
  const options = (pairs, selected) => pairs.map(([value, words]) => el("option", { value, selected: value === selected }, words));
  const select = (id, label, pairs, selected) => field({ label, attributes: { id }, control: el("select", { name: id }, options(pairs, selected)) });
  const webhook = select("webhook", "Webhook", webhooks.map(({ id, url }) => [String(id), short(url)]), String(chosen.id));
  const estado = select("estado", "Estado", [["", "Todos"], ...Object.entries(STATES).map(([name, [word]]) => [name, word])], query.estado ?? "");
  const evento = select("evento", "Evento", [["", "Todos"], ...Object.entries(EVENTS)], query.evento ?? "");
  const time = (id, label) => field({ label, attributes: { id, type: "datetime-local", value: toMadrid(query[id] ?? "") } });
  const desde = time("desde", "Creadas desde");
  const hasta = time("hasta", "y antes de");
  const submit = (event) => {
    event.preventDefault();
    const from = fromMadrid(desde.value());
    const to = fromMadrid(hasta.value());
    const wrong = from && to && from > to ? "Es posterior a la otra fecha." : "";
    if (judge([[desde, incomplete(desde) || wrong], [hasta, incomplete(hasta)]])) portal.go(link("/entregas", { webhook: webhook.value(), estado: estado.value(), evento: evento.value(), desde: from, hasta: to }));
  };
  const narrowed = ["estado", "evento", "desde", "hasta"].some((name) => query[name]);
  return el("details", { class: "card", id: "filtros", open: narrowed || matchMedia("(min-width: 44rem)").matches }, el("summary", {}, "Filtros"),
    el("form", { class: "filters", onsubmit: submit, novalidate: true }, webhook.node, estado.node, evento.node, desde.node, hasta.node,
      el("div", { class: "actions" }, el("button", { type: "submit", class: "button primary", id: "filtrar" }, "Filtrar"),
        narrowed && el("a", { class: "button quiet", id: "quitar", href: link("/entregas", { webhook: chosen.id }) }, "Quitar los filtros"))));
}

const manyOf = ({ id }, { evento, desde, hasta }) => link(`/webhooks/${id}/reenvios`, { evento, desde, hasta });

const short = (url) => (url.length > 70 ? `${url.slice(0, 67)}…` : url);

/** Loads one page of the list, and refreshes it without moving the visible rows. */
function listOf(portal, place, webhook, { body, fresh }) {
  const { estado, evento, desde, hasta, cursor = "" } = place.query;
  const filter = { estado, evento, desde, hasta };
  const path = `/webhooks/${webhook}/entregas`;
  const here = (more) => link("/entregas", { webhook, ...filter, ...more });
  let shown = [];
  let next = null;
  let loaded = false;

  /** Fetches until it has LIMIT deliveries or no more follow, at most LOOKS times. */
  async function collect(from) {
    const found = [];
    let at = from;
    for (let looks = 0; looks < LOOKS; ++looks) {
      const answer = await portal.api.get(path, { ...filter, limite: LIMIT - found.length, cursor: at }, place.signal);
      if (!answer.ok) return answer;
      found.push(...answer.data.entregas);
      at = answer.data.siguiente;
      if (!at || found.length >= LIMIT) break;
    }
    return { ok: true, kind: "ok", found, next: at };
  }

  async function load() {
    const answer = await collect(cursor);
    if (place.signal.aborted) return answer;
    loaded = answer.ok;
    if (!answer.ok) {
      replace(body, wrongPage(answer));
      return answer;
    }
    shown = answer.found;
    next = answer.next;
    if (next) before.set(here({ cursor: next }), location.hash);
    draw();
    portal.announce(shown.length ? `${count(shown.length, "entrega")} en esta página` : "Ninguna entrega");
    return answer;
  }

  function wrongPage(answer) {
    if (answer.kind === "invalid" && cursor) return notice("warning", el("p", {}, "Esta página ya no existe."), el("a", { class: "button", href: here({}) }, "Ver las más recientes"));
    return problemBox(answer, { retry: load, auto: true, id: "problema" });
  }

  function draw() {
    const now = portal.clock.now();
    replace(body, shown.length ? table(shown, webhook, now) : nothing(), pages());
  }

  function nothing() {
    if (next) return notice("info", el("p", {}, "Hasta aquí no hay ninguna con esos filtros, pero quedan entregas por mirar."));
    if (cursor) return notice("info", el("p", {}, "No quedan más entregas."));
    const narrowed = Object.values(filter).some(Boolean);
    return notice("info", el("p", {}, narrowed ? "No hay ninguna entrega con esos filtros." : "No hay entregas de este webhook."));
  }

  function pages() {
    if (!next && !cursor) return null;
    const newer = before.get(location.hash) ?? here({});
    return el("nav", { class: "pages", "aria-label": "Páginas" },
      cursor && el("a", { class: "button", id: "mas-recientes", href: newer }, "← Más recientes"),
      cursor && newer !== here({}) && el("a", { class: "button quiet", id: "primeras", href: here({}) }, "Al principio"),
      next && el("a", { class: "button", id: "mas-antiguas", href: here({ cursor: next }) }, shown.length ? "Más antiguas →" : "Seguir buscando →"));
  }

  /** States change in place. New rows wait behind a button, so that the list does not move while it is read. */
  async function refresh() {
    if (!loaded) return load();
    const answer = await collect(cursor);
    if (!answer.ok || place.signal.aborted) return answer;
    const known = new Set(shown.map(({ id }) => id));
    const changed = new Map(answer.found.map((one) => [one.id, one]));
    const newer = cursor ? [] : answer.found.filter(({ id }) => !known.has(id) && (shown.length === 0 || id > shown[0].id));
    shown = shown.map((one) => changed.get(one.id) ?? one);
    draw();
    replace(fresh, newer.length > 0 && el("button", { type: "button", class: "button fresh", id: "nuevas", onclick: () => {
      shown = answer.found;
      next = answer.next;
      replace(fresh);
      draw();
      body.querySelector("a")?.focus();
    } }, `Hay ${newer.length >= LIMIT ? `${LIMIT} o más entregas nuevas` : count(newer.length, "entrega nueva", "entregas nuevas")}: verlas`));
    return answer;
  }

  return { load, refresh };
}

// Has explicit roles: on a telephone the rows are laid out as cards, and some browsers then no longer treat the element as a table.
function table(deliveries, webhook, now) {
  const head = ["Creada", "Evento", "Estado", "Intentos", "Qué pasó"];
  return el("table", { class: "deliveries", role: "table" },
    el("caption", { class: "hidden" }, "Entregas, las más recientes primero"),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head.map((name) => el("th", { scope: "col", role: "columnheader" }, name)))),
    el("tbody", { role: "rowgroup" }, deliveries.map((one) => row(one, webhook, now))));
}

function row(one, webhook, now) {
  const cell = (name, ...children) => el("td", { role: "cell", "data-name": name }, ...children);
  return el("tr", { role: "row" },
    cell("Creada", el("a", { href: link(`/entregas/${webhook}/${one.id}`), id: `entrega-${one.id}`, class: "target" }, el("time", { datetime: one.creada }, madridCompact(one.creada, now))), el("span", { class: "utc small" }, " ", utcBeside(one.creada))),
    cell("Evento", eventName(one.evento), one.prueba && el("span", { class: "muted" }, " (prueba)")),
    cell("Estado", stateBadge(one.estado)),
    cell("Intentos", String(one.intentos)),
    cell("Qué pasó", outcome(one, now)));
}

function outcome(one, now) {
  if (one.estado === "entregada") return el("span", { class: "muted" }, `Recibida ${when(one.entregada ?? one.terminada, now)}`);
  const cause = causeOf(one.ultimoError);
  const next = one.proximoIntento && `se intentará ${when(one.proximoIntento, now)}`;
  if (cause) return [foreign(cause.charAt(0).toUpperCase() + cause.slice(1)), next && `; ${next}`];
  return next ? next.charAt(0).toUpperCase() + next.slice(1) : "–";
}
