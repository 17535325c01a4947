// Reenviar muchas: chooses deliveries, counts them, and then replays them.
import { clearRefusal, form, showRefusal, unsure, workButton } from "../change.js";
import { el, foreign, replace } from "../dom.js";
import { eventsField } from "../events.js";
import { field, incomplete, judge } from "../field.js";
import { hookLink, onlyReads, withHook } from "../hooks.js";
import { alerted, notice, problemBox } from "../problem.js";
import { bothTimes, fromZoned, toZoned, zone } from "../time.js";
import { count } from "../words.js";

const HOUR = 3_600_000;

export const replayManyScreen = (portal, place) => withHook(portal, place, "Reenviar muchas", async (region, hook) => {
  const refused = onlyReads(portal, "reenviar");
  if (refused) return replace(region, refused);
  if (!hook.activo) return replace(region, inactive(hook));
  const events = await portal.api.get("/webhooks/eventos", {}, place.signal);
  if (place.signal.aborted) return;
  if (!events.ok) return replace(region, problemBox(events, { retry: () => portal.show() }));
  replace(region, chooser(portal, place, hook, events.data.eventos));
});

const inactive = (hook) => notice("warning", el("p", { class: "notice-title" }, "El webhook no está activo"),
  el("p", {}, "Reactívelo antes: lo que está guardado se enviará entonces, sin que haga falta reenviarlo. ", el("a", { href: hookLink(hook.id) }, "Ir al webhook")));

function chooser(portal, place, hook, all) {
  const now = () => portal.clock.now();
  const local = (ms) => toZoned(new Date(ms).toISOString());
  const since = field({ label: "Creadas desde", hint: `Hora ${zone().of}.`, attributes: { type: "datetime-local", value: toZoned(place.query.desde ?? "") || local(now() - 168 * HOUR) } });
  const until = field({ label: "Hasta", hint: "Vacío: hasta ahora.", attributes: { type: "datetime-local", value: toZoned(place.query.hasta ?? "") } });
  const states = stateChoice();
  const events = eventsField({ legend: "De estos avisos", all, chosen: all.includes(place.query.evento) ? [place.query.evento] : all });
  const fields = { desde: since, hasta: until, estados: states, eventos: events };
  const box = el("div");
  const counted = el("div", { class: "counted" });
  const preset = (words, ms) => el("button", { type: "button", class: "button quiet", onclick: () => {
    since.control.value = local(ms());
    replace(counted);
  } }, words);
  const button = workButton({ label: "Contar cuántas", busy: "Contando…", kind: "primary", submit: true, sends: false, work: simulate });

  function asked() {
    const chosen = events.value();
    return {
      desde: fromZoned(since.value()), hasta: until.value() ? fromZoned(until.value()) : undefined, estados: states.value(),
      eventos: chosen.length === all.length ? undefined : chosen,
    };
  }

  async function simulate() {
    clearRefusal(fields, box);
    replace(counted);
    if (!events.value().length || incomplete(until)) more.setAttribute("open", "");
    if (!judge([[since, since.value() ? "" : "Indique desde qué día y hora."], [until, incomplete(until)], [states, states.value().length ? "" : "Marque al menos una."], [events, events.value().length ? "" : "Marque al menos uno."]])) return;
    const body = asked();
    const answer = await send(portal, place, hook, { ...body, simular: true });
    if (place.signal.aborted) return;
    if (!answer.ok) return showRefusal(answer, fields, box, { retry: button.run });
    replace(counted, found(portal, place, hook, body, answer.data));
    counted.querySelector("h2")?.focus();
  }

  const more = el("details", { open: Boolean(place.query.hasta || place.query.evento) }, el("summary", {}, "Más opciones"), until.node, events.node);
  const node = form(portal, button.run,
    el("div", { class: "actions tight" }, preset("Últimas 24 horas", () => now() - 24 * HOUR), preset("Últimos 7 días", () => now() - 168 * HOUR),
      hook.fallaDesde && preset("Desde que falla", () => Date.parse(hook.fallaDesde) - HOUR)),
    since.node, states.node,
    more, box, el("div", { class: "actions" }, button.node));
  // Any input changes the choice, so it removes the count of the earlier choice.
  node.addEventListener("input", () => replace(counted));
  return [el("p", {}, "Llegan otra vez con el mismo identificador y el mismo contenido: un sistema que ya las tenga las reconoce. Las pruebas no se incluyen."), node, counted];
}

const send = (portal, place, hook, body) => portal.api.request("POST", `/webhooks/${hook.id}/reenvios`, { body, signal: place.signal, timeout: 60_000 });

function stateChoice() {
  const box = (value, checked, words, hint) => el("div", { class: "check" }, el("input", { type: "checkbox", id: `estado-${value}`, value, checked, "aria-describedby": `estado-${value}-ayuda` }),
    el("div", {}, el("label", { for: `estado-${value}` }, words), el("p", { class: "hint", id: `estado-${value}-ayuda` }, hint)));
  const error = el("p", { class: "field-error", id: "estados-error" });
  error.hidden = true;
  const node = el("fieldset", { class: "field-set" }, el("legend", {}, "¿Cuáles?"), error,
    box("fallida", true, "Las fallidas", "Se agotaron sus reintentos."), box("entregada", false, "También las entregadas", "Llegaron, pero se perdieron después en su sistema."));
  const inputs = [...node.querySelectorAll("input")];
  return {
    node, control: inputs[0],
    value: () => inputs.filter((one) => one.checked).map((one) => one.value),
    setError(text) {
      replace(error, text);
      error.hidden = !text;
      inputs[0].setAttribute("aria-describedby", `${text ? "estados-error " : ""}estado-fallida-ayuda`);
    },
  };
}

/** The count, and the button that starts the replay. */
function found(portal, place, hook, body, { candidatas, exacto }) {
  const heading = (text) => el("h2", { tabindex: "-1" }, text);
  if (candidatas === 0 && exacto) return notice("info", heading("No hay nada que reenviar"), el("p", {}, "Ninguna entrega cumple estas condiciones. Pruebe con otra fecha, o incluya también las entregadas."));
  const box = el("div");
  const amount = `${exacto ? "" : "al menos "}${count(candidatas, "entrega")}`;
  const title = candidatas === 0 ? "No se sabe cuántas se reenviarán" : `Se ${candidatas === 1 ? "reenviará" : "reenviarán"} ${amount}`;
  const button = workButton({ label: exacto ? `Reenviar ${count(candidatas, "entrega")}` : "Reenviarlas", busy: "Pidiéndolo…", kind: "primary", id: "reenviar", sends: true, work: async () => {
    replace(box);
    const answer = await send(portal, place, hook, body);
    if (place.signal.aborted) return;
    if (answer.ok) portal.drafts.forget();
    if (answer.ok) return portal.go(hookLink(hook.id, `/reenvios/${answer.data.reenvio.id}`));
    replace(box, refusal(hook, answer, answer.kind === "tooMany" ? button.run : undefined));
  } });
  return notice("info", heading(title),
    el("p", {}, "Creadas desde ", bothTimes(body.desde), body.hasta && [" hasta ", bothTimes(body.hasta)], ". Van poco a poco, de la más antigua a la más reciente, detrás de los avisos nuevos."),
    !exacto && el("p", {}, "No se han podido contar todas: se reenvían las que cumplan las condiciones, hasta el límite diario de su entidad."),
    box, el("div", { class: "actions" }, button.node));
}

function refusal(hook, answer, retry) {
  const running = answer.kind === "conflict" && /reenvío (\d+)/.exec(answer.message)?.[1];
  if (running) {
    return alerted(notice("warning", el("p", { class: "notice-title" }, "Ya hay otro reenvío en marcha"),
      el("p", {}, "Un webhook tiene uno cada vez. ", el("a", { href: hookLink(hook.id, `/reenvios/${running}`) }, `Ver el reenvío ${running}`), ": puede esperar a que termine, o detenerlo.")));
  }
  return [problemBox(answer, { retry }), unsure(answer) && el("p", {}, "No se sabe si el reenvío llegó a empezar. Cuéntelas otra vez: si quedan menos, empezó. Si está en marcha, al pedirlo de nuevo se le dirá cuál es."),
    answer.kind === "conflict" && el("p", {}, el("a", { href: hookLink(hook.id) }, foreign("Ir al webhook")))];
}
