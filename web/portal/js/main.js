// Starts the portal. The first screen, which asks for the token, is drawn at once: the portal sends no request before it has a token.
import { announce } from "./announce.js";
import { createApi } from "./api.js";
import { forgetDone } from "./change.js";
import { el, foreign, replace } from "./dom.js";
import { createDrafts } from "./drafts.js";
import { watchIdle } from "./idle.js";
import { contactOf } from "./operator.js";
import { createRouter, link } from "./router.js";
import { routes } from "./routes.js";
import { createSession } from "./session.js";
import { askForToken, enterScreen } from "./screens/enter.js";
import { Clock, zoneNote } from "./time.js";
import { visible } from "./visible.js";
import { offerZones } from "./zone.js";

const NAME = "Portal de avisos";
const root = /** @type {Element} */ (document.getElementById("contenido"));

/**
 * The first argument of every screen: screen(portal, place).
 * @typedef {object} Portal
 * @property {ReturnType<typeof createApi>} api
 * @property {ReturnType<typeof createSession>} session
 * @property {Clock} clock
 * @property {ReturnType<typeof createDrafts>} drafts
 * @property {(text: string) => void} announce
 * @property {(hash: string) => void} go
 * @property {() => void} back
 * @property {() => void} show draws the screen again
 * @property {(headers: Headers) => void} learn takes the service's time from an answer's headers
 */
const session = createSession();
const clock = new Clock();
const drafts = createDrafts(() => session.entity?.id);
const api = createApi({
  token: () => session.token,
  askForToken: (message) => askForToken(portal, message),
  session: () => session.number,
  onHeaders: learn,
  onForbidden: () => session.onlyReads(),
});

const router = createRouter({
  pageTitle: (text) => visible([text, session.entity?.nombre, NAME].filter(Boolean).join(" · ")),
  root,
  changed: drafts.changed,
  askToLeave: drafts.askToLeave,
  routes: routes.map(({ pattern, screen }) => ({ pattern, screen: (place) => (session.open ? screen(portal, place) : enterScreen(portal, place)) })),
});
/** @type {Portal} */
const portal = { api, session, clock, drafts, announce, learn, go: router.go, back: router.back, show: router.show };

/** @param {Headers} headers of any answer */
function learn(headers) {
  clock.learn(headers.get("Date"));
  showNotes();
}

function showNotes() {
  const notes = [clock.warning(), zoneNote()].filter(Boolean);
  replace(document.getElementById("notas"), notes.map((note) => el("p", { class: "notice warning" }, note)));
}

function showSession() {
  for (const part of document.querySelectorAll("[data-session]")) part.toggleAttribute("hidden", !session.open);
  replace(document.getElementById("entidad"), session.entity && foreign(session.entity.nombre));
  const contact = contactOf(session);
  replace(document.getElementById("operador"), contact && ["Operador del servicio: ", contact]);
  document.querySelector("[data-read-only]")?.toggleAttribute("hidden", !(session.open && session.readOnly));
  for (const part of document.querySelectorAll("[data-changes]")) part.toggleAttribute("hidden", session.readOnly);
}

function showWhere() {
  const here = location.hash.split("?")[0] || link("/");
  for (const one of document.querySelectorAll("#menu a")) {
    const its = one.getAttribute("href") ?? "";
    const current = its === link("/") ? here === its : here.startsWith(its);
    if (current) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
}

document.getElementById("salir")?.addEventListener("click", async () => {
  if (drafts.changed() && !(await router.askToLeave("Se olvida lo de esta pantalla; en un equipo compartido, cierre la pestaña."))) return;
  drafts.forget();
  session.end();
  router.go(link("/"));
});
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  const main = /** @type {HTMLElement} */ (root);
  main.focus();
});
session.onChange(showSession);
session.onChange(() => session.open || forgetDone());
offerZones({ drafts, changed: () => {
  showNotes();
  if (session.open) router.show(); // the login shows no times, and what is typed into it would be lost
} });
watchIdle({ session, clock, end: () => {
  drafts.keep();
  session.end("La sesión se ha cerrado porque llevaba media hora sin uso. Al entrar otra vez seguirá donde estaba, con lo que había escrito, salvo los secretos.");
  router.show();
} });
addEventListener("beforeunload", (event) => {
  drafts.keep();
  if (drafts.changed()) event.preventDefault();
});
addEventListener("hashchange", showWhere);
addEventListener("hashchange", () => forgetDone(location.hash));
showSession();
showWhere();
showNotes();
router.show({ first: true });
