// Adds an address to «Alertas por correo», or changes what one is told of.
import { clearRefusal, form, showRefusal, tellDone, unsure, workButton } from "../change.js";
import { changeContacts, CONTACTS, fetchContacts, kindsField, UNSENT } from "../contacts.js";
import { el, foreign, replace } from "../dom.js";
import { field, judge } from "../field.js";
import { onlyReads } from "../hooks.js";
import { notice, problemBox } from "../problem.js";

const back = () => el("p", { class: "back" }, el("a", { href: CONTACTS }, el("span", { "aria-hidden": "true" }, "← "), "Volver a las alertas por correo"));

/** The address as the API keeps it. @param {string} text */
function stored(text) {
  const at = text.lastIndexOf("@");
  return text.slice(0, at + 1) + text.slice(at + 1).toLowerCase();
}

export async function newContactScreen(portal, place) {
  place.title("Añadir una dirección");
  const region = el("div", { class: "narrow" }, el("p", { class: "loading" }, "Cargando…"));
  replace(place.root, back(), el("h1", {}, "Añadir una dirección"), region);
  const refused = onlyReads(portal, "añadir una dirección");
  if (refused) return replace(region, refused);
  const now = await fetchContacts(portal, place.signal);
  if (place.signal.aborted) return;
  if (!now.ok) return replace(region, problemBox(now, { retry: () => portal.show() }));
  const hint = now.data.operadorEnviaCorreo ? "Se enviará un código a esta dirección. No recibirá alertas hasta que se confirme con él en el portal." : `Se guarda, pero ${UNSENT}`;
  const address = field({ label: "Dirección de correo", hint, attributes: { type: "email", autocomplete: "off", autocapitalize: "none", spellcheck: "false" } });
  const kinds = kindsField();
  const fields = { correo: address, avisos: kinds };
  const box = el("div");
  const button = workButton({ label: "Añadir", busy: "Añadiendo…", kind: "primary", submit: true, work: async () => {
    clearRefusal(fields, box);
    const correo = stored(address.value().trim());
    if (!judge([[address, correo ? "" : "Escriba la dirección."]])) return;
    const answer = await changeContacts(portal, (all) => (all.some((one) => one.correo === correo) ? null : [...all, { correo, avisos: kinds.value() }]), place.signal);
    if (place.signal.aborted) return;
    if (!answer) return judge([[address, "Ya está en la lista."]]);
    if (answer.ok) return finish(portal, "Dirección añadida", el("p", {}, answer.data.operadorEnviaCorreo ? ["En unos minutos llegará un código a ", foreign(correo), ". Escríbalo en esta página antes de 24 horas."] : `Se guarda, pero ${UNSENT}`));
    showRefusal(answer, fields, box, { retry: button.run });
    if (unsure(answer)) box.append(el("p", { class: "muted" }, "No se sabe si llegó a añadirse: mírelo en la lista."));
  } });
  replace(region, form(portal, button.run, address.node, kinds.node, box, el("div", { class: "actions" }, button.node)));
}

export async function contactScreen(portal, place) {
  place.title("Cambiar las alertas");
  const about = el("div", { class: "about" });
  const region = el("div", { class: "narrow" }, el("p", { class: "loading" }, "Cargando…"));
  replace(place.root, back(), el("h1", {}, "Cambiar las alertas"), about, region);
  const answer = await fetchContacts(portal, place.signal);
  if (place.signal.aborted) return;
  if (!answer.ok) return replace(region, problemBox(answer, { retry: () => portal.show() }));
  const contact = answer.data.contactos.find(({ numero }) => String(numero) === place.params.numero);
  if (!contact) return replace(region, gone());
  replace(about, foreign(contact.correo));
  replace(region, onlyReads(portal, "cambiar las alertas") ?? editor(portal, place, region, contact));
}

const gone = () => notice("warning", el("p", { class: "notice-title" }, "Esta dirección ya no está en la lista"), el("p", {}, "Puede que alguien de su entidad la haya quitado. ", el("a", { href: CONTACTS }, "Ver las que hay")));

function editor(portal, place, region, { correo, avisos }) {
  const kinds = kindsField(avisos);
  const fields = { avisos: kinds };
  const box = el("div");
  const button = workButton({ label: "Guardar", busy: "Guardando…", kind: "primary", submit: true, work: async () => {
    clearRefusal(fields, box);
    const change = (all) => (all.some((one) => one.correo === correo) ? all.map((one) => (one.correo === correo ? { correo, avisos: kinds.value() } : one)) : null);
    const answer = await changeContacts(portal, change, place.signal);
    if (place.signal.aborted) return;
    if (!answer) return replace(region, gone());
    if (answer.ok) return finish(portal, "Cambios guardados");
    showRefusal(answer, fields, box, { retry: button.run });
    if (unsure(answer)) box.append(el("p", { class: "muted" }, "No se sabe si llegó a guardarse. Puede repetirlo."));
  } });
  return form(portal, button.run, kinds.node, box, el("div", { class: "actions" }, button.node));
}

function finish(portal, title, ...text) {
  portal.drafts.forget();
  tellDone(CONTACTS, title, ...text);
  portal.go(CONTACTS);
}
