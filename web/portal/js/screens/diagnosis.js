// Diagnóstico: what is wrong with the receiver, and how to correct it.
import { announce } from "../announce.js";
import { unsure, workButton } from "../change.js";
import { el, foreign, replace } from "../dom.js";
import { onlyReads, withHook } from "../hooks.js";
import { askOperator } from "../operator.js";
import { poll } from "../poll.js";
import { notice, problemBox } from "../problem.js";
import { bothTimes } from "../time.js";
import { count } from "../words.js";

const EVERY_MS = 2000;

const TESTS = {
  nombre: "Nombre de la dirección", direcciones: "Direcciones públicas", conexion: "Conexión", tls: "Conexión segura (TLS)", certificado: "Certificado",
  nombre_certificado: "Nombre del certificado", autentica: "Aviso auténtico", tiempo: "Tiempo de respuesta", conexion_mantenida: "Conexión mantenida",
  firma_incorrecta: "Aviso con la firma incorrecta", sin_firma: "Aviso sin firma", fecha_antigua: "Aviso antiguo", repetida: "Aviso repetido",
  cuerpo_grande: "Aviso grande", tipo_contenido: "Content-Type con charset", cabeceras_mayusculas: "Cabeceras en mayúsculas", segunda_firma: "Segunda firma",
  evento_desconocido: "Evento desconocido",
};

/** For each `resultado` of a test: [heading, CSS class, mark, word]. The report shows them in this order. */
const RESULTS = {
  mal: ["Hay que corregirlo", "bad", "✕", "Mal"], aviso: ["Conviene corregirlo", "warning", "!", "Advertencia"], no_hecha: ["No se ha comprobado", "muted", "–", "No hecha"],
  bien: ["Está bien", "good", "✓", "Bien"],
};

const running = (report) => report.estado === "pendiente" || report.estado === "en_curso";

export const diagnosisScreen = (portal, place) => withHook(portal, place, "Diagnóstico", async (region, hook) => {
  const path = `/webhooks/${hook.id}/diagnostico`;
  const refused = onlyReads(portal, "pedir un diagnóstico");
  const box = el("div");
  const report = el("div", { id: "informe" });
  const button = workButton({ label: "Diagnosticar", busy: "Pidiéndolo…", kind: "primary", work: run });
  const blocked = hook.motivo === "operador" && notice("warning", el("p", {}, "El operador ha desactivado este webhook, y así no se puede diagnosticar."), askOperator(portal.session));
  let following = null;

  async function run() {
    replace(box);
    const answer = await portal.api.request("POST", path, { signal: place.signal });
    if (place.signal.aborted) return;
    if (answer.ok) return follow(answer.data.diagnostico.estado);
    replace(box, problemBox(answer, { retry: button.run }), unsure(answer) && el("p", { class: "muted" }, "No se sabe si llegó a empezar. Puede repetirlo: mientras dura no empieza otro."));
  }

  function follow(state) {
    draw({ estado: state, iniciado: null, pruebas: [] });
    announce("Diagnóstico en marcha");
    if (following) return following.now();
    following = poll(async () => {
      const answer = await portal.api.get(path, {}, place.signal);
      if (place.signal.aborted) return { ok: true, done: true };
      if (!answer.ok) replace(box, problemBox(answer));
      else {
        replace(box);
        draw(answer.data);
        if (!running(answer.data)) {
          following = null;
          announce(`Diagnóstico terminado. ${summary(answer.data)}`);
        }
      }
      return { ok: answer.ok, retryAfter: answer.retryAfter, done: answer.ok && !running(answer.data) };
    }, { every: EVERY_MS, signal: place.signal, now: true });
  }

  function draw(data) {
    button.node.hidden = running(data);
    button.rename("Diagnosticar otra vez");
    replace(report, running(data) ? progress(data) : results(data));
  }

  replace(region, el("p", {}, "Mira el nombre, el certificado y la conexión, y envía unos avisos de prueba: uno auténtico, que su sistema debe aceptar, y otros que debe rechazar. No cuentan como entregas. Suele durar menos de un minuto."),
    refused ?? blocked ?? null, !blocked && !refused && el("div", { class: "actions" }, button.node), box, report);
  const last = await portal.api.get(path, {}, place.signal);
  if (place.signal.aborted) return;
  if (last.ok && running(last.data)) follow(last.data.estado);
  else if (last.ok) draw(last.data);
  else if (last.kind !== "notFound") replace(box, problemBox(last, { retry: () => portal.show() }));
  else replace(report, el("p", { class: "muted" }, "Todavía no se ha hecho ninguno."));
});

const progress = (data) => el("div", { class: "card" }, el("p", {}, el("span", { class: "spinner", "aria-hidden": "true" }), data.estado === "pendiente" ? "En la cola: empieza enseguida." : "En marcha…"),
  el("p", { class: "muted" }, "Puede quedarse o volver más tarde: el resultado se guarda."));

const of = (data, result) => data.pruebas.filter((test) => (RESULTS[test.resultado] ? test.resultado : "no_hecha") === result);

function summary(data) {
  if (data.estado === "fallido") return "No se pudo hacer entero, por algo que no es de su sistema. Pida otro.";
  const bad = of(data, "mal").length;
  const warnings = of(data, "aviso").length;
  if (!bad && !warnings) return "Todo lo comprobado está bien.";
  return `${[bad && count(bad, "cosa que corregir", "cosas que corregir"), warnings && count(warnings, "advertencia")].filter(Boolean).join(" y ")}.`;
}

function results(data) {
  const kind = data.estado === "fallido" ? "warning" : of(data, "mal").length ? "bad" : of(data, "aviso").length ? "warning" : "good";
  return [
    notice(kind, el("p", { class: "notice-title" }, summary(data)), data.iniciado && el("p", {}, "Hecho ", bothTimes(data.iniciado))),
    Object.keys(RESULTS).map((result) => group(result, of(data, result))),
  ];
}

function group(result, tests) {
  if (!tests.length) return null;
  const [heading, kind, mark, word] = RESULTS[result];
  if (result === "no_hecha") return el("section", {}, el("h2", {}, heading), el("ul", { class: "checks" }, notDone(tests)));
  return el("section", {}, el("h2", {}, heading), el("ul", { class: "checks" }, tests.map((test) => el("li", { class: kind },
    el("p", {}, el("span", { class: `badge ${kind}` }, el("span", { "aria-hidden": "true" }, `${mark} `), word), " ", el("strong", {}, TESTS[test.prueba] ?? foreign(test.prueba))),
    test.detalle && el("p", {}, foreign(test.detalle)), test.remedio && el("p", { class: "remedy" }, el("strong", {}, "Qué hacer: "), foreign(test.remedio))))));
}

/** One line for each reason, with all the tests that were not done for it. */
function notDone(tests) {
  const by = new Map();
  for (const { prueba, detalle } of tests) by.set(detalle, [...(by.get(detalle) ?? []), TESTS[prueba] ?? prueba]);
  return [...by].map(([reason, names]) => el("li", { class: "muted" }, el("p", {}, foreign(reason), ": ", foreign(names.join(", ")), ".")));
}
