// Alertas por correo: the addresses of the entity, whether each is confirmed, and what it is told of.
import { clearRefusal, form, showRefusal, tellDone, unsure, workButton } from "../change.js";
import { askForCode, changeContacts, confirmContact, CONTACTS, fetchContacts, kindsInWords, MOST, UNSENT } from "../contacts.js";
import { ask } from "../dialog.js";
import { el, foreign, replace } from "../dom.js";
import { field, judge } from "../field.js";
import { askOperator } from "../operator.js";
import { notice, problemBox } from "../problem.js";
import { link } from "../router.js";
import { bothTimes } from "../time.js";

export async function contactsScreen(portal, place) {
  place.title("Alertas por correo");
  const region = el("div", { class: "narrow" }, el("p", { class: "loading" }, "Cargando…"));
  replace(place.root, el("h1", {}, "Alertas por correo"), el("p", { class: "lead" }, "Las direcciones a las que se escribe cuando un webhook falla o se desactiva, o cuando algo va a caducar."), region);
  const answer = await fetchContacts(portal, place.signal);
  if (place.signal.aborted) return;
  if (!answer.ok) return replace(region, problemBox(answer, { retry: () => portal.show() }));
  const { contactos, operadorEnviaCorreo: mails } = answer.data;
  replace(region, !mails && withoutMail(portal), contactos.length ? contactos.map((contact) => card(portal, place, contact, mails)) : notice("info", el("p", {}, "Todavía no se escribe a ninguna dirección.")),
    another(portal, contactos.length));
}

const withoutMail = ({ session }) => notice("warning", el("p", { class: "notice-title" }, "El operador no envía correo"),
  el("p", {}, "Las direcciones se guardan, pero en este servicio no se escribe a ninguna."), askOperator(session));

function another({ session }, number) {
  if (session.readOnly) return null;
  if (number >= MOST) return el("p", { class: "muted" }, "Ya están las cinco direcciones que puede haber: para añadir otra, quite una.");
  return el("p", { class: "actions" }, el("a", { class: "button primary", href: link("/avisos/nuevo") }, "Añadir una dirección"));
}

function card(portal, place, contact, mails) {
  const id = `contacto-${contact.numero}`;
  const changes = !portal.session.readOnly;
  return el("section", { class: "card", "aria-labelledby": id },
    el("h2", { id }, foreign(contact.correo)), state(contact, mails),
    el("p", {}, "Alertas elegidas: ", foreign(kindsInWords(contact.avisos)), "."),
    changes && (!contact.confirmado || contact.rechazado) && mails && confirmation(portal, place, contact),
    changes && el("div", { class: "actions" }, el("a", { class: "button", href: link(`/avisos/${contact.numero}`), "aria-label": `Cambiar las alertas de ${contact.correo}` }, "Cambiar las alertas"), removal(portal, place, contact)));
}

function state({ confirmado, codigoHasta, rechazado }, mails) {
  if (rechazado) return notice("bad", el("p", {}, "Su servidor de correo la rechaza, y ya no se le escribe. Quítela; o, si ya funciona, pida un código. Desde ", bothTimes(rechazado), "."));
  if (confirmado) return el("p", {}, "Confirmada: ", bothTimes(confirmado), ".");
  if (!mails) return el("p", {}, `Sin confirmar: ${UNSENT}`);
  return notice("warning", el("p", {}, "Sin confirmar: no recibe alertas. ", codigoHasta ? ["Se le envía un código, que vale hasta ", bothTimes(codigoHasta), "."] : "Pida un código, que se le enviará por correo."));
}

/** The form for the code, and the button that asks for another one. */
function confirmation(portal, place, { numero, correo, codigoHasta, avisos }) {
  const code = field({
    label: `Código enviado a ${correo}`, hint: "Las seis cifras del último correo.",
    attributes: { type: "text", class: "mono", inputmode: "numeric", autocomplete: "one-time-code", "data-unkept": true },
  });
  const box = el("div");
  const done = (title, ...text) => {
    tellDone(CONTACTS, title, ...text);
    portal.show();
  };
  const button = workButton({ label: "Confirmar", busy: "Confirmando…", kind: "primary", submit: true, work: async () => {
    clearRefusal({ codigo: code }, box);
    const digits = code.value().replace(/\s/g, "");
    if (!judge([[code, /^\d{6}$/.test(digits) ? "" : "Escriba las seis cifras del correo."]])) return;
    const answer = await confirmContact(portal, numero, digits, place.signal);
    if (place.signal.aborted) return;
    if (!answer.ok) return showRefusal(answer, { codigo: code }, box, { retry: button.run });
    portal.drafts.forget();
    if (avisos.length > 0) done("Dirección confirmada", el("p", {}, "Desde ahora recibe las alertas: ", foreign(correo)));
    else done("Dirección confirmada, sin alertas", el("p", {}, "No recibe ninguna: elija cuáles en «Cambiar las alertas» de ", foreign(correo)));
  } });
  const again = workButton({ label: codigoHasta ? "Pedir otro código" : "Pedir un código", busy: "Pidiendo…", kind: codigoHasta ? "" : "primary", work: async () => {
    const answer = await askForCode(portal, numero, place.signal);
    if (place.signal.aborted) return;
    if (!answer.ok) return replace(box, problemBox(answer, { retry: again.run }));
    portal.drafts.forget();
    done("Código pedido", el("p", {}, "Llegará en unos minutos a ", foreign(correo), ". Los anteriores ya no valen."));
  } });
  if (!codigoHasta) return [box, el("div", { class: "actions" }, again.node)];
  return form(portal, button.run, code.node, box, el("div", { class: "actions" }, button.node, again.node));
}

function removal(portal, place, { correo }) {
  const box = el("div");
  const remove = async () => {
    const answer = await changeContacts(portal, (all) => all.filter((one) => one.correo !== correo), place.signal);
    if (place.signal.aborted) return true;
    if (answer?.ok) {
      portal.drafts.forget();
      tellDone(CONTACTS, "Dirección quitada", el("p", {}, "Ya no se alerta a ", foreign(correo)));
      portal.show();
      return true;
    }
    replace(box, answer && problemBox(answer), answer && unsure(answer) && el("p", { class: "muted" }, "No se sabe si llegó a hacerse: puede pulsarlo otra vez."));
    return false;
  };
  return el("button", { class: "button", type: "button", "aria-label": `Quitar ${correo}`, onclick: () => ask({
    title: "¿Quitar esta dirección?", confirm: "Quitarla", danger: true, onConfirm: remove, signal: place.signal, body: [el("p", {}, foreign(correo)), el("p", {}, "No recibirá ninguna alerta más. Para volver a añadirla hará falta confirmarla otra vez."), box],
  }) }, "Quitar");
}
