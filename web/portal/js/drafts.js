// What a person has typed into the forms of a screen and not sent yet. It is kept in the screen's entry of the tab's history, so that Back, a reload
// and a new session of the same entity show it again. A control with data-unkept (a secret, or what confirms one) is never kept.
import { announce } from "./announce.js";
import { ask } from "./dialog.js";
import { el, foreign } from "./dom.js";
import { notice } from "./problem.js";
import { fromZoned, toZoned } from "./time.js";

const PACE_MS = 400; // between two writes: Safari refuses more than 100 in 30 s

// Not control.labels: it knows a label only once both are in the document.
const nameOf = (control) => (control.type === "hidden" ? control.name : control.form.querySelector(`label[for="${control.id}"]`)?.textContent ?? "");
const ticked = (control) => control.type === "checkbox" || control.type === "radio";
const keeps = (control) => !("unkept" in control.dataset);
const timed = (control) => control.type === "datetime-local";
// A time is kept in UTC: the zone in which the form shows it can be changed.
const valueOf = (control) => (ticked(control) ? control.checked : timed(control) ? fromZoned(control.value) : control.value);
const controlsOf = (form) => [...form.elements].filter((control) => nameOf(control) !== "");

function put(control, value) {
  if (ticked(control)) control.checked = value;
  else control.value = timed(control) ? toZoned(value) : value;
}

/** @param {() => any} owner the id of the session's entity: what another entity typed is not shown */
export function createDrafts(owner) {
  let forms = []; // those of the screen, each with its address, the values that its controls had at first, and those that need not be kept: at first the same
  let last = 0;
  let timer = 0;
  let question = new AbortController(); // closes the question before the screen is left

  // Without an id (an older API does not tell it) entities cannot be told apart.
  const ours = (state) => Boolean(state?.escrito) && owner() !== undefined && state.entidad === owner();
  const shown = () => (forms = forms.filter(({ node }) => node.isConnected));
  const changesOf = ({ settled }) => [...settled.keys()].filter((control) => valueOf(control) !== settled.get(control));

  function write() {
    clearTimeout(timer);
    const wait = last + PACE_MS - Date.now();
    if (wait > 0 && wait <= PACE_MS) timer = setTimeout(keep, wait);
    else keep();
  }

  function keep() {
    clearTimeout(timer);
    const here = shown().filter(({ at }) => at === location.hash);
    if (!here.length || owner() === undefined) return;
    last = Date.now();
    const typed = here.flatMap((form) => changesOf(form).filter(keeps).map((control) => [nameOf(control), [form.first.get(control), valueOf(control)]]));
    if (typed.length) history.replaceState({ entidad: owner(), escrito: Object.fromEntries(typed) }, "");
    else if (ours(history.state)) history.replaceState(null, "");
  }

  /** Puts what was kept into the form. Returns the controls that had another value when it was typed, and the lost ones, whose chosen option is no longer offered. */
  function restore(first, kept) {
    const restored = [...first.keys()].filter((control) => keeps(control) && kept[nameOf(control)]);
    const lost = new Set();
    for (const control of restored) {
      put(control, kept[nameOf(control)][1]);
      if (valueOf(control) !== kept[nameOf(control)][1]) lost.add(control);
      control.closest("details")?.setAttribute("open", "");
    }
    for (const control of lost) {
      put(control, first.get(control));
      control.dispatchEvent(new Event("lost"));
    }
    for (const control of restored) if (control.type !== "radio" || control.checked) control.dispatchEvent(new Event(ticked(control) || control.matches("select") ? "change" : "input", { bubbles: true }));
    // A time that the form proposes moves on by itself.
    return { restored, lost: [...lost], changed: restored.filter((control) => !lost.has(control) && !timed(control) && first.get(control) !== kept[nameOf(control)][0] && first.get(control) !== valueOf(control)) };
  }

  return {
    /**
     * Keeps what is typed into the form, and puts into it what was kept at this address. A control whose kept option is no longer offered
     * gets its first value, and the event "lost".
     * @param {HTMLFormElement} node whose controls have their first values
     */
    watch(node) {
      const first = new Map(controlsOf(node).map((control) => [control, valueOf(control)]));
      if (ours(history.state)) {
        const { restored, ...since } = restore(first, history.state.escrito);
        if (restored.length) node.prepend(found(node, first, since));
      }
      forms.push({ node, first, settled: new Map(first), at: location.hash });
      for (const type of ["input", "change", "click"]) node.addEventListener(type, write);
    },
    keep,
    /** Whether something would be lost by leaving, secrets included. */
    changed: () => shown().some((form) => changesOf(form).length > 0),
    /**
     * Asks before a changed form is left. The question closes, as if answered with no, once the form is sent or the screen is left.
     * @param {AbortSignal} left of the screen
     * @param {string} [what] becomes of what was typed
     * @returns {Promise<boolean>} whether it may be left
     */
    askToLeave(left, what = "Con el botón Atrás del navegador lo encontrará aquí otra vez, salvo los secretos.") {
      const sending = document.querySelector("[data-sending]");
      question = new AbortController();
      left.addEventListener("abort", () => question.abort());
      return ask({
        title: sending ? "¿Salir mientras se envía?" : "¿Salir sin enviar lo que ha escrito?", confirm: "Salir", cancel: "Seguir aquí",
        body: el("p", {}, `${sending ? "Se está enviando: no se sabrá si llegó." : "No se ha enviado."} ${what}`), signal: question.signal,
      });
    },
    /** What was typed has been sent, or is given up: it is no longer kept, and leaving asks nothing. */
    forget() {
      for (const { settled } of shown()) for (const control of settled.keys()) settled.set(control, valueOf(control));
      clearTimeout(timer);
      question.abort();
      if (history.state) history.replaceState(null, "");
    },
  };
}

/** A value of the control in words. */
function wordsOf(control, value) {
  if (ticked(control)) return value ? "marcado" : "sin marcar";
  const option = control.matches("select") && [...control.options].find((one) => one.value === value);
  return (option ? option.text : value) || "vacío";
}

/** Tells that the form has what was typed earlier, what has changed since, and which choices are no longer offered. */
function found(form, first, { changed, lost }) {
  const words = "Aquí está lo que dejó escrito, salvo los secretos.";
  announce(words);
  const items = (controls, told) => controls.length > 0 && el("ul", {}, controls.map((control) => el("li", {}, nameOf(control), ": ", told(control))));
  return notice(changed.length || lost.length ? "warning" : "info", el("p", {}, words),
    items(lost, () => "lo que eligió ya no puede elegirse."),
    changed.length > 0 && el("p", {}, `Desde entonces ha cambiado esto, y al pulsar «${form.querySelector("[type=submit]").textContent}» se pondrá lo que usted escribió:`),
    items(changed, (control) => ["ahora, ", foreign(wordsOf(control, first.get(control)))]));
}
