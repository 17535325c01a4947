// Resumen: how each webhook is and what to do now, and its last 24 hours.
import { byHour, dayChart, dayTable, legend } from "../chart.js";
import { tellDone, unsure, workButton } from "../change.js";
import { CONTACTS, fetchContacts } from "../contacts.js";
import { el, foreign, replace, shortUrl, urlOf } from "../dom.js";
import { hookLink, nameOf } from "../hooks.js";
import { poll } from "../poll.js";
import { alerted, notice, problemBox } from "../problem.js";
import { remedyOf } from "../remedies.js";
import { link } from "../router.js";
import { bothTimes, zonedHour } from "../time.js";
import { RELEASED, restOf, webhookState } from "../webhook_state.js";
import { capital, count, listed, thousands } from "../words.js";

const EVERY_MS = 60_000;
const PAGES = 3; // the most pages of deliveries to read for a webhook's chart; a page has up to 100 deliveries
const DAY = 86_400_000;
const MOST = 5; // webhooks of an entity

export function summaryScreen(portal, place) {
  place.title("Resumen");
  const body = el("div", { id: "resumen" }, el("p", { class: "loading" }, "Consultando…"));
  const trouble = el("div");
  const told = el("div", { class: "verdict-place" });
  const mails = el("div", { id: "quien-se-entera" });
  const at = el("p", { class: "muted small", id: "actualizado" });
  const refresh = el("button", { type: "button", class: "button", id: "actualizar", onclick: async () => {
    await turns.now();
    portal.announce("Resumen actualizado");
  } }, "Actualizar");
  replace(place.root, el("div", { class: "head" }, el("h1", {}, "Resumen"), told, el("div", { class: "actions" }, refresh)), trouble, body, mails, at);
  noAddressTold(portal, place).then((words) => replace(mails, words));

  let drawn;
  const first = new Promise((resolve) => (drawn = resolve));
  const opened = new Set(); // ids of the webhooks with their details in view
  const turns = poll(async () => {
    const answer = await load(portal, place.signal);
    if (answer.kind === "aborted" || place.signal.aborted) return answer;
    if (answer.ok) {
      const judged = judge(answer.data, portal.clock.now());
      replace(trouble);
      replace(told, judged.length > 0 && verdict(judged));
      replace(body, judged.length ? overview({ portal, place, trouble, opened, again: () => turns.now() }, judged) : nothingYet(portal));
      replace(at, `Actualizado a las ${zonedHour(portal.clock.now())}. Se actualiza solo cada minuto.`);
    } else {
      replace(trouble, problemBox(answer, { retry: () => turns.now(), auto: true, id: "problema" }));
      body.querySelector(".loading")?.remove();
    }
    drawn();
    const failed = answer.ok && answer.data.map((one) => one.problem).filter(Boolean);
    return failed?.length ? { ok: false, retryAfter: Math.max(...failed.map((one) => one.retryAfter)) } : answer;
  }, { every: EVERY_MS, signal: place.signal, now: true });
  return first;
}

/** Says so if the operator sends mails and no address of the entity gets any. */
async function noAddressTold(portal, place) {
  const answer = await fetchContacts(portal, place.signal);
  const told = !answer.ok || !answer.data.operadorEnviaCorreo || answer.data.contactos.some(({ confirmado, rechazado, avisos }) => confirmado && !rechazado && avisos.length);
  return !told && notice("info", el("p", {}, "Nadie recibe un correo si un webhook falla o se desactiva: ", el("a", { href: CONTACTS }, "elija quién recibe las alertas"), "."));
}

/**
 * Fetches everything that the screen shows: the list of webhooks (at most five), and for each its state, its statistics of 24 hours and of 7 days, and at most
 * PAGES pages of its deliveries of the last 24 hours. What could not be fetched of a webhook is its `problem`.
 */
async function load({ api, clock }, signal) {
  const list = await api.get("/webhooks", {}, signal);
  if (!list.ok) return list;
  const all = await Promise.all(list.data.map((listed) => loadOne(api, clock, listed, signal)));
  return { ...list, data: all.filter(Boolean) };
}

async function loadOne(api, clock, listed, signal) {
  const path = `/webhooks/${listed.id}`;
  const asked = [api.get(path, {}, signal), api.get(`${path}/estadisticas`, { ventana: "24h" }, signal), api.get(`${path}/estadisticas`, { ventana: "7d" }, signal), dayOf(api, clock, listed.id, signal)];
  const [webhook, day, week, deliveries] = await Promise.all(asked);
  if (webhook.kind === "notFound") return null; // deleted since the list was fetched
  const problem = [webhook, day, week, deliveries].find((answer) => !answer.ok) ?? null;
  return { webhook: webhook.ok ? webhook.data : listed, known: webhook.ok, etag: webhook.etag, problem, figures: [day, week, deliveries].every((answer) => answer.ok) && { day: day.data, week: week.data, deliveries } };
}

async function dayOf(api, clock, id, signal) {
  const desde = new Date(clock.now() - DAY).toISOString();
  const found = [];
  let cursor = "";
  let seenFrom = desde;
  for (let page = 0; page < PAGES; ++page) {
    const answer = await api.get(`/webhooks/${id}/entregas`, { desde, limite: 100, cursor }, signal);
    if (!answer.ok) return answer;
    found.push(...answer.data.entregas.filter((one) => !one.prueba));
    seenFrom = answer.data.entregas.at(-1)?.creada ?? seenFrom;
    cursor = answer.data.siguiente;
    if (!cursor) return { ok: true, found, seenFrom: null };
  }
  return { ok: true, found, seenFrom };
}

const UNKNOWN = { kind: "muted", word: "No se sabe", mark: "?", sentence: "" };
const ORDER = { bad: 0, warning: 1, muted: 2, good: 3 };

/** Adds each webhook's state, the worst first. */
function judge(all, now) {
  const judged = all.map((one) => ({ ...one, state: one.known ? webhookState(one.webhook, now, one.figures && restOf(one.webhook, one.figures.deliveries.found, now)) : UNKNOWN }));
  return judged.sort((a, b) => ORDER[a.state.kind] - ORDER[b.state.kind]);
}

/** Says in one sentence each kind of trouble that there is, the worst first. */
function verdict(judged) {
  const hooks = (fits, one, many) => {
    const number = judged.filter(fits).length;
    return number > 0 && count(number, `webhook ${one}`, `webhooks ${many}`);
  };
  const troubles = [
    ["bad", "✕", hooks(({ state }) => state.kind === "bad", "necesita atención", "necesitan atención")],
    ["warning", "!", hooks(({ known, figures }) => !known || !figures, "no se ha podido consultar", "no se han podido consultar")],
    ["warning", "!", hooks(({ state, webhook }) => state.kind === "warning" && !webhook.activo, "está en pausa", "están en pausa")],
    ["warning", "!", hooks(({ state, webhook }) => state.kind === "warning" && webhook.activo, "falló en su último envío", "fallaron en su último envío")],
    ["warning", "!", lostOf(judged)],
    ["muted", "○", hooks(({ known, state }) => known && state.kind === "muted", "está sin probar", "están sin probar")],
  ].filter(([, , words]) => words);
  const [kind, mark] = troubles[0] ?? ["good", "✓"];
  const text = troubles.length ? listed(troubles.map(([, , words]) => words)) : "todo funciona";
  return el("p", { class: `verdict ${kind}` }, el("span", { class: "mark", "aria-hidden": "true" }, `${mark} `), `${capital(text)}.`);
}

/** "al menos 3 entregas han fallado en los últimos 7 días"; "" if none is known to have failed. */
function lostOf(judged) {
  const weeks = judged.filter(({ figures }) => figures).map(({ figures }) => figures.week);
  const lost = weeks.reduce((sum, { fallidas }) => sum + fallidas, 0);
  return lost > 0 ? `${weeks.every(({ exacto }) => exacto) ? "" : "al menos "}${count(lost, "entrega ha fallado", "entregas han fallado")} en los últimos 7 días` : "";
}

const overview = (screen, judged) => [el("ul", { class: "cards" }, judged.map((one) => card(screen, one))), judged.some(({ figures }) => figures) && legend(judged.every(({ figures }) => !figures || !figures.deliveries.seenFrom)), another(screen.portal, judged.length)];

function card(screen, one) {
  const { webhook, state, figures, problem } = one;
  const id = `webhook-${webhook.id}`;
  const hours = figures && byHour(figures.deliveries.found, screen.portal.clock.now(), figures.deliveries.seenFrom);
  const details = figures && more(one, id, hours);
  if (details) details.hidden = !screen.opened.has(id);
  const remedy = (state.kind === "bad" || state.kind === "warning") && webhook.activo ? remedyOf(webhook.ultimoError) : null;
  return el("li", { class: `card webhook ${state.kind}` },
    el("div", { class: "how" },
      el("div", { class: "named" }, el("h2", { id }, el("a", { href: hookLink(webhook.id), id: `${id}-ver` }, foreign(nameOf(webhook)))), el("span", { class: "muted small" }, urlOf(shortUrl(webhook.url)))),
      el("p", { class: "state" }, el("span", { class: `badge ${state.kind}` }, el("span", { class: "mark", "aria-hidden": "true" }, `${state.mark} `), state.word), /^[A-ZÁÉÍÓÚ]/.test(state.sentence) && el("span", { class: "hidden" }, ". "), " ", el("span", {}, state.sentence)),
      remedy && el("p", { class: "remedy" }, el("strong", {}, "Qué hacer: "), foreign(remedy.remedy)),
      problem && el("p", { class: "warning-words" }, one.known ? "No se han podido consultar sus cifras: " : "No se ha podido consultar: ", foreign(problem.message))),
    el("div", { class: "day" }, figures && [dayChart(hours, !figures.deliveries.seenFrom),
      el("p", { class: "small muted" }, [lastDay(figures.day), waiting(figures.week)].filter(Boolean).join(", "))]),
    el("div", { class: "actions do" }, todo(screen, one, id), details && toggle(screen, id, details)),
    details);
}

/** What to do now, the first as the main button. */
function todo(screen, { webhook, etag, figures, state, known }, id) {
  const { portal } = screen;
  const writes = known && !portal.session.readOnly;
  const lost = figures ? figures.week.fallidas : 0;
  const paused = !webhook.activo && webhook.motivo !== "operador";
  const to = (words, address, name) => ({ words, address, id: `${id}-${name}` });
  const steps = [
    writes && webhook.motivo !== "operador" && state.kind === "bad" && to("Diagnosticar", hookLink(webhook.id, "/diagnostico"), "diagnosticar"),
    lost > 0 && to(`Ver ${figures.week.exacto ? "" : "al menos "}${count(lost, "fallida")}`, link("/entregas", { webhook: webhook.id, estado: "fallida" }), "ver-fallidas"),
    writes && webhook.activo && !webhook.ultimaEjecucion && to("Probar", link("/probar", { webhook: webhook.id }), "probar"),
    lost === 0 && to("Entregas", link("/entregas", { webhook: webhook.id }), "entregas"),
  ].filter(Boolean);
  const main = paused && webhook.motivo === "entidad" ? -1 : 0;
  return [writes && paused && resume(screen, webhook, etag, main === -1 ? "primary" : "", id),
    steps.slice(0, 2).map((step, i) => el("a", { class: `button ${i === main && step.words !== "Entregas" ? "primary" : ""}`, id: step.id, href: step.address }, step.words, el("span", { class: "hidden" }, ` de ${nameOf(webhook)}`)))];
}

// Not aborted when the user goes to another screen: the outcome of an aborted request is unknown.
function resume({ portal, place, trouble, again }, webhook, etag, kind, id) {
  return workButton({ label: "Reactivar", busy: "Reactivando…", kind, id: `${id}-reactivar`, work: async () => {
    const answer = await portal.api.request("PATCH", `/webhooks/${webhook.id}`, { body: { activo: true }, headers: etag ? { "If-Match": etag } : {} });
    if (place.signal.aborted) return;
    await again();
    if (answer.ok) tellDone(link("/"), `Reactivado: ${nameOf(webhook)}`, el("p", {}, RELEASED));
    else if (answer.kind === "precondition") replace(trouble, alerted(notice("warning", el("p", {}, "Otra persona lo ha cambiado mientras tanto, y no se ha hecho nada. Abajo se ve cómo está ahora."))));
    else replace(trouble, problemBox(answer), unsure(answer) && el("p", { class: "muted" }, "No se sabe si llegó a hacerse: abajo se ve cómo está ahora."));
  } }).node;
}

function toggle({ opened }, id, details) {
  const button = el("button", { type: "button", class: "button quiet", id: `${id}-detalles`, "aria-expanded": String(!details.hidden), "aria-controls": details.id, onclick: () => {
    details.hidden = !details.hidden;
    button.setAttribute("aria-expanded", String(!details.hidden));
    if (details.hidden) opened.delete(id);
    else opened.add(id);
  } }, "Detalles");
  return button;
}

function more({ webhook, figures: { day, week, deliveries } }, id, hours) {
  return el("div", { class: "more", id: `${id}-mas` },
    el("dl", { class: "figures" },
      figure("Entregadas en 24 horas", atLeast(day, day.entregadas)),
      figure("Fallidas en 7 días", atLeast(week, week.fallidas), week.fallidas ? "bad" : ""),
      figure("Por enviar, de los últimos 7 días", waiting(week) || (week.exacto ? "ninguna" : NONE_SEEN)),
      figure("Respuesta mediana", day.p50Ms === null ? "–" : day.p50Ms === 0 ? "menos de 1 ms" : `${thousands(day.p50Ms)} ms`)),
    dayTable(hours, !deliveries.seenFrom),
    webhook.ultimaEjecucion && el("p", { class: "muted small last" }, "Último envío: ", bothTimes(webhook.ultimaEjecucion)));
}

function another({ session }, number) {
  return session.readOnly || number >= MOST ? null : el("p", { class: "actions another" }, el("a", { class: "button", id: "registrar", href: link("/webhooks/nuevo") }, "Registrar otro webhook"));
}

const NONE_SEEN = "ninguna de las 2.000 más recientes"; // the API's statistics count no older deliveries
const atLeast = ({ exacto }, number) => (exacto || number ? `${exacto ? "" : "al menos "}${thousands(number)}` : NONE_SEEN);
const figure = (name, value, kind = "") => el("div", { class: kind }, el("dt", {}, name), el("dd", {}, value));
const lastDay = ({ exacto, entregadas, fallidas }) => (exacto || entregadas || fallidas ? `24 h: ${exacto ? "" : "al menos "}${count(entregadas, "entregada")}${fallidas ? `, ${count(fallidas, "fallida")}` : ""}` : "24 h: sin contar");

/** "al menos 2 en espera, 1 retenida"; "" if none is known to wait. */
function waiting({ exacto, pendientes, retenidas }) {
  const parts = [pendientes && `${thousands(pendientes)} en espera`, retenidas && count(retenidas, "retenida")].filter(Boolean).join(", ");
  return parts && `${exacto ? "" : "al menos "}${parts}`;
}

function nothingYet({ session }) {
  return el("div", { class: "card first-steps" },
    el("h2", {}, "Su entidad no tiene ningún webhook todavía"),
    el("p", {}, "Un webhook es la dirección de su servidor que recibe los avisos. Para empezar:"),
    el("ol", {},
      el("li", {}, "Prepare en su servidor una dirección https:// que acepte POST, con un certificado de una autoridad reconocida."),
      el("li", {}, "Registre aquí esa dirección, con los eventos que le interesan y un secreto que firme los avisos."),
      el("li", {}, "Lance una prueba y compruebe que llega.")),
    session.readOnly ? el("p", {}, "Su token es de solo lectura: lo tiene que registrar quien tenga otro.") : el("div", { class: "actions" }, el("a", { class: "button primary", id: "registrar", href: link("/webhooks/nuevo") }, "Registrar un webhook")));
}
