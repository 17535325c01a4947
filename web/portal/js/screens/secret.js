// The screen on which an entity changes a webhook's secret, step by step. It says what to do here and what the receiver must do, so that the receiver refuses no notification during the change.
import { ask } from "../dialog.js";
import { announce } from "../announce.js";
import { clearRefusal, form, showRefusal, tellDone, unsure, workButton } from "../change.js";
import { el, foreign, replace } from "../dom.js";
import { field, judge } from "../field.js";
import { hookLink, onlyReads, withHook } from "../hooks.js";
import { notice, problemBox } from "../problem.js";
import { lastSight, promise, secretField } from "../secret.js";
import { bothTimes, span } from "../time.js";

const GRACES = [[3600, "1 hora"], [86_400, "1 día"], [259_200, "3 días"], [604_800, "7 días"]];
const USUAL = 86_400;

export const secretScreen = (portal, place) => withHook(portal, place, "Secreto", (region, hook) => {
  const refused = onlyReads(portal, "cambiar el secreto");
  if (refused) return replace(region, state(hook), refused);
  const work = { portal, place, region, hook };
  replace(region, hook.secretoAnteriorHasta ? during(work, "") : before(work));
});

function state(hook) {
  if (!hook.tieneSecreto) return notice("warning", el("p", { class: "notice-title" }, "Los avisos van sin firmar"), el("p", {}, "Su sistema no puede saber si un aviso es auténtico: cualquiera que conozca la dirección podría falsificarlo."));
  if (hook.secretoAnteriorHasta) return notice("info", el("p", { class: "notice-title" }, "Hay dos secretos en vigor"), el("p", {}, "El nuevo y el anterior. Los avisos llevan la firma de los dos."));
  if (hook.secretoDebil) return notice("warning", el("p", { class: "notice-title" }, "El secreto es demasiado corto"), el("p", {}, "Tiene menos de 16 bytes, y se podría adivinar. Cámbielo por el que se propone aquí."));
  if (hook.avisoSecreto) return notice("warning", el("p", { class: "notice-title" }, "El secreto no sirve a las bibliotecas"), el("p", {}, foreign(hook.avisoSecreto)));
  return notice("good", el("p", {}, "Los avisos van firmados. El secreto no se puede volver a ver: solo cambiarlo."));
}

/** The steps of a change of the secret; `present` is the index of the current step. */
function steps(hook, present, ...content) {
  const names = hook.tieneSecreto ? ["Guardar el nuevo", "Ponerlo en su sistema", "Retirar el anterior"] : ["Guardar el secreto", "Ponerlo en su sistema"];
  return el("ol", { class: "steps" }, names.map((name, i) => el("li", { "aria-current": i === present ? "step" : null, class: i < present ? "past" : null },
    el("h2", {}, name, i < present && el("span", { class: "muted" }, " · hecho")), i === present && content)));
}

function before(work) {
  const { hook } = work;
  const whatHappens = hook.tieneSecreto
    ? "Al ponerlo en vigor no se rechaza nada: durante el plazo que elija los avisos llevan la firma de los dos secretos, y su sistema sigue valiendo tal como está."
    : "Al ponerlo en vigor los avisos empiezan a ir firmados. Su sistema sigue recibiéndolos como hasta ahora; desde entonces puede comprobar la firma.";
  return [state(hook), steps(hook, 0, el("p", {}, whatHappens), newSecretForm(work)), hook.tieneSecreto && leak(work)];
}

function newSecretForm({ portal, place, region, hook }) {
  const secret = secretField();
  const stored = promise("Lo he guardado en un lugar seguro");
  const grace = hook.tieneSecreto && graceField();
  const fields = { secreto: secret, ...(grace ? { graciaSegundos: grace } : {}) };
  const box = el("div");
  const button = workButton({ label: "Poner en vigor", busy: "Poniéndolo en vigor…", kind: "primary", submit: true, work: async () => {
    clearRefusal(fields, box);
    if (!judge([[stored, stored.value() ? "" : "Guárdelo antes: no se volverá a mostrar."]])) return;
    const body = { secreto: secret.value(), ...(grace ? { graciaSegundos: Number(grace.value()) } : {}) };
    const answer = await put(portal, place, hook, body);
    if (place.signal.aborted) return;
    if (answer.ok) return inForce({ portal, place, region, hook }, body.secreto, answer.data.secretoAnteriorHasta);
    if (answer.kind === "conflict") return replace(box, problemBox(answer), el("p", {}, "Lo está cambiando otra persona. ", el("a", { href: hookLink(hook.id) }, "Ver el webhook")));
    showRefusal(answer, fields, box, { retry: button.run });
    if (unsure(answer)) box.append(el("p", { class: "muted" }, "No se sabe si el secreto llegó a entrar en vigor. Puede repetirlo: con el mismo secreto no cambia nada más."));
  } });
  return form(portal, button.run, secret.node, grace && grace.node, stored.node, box, el("div", { class: "actions" }, button.node));
}

const put = (portal, place, hook, body) => portal.api.request("PUT", `/webhooks/${hook.id}/secreto`, { body, signal: place.signal });

function graceField() {
  const control = el("select", {}, GRACES.map(([seconds, words]) => el("option", { value: seconds, selected: seconds === USUAL }, words)));
  return field({ label: "¿Cuánto tiempo seguirá valiendo el anterior?", hint: "Lo que necesite quien mantiene su sistema para poner el nuevo.", control });
}

/** The new secret is in force: it is shown for the last time, with what the receiver must do. */
function inForce(work, secret, until) {
  const { portal, region, hook, place } = work;
  portal.drafts.forget();
  work.hook = { ...hook, tieneSecreto: true, secretoAnteriorHasta: until };
  replace(region, until ? during(work, secret) : signedNow(work, secret));
  const heading = place.root.querySelector("h1");
  scrollTo(0, 0);
  heading.focus({ preventScroll: true });
  announce(until ? "El secreto nuevo está en vigor; el anterior sigue valiendo durante el plazo" : "El secreto está en vigor");
}

function signedNow({ hook }, secret) {
  return [
    notice("good", el("p", { class: "notice-title" }, "El secreto está en vigor"), el("p", {}, "Desde el próximo envío los avisos van firmados solo con él.")),
    el("h2", {}, "Lo que tiene que hacer su sistema"),
    el("p", {}, "Comprobar cada aviso con este secreto y rechazar con un 401 los que no coincidan. Lo que rechace mientras se cambia se vuelve a enviar."),
    lastSight(secret), el("p", {}, el("a", { class: "button primary", href: hookLink(hook.id, "/diagnostico") }, "Comprobarlo con un diagnóstico")),
  ];
}

function during(work, secret) {
  const { hook, portal } = work;
  const left = Date.parse(hook.secretoAnteriorHasta) - portal.clock.now();
  return [
    state(hook),
    steps({ tieneSecreto: true }, 1,
      el("p", {}, "El anterior deja de valer dentro de ", el("strong", {}, span(left)), ": ", bothTimes(hook.secretoAnteriorHasta), "."),
      secret ? lastSight(secret) : el("p", {}, "El secreto nuevo ya no se puede ver. Si se ha perdido, ponga otro más abajo, en «Se ha filtrado, o lo he perdido»."),
      el("h3", {}, "Lo que tiene que hacer su sistema"),
      el("ul", {},
        el("li", {}, "Si usa una biblioteca de Standard Webhooks (", el("code", {}, "webhook-signature"), "): cambiar el secreto, cuando quiera dentro del plazo. Acepta las dos firmas."),
        el("li", {}, "Si compara ", el("code", {}, "X-Webhook-Signature"), ": esa cabecera sigue llevando la del anterior. Con el secreto nuevo, comparar ", el("code", {}, "X-Webhook-Signature-Nueva"), " si viene."),
        el("li", {}, "Si solo puede mirar ", el("code", {}, "X-Webhook-Signature"), ": cambiar el secreto y, acto seguido, retirar aquí el anterior. Lo que rechace entretanto se reintenta a los pocos segundos.")),
      el("p", {}, "Cuando su sistema tenga el nuevo, retire el anterior; o espere, y se retira solo."), retire(work)),
    leak(work),
  ];
}

function retire({ portal, place, hook }) {
  const box = el("div");
  const end = async () => {
    const answer = await portal.api.request("DELETE", `/webhooks/${hook.id}/secreto/anterior`, { signal: place.signal });
    if (place.signal.aborted) return true;
    // notFound: the earlier secret may have ended already, by itself or by a previous try that got no answer.
    if (answer.ok || answer.kind === "notFound") {
      tellDone(hookLink(hook.id), "El secreto anterior ya no vale", el("p", {}, "Desde el próximo envío los avisos llevan solo la firma del nuevo. Envíe una prueba para ver que su sistema la acepta."));
      portal.go(hookLink(hook.id));
      return true;
    }
    replace(box, problemBox(answer), unsure(answer) && el("p", { class: "muted" }, "No se sabe si llegó a hacerse: puede pulsarlo otra vez."));
    return false;
  };
  return el("div", { class: "actions" }, el("button", { class: "button primary", type: "button", id: "retirar", onclick: () => ask({
    title: "¿Retirar el secreto anterior?", confirm: "Retirarlo", onConfirm: end, signal: place.signal,
    body: [el("p", {}, "Si su sistema aún no tiene el nuevo, rechazará los avisos hasta que lo tenga. Lo rechazado se reintenta."), box],
  }) }, "Mi sistema ya tiene el nuevo: retirar el anterior"));
}

/** The form for a new secret that ends all earlier ones at once. */
function leak({ portal, place, region, hook }) {
  const secret = secretField();
  const stored = promise("Lo he guardado en un lugar seguro");
  const fields = { secreto: secret };
  const box = el("div");
  const button = workButton({ label: "Anular los anteriores ahora", busy: "Anulando…", kind: "danger", submit: true, work: async () => {
    clearRefusal(fields, box);
    if (!judge([[stored, stored.value() ? "" : "Guárdelo antes: no se volverá a mostrar."]])) return;
    const body = { secreto: secret.value(), graciaSegundos: 0 };
    const answer = await put(portal, place, hook, body);
    if (place.signal.aborted) return;
    if (answer.ok) return inForce({ portal, place, region, hook }, body.secreto, answer.data.secretoAnteriorHasta);
    showRefusal(answer, fields, box, { retry: button.run });
    if (unsure(answer)) box.append(el("p", { class: "muted" }, "No se sabe si llegó a hacerse. Puede repetirlo: con el mismo secreto no cambia nada más."));
  } });
  return el("details", { class: "leak", id: "filtrado" }, el("summary", {}, "Se ha filtrado, o lo he perdido"),
    el("p", {}, "Un secreto nuevo sustituye en el acto a todos los anteriores. Su sistema rechazará los avisos hasta que tenga el nuevo; lo rechazado se reintenta a los 5 segundos, a los 5 minutos, a la media hora…: no se pierde."),
    form(portal, button.run, secret.node, stored.node, box, el("div", { class: "actions" }, button.node)));
}
