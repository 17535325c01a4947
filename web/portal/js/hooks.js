// What the screens of one webhook share: they fetch the webhook, show its host as its name, link back to it, and show a
// notice if the token only reads.
import { el, foreign, replace } from "./dom.js";
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
  const about = el("p", { class: "about" });
  replace(place.root, backTo(place.params.webhook), el("h1", {}, title), about, region);
  const answer = await portal.api.get(`/webhooks/${place.params.webhook}`, {}, place.signal);
  if (place.signal.aborted) return;
  if (!answer.ok) return replace(region, missing(answer, () => portal.show()));
  replace(about, foreign(hostOf(answer.data.url)));
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
    el("p", {}, `Para ${what} hace falta un token que permita cambiar: pídalo al operador, o a quien lo tenga en su entidad.`));
}
