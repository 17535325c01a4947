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

const numbered = (text, { id }) => `${text} (n.º ${id})`;

/** What people call a webhook: the name that the entity gave it, otherwise its host and its number, by which the mails call it. @param {{nombre?: string | null, url: string, id: number}} hook */
export const nameOf = (hook) => hook.nombre || numbered(hostOf(hook.url), hook);

/** Name and URL in one line of plain text, for a list of options. */
export const labelOf = (hook) => `${nameOf(hook)} · ${shortUrl(hook.url)}`;

/** Name and URL, the URL shortened if it is long. */
export const titleOf = (hook) => [el("strong", {}, foreign(nameOf(hook))), " ", el("span", { class: "muted" }, urlOf(shortUrl(hook.url)))];

/** Who has paused the webhook: the label of the token; "" if that is not known, or if the entity has not paused it. @param {import("./main.js").Portal["api"]} api */
export async function pausedBy(api, { id, activo, motivo }, signal) {
  if (activo || motivo !== "entidad") return "";
  const answer = await api.get("/actividad", { limite: 100 }, signal);
  // Equal changes of one hour are one row, at the place of the first.
  const pauses = answer.ok ? answer.data.actividad.filter(({ webhook, detalle }) => webhook === id && detalle?.activo?.ahora === false) : [];
  return pauses.reduce((newest, one) => (newest && newest.ultima > one.ultima ? newest : one), null)?.token || "";
}

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
  return { ...list, data: data.filter(Boolean) };
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
  replace(about, el("strong", {}, foreign(nameOf(answer.data))), " ", urlOnRequest(answer.data.url));
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
