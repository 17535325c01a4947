// Un reenvío de varias entregas: its progress, and a button that stops it.
import { announce } from "../announce.js";
import { unsure } from "../change.js";
import { ask } from "../dialog.js";
import { el, replace } from "../dom.js";
import { hookLink, withHook } from "../hooks.js";
import { poll } from "../poll.js";
import { notice, problemBox } from "../problem.js";
import { link } from "../router.js";
import { count, thousands } from "../words.js";

const EVERY_MS = 2000;
export const SLOWLY_MS = 15_000; // once the replay has ended: failed deliveries are retried for days

const STATES = { pendiente: "En la cola", en_curso: "En marcha", terminado: "Terminado", cancelado: "Detenido" };
export const going = (replay) => replay.estado === "pendiente" || replay.estado === "en_curso";
/** "En marcha" also while some of what was sent again waits for a retry. */
export const stateOf = (replay) => (replay.porReintentar > 0 && replay.estado === "terminado" ? STATES.en_curso : STATES[replay.estado] ?? replay.estado);
export const retrying = ({ porReintentar }) => porReintentar > 0 && count(porReintentar, "ha vuelto a fallar y se reintentará", "han vuelto a fallar y se reintentarán");
export const settled = (replay) => replay.entregadas + replay.fallidas >= replay.reenviadas;

export const replayScreen = (portal, place) => withHook(portal, place, `Reenvío ${place.params.reenvio}`, (region, hook) => {
  const path = `/webhooks/${hook.id}/reenvios/${place.params.reenvio}`;
  const box = el("div");
  const panel = el("div", { class: "card" }, el("p", { class: "loading" }, "Cargando…"));
  const next = el("div");
  let before = "";
  replace(region, panel, box, next);

  function show(replay) {
    replace(panel, progress(replay));
    replace(next, !going(replay) && whatNext(hook, replay), going(replay) && !portal.session.readOnly && el("div", { class: "actions" }, el("button", { class: "button danger", type: "button", id: "detener", onclick: stop }, "Detener")),
      going(replay) && el("p", { class: "muted" }, "Puede salir de esta página: el reenvío continúa."));
    // The end is announced at the first answer, too: a short replay may be over before that answer.
    if (before ? before !== stateOf(replay) : !going(replay)) announce(`${stateOf(replay)}: ${words(replay)}`);
    before = stateOf(replay);
  }

  const following = poll(async () => {
    const answer = await portal.api.get(path, {}, place.signal);
    if (place.signal.aborted) return { ok: true, done: true };
    if (!answer.ok) {
      replace(box, problemBox(answer, answer.kind === "notFound" ? {} : { retry: () => following.now() }));
      if (answer.kind === "notFound") replace(panel, el("p", {}, "Un reenvío puede consultarse durante 30 días desde que termina."));
      return { ok: false, retryAfter: answer.retryAfter, done: answer.kind === "notFound" };
    }
    replace(box);
    show(answer.data);
    return { ok: true, wait: going(answer.data) ? 0 : SLOWLY_MS, done: !going(answer.data) && settled(answer.data) };
  }, { every: EVERY_MS, signal: place.signal, now: true });

  function stop() {
    const problem = el("div");
    return ask({
      title: "¿Detener el reenvío?", confirm: "Detenerlo", danger: true, signal: place.signal,
      body: [el("p", {}, "Lo que ya se ha reenviado sigue su curso. Lo demás queda como estaba, y puede reenviarse más tarde."), problem],
      onConfirm: async () => {
        const answer = await portal.api.request("DELETE", path, { signal: place.signal });
        if (!answer.ok) {
          replace(problem, problemBox(answer), unsure(answer) && el("p", { class: "muted" }, "No se sabe si llegó a detenerse: puede pulsarlo otra vez."));
          return false;
        }
        show(answer.data);
        return true;
      },
    });
  }
});

const words = (replay) => `${thousands(replay.reenviadas)} de ${count(replay.candidatas, "entrega")}`;

function progress(replay) {
  const { porReintentar } = replay;
  const waiting = Math.max(0, replay.reenviadas - replay.entregadas - replay.fallidas - porReintentar);
  const number = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, thousands(value)));
  return [
    el("p", { class: "replay-state" }, el("strong", {}, stateOf(replay)), ` · ${words(replay)}`),
    el("progress", { max: Math.max(1, replay.candidatas), value: replay.reenviadas, "aria-label": "Reenviadas" }),
    el("dl", { class: "numbers" }, number("Reenviadas", replay.reenviadas), number("Recibidas", replay.entregadas), number("Fallidas", replay.fallidas), number("Por reintentar", porReintentar), number("Esperan respuesta", waiting)),
  ];
}

function whatNext(hook, replay) {
  const rest = replay.candidatas - replay.reenviadas;
  const fewer = replay.estado === "terminado" && rest > 0;
  return [
    replay.estado === "cancelado" && notice("warning", el("p", { class: "notice-title" }, "Detenido"), el("p", {}, `${count(replay.reenviadas, "entrega")} ya en camino ${replay.reenviadas === 1 ? "sigue" : "siguen"} su curso; lo demás queda como estaba.`)),
    fewer && notice("warning", el("p", {}, `${count(rest, "entrega")} ${rest === 1 ? "no se ha reenviado: ya no cumplía las condiciones" : "no se han reenviado: ya no cumplían las condiciones"}, o no lo ha permitido el límite diario. En ese caso, pídalo otra vez más tarde.`)),
    replay.estado === "terminado" && !fewer && (replay.fallidas ? notice("bad", el("p", {}, `${count(replay.fallidas, "entrega")} ${replay.fallidas === 1 ? "ha vuelto" : "han vuelto"} a fallar.`))
      : retrying(replay) ? notice("bad", el("p", {}, `${retrying(replay)}. Mire la causa en sus entregas y corrija el receptor.`), el("p", {}, el("a", { href: link("/entregas", { webhook: hook.id, estado: "pendiente" }) }, "Ver las que esperan")))
      : settled(replay) ? notice("good", el("p", {}, replay.reenviadas ? "Se han recibido todas." : "No había nada que reenviar.")) : notice("info", el("p", {}, "Se han reenviado todas; algunas esperan aún respuesta. Las que fallen se reintentarán."))),
    el("div", { class: "actions" }, replay.fallidas > 0 && el("a", { class: "button", href: link("/entregas", { webhook: hook.id, estado: "fallida" }) }, "Ver las fallidas"), el("a", { class: "button", href: hookLink(hook.id) }, "Volver al webhook")),
  ];
}
