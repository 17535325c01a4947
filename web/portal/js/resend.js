// Chooses deliveries of the list and sends them again, one request each. What is chosen stays so while the list is drawn anew.
import { unsure } from "./change.js";
import { ask } from "./dialog.js";
import { el, foreign, replace } from "./dom.js";
import { labelOf } from "./hooks.js";
import { notice } from "./problem.js";
import { link } from "./router.js";
import { count } from "./words.js";

const SENDABLE = new Set(["fallida", "entregada"]);
const ENDS = new Set(["tooMany", "unauthorized", "forbidden", "network", "timeout", "unavailable", "aborted"]); // the next request would fare no better

/**
 * @param {any[]} hooks
 * @param {() => any} sent called once the chosen ones were asked for
 */
export function chooser(portal, place, hooks, sent) {
  const active = new Map(hooks.filter((hook) => hook.activo).map((hook) => [hook.id, hook]));
  const chosen = new Map(); // deliveries by id
  const told = el("div");
  const tools = el("div", { class: "actions" });
  let page = [];
  const can = (one) => !portal.session.readOnly && active.has(one.webhook) && SENDABLE.has(one.estado);

  function draw() {
    const some = chosen.size > 0;
    replace(tools, some && el("button", { type: "button", class: "button primary", id: "reenviar-elegidas", onclick: question }, `Reenviar ${count(chosen.size, "elegida")}`),
      some && el("button", { type: "button", class: "button quiet", id: "no-elegir", onclick: () => choose([]) }, "No elegir ninguna"),
      page.some(can) && page.filter(can).some(({ id }) => !chosen.has(id)) && el("button", { type: "button", class: "button quiet", id: "elegir-todas", onclick: () => choose(page.filter(can)) }, "Elegir todas las de esta página"));
  }

  function choose(deliveries) {
    chosen.clear();
    for (const one of deliveries) chosen.set(one.id, one);
    for (const box of document.querySelectorAll("input[id^=elegir-]")) if (box instanceof HTMLInputElement) box.checked = chosen.has(Number(box.value));
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
      body: [el("ul", {}, [...by].map(([id, number]) => el("li", {}, `${count(number, "entrega")} a `, foreign(labelOf(active.get(id)))))), el("p", {}, "Llegan otra vez con el mismo identificador y el mismo contenido.")],
    });
  }

  async function send() {
    const all = [...chosen.values()];
    const refused = [];
    let done = 0;
    let end = null;
    for (const one of all) {
      replace(told, notice("info", el("p", { role: "status" }, `Pidiendo el reenvío ${done + refused.length + 1} de ${all.length}…`)));
      const answer = await portal.api.request("POST", `/webhooks/${one.webhook}/entregas/${one.id}/reenvio`, { signal: place.signal });
      if (place.signal.aborted) return;
      if (!answer.ok && ENDS.has(answer.kind)) {
        end = answer;
        break;
      }
      chosen.delete(one.id);
      if (answer.ok) done += 1;
      else refused.push([one, answer]);
    }
    replace(told, outcome(done, refused, end, chosen.size));
    choose([...chosen.values()]);
    sent();
  }

  return {
    node: el("div", { class: "chosen" }, told, tools),
    /** Takes the deliveries that the page shows. */
    show(deliveries) {
      page = deliveries;
      draw();
    },
    any: () => !portal.session.readOnly && active.size > 0,
    box: (one) => can(one) && el("input", { type: "checkbox", id: `elegir-${one.id}`, value: one.id, checked: chosen.has(one.id), "aria-label": `Elegir la entrega ${one.id}`, onchange: (event) => {
      if (event.target.checked) chosen.set(one.id, one);
      else chosen.delete(one.id);
      draw();
    } }),
  };
}

function outcome(done, refused, end, left) {
  return notice(end || refused.length ? "warning" : "good",
    el("p", { role: "status" }, done ? `Se ${done === 1 ? "ha" : "han"} pedido ${count(done, "reenvío")}. ` : "No se ha pedido ningún reenvío. ", done > 0 && el("a", { href: link("/reenvios") }, "Ver cómo van")),
    refused.length > 0 && el("ul", {}, refused.map(([one, answer]) => el("li", {}, `Entrega ${one.id}: `, foreign(answer.message)))),
    end && el("p", {}, `${count(left, "entrega")} sin pedir: `, foreign(end.message), unsure(end) && " De la primera no se sabe si llegó a pedirse: mírela antes de repetirlo."));
}
