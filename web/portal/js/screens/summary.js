// Resumen: the state of each webhook, what waits, and the last 24 hours.
import { byHour, dayChart } from "../chart.js";
import { el, foreign, replace } from "../dom.js";
import { titleOf } from "../hooks.js";
import { poll } from "../poll.js";
import { problemBox } from "../problem.js";
import { remedyOf } from "../remedies.js";
import { link } from "../router.js";
import { bothTimes, madridHour } from "../time.js";
import { webhookState } from "../webhook_state.js";
import { count } from "../words.js";

const EVERY_MS = 60_000;
const PAGES = 3; // the most pages of deliveries to read for a webhook's chart; a page has up to 100 deliveries
const DAY = 86_400_000;

export function summaryScreen(portal, place) {
  place.title("Resumen");
  const body = el("div", { id: "resumen" }, el("p", { class: "loading" }, "Consultando…"));
  const trouble = el("div");
  const at = el("p", { class: "muted small", id: "actualizado" });
  const refresh = el("button", { type: "button", class: "button", id: "actualizar", onclick: async () => {
    await turns.now();
    portal.announce("Resumen actualizado");
  } }, "Actualizar");
  replace(place.root, el("div", { class: "head" }, el("h1", {}, "Resumen"), el("div", { class: "actions" }, refresh)), trouble, body, at);

  let drawn;
  const first = new Promise((resolve) => (drawn = resolve));
  const turns = poll(async () => {
    const answer = await load(portal, place.signal);
    if (answer.kind === "aborted" || place.signal.aborted) return answer;
    if (answer.ok) {
      replace(trouble);
      replace(body, overview(portal, answer.data));
      replace(at, `Actualizado a las ${madridHour(portal.clock.now())}. Se actualiza solo cada minuto.`);
    } else {
      replace(trouble, problemBox(answer, { retry: () => turns.now(), auto: true, id: "problema" }));
      body.querySelector(".loading")?.remove();
    }
    drawn();
    return answer;
  }, { every: EVERY_MS, signal: place.signal, now: true });
  return first;
}

/** Fetches everything that the screen shows: the list of webhooks (at most five), and for each its state, its statistics of 24 hours and of 7 days, and at most PAGES pages of its deliveries of the last 24 hours. */
async function load({ api, clock }, signal) {
  const list = await api.get("/webhooks", {}, signal);
  if (!list.ok) return list;
  const all = await Promise.all(list.data.map((webhook) => loadOne(api, clock, webhook.id, signal)));
  const failed = all.find((one) => one && !one.ok);
  return failed ?? { ...list, data: all.filter(Boolean).map((one) => one.data) };
}

async function loadOne(api, clock, id, signal) {
  const asked = [api.get(`/webhooks/${id}`, {}, signal), api.get(`/webhooks/${id}/estadisticas`, { ventana: "24h" }, signal), api.get(`/webhooks/${id}/estadisticas`, { ventana: "7d" }, signal), dayOf(api, clock, id, signal)];
  const [webhook, day, week, deliveries] = await Promise.all(asked);
  const failed = [webhook, day, week, deliveries].find((answer) => !answer.ok);
  if (failed) return failed.kind === "notFound" ? null : failed; // deleted since the list was fetched
  return { ok: true, data: { webhook: webhook.data, day: day.data, week: week.data, deliveries } };
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

function overview(portal, all) {
  if (!all.length) return nothingYet(portal);
  const now = portal.clock.now();
  const judged = all.map((one) => ({ ...one, state: webhookState(one.webhook, now) }));
  const order = { bad: 0, warning: 1, muted: 2, good: 3 };
  judged.sort((a, b) => order[a.state.kind] - order[b.state.kind]);
  return [verdict(judged), el("ul", { class: "cards" }, judged.map((one) => card(portal, one, now))), another(portal, all.length)];
}

function verdict(judged) {
  const wrong = judged.filter(({ state }) => state.kind === "bad").length;
  const lost = judged.reduce((sum, { week }) => sum + week.fallidas, 0);
  const text = wrong ? `${count(wrong, "webhook necesita", "webhooks necesitan")} atención.` : lost ? `Ahora todo funciona, pero ${count(lost, "entrega ha fallado", "entregas han fallado")} en los últimos 7 días.` : "Todo funciona.";
  return el("p", { class: `verdict ${wrong ? "bad" : lost ? "warning" : "good"}` }, el("span", { class: "mark", "aria-hidden": "true" }, wrong ? "✕ " : lost ? "! " : "✓ "), text);
}

function card(portal, { webhook, day, week, deliveries, state }, now) {
  const failures = link("/entregas", { webhook: webhook.id, estado: "fallida" });
  const remedy = (state.kind === "bad" || state.kind === "warning") && webhook.activo ? remedyOf(webhook.ultimoError) : null;
  const id = `webhook-${webhook.id}`;
  return el("li", { class: `card webhook ${state.kind}` },
    el("h2", { id }, titleOf(webhook)),
    el("p", { class: "state" }, el("span", { class: `badge ${state.kind}` }, el("span", { class: "mark", "aria-hidden": "true" }, `${state.mark} `), state.word), /^[A-ZÁÉÍÓÚ]/.test(state.sentence) && el("span", { class: "hidden" }, ". "), " ", el("span", {}, state.sentence)),
    remedy && el("p", { class: "remedy" }, el("strong", {}, "Qué hacer: "), foreign(remedy.remedy)),
    el("dl", { class: "figures" },
      figure("Entregadas en 24 h", atLeast(day, day.entregadas)),
      figure("Fallidas en 7 días", week.fallidas ? el("a", { href: failures, id: `${id}-fallidas`, class: "target" }, atLeast(week, week.fallidas)) : atLeast(week, 0), week.fallidas ? "bad" : ""),
      figure("Esperan, de 7 días", waiting(week)),
      figure("Respuesta mediana", day.p50Ms === null ? "–" : day.p50Ms === 0 ? "menos de 1 ms" : `${day.p50Ms.toLocaleString("es-ES")} ms`)),
    dayChart(byHour(deliveries.found, now, deliveries.seenFrom), `${id}-tabla`, !deliveries.seenFrom),
    el("div", { class: "actions" }, week.fallidas > 0 && el("a", { class: "button primary", id: `${id}-ver-fallidas`, href: failures }, `Ver ${count(week.fallidas, "fallida")}`),
      el("a", { class: "button", id: `${id}-entregas`, href: link("/entregas", { webhook: webhook.id }) }, "Ver sus entregas"),
      week.fallidas > 1 && webhook.activo && !portal.session.readOnly && el("a", { class: "button", id: `${id}-reenviar`, href: link(`/webhooks/${webhook.id}/reenvios`) }, "Reenviar muchas"),
      el("a", { class: "button", id: `${id}-ver`, href: link(`/webhooks/${webhook.id}`) }, portal.session.readOnly ? "Ver su configuración" : "Configurar")),
    webhook.ultimaEjecucion && el("p", { class: "muted small last" }, "Último envío: ", bothTimes(webhook.ultimaEjecucion)));
}

const MOST = 5; // webhooks of an entity

function another({ session }, number) {
  return session.readOnly || number >= MOST ? null : el("p", { class: "actions another" }, el("a", { class: "button", id: "registrar", href: link("/webhooks/nuevo") }, "Registrar otro webhook"));
}

const NONE_SEEN = "ninguna de las 2.000 más recientes"; // the API's statistics count no older deliveries
const atLeast = ({ exacto }, number) => (exacto || number ? `${exacto ? "" : "al menos "}${number.toLocaleString("es-ES", { useGrouping: "always" })}` : NONE_SEEN);
const figure = (name, value, kind = "") => el("div", { class: kind }, el("dt", {}, name), el("dd", {}, value));

function waiting(week) {
  const parts = [week.pendientes && count(week.pendientes, "por enviar", "por enviar"), week.retenidas && count(week.retenidas, "retenida")].filter(Boolean);
  return parts.length ? parts.join(", ") : week.exacto ? "nada" : NONE_SEEN;
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
