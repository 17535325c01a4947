// Reenvíos y Actividad: two lists of the API, a page at a time.
import { el, foreign, replace } from "../dom.js";
import { setChip } from "../filters.js";
import { fetchHooks, hookLink, nameOf } from "../hooks.js";
import { poll } from "../poll.js";
import { notice, problemBox } from "../problem.js";
import { link } from "../router.js";
import { bothTimes, span, utcBeside, zoned } from "../time.js";
import { remedyOf } from "../remedies.js";
import { SLOWLY_MS, going, retrying, settled, stateOf } from "./replay.js";
import { ADDED, REMOVED, count, eventName, thousands, withEvents } from "../words.js";

const LOOKS = 5; // the most requests for one page: the API may answer with a short or empty page although further pages follow
const LIMIT = 50;
const EVERY_MS = 5_000;
const TOGETHER_MS = 30_000; // between two replays of single deliveries that are shown as one row

export const replaysScreen = (portal, place) => historyScreen(portal, place, {
  title: "Reenvíos", lead: "Lo que se ha pedido enviar otra vez, y cómo va. Se conserva 30 días.", path: "/reenvios", member: "reenvios", none: "Todavía no se ha pedido ningún reenvío.",
  head: ["Pedido", "Webhook", "Qué", "Cómo va"], group: together, row: replaysRow, moves: (one) => going(one) || !settled(one),
});

export const activityScreen = (portal, place) => historyScreen(portal, place, {
  title: "Actividad", lead: "Quién cambió qué, con cada token de su entidad.", path: "/actividad", member: "actividad", none: "Todavía no hay ningún cambio.",
  head: ["Cuándo", "Quién", "Qué hizo", "Webhook"], group: latestFirst, row: activityRow, moves: () => false, filters: ["token"],
});

async function historyScreen(portal, place, what) {
  place.title(what.title);
  const body = el("div", { id: "historia" }, el("p", { class: "loading" }, "Cargando…"));
  replace(place.root, el("h1", {}, what.title), el("p", { class: "lead" }, what.lead), body);
  const hooks = await fetchHooks(portal.api, place.signal);
  if (place.signal.aborted) return;
  if (!hooks.ok) return replace(body, problemBox(hooks, { retry: portal.show }));
  const byId = new Map(hooks.data.map((hook) => [hook.id, hook]));
  const { cursor = "" } = place.query;
  const filter = Object.fromEntries((what.filters ?? []).map((name) => [name, place.query[name]]));
  const chosen = filter.token && el("ul", { class: "chips set", "aria-label": "Filtros puestos" }, el("li", {}, setChip("token", link(what.path), ["Token: ", foreign(filter.token)])));
  const turns = poll(async () => {
    const answer = await collect(portal.api, what, { ...filter, cursor }, place.signal);
    if (place.signal.aborted) return { ok: true, done: true };
    if (!answer.ok) replace(body, answer.kind === "invalid" && cursor ? notice("warning", el("p", {}, "Esta página ya no existe. ", el("a", { href: link(what.path, filter) }, "Ver lo más reciente"))) : problemBox(answer, { retry: () => turns.now() }));
    else replace(body, chosen, answer.found.length ? table(what, answer.found, byId) : notice("info", el("p", {}, answer.next ? "Hasta aquí no hay nada, pero queda por mirar." : cursor || chosen ? "No queda nada más." : what.none)), pages(what, filter, cursor, answer.next));
    return { ok: answer.ok, retryAfter: answer.retryAfter, wait: answer.ok && !answer.found.some(going) ? SLOWLY_MS : 0, done: answer.ok ? !answer.found.some(what.moves) : answer.kind === "invalid" };
  }, { every: EVERY_MS, signal: place.signal });
  await turns.now();
}

async function collect(api, { path, member }, { cursor, ...filter }, signal) {
  const found = [];
  let at = cursor;
  for (let look = 0; look < LOOKS; ++look) {
    const answer = await api.get(path, { ...filter, limite: filter.token ? LIMIT : LIMIT - found.length, cursor: at }, signal);
    if (!answer.ok) return answer;
    found.push(...answer.data[member]);
    at = answer.data.siguiente;
    if (!at || found.length >= LIMIT) break;
  }
  return { ok: true, found, next: at };
}

function pages({ path }, filter, cursor, next) {
  if (!cursor && !next) return null;
  return el("nav", { class: "pages", "aria-label": "Páginas" }, cursor && el("a", { class: "button", href: link(path, filter) }, "← Lo más reciente"), next && el("a", { class: "button", id: "mas-antiguas", href: link(path, { ...filter, cursor: next }) }, "Más antiguo →"));
}

// Has explicit roles, as the list of deliveries: on a telephone the rows are laid out as cards.
function table({ title, head, group, row }, found, hooks) {
  return el("table", { class: "deliveries", role: "table" }, el("caption", { class: "hidden" }, `${title}, lo más reciente primero`),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head.map((name) => el("th", { scope: "col", role: "columnheader" }, name)))),
    el("tbody", { role: "rowgroup" }, (group?.(found) ?? found).map((one) => el("tr", { role: "row" }, row(one, hooks).map((value, i) => el("td", { role: "cell", "data-name": head[i] }, value))))));
}

const timeCell = (iso) => [el("time", { datetime: iso }, zoned(iso)), el("span", { class: "utc small" }, " ", utcBeside(iso))];

const named = (id, hooks) => (id === null ? "" : hooks.has(id) ? el("a", { href: hookLink(id), class: "target" }, foreign(nameOf(hooks.get(id)))) : `Webhook ${id}, eliminado`);

/** Lists of replays: the deliveries that are chosen in the list are sent again one by one, and are in one list. */
function together(found) {
  const lists = [];
  for (const one of found) {
    const newer = lists.at(-1)?.at(-1);
    if (newer && newer.entrega !== null && one.entrega !== null && Date.parse(newer.pedido) - Date.parse(one.pedido) < TOGETHER_MS) lists.at(-1)?.push(one);
    else lists.push([one]);
  }
  return lists;
}

function replaysRow(list, hooks) {
  const first = list.at(-1);
  if (list.length === 1) return [timeCell(first.pedido), named(first.webhook, hooks), whatOf(first, hooks), progressOf(first)];
  const sum = (/** @type {string} */ name) => list.reduce((all, one) => all + one[name], 0);
  const whole = { id: first.id, estado: list.find(going)?.estado ?? "terminado", candidatas: sum("candidatas"), reenviadas: sum("reenviadas"), entregadas: sum("entregadas"), fallidas: sum("fallidas"), porReintentar: sum("porReintentar") };
  return [
    timeCell(first.pedido), [...new Set(list.map(({ webhook }) => webhook))].map((webhook) => el("p", {}, named(webhook, hooks))),
    el("details", { id: `reenvios-${first.id}` }, el("summary", {}, count(list.length, "reenvío")), el("ul", { class: "plain-list" }, list.map((one) => el("li", {}, whatOf(one, hooks), whyOf(one) || (one.fallidas > 0 && ": fallida"))))),
    progressOf(whole),
  ];
}

function whatOf({ id, webhook, entrega, evento, candidatas }, hooks) {
  const what = entrega === null ? count(candidatas, "entrega") : `${evento ? `${eventName(evento)}, entrega` : "La entrega"} ${entrega}`;
  const address = entrega === null ? hookLink(webhook, `/reenvios/${id}`) : link(`/entregas/${webhook}/${entrega}`);
  return hooks.has(webhook) ? el("a", { href: address, class: "target" }, what) : what;
}

function progressOf(replay) {
  const { id, candidatas, reenviadas, entregadas, fallidas } = replay;
  const words = [`${thousands(reenviadas)} de ${count(candidatas, "reenviada")}`, count(entregadas, "recibida"), fallidas && count(fallidas, "fallida"), retrying(replay)];
  return [el("p", {}, `${stateOf(replay)}: ${words.filter(Boolean).join(", ")}.`), whyOf(replay), going(replay) && el("progress", { max: Math.max(1, candidatas), value: reenviadas, "aria-label": `Reenvío ${id}` })];
}

/** Why the replay of one delivery has failed, and what to do. */
function whyOf(replay) {
  const failed = (replay.fallidas > 0 || replay.porReintentar > 0) && remedyOf(replay.ultimoError);
  return failed && el("p", { class: "small" }, el("strong", { class: "bad-words" }, "✕ Ha vuelto a fallar: "), foreign(failed.cause), ". ", el("strong", {}, "Qué hacer: "), foreign(failed.remedy));
}

const ACTIONS = { alta: "Registró el webhook", cambio: "Cambió el webhook", secreto: "Cambió el secreto", baja: "Eliminó el webhook", reenvio: "Reenvío", diagnostico: "Pidió un diagnóstico", contactos: "Cambió las alertas por correo" };
const instant = (value) => (Number.isNaN(Date.parse(value)) ? worded(value) : bothTimes(value));

const ACTIVE = { true: "activo", false: "en pausa" };

/** The members of `detalle`: [words, how the value is shown]. */
const MEMBERS = {
  url: ["dirección", changed], nombre: ["nombre", changed], eventos: ["avisos", changed], activo: ["estado", (value) => changed(value instanceof Object && "ahora" in value ? { antes: ACTIVE[value.antes], ahora: ACTIVE[value.ahora] } : value)], motivo: ["desactivado por", changed],
  fallaDesde: ["dejó de contar los fallos desde", (value) => instant(value?.antes ?? value)],
  graciaSegundos: ["el anterior sigue firmando", (value) => (value === 0 ? "no" : span(value * 1000))],
  reenvio: ["reenvío", changed], entrega: ["entrega", changed], desde: ["desde", instant], hasta: ["hasta", instant], candidatas: ["entregas", changed],
  alta: ["se añade", changed], baja: ["se quita", changed], avisos: ["se cambia lo que recibe", changed], confirmado: ["se confirma", changed],
  codigo: ["se pide un código para", changed], sinAvisos: ["ya no recibe alertas, por el enlace de un correo", changed],
};

/** A repeated change is listed at its first time by the API: its last one is what is in force. */
const latestFirst = (found) => [...found].sort((one, other) => Date.parse(other.ultima) - Date.parse(one.ultima));

function activityRow({ cuando, accion, webhook, token, detalle, veces, ultima }, hooks) {
  const what = detalle ?? {};
  const replayed = accion === "reenvio" && veces > 1;
  const hidden = new Set(["cancelado", replayed && "entrega", replayed && "reenvio"]); // the title says them
  const details = Object.entries(what).filter(([name]) => !hidden.has(name)).map(([name, value]) => {
    const [words, show] = MEMBERS[name] ?? [name, changed];
    return el("li", {}, `${words}: `, show(value));
  });
  return [
    timeCell(ultima), token ? el("a", { class: "target", href: link("/actividad", { token }) }, el("span", { class: "hidden" }, "Solo lo de "), foreign(token)) : el("span", { class: "muted" }, "sinAvisos" in what ? "Quien recibía las alertas" : "Un token sin etiqueta"),
    [titleOf(accion, what, veces), details.length > 0 && el("ul", { class: "plain-list small muted" }, details),
      veces > 1 && el("p", { class: "small muted" }, replayed ? "El primero, " : `${thousands(veces)} veces; la primera, `, bothTimes(cuando))],
    named(webhook, hooks),
  ];
}

/** What was done. Of several equal actions, `what` is of the first one. */
function titleOf(action, what, times) {
  if (action !== "reenvio") return ACTIONS[action] ?? foreign(action);
  if (what.cancelado) return times > 1 ? `Detuvo ${thousands(times)} reenvíos` : "Detuvo un reenvío";
  if (times === 1) return ACTIONS.reenvio;
  return `${thousands(times)} reenvíos${what.entrega ? `; el primero, de la entrega ${what.entrega}` : what.desde ? "; el primero:" : ""}`;
}

const FEW = 3; // events that are named one by one

function changed(value) {
  if (value === null || typeof value !== "object" || !("ahora" in value)) return worded(value);
  const { antes, ahora } = value;
  if (!Array.isArray(antes) || !Array.isArray(ahora)) return [worded(antes), " → ", worded(ahora)];
  return foreign([withEvents(ADDED, ahora.filter((event) => !antes.includes(event))), withEvents(REMOVED, antes.filter((event) => !ahora.includes(event)))].filter(Boolean).join("; "));
}

function worded(value) {
  if (value === null) return "ninguno";
  if (typeof value === "boolean") return value ? "sí" : "no";
  if (Array.isArray(value)) return value.length > FEW ? String(value.length) : foreign(value.map((one) => eventName(String(one))).join(", "));
  return foreign(typeof value === "object" ? JSON.stringify(value) : String(value));
}
