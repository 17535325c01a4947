// The screen «Una entrega»: what was sent, the last attempts, what to correct, and the button that sends the delivery again.
// The entity can print the screen as the technical record of the delivery.
import { announce } from "../announce.js";
import { unsure } from "../change.js";
import { copyButton } from "../copy.js";
import { curlOf, signedHeaders } from "../curl.js";
import { ask } from "../dialog.js";
import { away, el, foreign, replace } from "../dom.js";
import { field, judge } from "../field.js";
import { aboutOf, summaryOf } from "../find.js";
import { hookLink, nameOf } from "../hooks.js";
import { pretty } from "../json_text.js";
import { askOperator } from "../operator.js";
import { poll } from "../poll.js";
import { notice, problemBox } from "../problem.js";
import { causeOf, remedyOf } from "../remedies.js";
import { link } from "../router.js";
import { SECRET } from "../secret.js";
import { bothTimes, due, when, zone } from "../time.js";
import { STATES, capital, count, eventName, stateBadge, thousands } from "../words.js";

const WATCH_MS = 2_000; // between reads while the delivery is pending or in flight, or a replay of it may run
const IDLE_MS = 60_000; // between reads at other times
// The retries of a replay have its kind, too.
const KINDS = { programado: "", reenvio: " (de un reenvío)", sondeo: " (sondeo)", adelantado: " (adelantado)" };
const WORDS = { idle: "Reenviar", asking: "Pidiendo el reenvío…", waiting: "Reenviar" }; // the button's text in each state of resender()
const DOUBT = "No se sabe si el reenvío llegó a pedirse. Antes de repetirlo, mire si abajo aparece un intento nuevo.";
const RECORD = "Registro técnico de la entrega"; // the screen's name in print
const UNDER_WAY = new Set(["pendiente", "en_curso"]);

export async function deliveryScreen(portal, place) {
  place.title("Una entrega");
  const { webhook, entrega } = place.params;
  const heading = el("h1", {}, `Entrega ${entrega}`);
  const trouble = el("div", { class: "no-print" });
  const resent = el("div", { id: "reenvio", class: "no-print" });
  const body = el("div", {}, el("p", { class: "loading" }, "Consultando…"));
  const sent = el("div");
  replace(place.root, el("p", { class: "no-print" }, el("a", { href: link("/entregas", { webhook }), class: "target", id: "volver", onclick: (event) => goBack(portal, event) }, "← Entregas")), heading, trouble, resent, body, sent);

  const path = `/webhooks/${webhook}/entregas/${entrega}`;
  let receiver = null;
  let last = null;
  let readAt = 0; // when `last` was read
  let drawn = "";
  let sentDrawn = "";
  let hash = "";
  const sending = resender(portal, place, { path, webhook, box: resent, read: () => last, changed: () => turns.now() });

  async function look() {
    if (!receiver?.ok) receiver = await portal.api.get(`/webhooks/${webhook}`, {}, place.signal);
    const answer = receiver.ok ? await portal.api.get(path, {}, place.signal) : receiver;
    if (place.signal.aborted) return answer;
    if (!answer.ok) {
      replace(trouble, problemBox(answer, { retry: () => turns.now(), auto: true, id: "problema" }));
      body.querySelector(".loading")?.remove();
      return answer;
    }
    replace(trouble);
    if (last && last.estado !== answer.data.estado) announce(`Ahora: ${STATES[answer.data.estado][0]}`);
    last = answer.data;
    sending.tell();
    readAt = portal.clock.now();
    hash ||= await sha256(last.cuerpo);
    // The screen is redrawn if the delivery, the button's state or the token's right to change data has changed.
    const made = JSON.stringify([last, sending.state(), sending.readOnly()]);
    if (made !== drawn) {
      drawn = made;
      name();
      replace(body, whole(portal, receiver.data, last, hash, sending));
    }
    // What is sent never changes; a secret that is pasted next to it outlasts the redrawing of the rest.
    const content = JSON.stringify([receiver.data.url, receiver.data.tieneSecreto, last.cuerpo]);
    if (content !== sentDrawn) replace(sent, whatIsSent(portal, receiver.data, last));
    sentDrawn = content;
    return answer;
  }
  function name() {
    replace(heading, eventName(last.evento), last.prueba && " (prueba)");
    place.title(`${eventName(last.evento)}, entrega ${entrega} · ${nameOf(receiver.data)}`);
  }
  addEventListener("beforeprint", () => {
    if (!drawn) return;
    replace(heading, RECORD);
    place.title(`${RECORD} ${entrega}`);
    for (const [id, ms] of [["leido", readAt], ["impreso", portal.clock.now()]]) replace(document.getElementById(id), timeOf(ms));
  }, { signal: place.signal });
  addEventListener("afterprint", () => drawn && name(), { signal: place.signal });
  // The replay is read before the delivery, so that the delivery's attempts are never older than what is said of the replay.
  const turns = poll(async () => {
    const replay = await sending.follow();
    const answer = await look();
    return { ...(replay.ok ? answer : replay), wait: answer.ok && !(UNDER_WAY.has(last.estado) || sending.busy()) ? IDLE_MS : 0 };
  }, { every: WATCH_MS, signal: place.signal });
  await turns.now();
}

let cameFromList = false;
addEventListener("hashchange", ({ oldURL }) => (cameFromList = /#\/entregas(\?|$)/.test(oldURL)));

// If the user came from the list, goes back to it as it was left, with its page and position.
function goBack(portal, event) {
  if (!cameFromList) return;
  event.preventDefault();
  portal.back();
}

/** Requests the replay, shows its progress in `box`, and keeps the button's state. */
function resender({ api, session, clock }, place, { path, webhook, box, read, changed }) {
  let state = "idle";
  let followed = null; // the replay's id while its progress may change
  let replay = null; // its progress
  let before = 0; // the number of the last attempt that was not of the replay
  let doubtful = false; // the outcome of the last request is unknown: a replay may have begun

  function start(button, { estado }) {
    if (estado !== "entregada" || state !== "idle" || button.hasAttribute("aria-disabled")) return press(button);
    return ask({
      title: "¿Reenviar lo que ya llegó?", confirm: "Reenviar", signal: place.signal, onConfirm: () => {
        press(button);
        return true;
      },
      body: [el("p", {}, "El receptor ya la aceptó. Le llega otra vez, con el mismo identificador y el mismo contenido.")],
    });
  }

  async function press(button) {
    if (state !== "idle" || button.hasAttribute("aria-disabled")) return;
    forget();
    state = "asking";
    before = read().historial.at(-1)?.numero ?? 0;
    button.setAttribute("aria-disabled", "true");
    button.textContent = WORDS.asking;
    changed();
    const answer = await api.request("POST", `${path}/reenvio`, { signal: place.signal });
    doubtful = unsure(answer);
    if (!answer.ok) {
      state = "idle";
      // A redraw may have replaced this button: changed() handles the new one.
      button.removeAttribute("aria-disabled");
      button.textContent = WORDS.idle;
      if (answer.kind !== "aborted") replace(box, problemBox(answer, { retry: answer.kind === "conflict" || answer.kind === "forbidden" ? undefined : () => press(button), id: "no-reenviada" }), doubtful && el("p", { class: "muted" }, DOUBT));
      return changed();
    }
    state = "waiting";
    button.textContent = WORDS.waiting;
    followed = answer.data.reenvio.id;
    replay = { entregadas: 0, fallidas: 0, reenviadas: 0, estado: "pendiente" };
    changed();
  }

  /** Ends what is said of the former replay. */
  function forget() {
    if (replay) replace(box);
    followed = replay = null;
    shown = "";
  }

  /** Reads the progress of the replay that is followed. */
  async function follow() {
    const id = followed;
    if (id === null) return { ok: true };
    const answer = await api.get(`/webhooks/${webhook}/reenvios/${id}`, {}, place.signal);
    if (id !== followed) return { ok: true }; // the button was pressed again
    if (answer.ok) replay = answer.data;
    if (answer.kind !== "notFound") return answer;
    forget();
    state = "idle";
    return { ok: true };
  }

  /** The replay's attempts. A scheduled one was made before it. */
  const attempts = () => read().historial.filter(({ numero, tipo }) => numero > before && tipo !== "programado");

  /** Says what has become of the replay, and why. The button is free again once its attempt has ended. */
  let shown = "";
  function tell() {
    if (!replay) return;
    const [kind, title, ...texts] = outcome();
    if (kind !== "info") state = "idle";
    if (kind === "good" || kind === "warning" || replay.fallidas) followed = null;
    const all = [title, ...texts].join(" ");
    if (all === shown) return;
    shown = all;
    replace(box, notice(kind, el("div", { role: "status" }, el("p", { class: "notice-title" }, title), texts.map((text) => el("p", {}, foreign(text))))));
    announce(shown);
  }

  function outcome() {
    const tried = attempts();
    const received = tried.find(({ error }) => !error);
    const error = tried.at(-1)?.error;
    if (replay.entregadas) return ["good", "Se ha enviado otra vez y se ha recibido.", ...(received ? [`El receptor respondió ${received.estadoHttp}.`] : [])];
    if (error || replay.fallidas) return failedAgain(error || read().ultimoError);
    if (replay.estado === "cancelado" || (replay.estado === "terminado" && !replay.reenviadas)) return ["warning", "El reenvío se detuvo antes de enviarse."];
    return ["info", replay.reenviadas ? "Se está enviando." : "El reenvío está en la cola. Aquí se verá cuándo llega."];
  }

  // Unless the delivery had arrived, remedyBox() says the error and what to do.
  function failedAgain(error) {
    const { estado, proximoIntento } = read();
    const next = proximoIntento ? `Se volverá a intentar ${due(proximoIntento, clock.now())}. Si lo corrige antes, pulse Reenviar.`
      : replay.fallidas || estado === "fallida" ? "Ya no se reintentará: cuando lo corrija, pulse Reenviar." : "Se volverá a intentar.";
    return ["bad", "Se ha enviado otra vez y ha vuelto a fallar.", ...(error && estado === "entregada" ? [`${error}.`, `Qué hacer: ${remedyOf(error)?.remedy}`] : []), next];
  }

  return { state: () => state, busy: () => state !== "idle" || doubtful || followed !== null, start, follow, tell, readOnly: () => session.readOnly };
}

function whole(portal, webhook, delivery, hash, sending) {
  const { clock, session } = portal;
  const now = clock.now();
  const about = aboutOf(summaryOf(delivery));
  return [
    record(session, delivery),
    about && el("p", { class: "no-print" }, foreign(about)), // what is sent says it in print
    el("p", { class: "state" }, stateBadge(delivery.estado), el("span", { class: delivery.estado === "cancelada" ? null : "no-print" }, " ", foreign(sentence(delivery, now)))),
    remedyBox(portal, webhook, delivery),
    buttons(webhook, delivery, sending),
    el("h2", {}, "Datos"),
    evidence(portal, webhook, delivery, hash),
    el("h2", {}, `Intentos (${delivery.intentos})`),
    timeline(delivery.historial),
  ];
}

const timeOf = (ms) => bothTimes(new Date(ms).toISOString());

/** What the printed page is, what it is not, and of whom. */
function record({ entity }, { id }) {
  return el("div", { class: "print-only record" },
    el("p", {}, `Entrega ${id} del servicio de avisos de `, el("strong", {}, location.host), entity && [" a la entidad ", el("strong", {}, foreign(entity.nombre))], ". Dice qué envió el servicio y qué respondió el receptor. No es una notificación administrativa, ni prueba oficial de que se haya practicado ninguna. ",
      `Las horas son ${zone().of} (zona ${zone().name}), con la de UTC al lado. Leído del servicio el `, el("span", { id: "leido" }), ". Impreso el ", el("span", { id: "impreso" }), "."));
}

function sentence(delivery, now) {
  const { estado, entregada, terminada, proximoIntento, creada, ultimoError } = delivery;
  if (estado === "entregada") return `El receptor la aceptó ${when(entregada ?? terminada, now)}.`;
  if (estado === "pendiente" && proximoIntento) return `Se intentará ${due(proximoIntento, now)}.`;
  if (estado === "cancelada" && ultimoError) return `${capital(causeOf(ultimoError))}.`;
  const end = terminada ? ` Terminó ${when(terminada, now)}.` : ` Se creó ${when(creada, now)}.`;
  return (STATES[estado]?.[3] ?? "") + end;
}

function remedyBox({ clock, session }, webhook, { ultimoError, estado, terminada }) {
  const remedy = estado === "entregada" || estado === "cancelada" ? null : remedyOf(ultimoError);
  const works = estado === "fallida" && worksSince(webhook, terminada);
  return remedy && el("section", { class: `notice ${works ? "info" : remedy.ours ? "warning" : "bad"}`, "aria-labelledby": "que-arreglar" },
    el("h2", { id: "que-arreglar", class: "notice-title" }, "Qué hay que arreglar", works && ", si no lo está ya"),
    works && el("p", { class: "no-print" }, `El último envío a este webhook, ${when(webhook.ultimaEjecucion, clock.now())}, se recibió bien: puede que ya esté corregido lo que falló aquí.`),
    el("p", {}, foreign((webhook.activo && remedy.active) || remedy.remedy)),
    remedy.operator && askOperator(session),
    el("p", { class: "no-print" }, el("a", { href: hookLink(webhook.id), id: "su-webhook" }, "Ver el webhook ", foreign(nameOf(webhook))),
      !remedy.ours && !session.readOnly && [". Si la causa no está clara, ", el("a", { href: hookLink(webhook.id, "/diagnostico"), id: "pedir-diagnostico" }, "pida un diagnóstico"), "."]),
    el("p", { class: "muted small" }, "Error de esta entrega: ", foreign(ultimoError), el("span", { class: "no-print" }, ". ", away("/apientidades/docs/errores.html", "Todos los errores", { id: "mas-errores" }))));
}

/** Whether the webhook has received something since then: what failed may have been corrected. */
const worksSince = ({ activo, fallaDesde, ultimaEjecucion, ultimoError }, then) => activo && !fallaDesde && !ultimoError && Date.parse(ultimaEjecucion) > Date.parse(then);

function buttons(webhook, delivery, sending) {
  const why = whyNot(webhook, delivery);
  const print = el("button", { type: "button", class: "button", id: "imprimir", onclick: () => globalThis.print() }, "Imprimir el registro técnico");
  if (sending.readOnly()) return el("div", { class: "actions" }, print);
  const button = el("button", { type: "button", class: "button primary", id: "reenviar", "aria-describedby": why ? "por-que-no" : null, "aria-disabled": why || sending.state() !== "idle" ? "true" : null, onclick: () => sending.start(button, delivery) }, WORDS[sending.state()]);
  return [el("div", { class: "actions" }, button, print), why && el("p", { class: "muted small no-print", id: "por-que-no" }, why)];
}

/** Returns the reason for which the API would refuse a replay with 409; "" if this screen knows no reason. */
function whyNot({ activo, motivo }, { estado }) {
  if (estado === "cancelada") return "Está cancelada: no se puede reenviar.";
  if (!activo) return motivo === "operador" ? "El webhook está desactivado por el operador: solo él puede reactivarlo." : "El webhook no está activo: reactívelo antes de reenviar.";
  if (estado === "en_curso") return "Se está enviando en este momento.";
  if (estado === "retenida") return "Está retenida, y se enviará en cuanto sea posible, salvo que caduque o se anule.";
  return "";
}

function evidence({ session }, webhook, delivery, hash) {
  const match = delivery.sha256Cuerpo && (hash === delivery.sha256Cuerpo ? el("span", { class: "good-words" }, " ✓ comprobado en este navegador") : hash && el("span", { class: "bad-words" }, " ✕ no es el del cuerpo que se ve"));
  const data = [
    ["Entidad", session.entity && foreign(session.entity.nombre)],
    ["Webhook", webhook.nombre && foreign(webhook.nombre)],
    ["Dirección actual", [foreign(webhook.url), ` (webhook n.º ${webhook.id})`]],
    ["webhook-id", el("code", {}, delivery.mensaje)],
    ["Entrega", String(delivery.id)],
    ["Evento", [eventName(delivery.evento), " ", el("code", {}, delivery.evento)]],
    ["Creada", bothTimes(delivery.creada)],
    ["Entregada", delivery.entregada && bothTimes(delivery.entregada)],
    ["Terminada", delivery.terminada && delivery.terminada !== delivery.entregada && bothTimes(delivery.terminada)],
    ["Próximo intento", delivery.proximoIntento && bothTimes(delivery.proximoIntento)],
    ["SHA-256 del cuerpo", delivery.sha256Cuerpo && [el("code", {}, delivery.sha256Cuerpo), match]],
  ];
  return el("dl", { class: "data" }, data.filter(([, value]) => value).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function timeline(attempts) {
  if (!attempts.length) return el("p", { class: "muted" }, "No se ha intentado.");
  const missing = attempts[0].numero - 1;
  return [missing > 0 && el("p", { class: "muted small" }, `Los ${missing} primeros ya no se conservan uno a uno.`), el("ol", { class: "timeline" }, attempts.map(attempt))];
}

const SANDBOX = "Entorno de pruebas"; // so begins the error of an attempt that a system for tests has not sent

function attempt({ numero, tipo, inicio, duracionMs, direccion, firmas, estadoHttp, error }) {
  const good = !error;
  const facts = [`${thousands(duracionMs)} ms`, direccion, firmas !== null && (firmas ? count(firmas, "firma") : "sin firmar")].filter(Boolean);
  return el("li", { class: good ? "good" : "bad", value: numero },
    el("p", { class: "attempt" }, el("span", { class: "mark", "aria-hidden": "true" }, good ? "✓ " : "✕ "), el("strong", {}, `Intento ${numero}${KINDS[tipo] ?? ` (${tipo})`}: ${good ? `recibido (${estadoHttp})` : estadoHttp ? `fallido (${estadoHttp})` : error.startsWith(SANDBOX) ? "no enviado" : "fallido, sin respuesta"}`)),
    el("p", {}, bothTimes(inicio), el("span", { class: "muted" }, ` · ${facts.join(" · ")}`)),
    error && el("p", {}, foreign(error)));
}

function bodyOf({ cuerpo }) {
  if (cuerpo === null) return el("p", { class: "muted" }, "Los datos de esta prueba ya no se pueden leer.");
  return el("pre", { class: "code", dir: "auto", tabindex: 0, "aria-label": "Cuerpo del aviso" }, pretty(cuerpo));
}

const whatIsSent = (portal, webhook, delivery) => [el("h2", {}, "Lo que se envía"), bodyOf(delivery), delivery.cuerpo !== null && curl(portal, webhook, delivery)];

function curl({ clock }, webhook, delivery) {
  let text = "";
  const shown = el("pre", { class: "code", tabindex: 0, "aria-label": "Orden de curl" });
  const show = (signed) => replace(shown, (text = curlOf(webhook.url, delivery, signed)));
  show();
  return el("details", { id: "curl", class: "no-print" }, el("summary", {}, "Copiar como curl, para probar su receptor a mano"),
    webhook.tieneSecreto
      ? [el("p", { class: "muted small" }, "Es el mismo aviso, sin firma: el servicio no muestra su secreto, y un receptor que verifique la firma debe rechazarlo. Firmada, la orden lleva la hora de la firma: cópiela y envíela en unos minutos."), signer(clock, delivery, show)]
      : el("p", { class: "muted small" }, "Es el mismo aviso, sin firma: este webhook no tiene secreto."),
    shown, copyButton("Copiar", () => text, "copiar-curl"));
}

const wrongSecret = (text) => (!text ? "Pegue el secreto del webhook." : text !== text.trim() ? "Quite los espacios del principio y del final." : "");

/** Signs with a secret that is pasted, and then forgets it. Another secret begins with the command unsigned. @param {(signed?: string[]) => void} show */
function signer(clock, delivery, show) {
  const secret = field({ label: "Su secreto, para firmarla", hint: "No sale de esta página, y se borra al firmar: firma su navegador.", attributes: { ...SECRET, id: "secreto-curl" } });
  secret.control.addEventListener("input", () => show());
  const sign = async (event) => {
    event.preventDefault();
    const pasted = secret.value();
    if (!judge([[secret, wrongSecret(pasted)]])) return;
    const signed = await signedHeaders(pasted, delivery, clock.now());
    if (secret.value() !== pasted) return; // another one is being typed
    show(signed);
    secret.control.value = "";
    announce("Firmada con la hora de ahora");
  };
  return el("form", { novalidate: true, onsubmit: sign }, secret.node, el("div", { class: "actions tight" }, el("button", { type: "submit", class: "button", id: "firmar-curl" }, "Firmar")));
}

async function sha256(text) {
  if (text === null || !globalThis.crypto?.subtle) return "";
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
