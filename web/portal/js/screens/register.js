// Registrar un webhook: a URL, its events, and the secret that signs.
import { eventsField } from "../events.js";
import { announce } from "../announce.js";
import { clearRefusal, form, showRefusal, unsure, workButton } from "../change.js";
import { el, foreign, replace } from "../dom.js";
import { field, judge, nameField } from "../field.js";
import { fetchHooks, hookLink, onlyReads, titleOf } from "../hooks.js";
import { askOperator } from "../operator.js";
import { alerted, notice, problemBox } from "../problem.js";
import { link } from "../router.js";
import { lastSight, promise, secretField } from "../secret.js";

const MOST = 5;

export async function registerScreen(portal, place) {
  place.title("Registrar un webhook");
  const region = el("div", { class: "narrow" }, el("p", { class: "loading" }, "Cargando…"));
  replace(place.root, el("p", { class: "back" }, el("a", { href: link("/") }, el("span", { "aria-hidden": "true" }, "← "), "Volver al resumen")), el("h1", {}, "Registrar un webhook"), region);
  const refused = onlyReads(portal, "registrar un webhook");
  if (refused) return replace(region, refused);
  const [hooks, events] = await Promise.all([fetchHooks(portal.api, place.signal), portal.api.get("/webhooks/eventos", {}, place.signal)]);
  if (place.signal.aborted) return;
  const failed = [hooks, events].find((answer) => !answer.ok);
  if (failed) return replace(region, problemBox(failed, { retry: () => portal.show() }));
  if (hooks.data.length >= MOST) return replace(region, full(hooks.data));
  replace(region, registration(portal, place, region, events.data.eventos, hooks.data.length));
}

function full(hooks) {
  return notice("warning", el("p", { class: "notice-title" }, `Su entidad ya tiene ${MOST} webhooks, que es el máximo`),
    el("p", {}, "Cambie uno de ellos, o elimine el que sobre:"),
    el("ul", {}, hooks.map((hook) => el("li", {}, el("a", { href: hookLink(hook.id) }, titleOf(hook))))));
}

function registration(portal, place, region, events, count) {
  // One Idempotency-Key for one registration, so that repeated requests register once. It is kept with what is typed, for a repetition after a reload.
  const key = el("input", { type: "hidden", name: "Idempotency-Key" });
  const url = field({
    label: "Dirección que recibirá los avisos", hint: "La da quien programa o mantiene su sistema. Por ejemplo: https://integracion.ejemplo.es/avisos",
    attributes: { type: "text", inputmode: "url", autocomplete: "off", autocapitalize: "none", spellcheck: "false" },
  });
  const name = nameField();
  const chosen = eventsField({ legend: "¿Qué avisos quiere recibir?", all: events, chosen: events });
  const secret = secretField();
  const stored = promise("He guardado el secreto en un lugar seguro");
  const signed = el("div", { class: "signed" }, secret.node, stored.node);
  const signing = signingChoice((yes) => (signed.hidden = !yes));
  const fields = { url, nombre: name, eventos: chosen, secreto: secret };
  const box = el("div");
  const button = workButton({ label: "Registrar", busy: "Registrando…", kind: "primary", submit: true, work: send });

  async function send() {
    clearRefusal(fields, box);
    if (!judge([[stored, signing.yes() && !stored.value() ? "Guárdelo antes: no se volverá a mostrar." : ""]])) return;
    const secreto = signing.yes() ? secret.value() : undefined;
    const body = { url: url.value().trim(), nombre: name.value().trim() || undefined, eventos: chosen.value(), secreto };
    key.value ||= crypto.randomUUID();
    portal.drafts.keep();
    const answer = await portal.api.request("POST", "/webhooks", { body, headers: { "Idempotency-Key": key.value }, signal: place.signal });
    if (place.signal.aborted) return;
    if (answer.ok) done(portal, place, region, { ...answer.data, nombre: body.nombre }, secreto);
    else if (unsure(answer)) replace(box, problemBox(answer, { retry: button.run }), el("p", { class: "muted" }, "No se sabe si llegó a registrarse. Puede repetirlo: no se registrará dos veces."));
    else if (answer.status === 422 || answer.status === 409 && answer.message.includes("Idempotency-Key")) replace(box, sentBefore(answer, key));
    else showRefusal(answer, fields, box, { retry: button.run });
  }

  return [
    count === 0 && notice("info", el("p", {}, "Un webhook es la dirección de su sistema a la que llegan los avisos de la evaluación: aperturas, plazos, resultados, incidencias y documentos.")),
    form(portal, button.run, key, url.node, name.node, chosen.node, signing.node, signed, box, el("div", { class: "actions" }, button.node, el("a", { class: "button", href: link("/") }, "Cancelar"))),
  ];
}

function signingChoice(change) {
  const option = (id, value, checked, words, hint) => el("div", { class: "check" },
    el("input", { type: "radio", name: "firma", id, value, checked, onchange: () => change(value === "si"), "aria-describedby": `${id}-ayuda` }),
    el("div", {}, el("label", { for: id }, words), el("p", { class: "hint", id: `${id}-ayuda` }, hint)));
  const node = el("fieldset", { class: "field-set" }, el("legend", {}, "¿Firmados?"),
    option("firma-si", "si", true, "Sí, con un secreto", "Recomendado: su sistema sabrá que los avisos son auténticos."),
    option("firma-no", "no", false, "No, sin firmar", "Cualquiera que conozca la dirección podría falsificar un aviso."));
  return { node, yes: () => node.querySelector("input").checked };
}

/** For an answer that says that an earlier request with the same key did register a webhook. */
function sentBefore(answer, key) {
  const more = workButton({ label: "Registrar también este", busy: "Preparando…", work: async () => {
    key.value = crypto.randomUUID();
    replace(box, el("p", {}, "Preparado: pulse Registrar."));
  } });
  const box = alerted(notice("warning", el("p", { class: "notice-title" }, "El registro anterior sí se hizo"),
    el("p", {}, answer.status === 422 && "Se cambió el formulario después de enviarlo, y aquel envío llegó. ", foreign(answer.message), "."),
    el("div", { class: "actions" }, el("a", { class: "button", href: link("/") }, "Ver los webhooks"), more.node)));
  return box;
}

function done(portal, place, region, hook, secreto) {
  portal.drafts.forget();
  place.title("Webhook registrado");
  const heading = place.root.querySelector("h1");
  heading.textContent = "Webhook registrado";
  const step = (title, ...children) => el("li", {}, el("h2", {}, title), ...children);
  replace(region,
    hook.activo ? notice("good", el("p", {}, "Desde ahora se envían los avisos a ", titleOf(hook), "."))
      : notice("warning", el("p", { class: "notice-title" }, "Está registrado, pero inactivo"), el("p", {}, "El operador desactivó esta dirección para su entidad. Mientras tanto, los avisos se guardan."), askOperator(portal.session)),
    el("ol", { class: "steps" },
      secreto && step("Ponga el secreto en su sistema", el("p", {}, "Entrégueselo a quien lo mantiene: con él comprobará que los avisos son auténticos."), lastSight(secreto)),
      hook.activo && step("Envíe una prueba", el("p", {}, "Verá si llega y cuánto tarda."), el("a", { class: "button primary", href: link("/probar", { webhook: hook.id }) }, "Probar")),
      step("Compruebe que todo está bien", el("p", {}, "El diagnóstico mira la dirección, el certificado y si se rechaza lo que no es auténtico."), el("a", { class: "button", href: hookLink(hook.id, "/diagnostico") }, "Diagnosticar"))),
    el("p", {}, el("a", { href: hookLink(hook.id) }, "Ver el webhook")));
  scrollTo(0, 0);
  heading.setAttribute("tabindex", "-1");
  heading.focus({ preventScroll: true });
  announce("Webhook registrado");
}
