// Chooses deliveries of the list and sends them again, one request each. What is chosen stays so while the list is drawn anew.
import { tellDone, unsure } from "./change.js";
import { ask } from "./dialog.js";
import { el, foreign, replace, urlOf } from "./dom.js";
import { nameOf } from "./hooks.js";
import { notice } from "./problem.js";
import { link } from "./router.js";
import { count } from "./words.js";

/** What the API sends again: what was delivered, has failed, or was tried and waits; the last is then tried at once. */
const sendable = ({ estado, intentos }) => estado === "fallida" || estado === "entregada" || (estado === "pendiente" && intentos > 0);
const ENDS = new Set(["tooMany", "unauthorized", "forbidden", "network", "timeout", "unavailable", "aborted"]); // the next request would fare no better

/**
 * @param {any[]} hooks
 * @param {() => any} sent called once the chosen ones were asked for
 */
export function chooser(portal, place, hooks, sent) {
  const active = new Map(hooks.filter((hook) => hook.activo).map((hook) => [hook.id, hook]));
  const chosen = new Map(); // deliveries by id
  const asked = new Map(); // maps the id of a delivery that was sent again to its number of attempts before
  const told = el("div", { tabindex: "-1" });
  const tools = el("div", { class: "actions" });
  const node = el("div", { class: "chosen" }, told, tools);
  let page = [];
  let sending = false;
  const waits = (one) => asked.has(one.id) && (one.gone || asked.get(one.id) === one.intentos);
  const can = (one) => !portal.session.readOnly && active.has(one.webhook) && sendable(one) && !one.gone && !waits(one);
  const button = (kind, id, words, work) => el("button", { type: "button", class: `button ${kind}`, id, "aria-disabled": sending && "true", onclick: () => sending || work() }, words);

  function draw() {
    const some = chosen.size > 0;
    replace(tools, some && button("primary", "reenviar-elegidas", `Reenviar ${count(chosen.size, "elegida")}`, question),
      some && button("quiet", "no-elegir", "No elegir ninguna", () => choose([])),
      page.filter(can).some(({ id }) => !chosen.has(id)) && button("quiet", "elegir-todas", "Elegir todas las de esta página", () => choose(page.filter(can))),
      !portal.session.readOnly && stopped().map((words) => el("p", { class: "muted small" }, words)));
    for (const box of boxes()) box.disabled = sending || !page.some((one) => one.id === Number(box.value) && can(one));
  }

  /** Why deliveries of inactive webhooks cannot be chosen. */
  function stopped() {
    const some = hooks.filter((hook) => !hook.activo && page.some((one) => one.webhook === hook.id && sendable(one)));
    return [
      some.some(({ motivo }) => motivo !== "operador") && "Las de un webhook en pausa o desactivado no se pueden elegir: reactívelo antes.",
      some.some(({ motivo }) => motivo === "operador") && "Las de un webhook que ha desactivado el operador no se pueden elegir: solo él puede reactivarlo.",
    ].filter(Boolean);
  }

  const boxes = () => [...document.querySelectorAll("input[id^=elegir-]")].filter((box) => box instanceof HTMLInputElement);

  function choose(deliveries) {
    chosen.clear();
    for (const one of deliveries) chosen.set(one.id, one);
    for (const box of boxes()) box.checked = chosen.has(Number(box.value));
    draw();
  }

  function question() {
    const by = new Map();
    for (const { webhook } of chosen.values()) by.set(webhook, (by.get(webhook) ?? 0) + 1);
    return ask({
      title: `¿Reenviar ${count(chosen.size, "entrega")}?`, confirm: "Reenviar", signal: place.signal, onConfirm: () => {
        send();
        return true;
      },
      body: [el("ul", {}, [...by].map(([id, number]) => el("li", {}, `${count(number, "entrega")} a `, whole(active.get(id))))), el("p", {}, "Llegan otra vez con el mismo identificador y el mismo contenido. Las que esperan otro intento se adelantan.")],
    });
  }

  // A request is not aborted when the user goes to another screen, because the outcome of an aborted request is unknown. No further one is made then.
  async function send() {
    if (sending) return;
    sending = true;
    draw();
    const session = portal.session.number;
    const all = [...chosen.values()];
    const refused = [];
    let done = 0;
    let end = null;
    for (const one of all) {
      if (place.signal.aborted) break;
      replace(told, notice("info", el("p", { role: "status" }, `Pidiendo el reenvío ${done + refused.length + 1} de ${all.length}…`)));
      const answer = await portal.api.request("POST", `/webhooks/${one.webhook}/entregas/${one.id}/reenvio`);
      if (!answer.ok && ENDS.has(answer.kind)) {
        end = answer;
        break;
      }
      chosen.delete(one.id);
      if (answer.ok) {
        done += 1;
        asked.set(one.id, one.intentos);
      } else {
        refused.push([one, answer]);
      }
    }
    sending = false;
    if (place.signal.aborted) return portal.session.number === session && tellLeft(all.length, done, refused.length, end);
    const elsewhere = document.activeElement !== document.body && !node.contains(document.activeElement);
    replace(told, outcome(done, refused, end, chosen.size));
    choose([...chosen.values()]);
    if (!elsewhere) told.focus(); // the button that was pressed may be gone
    sent();
  }

  return {
    node,
    /** Takes the deliveries that the page shows. */
    show(deliveries) {
      page = deliveries;
      for (const one of sending ? [] : page) if (!can(one)) chosen.delete(one.id);
      draw();
    },
    /** What to say of a delivery that was sent again, or that has left the list; otherwise "". */
    note: (one) => (waits(one) ? "Reenvío pedido" : one.gone ? "Ha cambiado: ya no está en esta lista" : ""),
    any: () => !portal.session.readOnly && active.size > 0,
    box: (one) => can(one) && el("input", { type: "checkbox", id: `elegir-${one.id}`, value: one.id, checked: chosen.has(one.id), disabled: sending, "aria-label": `Elegir la entrega ${one.id}`, onchange: (event) => {
      if (event.target.checked) chosen.set(one.id, one);
      else chosen.delete(one.id);
      draw();
    } }),
  };
}

/** A webhook's name and its whole URL. */
const whole = (hook) => [foreign(nameOf(hook)), " · ", urlOf(hook.url)];

const seeHow = (number) => (number === 1 ? "Ver cómo va" : "Ver cómo van");

/** Tells the screen to which the user went how many were asked for. */
function tellLeft(all, done, refused, end) {
  tellDone(location.hash, `Reenvíos: ${done} de ${all} pedidos`, el("p", {}, refused > 0 && `${count(refused, "rechazado")}. `, done + refused < all && "Al salir de la lista no se han pedido los demás. ", end && unsure(end) && "De uno no se sabe si llegó a pedirse. ", el("a", { href: link("/reenvios") }, seeHow(done))));
}

function outcome(done, refused, end, left) {
  return notice(end || refused.length ? "warning" : "good",
    el("p", { role: "status" }, done ? `Se ${done === 1 ? "ha" : "han"} pedido ${count(done, "reenvío")}. ` : "No se ha pedido ningún reenvío. ", done > 0 && el("a", { href: link("/reenvios") }, seeHow(done))),
    refused.length > 0 && el("ul", {}, refused.map(([one, answer]) => el("li", {}, `Entrega ${one.id}: `, foreign(answer.message)))),
    end && el("p", {}, `${count(left, "entrega")} sin pedir: `, foreign(end.message), unsure(end) && " De la primera no se sabe si llegó a pedirse: mírela antes de repetirlo."));
}
