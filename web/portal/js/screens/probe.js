// Probar: sends a test event and shows its arrival.
import { announce } from "../announce.js";
import { clearRefusal, form, showRefusal, unsure, workButton } from "../change.js";
import { el, foreign, replace } from "../dom.js";
import { groupsOf } from "../events.js";
import { EXAMPLES } from "../examples.js";
import { field, judge } from "../field.js";
import { fetchHooks, hookLink, labelOf, nameOf, onlyReads, titleOf } from "../hooks.js";
import { poll } from "../poll.js";
import { notice, problemBox } from "../problem.js";
import { link } from "../router.js";
import { due } from "../time.js";
import { count, eventName, stateBadge, thousands } from "../words.js";

const EVERY_MS = 1500; // between two looks at a test's deliveries
const SLOWLY_MS = 15_000; // the same, once every delivery that has not ended has had a failed attempt

export async function probeScreen(portal, place) {
  place.title("Probar");
  const region = el("div", { class: "narrow" }, el("p", { class: "loading" }, "Cargando…"));
  replace(place.root, el("h1", {}, "Probar"), el("p", { class: "lead" }, "Se envía un aviso de prueba, marcado como tal, y aquí se ve si llega."), region);
  const refused = onlyReads(portal, "enviar una prueba");
  if (refused) return replace(region, refused);
  const answer = await fetchHooks(portal.api, place.signal);
  if (place.signal.aborted) return;
  if (!answer.ok) return replace(region, problemBox(answer, { retry: () => portal.show() }));
  const active = answer.data.filter((hook) => hook.activo);
  if (!active.length) return replace(region, noReceiver(answer.data));
  replace(region, tester(portal, place, active, unfit(answer.data, place.query.webhook)));
}

function noReceiver(hooks) {
  return notice("warning", el("p", { class: "notice-title" }, hooks.length ? "Ningún webhook está activo" : "Todavía no hay ningún webhook"),
    el("p", {}, "No hay ningún webhook activo al que enviar una prueba. "), hooks.length
      ? el("ul", {}, hooks.map((hook) => el("li", {}, el("a", { href: hookLink(hook.id) }, titleOf(hook)))))
      : el("p", {}, el("a", { class: "button primary", href: link("/webhooks/nuevo") }, "Registrar un webhook")));
}

const UNCHOSEN = "elegir";

/** Why no test can be sent to the webhook of the address; "" if it can, or if the address names none. */
function unfit(hooks, id) {
  const hook = hooks.find((one) => String(one.id) === id);
  if (!id || hook?.activo) return "";
  return hook ? `${labelOf(hook)} no está activo, y no se le puede enviar una prueba. Elija otro.` : "Ese webhook ya no existe. Elija a quién enviar la prueba.";
}

/** @param {string} lost of unfit(): then a person must choose to whom */
function tester(portal, place, hooks, lost) {
  const wanted = hooks.find((hook) => String(hook.id) === place.query.webhook);
  const events = [...new Set([...(wanted?.eventos ?? []), ...hooks.flatMap((hook) => hook.eventos)])];
  const select = el("select", {}, groupsOf(events).map(([name, some]) => el("optgroup", { label: name }, some.map((event) => el("option", { value: event }, eventName(event))))));
  if (events.includes(place.query.evento)) select.value = place.query.evento;
  else if (wanted) select.value = wanted.eventos[0];
  const event = field({ label: "Aviso de prueba", control: select });
  const unchosen = el("option", { value: UNCHOSEN, selected: Boolean(lost) }, "Elija");
  const to = field({ label: "A quién", control: el("select", {}, lost && unchosen, el("option", { value: "" }, "A todos los webhooks activos que lo reciben"), hooks.map((hook) => el("option", { value: hook.id, selected: hook === wanted }, labelOf(hook)))) });
  const data = field({ label: "Datos (opcional)", hint: "Un objeto JSON: llega en data.datos, junto a la marca de que es una prueba.", control: el("textarea", { class: "mono", spellcheck: "false", autocapitalize: "none" }) });
  const example = el("div");
  const receivers = el("div", { class: "receivers" });
  const chosen = () => hooks.find((hook) => String(hook.id) === to.value());
  const showReceivers = () => {
    const all = to.value() === UNCHOSEN ? [] : chosen() ? [chosen()] : hooks.filter((hook) => hook.eventos.includes(select.value));
    replace(receivers, to.value() !== UNCHOSEN && el("p", {}, all.length > 1 ? "Lo recibirán:" : all.length ? "Lo recibirá:" : "No lo recibe ningún webhook."), el("ul", {}, all.map((hook) => el("li", {}, titleOf(hook)))));
    replace(example, exampleOf(select.value, (text) => {
      data.control.value = text;
      data.control.focus();
    }));
  };
  // The receiver that was chosen earlier is gone: the test must not go to all the others instead.
  to.control.addEventListener("lost", () => {
    to.control.prepend(unchosen);
    to.control.value = UNCHOSEN;
  });
  for (const control of [select, to.control]) control.addEventListener("change", showReceivers);
  showReceivers();
  const fields = { evento: event, datosExtra: data };
  const box = el("div");
  const results = el("div");
  let watching = new AbortController();
  const earlier = new Set(); // ids of the deliveries of this screen's earlier tests
  place.signal.addEventListener("abort", () => watching.abort());
  const button = workButton({ label: "Enviar la prueba", busy: "Enviando…", kind: "primary", submit: true, work: async () => {
    clearRefusal(fields, box);
    if (!judge([[to, to.value() === UNCHOSEN ? "Elija a quién se envía." : ""], [data, isObject(data.value()) ? "" : "Esto no es un objeto JSON, como {\"clave\": 1}."]])) return;
    const since = new Date(portal.clock.now() - 5000).toISOString();
    const one = chosen();
    const body = data.value().trim() ? `{"evento":${JSON.stringify(select.value)},"datosExtra":${data.value()}}` : { evento: select.value }; // numbers as they were typed
    const answer = await portal.api.request("POST", one ? `/webhooks/${one.id}/prueba` : "/webhooks/test", { body, signal: place.signal });
    if (place.signal.aborted) return;
    watching.abort();
    watching = new AbortController();
    if (answer.ok) portal.drafts.forget();
    if (answer.ok && one) return watch(portal, results, { hooks: [one], delivery: answer.data.entrega, event: select.value, since, earlier }, watching.signal);
    if (answer.ok) return watch(portal, results, { hooks: answer.data.webhooks.map((sent) => hooks.find(({ id }) => id === sent.id) ?? sent), event: select.value, since, earlier }, watching.signal);
    replace(results);
    showRefusal(answer, fields, box, { retry: button.run });
    if (unsure(answer)) box.append(el("p", { class: "muted" }, "No se sabe si llegó a enviarse. Repetirlo solo envía otra prueba."));
  } });
  return [lost && notice("warning", el("p", {}, foreign(lost))), form(portal, button.run, to.node, event.node, data.node, example, receivers, box, el("div", { class: "actions" }, button.node)), results];
}

const exampleOf = (event, use) => el("details", { id: "ejemplo" }, el("summary", {}, `Los datos que lleva «${eventName(event)}», como ejemplo`),
  el("pre", { class: "code", tabindex: 0, "aria-label": "Ejemplo de datos" }, EXAMPLES[event] ?? "{}"), el("button", { type: "button", class: "button", onclick: () => use(EXAMPLES[event] ?? "{}") }, "Usarlos en la prueba"));

function isObject(text) {
  if (!text.trim()) return true;
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Follows the deliveries of one test until each has ended. */
function watch(portal, results, test, signal) {
  const followed = test.hooks.map((hook) => ({ hook, delivery: test.delivery ? { ...test.delivery, estado: "pendiente", intentos: 0, ultimoError: "", proximoIntento: null } : null, detail: null, problem: null, told: "pendiente" }));
  if (test.delivery) test.earlier.add(test.delivery.id);
  replace(results, el("h2", {}, `Prueba de «${eventName(test.event)}»`), followed.map((one) => (one.node = el("div", { class: "card arrival" }))));
  const draw = () => followed.forEach((one) => replace(one.node, arrival(one, portal.clock.now())));
  draw();
  announce(`Prueba en cola para ${count(followed.length, "webhook")}`);
  poll(async () => {
    const asked = followed.filter((one) => !ended(one));
    await Promise.all(asked.map((one) => refresh(portal, one, test, signal)));
    if (signal.aborted) return { ok: true, done: true };
    draw();
    const failed = asked.find((one) => one.problem);
    const waits = followed.every((one) => ended(one) || one.delivery?.intentos > 0);
    return { ok: !failed, retryAfter: failed?.problem.retryAfter, wait: waits ? SLOWLY_MS : 0, done: followed.every(ended) };
  }, { every: EVERY_MS, signal, now: true });
}

const ended = ({ delivery }) => Boolean(delivery) && ["entregada", "fallida", "cancelada"].includes(delivery.estado);

async function refresh(portal, one, test, signal) {
  const before = one.delivery;
  const answer = before ? await portal.api.get(`/webhooks/${one.hook.id}/entregas/${before.id}`, {}, signal)
    : await portal.api.get(`/webhooks/${one.hook.id}/entregas`, { evento: test.event, desde: test.since, limite: 20 }, signal);
  one.problem = answer.ok || signal.aborted ? null : answer;
  if (!answer.ok) return;
  if (before) {
    one.delivery = one.detail = answer.data;
  } else {
    one.delivery = answer.data.entregas.find((delivery) => delivery.prueba && !test.earlier.has(delivery.id)) ?? null;
    if (one.delivery) test.earlier.add(one.delivery.id);
    if (one.delivery?.intentos > 0) return refresh(portal, one, test, signal);
  }
  if (!one.delivery || one.delivery.estado === one.told) return;
  one.told = one.delivery.estado;
  announce(`${nameOf(one.hook)}: ${sentence(one).join("")}`);
}

function sentence({ delivery, detail }) {
  const last = detail?.historial.at(-1);
  if (!delivery) return ["En la cola."];
  if (delivery.estado === "entregada" && delivery.ultimoEstado === null && last) return ["", last.error, "."]; // in a system for tests nothing is sent
  if (delivery.estado === "entregada") return [`Llegó: respondió ${delivery.ultimoEstado}${last ? ` en ${thousands(last.duracionMs)} ms` : ""}.`];
  if (delivery.estado === "fallida") return ["No llegó: ", delivery.ultimoError, "."];
  if (delivery.estado === "cancelada") return ["Se canceló."];
  if (delivery.estado === "en_curso") return ["Se está enviando…"];
  return delivery.intentos > 0 ? ["El intento falló: ", delivery.ultimoError, "."] : ["En la cola."];
}

function arrival(one, now) {
  const { hook, delivery, problem } = one;
  return [
    el("p", { class: "arrival-head" }, delivery ? stateBadge(delivery.estado) : stateBadge("pendiente"), " ", titleOf(hook)),
    el("p", {}, sentence(one).map((part, i) => (i === 1 ? foreign(part) : part))),
    delivery?.estado === "pendiente" && delivery.intentos > 0 && delivery.proximoIntento && el("p", {}, `Se reintenta ${due(delivery.proximoIntento, now)}.`),
    problem && el("p", { class: "muted" }, "No se puede consultar ahora: ", foreign(problem.message)),
    delivery && el("p", {}, el("a", { href: link(`/entregas/${hook.id}/${delivery.id}`) }, "Ver la entrega entera")),
    delivery && delivery.intentos > 0 && delivery.estado !== "entregada" && el("p", {}, el("a", { href: hookLink(hook.id, "/diagnostico") }, "Diagnosticar")),
  ];
}
