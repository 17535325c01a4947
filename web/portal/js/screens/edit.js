// Editar un webhook. Another person's changes are shown next to the typed values, and never overwritten unseen.
import { clearRefusal, form, showRefusal, tellDone, unsure, workButton } from "../change.js";
import { el, foreign, freshId, replace } from "../dom.js";
import { eventsField } from "../events.js";
import { field, judge, nameField } from "../field.js";
import { hookLink, onlyReads, withHook } from "../hooks.js";
import { alerted, notice, problemBox } from "../problem.js";
import { bothTimes } from "../time.js";
import { ADDED, REMOVED, withEvents } from "../words.js";

export const editScreen = (portal, place) => withHook(portal, place, "Editar el webhook", async (region, hook, etag) => {
  const refused = onlyReads(portal, "cambiar el webhook");
  if (refused) return replace(region, refused);
  const events = await portal.api.get("/webhooks/eventos", {}, place.signal);
  if (place.signal.aborted) return;
  if (!events.ok) return replace(region, problemBox(events, { retry: () => portal.show() }));
  replace(region, editor(portal, place, { hook, etag }, events.data.eventos));
});

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The members as the API stores them (the URL's host in punycode), so that they can be compared. */
function stored(members) {
  if (!("url" in members)) return members;
  try {
    return { ...members, url: new URL(members.url).href };
  } catch {
    return members;
  }
}

/** The members of a form that differ from their earlier values. @param {Object<string, any>} before @param {Object<string, any>} typed */
export const changesOf = (before, typed) => Object.fromEntries(Object.entries(typed).filter(([name, value]) => !same(value, before[name])));

/**
 * Who changed each member in which the webhook and this form now differ: "theirs" (another person), "mine" (this form), or "both".
 * @returns {Object<string, "theirs" | "mine" | "both">}
 */
export function compare(base, theirs, typed) {
  const verdict = {};
  for (const name of Object.keys(typed)) {
    const they = !same(theirs[name], base[name]);
    const here = !same(typed[name], base[name]);
    if (same(theirs[name], typed[name])) continue;
    verdict[name] = they && here ? "both" : they ? "theirs" : "mine";
  }
  return verdict;
}

/** A list with what both persons added and without what either removed; null if nothing would be left, or if it is what one of them wants alone. */
export function bothOf(before, theirs, mine) {
  if (!Array.isArray(before)) return null;
  const all = [...new Set([...before, ...theirs, ...mine])].filter((one) => (before.includes(one) ? theirs.includes(one) && mine.includes(one) : true));
  const is = (some) => some.length === all.length && some.every((one) => all.includes(one));
  return all.length === 0 || is(theirs) || is(mine) ? null : all;
}

function editor(portal, place, base, events) {
  const url = field({ label: "Dirección que recibe los avisos", attributes: { type: "text", inputmode: "url", autocomplete: "off", autocapitalize: "none", spellcheck: "false", value: base.hook.url } });
  const name = nameField(base.hook.nombre ?? "");
  const chosen = eventsField({ legend: "Avisos que recibe", all: events, chosen: base.hook.eventos });
  const fields = { url, nombre: name, eventos: chosen };
  const set = { url: (value) => (url.control.value = value), nombre: (value) => (name.control.value = value ?? ""), eventos: chosen.set };
  const typed = () => ({ url: url.value().trim(), nombre: name.value().trim() || null, eventos: chosen.value() });
  const box = el("div");
  let choices = [];
  const button = workButton({ label: "Guardar", busy: "Guardando…", kind: "primary", submit: true, work: save });

  async function save() {
    if (!judge(choices.map((choice) => [choice, choice.chosen() ? "" : "Elija una opción."]))) return;
    for (const choice of choices) if (choice.chosen() !== "mine") set[choice.name](choice.chosen() === "both" ? choice.both : base.hook[choice.name]);
    choices = [];
    clearRefusal(fields, box);
    const changes = changesOf(base.hook, typed());
    if (same(changes, {})) return finish("No había nada que cambiar");
    const answer = await portal.api.request("PATCH", `/webhooks/${base.hook.id}`, { body: changes, headers: { "If-Match": base.etag }, signal: place.signal });
    if (place.signal.aborted) return;
    if (answer.ok) finish("Cambios guardados", changes);
    else if (answer.kind === "precondition") await look(changes);
    else if (unsure(answer)) replace(box, problemBox(answer), el("p", {}, "No se sabe si llegó a guardarse."), el("div", { class: "actions" }, workButton({ label: "Comprobar si se guardó", busy: "Comprobando…", work: () => look(changes) }).node));
    else showRefusal(answer, fields, box, { retry: button.run });
  }

  /** Fetches the webhook again. It may already have the requested values, if the answer was lost. */
  async function look(changes) {
    const now = await portal.api.get(`/webhooks/${base.hook.id}`, {}, place.signal);
    if (place.signal.aborted) return;
    if (!now.ok) return replace(box, problemBox(now, { retry: () => look(changes) }));
    if (same(changesOf(stored(now.data), stored(changes)), {})) return finish("Cambios guardados", changes);
    const verdict = compare(base.hook, now.data, typed());
    if (now.etag === base.etag) return replace(box, alerted(notice("warning", el("p", {}, "No se había guardado: pulse Guardar otra vez."))));
    choices = Object.entries(verdict).filter(([, changedBy]) => changedBy === "both").map(([name]) => choiceOf(name, base.hook[name], now.data[name], typed()[name]));
    const adopted = Object.keys(verdict).filter((name) => verdict[name] === "theirs");
    for (const name of adopted) set[name](now.data[name]);
    replace(box, alerted(conflict(base.hook, now.data, adopted, choices)));
    base = { hook: now.data, etag: now.etag };
  }

  function finish(title, changes = {}) {
    const next = [
      changes.url && "Los avisos van desde ahora a la nueva dirección; lo que esperaba un reintento se envía enseguida a ella. Lo que ya es «Fallida» no se envía solo: use «Reenviar muchas».",
      changes.eventos && "Los avisos nuevos siguen la lista nueva; los que ya esperaban se envían.",
    ].filter(Boolean);
    portal.drafts.forget();
    tellDone(hookLink(base.hook.id), title, next.map((text) => el("p", {}, text)));
    portal.go(hookLink(base.hook.id));
  }

  return form(portal, button.run, url.node, name.node, chosen.node, box, el("div", { class: "actions" }, button.node, el("a", { class: "button", href: hookLink(base.hook.id) }, "Cancelar")));
}

const NAMES = { url: "La dirección", nombre: "El nombre", eventos: "Los avisos" };

/** A value in words; a list as its differences from `before`, with the verbs for what is added and what is removed. */
function shown(value, before, [adds, removes] = [ADDED, REMOVED], joint = "; ") {
  if (!Array.isArray(value)) return value === null ? "ninguno" : foreign(value);
  const added = withEvents(adds, value.filter((event) => !before.includes(event)));
  const gone = withEvents(removes, before.filter((event) => !value.includes(event)));
  return foreign([added, gone].filter(Boolean).join(joint) || "los de antes");
}

/** What the other person has done already. */
const done = (value, before) => [Array.isArray(value) && "la otra persona ", shown(value, before, [["añadió", "añadió"], ["quitó", "quitó"]], " y ")];

function conflict(before, hook, adopted, choices) {
  const other = !adopted.length && !choices.length;
  return notice("warning", el("p", { class: "notice-title" }, "Otra persona lo ha cambiado mientras usted escribía"),
    el("p", {}, "Cambió ", bothTimes(hook.fechaModificacion), ". No se ha guardado nada todavía."),
    adopted.map((name) => el("p", {}, `${NAMES[name]}: `, done(hook[name], before[name]), ". Ya está puesto en el formulario.")),
    other && el("p", {}, hook.activo ? "Ha cambiado su estado o su secreto, que aquí no se tocan." : "Ahora está inactivo."),
    choices.map((choice) => choice.node),
    el("p", {}, choices.length ? "Elija y pulse Guardar." : "Lo que usted cambió se conserva: si sigue valiendo, pulse Guardar otra vez."));
}

/** Radio buttons for one member: the other person's value, the typed one, or both changes if they can stand together. judge() of field.js can check them like a field. */
function choiceOf(name, before, theirs, mine) {
  const group = freshId("cual");
  const error = el("p", { class: "field-error", id: `${group}-error` });
  error.hidden = true;
  const option = (side, ...words) => {
    const id = `${group}-${side}`;
    return el("div", { class: "check" }, el("input", { type: "radio", name: group, id, value: side }), el("label", { for: id }, words));
  };
  // The other person's list shows what was changed; the others, all that saving does, also to that change.
  const asItIs = Array.isArray(theirs) ? [" (", done(theirs, before), ")"] : [": ", shown(theirs, before)];
  const both = bothOf(before, theirs, mine);
  const node = el("fieldset", { class: "field-set" }, el("legend", {}, NAMES[name]), error, option("theirs", "Dejarlo como está ahora", asItIs),
    option("mine", "El que usted ha escrito: ", shown(mine, theirs)), both && option("both", "Las dos cosas: ", shown(both, theirs)));
  const control = node.querySelector("input");
  return {
    name, node, control, both,
    chosen: () => node.querySelector("input:checked")?.value,
    setError(text) {
      replace(error, text);
      error.hidden = !text;
      if (text) control.setAttribute("aria-describedby", error.id);
      else control.removeAttribute("aria-describedby");
    },
  };
}
