// Un webhook: its configuration and the actions on it.
import { ask } from "../dialog.js";
import { tellDone, unsure, workButton } from "../change.js";
import { el, foreign, replace, urlOf } from "../dom.js";
import { eventList } from "../events.js";
import { field, judge } from "../field.js";
import { hookLink, pausedBy, titleOf, withHook } from "../hooks.js";
import { askOperator } from "../operator.js";
import { poll } from "../poll.js";
import { alerted, notice, problemBox } from "../problem.js";
import { link } from "../router.js";
import { remedyOf } from "../remedies.js";
import { bothTimes } from "../time.js";
import { visible } from "../visible.js";
import { HELD, RELEASED, restOf, rests, webhookState } from "../webhook_state.js";
import { count, eventName } from "../words.js";

export function webhookScreen(portal, place) {
  return withHook(portal, place, "Webhook", (region, hook, etag) => {
    place.root.querySelector(".back")?.replaceWith(el("p", { class: "back" }, el("a", { href: link("/") }, el("span", { "aria-hidden": "true" }, "← "), "Volver al resumen")));
    const box = el("div");
    const one = { portal, place, hook, etag };
    const state = el("div", {}, condition(portal, hook));
    replace(region, state, !portal.session.readOnly && work(one, box),
      box, el("h2", {}, "Configuración"), facts(hook), !portal.session.readOnly && removal(one));
    if (rests(hook)) tellRest(one, state);
    if (hook.motivo === "entidad") tellPause(one, state);
    if (changedSince(hook)) follow(one, state);
  });
}

/** Whether the webhook was changed after its last attempt, so that the attempt's failure says nothing of it as it is now. */
const changedSince = ({ activo, ultimoError, ultimaEjecucion, fechaModificacion }) => activo && ultimoError && Date.parse(fechaModificacion) > Date.parse(ultimaEjecucion);

/** Shows the outcome of the first attempt after a change, for two minutes. */
function follow({ portal, place, hook }, state) {
  const end = Date.now() + 120_000;
  poll(async () => {
    const answer = await portal.api.get(`/webhooks/${hook.id}`, {}, place.signal);
    const settled = answer.ok && !changedSince(answer.data);
    if (settled && !place.signal.aborted) replace(state, condition(portal, answer.data));
    return { ...answer, done: settled || Date.now() > end };
  }, { every: 5000, signal: place.signal });
}

/** The webhook's state in a sentence, and what to correct. */
function condition({ clock, session }, hook, rest = "") {
  const { kind, word, mark, sentence } = webhookState(hook, clock.now(), rest);
  const changed = changedSince(hook);
  const remedy = hook.activo ? remedyOf(hook.ultimoError) : null;
  return notice(kind === "muted" ? "info" : kind,
    el("p", { class: "foreign" }, el("strong", { class: "notice-title" }, el("span", { class: "mark", "aria-hidden": "true" }, `${mark} `), word), /^[A-ZÁÉÍÓÚ]/.test(sentence) ? ". " : " ", sentence),
    !hook.activo && el("p", {}, HELD),
    hook.motivo === "entidad" && el("p", {}, el("a", { href: link("/actividad", { token: hook.pausedBy ?? "" }), id: "en-actividad" }, "Ver quién y cuándo, en Actividad")),
    changed && el("p", {}, "Se ha cambiado después de ese envío: esta página dirá aquí si el siguiente se recibe. Para saberlo enseguida, ", el("a", { href: link("/probar", { webhook: hook.id }), id: "probarlo" }, "pruébelo"), "."),
    remedy && el("p", {}, el("strong", {}, changed ? "Si el cambio no lo corrige: " : "Qué hacer: "), foreign(remedy.remedy)),
    remedy && !remedy.ours && !session.readOnly && el("p", {}, "Si la causa no está clara, ", el("a", { href: hookLink(hook.id, "/diagnostico"), id: "pedir-diagnostico" }, "pida un diagnóstico"), "."),
    (remedy?.operator || hook.motivo === "operador") && askOperator(session));
}

/** Adds to the state until when a rest after a 429 lasts. */
async function tellRest({ portal, place, hook }, state) {
  const answer = await portal.api.get(`/webhooks/${hook.id}/entregas`, { estado: "pendiente", limite: COUNTED }, place.signal);
  if (answer.ok) replace(state, condition(portal, hook, restOf(hook, answer.data.entregas, portal.clock.now())));
}

/** Adds to the state with which token the webhook was paused. */
async function tellPause({ portal, place, hook }, state) {
  const by = await pausedBy(portal.api, hook, place.signal);
  if (!place.signal.aborted) replace(state, condition(portal, { ...hook, pausedBy: by }));
}

function facts(hook) {
  const fact = (name, ...value) => [el("dt", {}, name), el("dd", {}, ...value)];
  return el("dl", { class: "data" },
    fact("Número", hook.id), fact("Nombre", hook.nombre ? foreign(hook.nombre) : "Sin nombre."),
    fact("Dirección", urlOf(hook.url)),
    fact(count(hook.eventos.length, "aviso"), eventList(hook.eventos)),
    fact("Firma", hook.tieneSecreto ? "Los avisos van firmados." : "Los avisos van sin firmar.", hook.secretoDebil && " El secreto es demasiado corto: cámbielo.", hook.avisoSecreto && " Este secreto no puede verificarse con las bibliotecas de Standard Webhooks: cámbielo."),
    hook.secretoAnteriorHasta && fact("Secreto anterior", "Firma también hasta ", bothTimes(hook.secretoAnteriorHasta)),
    hook.certificadoCaduca && fact("Certificado del receptor", "Caduca el ", bothTimes(hook.certificadoCaduca)),
    fact("Alta", bothTimes(hook.fechaAlta)), fact("Último cambio", bothTimes(hook.fechaModificacion)));
}

function work(one, box) {
  const { hook } = one;
  const to = (words, address, kind = "") => el("a", { class: `button ${kind}`, href: address }, words);
  return el("div", { class: "actions spread" },
    hook.activo && to("Probar", link("/probar", { webhook: hook.id }), "primary"),
    !hook.activo && hook.motivo !== "operador" && resume(one, box),
    to("Ver sus entregas", link("/entregas", { webhook: hook.id })),
    to("Editar", hookLink(hook.id, "/editar")), to(hook.tieneSecreto ? "Cambiar el secreto" : "Poner un secreto", hookLink(hook.id, "/secreto")),
    hook.motivo !== "operador" && to("Diagnosticar", hookLink(hook.id, "/diagnostico")),
    hook.activo && to("Reenviar muchas", hookLink(hook.id, "/reenvios")), hook.activo && pause(one));
}

// This request is not aborted when the user goes to another screen, because the outcome of an aborted request is unknown. If
// the user has gone to another screen, the caller must leave that screen unchanged.
const patch = ({ portal, hook, etag }, body) => portal.api.request("PATCH", `/webhooks/${hook.id}`, { body, headers: etag ? { "If-Match": etag } : {} });

/** Shows why a change was refused, or that its outcome is unknown. */
function refused(answer, box, retry) {
  const look = workButton({ label: "Ver cómo está ahora", busy: "Consultando…", work: retry }).node;
  if (answer.kind === "precondition") {
    replace(box, alerted(notice("warning", el("p", { class: "notice-title" }, "Otra persona lo ha cambiado mientras tanto"), el("p", {}, "No se ha hecho nada. Mire cómo está ahora y decida."), look)));
  } else {
    replace(box, problemBox(answer, { retry }), (answer.kind === "conflict" || answer.kind === "notFound") && look, unsure(answer) && el("p", { class: "muted" }, "No se sabe si llegó a hacerse: reintentar lo comprueba."));
  }
}

function resume(one, box) {
  const { portal, place, hook } = one;
  const button = workButton({ label: "Reactivar", busy: "Reactivando…", kind: "primary", id: "reactivar", work: async () => {
    const answer = await patch(one, { activo: true });
    if (place.signal.aborted) return;
    if (!answer.ok) return refused(answer, box, async () => portal.show());
    tellDone(hookLink(hook.id), "Reactivado", el("p", {}, RELEASED));
    portal.show();
  } });
  return button.node;
}

function pause(one) {
  const { portal, place, hook } = one;
  const box = el("div");
  const stop = async () => {
    const answer = await patch(one, { activo: false });
    if (place.signal.aborted) return true;
    if (!answer.ok) {
      refused(answer, box, async () => portal.show());
      return false;
    }
    tellDone(hookLink(hook.id), "En pausa", el("p", {}, "No se le enviará nada. Los avisos se guardan 90 días, si el operador no ha fijado otra duración; al reactivarlo se enviarán, salvo lo que haya caducado o se haya anulado."));
    portal.show();
    return true;
  };
  return el("button", { class: "button", type: "button", id: "pausar", onclick: () => ask({
    title: "¿Pausar los envíos?", confirm: "Pausar", onConfirm: stop, signal: place.signal,
    body: [stakes(one, "lo que espera se guarda"), el("p", {}, HELD), el("p", {}, "Los plazos de la evaluación no se paran."), box],
  }) }, "Pausar");
}

const COUNTED = 100; // the most deliveries of a state that one page of the API holds

/** Which webhook a question is about, and what waits for it. @param {string} what becomes of what waits */
function stakes({ portal, place, hook }, what) {
  const waiting = el("span", { role: "status" }, "Contando…");
  countWaiting(portal.api, hook.id, place.signal).then((words) => replace(waiting, words === null ? "No se ha podido contar." : words && `${words}: ${what}.` || "Ninguna entrega."));
  const fact = (name, ...value) => [el("dt", {}, name), el("dd", {}, ...value)];
  return el("dl", { class: "data" }, fact("Número", el("strong", {}, hook.id)), hook.nombre && fact("Nombre", el("strong", {}, foreign(hook.nombre))), fact("Dirección", urlOf(hook.url)),
    fact("Avisos", hook.eventos.map(eventName).join(", ")), fact("Por enviar", waiting));
}

/** "3 entregas", "al menos 100 entregas", "" if none waits, null if it is not known. */
async function countWaiting(api, id, signal) {
  const answers = await Promise.all(["pendiente", "retenida"].map((estado) => api.get(`/webhooks/${id}/entregas`, { estado, limite: COUNTED }, signal)));
  if (!answers.every((answer) => answer.ok)) return null;
  const number = answers.reduce((sum, { data }) => sum + data.entregas.length, 0);
  const more = answers.some(({ data }) => data.siguiente !== null);
  return number || more ? `${more ? "al menos " : ""}${count(number, "entrega")}` : "";
}

function removal(one) {
  return el("section", { class: "removal" }, el("h2", {}, "Eliminar"),
    el("p", {}, "Deja de recibir avisos y desaparece de aquí con su historial.", one.hook.activo && " Si solo quiere parar un tiempo, páuselo."),
    el("button", { class: "button danger", type: "button", id: "eliminar", onclick: () => remove(one) }, "Eliminar el webhook"));
}

/** A text as a person reads it, so that a name can be typed as it is shown: unseen characters as escapes, several spaces as one. */
const read = (text) => visible(text.trim().normalize()).replace(/ +/g, " ");

function remove(one) {
  const { portal, place, hook, etag } = one;
  const word = hook.nombre || String(hook.id); // two webhooks without a name may have one host
  const typed = field({ label: `Para confirmarlo, escriba el ${hook.nombre ? "nombre" : "número"} del webhook: ${word}`, attributes: { type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: "false" } });
  typed.node.classList.add("foreign");
  const box = el("div");
  const confirm = async () => {
    replace(box);
    if (!judge([[typed, read(typed.value()) === read(word) ? "" : `No coincide: escriba ${word}`]])) return false;
    const answer = await portal.api.request("DELETE", `/webhooks/${hook.id}`, { headers: etag ? { "If-Match": etag } : {} });
    if (place.signal.aborted) return true;
    // If the first answer was lost, the repeated request finds the webhook deleted.
    if (answer.ok || answer.kind === "notFound") return gone(portal, hook);
    refused(answer, box, async () => portal.show());
    return false;
  };
  return ask({
    title: "¿Eliminar el webhook?", confirm: "Eliminar", danger: true, onConfirm: confirm, signal: place.signal,
    body: [stakes(one, "lo que espera se cancela y no podrá reenviarse"), el("p", {}, "Deja de recibir avisos, y su historial desaparece. No se puede deshacer."), typed.node, box],
  });
}

function gone(portal, hook) {
  tellDone(link("/"), "Webhook eliminado", el("p", {}, titleOf(hook), " no recibirá más avisos. Uno que ya se estuviera enviando puede llegar todavía."));
  portal.go(link("/"));
  return true;
}

