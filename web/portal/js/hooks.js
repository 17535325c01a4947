// What the screens share that show webhooks: names, links, fetching one or all, and a notice if the token only reads.
import { el, foreign, replace, shortUrl, urlOf, urlOnRequest } from "./dom.js";
import { askOperator } from "./operator.js";
import { notice, problemBox } from "./problem.js";
import { link } from "./router.js";

/** The host of a webhook's URL, which people recognise; the whole text if there is no host. */
export function hostOf(url) {
  try {
    return new URL(url).host || url;
  } catch {
    return url;
  }
}

/** What people call a webhook: the name that the entity gave it, otherwise its host. @param {{nombre?: string | null, url: string}} hook */
export const nameOf = ({ nombre, url }) => nombre || hostOf(url);

/** Adds to each webhook without a name `apart`, the text that tells it from another one with the same shortened URL: its number, or "". @param {any[]} hooks of one entity */
export function tellApart(hooks) {
  const short = hooks.map(({ nombre, url }) => (nombre ? null : shortUrl(url)));
  return hooks.map((hook, i) => ({ ...hook, apart: short[i] !== null && short.indexOf(short[i]) !== short.lastIndexOf(short[i]) ? ` (n.º ${hook.id})` : "" }));
}

/** Name and URL in one line of plain text, for a list of options. */
export const labelOf = ({ nombre, url, apart = "" }) => (nombre ? `${nombre} · ${shortUrl(url)}` : `${shortUrl(url)}${apart}`);

/** Name and URL, the URL shortened if it is long. */
export const titleOf = ({ nombre, url, apart }) => (nombre ? [el("strong", {}, foreign(nombre)), " ", el("span", { class: "muted" }, urlOf(shortUrl(url)))] : [urlOf(shortUrl(url)), apart]);

/** In a cell: the name alone, which is unique within an entity; without a name the URL, since hosts are not. */
export const cellName = ({ nombre, url, apart }) => (nombre ? foreign(nombre) : [urlOf(shortUrl(url)), apart]);

/**
 * Fetches all webhooks of the entity, at most five, each as GET /webhooks/{id} gives it: the list alone has no names. One that cannot be fetched is as in the list.
 * @param {import("./main.js").Portal["api"]} api
 */
export async function fetchHooks(api, signal) {
  const list = await api.get("/webhooks", {}, signal);
  if (!list.ok) return list;
  const data = await Promise.all(list.data.map(async (listed) => {
    const answer = await api.get(`/webhooks/${listed.id}`, {}, signal);
    return answer.ok ? answer.data : answer.kind === "notFound" ? null : listed;
  }));
  return { ...list, data: tellApart(data.filter(Boolean)) };
}

/** The address of one of a webhook's screens. @param {string | number} id @param {string} [rest] */
export const hookLink = (id, rest = "", query = {}) => link(`/webhooks/${id}${rest}`, query);

export const backTo = (id, words = "Volver al webhook") => el("p", { class: "back" }, el("a", { href: hookLink(id) }, el("span", { "aria-hidden": "true" }, "← "), words));

/**
 * Draws the heading, fetches the webhook and calls `draw` with it; shows the problem if it cannot be fetched.
 * @param {import("./main.js").Portal} portal
 * @param {import("./router.js").Place} place
 * @param {string} title
 * @param {(region: Element, webhook: any, etag: string | null) => any} draw
 */
export async function withHook(portal, place, title, draw) {
  place.title(title);
  const region = el("div", { class: "narrow" }, el("p", { class: "loading" }, "Cargando…"));
  const about = el("div", { class: "about" });
  replace(place.root, backTo(place.params.webhook), el("h1", {}, title), about, region);
  const answer = await portal.api.get(`/webhooks/${place.params.webhook}`, {}, place.signal);
  if (place.signal.aborted) return;
  if (!answer.ok) return replace(region, missing(answer, () => portal.show()));
  place.title(`${title} · ${nameOf(answer.data)}`);
  replace(about, answer.data.nombre && el("strong", {}, foreign(answer.data.nombre)), urlOnRequest(answer.data.url));
  await draw(region, answer.data, answer.etag);
}

function missing(answer, retry) {
  if (answer.kind !== "notFound") return problemBox(answer, { retry });
  return notice("warning", el("p", { class: "notice-title" }, "Este webhook ya no existe"), el("p", {}, "Puede que alguien de su entidad lo haya eliminado. ", el("a", { href: link("/") }, "Ver los que hay")));
}

/** A notice that the token only reads; null if it may change data. @param {import("./main.js").Portal} portal @param {string} what the action that needs more, such as "registrar un webhook" */
export function onlyReads(portal, what) {
  if (!portal.session.readOnly) return null;
  return notice("warning", el("p", { class: "notice-title" }, "Su token es de solo lectura"),
    el("p", {}, `Para ${what} hace falta un token que permita cambiar: pídalo a quien lo tenga en su entidad.`), askOperator(portal.session, "Los tokens los entrega el operador del servicio"));
}
