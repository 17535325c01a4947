// Entrar: asks for the token, and says where to get it and how the portal uses it.
import { el, foreign, replace } from "../dom.js";
import { tellDone } from "../change.js";
import { ask } from "../dialog.js";
import { field, judge } from "../field.js";
import { alerted, notice, problemBox } from "../problem.js";
import { link } from "../router.js";
import { TOKEN, cleanToken, tryToken } from "../session.js";
import { createApi } from "../api.js";

function tokenField() {
  const one = field({
    label: "Token de acceso",
    hint: "Empieza por apie_ y tiene 48 caracteres.",
    attributes: { type: "password", id: "token", name: "token", autocomplete: "off", autocapitalize: "none", spellcheck: "false", required: true },
  });
  const show = el("button", { type: "button", class: "button quiet", "aria-pressed": "false", onclick: () => {
    const visible = one.control.type === "password";
    one.control.type = visible ? "text" : "password";
    show.setAttribute("aria-pressed", String(visible));
  } }, "Mostrar el token");
  one.node.append(show);
  return one;
}

function fault(text) {
  if (!text) return "Escriba o pegue el token.";
  if (TOKEN.test(text)) return "";
  if (!text.startsWith("apie_")) return "Todo token empieza por apie_.";
  const count = [...text].length;
  return count === 48
    ? "El token tiene algún carácter que no vale: cópielo otra vez."
    : `El token tiene 48 caracteres, y aquí hay ${count}: cópielo otra vez.`;
}

/**
 * Tries the token in the field and accepts it, or shows the error next to it.
 * @param {(token: string, readOnly: boolean, entity: any) => void} accept
 */
async function begin(portal, one, problem, accept) {
  const token = cleanToken(one.value());
  replace(problem);
  if (!judge([[one, fault(token)]])) return false;
  const { request } = createApi({ token: () => token, askForToken: async () => false, onHeaders: portal.learn });
  const { answer, readOnly } = await tryToken(request);
  if (answer.ok) {
    accept(token, readOnly, answer.data);
    return true;
  }
  if (answer.kind === "unauthorized") judge([[one, answer.message]]);
  else replace(problem, problemBox(answer, { retry: () => problem.closest("form")?.requestSubmit() }));
  return false;
}

export function enterScreen(portal, place) {
  place.title("Entrar");
  const one = tokenField();
  const problem = el("div");
  const button = el("button", { type: "submit", class: "button primary" }, "Entrar");
  const submit = async (event) => {
    event.preventDefault();
    if (button.hasAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true");
    button.textContent = "Entrando…";
    const begun = await begin(portal, one, problem, portal.session.begin);
    button.removeAttribute("aria-disabled");
    button.textContent = "Entrar";
    if (begun) portal.show();
  };
  replace(place.root,
    el("div", { class: "enter" },
      el("h1", {}, "Entrar"),
      portal.session.ended && alerted(notice("warning", el("p", {}, portal.session.ended))),
      el("p", { class: "lead" }, "Vea qué avisos ha recibido su entidad, cuáles han fallado y por qué, y reenvíelos."),
      el("form", { class: "card", onsubmit: submit, novalidate: true }, one.node, problem, el("div", { class: "actions" }, button)),
      el("h2", {}, "¿De dónde sale el token?"),
      el("p", {}, "Lo entrega el operador del servicio a cada entidad; es el mismo que usan sus programas. Para quien solo consulta, pida uno de solo lectura."),
      el("p", {}, "El token no se guarda en este equipo: al cerrar o recargar esta pestaña habrá que escribirlo otra vez, y también tras media hora sin uso.")));
  one.control.focus();
}

let asking = null;

/** Asks for a token during work: the form keeps its values, and all requests that need a token wait for the same answer. */
export function askForToken(portal, message) {
  asking ??= askOnce(portal, message).finally(() => (asking = null));
  return asking;
}

/** Begins a session with another entity's token. Requests that wait for a token are not repeated: they belong to the earlier entity. */
function another(portal, found) {
  portal.session.begin(...found);
  tellDone(link("/"), "Ha entrado con el token de otra entidad", el("p", {}, "Lo que estaba a medias con el anterior no se ha hecho."));
  portal.go(link("/"));
}

function askOnce(portal, message) {
  if (!portal.session.open) return Promise.resolve(false);
  const one = tokenField();
  const problem = el("div");
  return ask({
    title: "Hace falta otro token",
    body: [el("p", {}, foreign(message), "."), el("p", {}, "Lo que estaba escribiendo se conserva: al entrar con otro token se sigue donde estaba."), one.node, problem],
    confirm: "Seguir",
    onConfirm: () => begin(portal, one, problem, (...found) => portal.session.renew(...found) || another(portal, found)),
  });
}
