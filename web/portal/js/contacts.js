// The contacts of the entity: the kinds of alerts in plain words, and changes of the list.
import { choicesField } from "./events.js";
import { link } from "./router.js";

const PATH = "/entidad/contactos";
export const MOST = 5; // contacts of an entity
export const CONTACTS = link("/avisos");
export const UNSENT = "no se le envía nada hasta que el operador configure el correo.";

const GROUPS = /** @type {[string, string[]][]} */ ([
  ["Lo que le pasa a un webhook", ["fallo", "desactivacion_proxima", "desactivado", "recuperado", "entregas_fallidas"]],
  ["Lo que caduca", ["certificado", "secreto", "token"]],
]);
const ALL = GROUPS.flatMap(([, kinds]) => kinds);

const KINDS = {
  fallo: "Falla", desactivacion_proxima: "Va a desactivarse", desactivado: "Se ha desactivado", recuperado: "Vuelve a funcionar",
  entregas_fallidas: "Hay entregas fallidas", certificado: "El certificado del receptor", secreto: "El secreto anterior", token: "Un token",
};

const MEANINGS = {
  fallo: "Lleva una hora sin recibir nada de lo que se le envía.",
  desactivacion_proxima: "Cuando ha pasado la mitad del plazo para desactivarlo, y cuando queda una décima parte.",
  desactivado: "Con el motivo: los fallos, el receptor (410) o el operador.",
  entregas_fallidas: "Un resumen al día, si las hay.",
  certificado: "14 y 3 días antes.",
  secreto: "Un día antes de que deje de firmar.",
  token: "14 y 3 días antes.",
};

const nameOfKind = (kind) => KINDS[kind] ?? kind;

/** "todas", "ninguna", or the names of the kinds. @param {string[]} kinds */
export const kindsInWords = (kinds) => (kinds.length === 0 ? "ninguna" : ALL.every((kind) => kinds.includes(kind)) ? "todas" : kinds.map(nameOfKind).join(", "));

/** @param {string[]} [chosen] at first all */
export const kindsField = (chosen = ALL) => choicesField({ legend: "Qué alertas recibe", groups: GROUPS, chosen, wordsOf: nameOfKind, meanings: MEANINGS });

/** @param {import("./main.js").Portal} portal @param {AbortSignal} signal */
export const fetchContacts = ({ api }, signal) => api.get(PATH, {}, signal);

/**
 * Changes the list as it is now, which another person may have changed since it was shown.
 * @param {import("./main.js").Portal} portal
 * @param {(contacts: {correo: string}[]) => any[] | null} change makes the new list of the present one; without `avisos` an address keeps its own; null: there is nothing to change
 * @param {AbortSignal} signal
 * @returns {Promise<import("./api.js").Answer | null>} null: there was nothing to change
 */
export async function changeContacts(portal, change, signal) {
  const now = await fetchContacts(portal, signal);
  if (!now.ok) return now;
  const contactos = change(now.data.contactos.map(({ correo }) => ({ correo })));
  return contactos && portal.api.request("PUT", PATH, { body: { contactos }, signal });
}

/** @param {import("./main.js").Portal} portal @param {number} number @param {string} code */
export const confirmContact = ({ api }, number, code, signal) => api.request("POST", `${PATH}/${number}/confirmacion`, { body: { codigo: code }, signal });

/** @param {import("./main.js").Portal} portal @param {number} number */
export const askForCode = ({ api }, number, signal) => api.request("POST", `${PATH}/${number}/codigo`, { signal });
