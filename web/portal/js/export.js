// Downloads the deliveries of a filter, as CSV or JSON. They come by the pages of the API; nothing is asked for any more once it is stopped or the list is left.
import { announce } from "./announce.js";
import { el, replace } from "./dom.js";
import { aboutOf, matches } from "./find.js";
import { notice, problemBox } from "./problem.js";
import { span, toZoned } from "./time.js";
import { count, eventName, thousands } from "./words.js";

const MOST = 10_000; // deliveries of a file
const PAGE = 100; // deliveries of one answer
const MOST_PAGES = 200; // of a file: a search may look at many deliveries and find few
const PACE_S = 0.25; // between two requests: the entity's programs share the token's limit, 600 a minute
const USUAL_WAIT_S = 5; // after a 429 that does not say how long
const KINDS = { csv: ["CSV", "text/csv;charset=utf-8"], json: ["JSON", "application/json"] };

/** Where a spreadsheet would begin a formula (OWASP, CSV Injection), also in full width. One that is set to Spain splits a line at `;` instead of the comma. */
const FORMULA = /(?=[=+\-@\uff1d\uff0b\uff0d\uff20])(?<=(?:^|[;\t\r\n])["\s]*)/g;

function cell(value) {
  const safe = String(value ?? "").replace(FORMULA, "'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const COLUMNS = {
  "entrega": ({ id }) => id, "creada (UTC)": ({ creada }) => creada, "evento": ({ evento }) => evento, "aviso": ({ evento }) => eventName(evento), "asunto": ({ datos }) => aboutOf(datos),
  "prueba": ({ prueba }) => (prueba ? "sí" : "no"), "webhook": ({ webhook }) => webhook, "nombre del webhook": (_, hook) => hook?.nombre, "dirección": (_, hook) => hook?.url,
  "estado": ({ estado }) => estado, "intentos": ({ intentos }) => intentos, "entregada (UTC)": ({ entregada }) => entregada, "terminada (UTC)": ({ terminada }) => terminada,
  "próximo intento (UTC)": ({ proximoIntento }) => proximoIntento, "último estado HTTP": ({ ultimoEstado }) => ultimoEstado, "último error": ({ ultimoError }) => ultimoError,
  "webhook-id": ({ mensaje }) => mensaje,
};

/** RFC 4180, with the mark by which spreadsheets know UTF-8. @param {any[]} deliveries @param {any[]} hooks */
export function csvOf(deliveries, hooks) {
  const byId = new Map(hooks.map((hook) => [hook.id, hook]));
  const lines = deliveries.map((one) => Object.values(COLUMNS).map((value) => cell(value(one, byId.get(one.webhook)))));
  return `\ufeff${[Object.keys(COLUMNS), ...lines].map((line) => `${line.join(",")}\r\n`).join("")}`;
}

const isLong = (value) => typeof value === "string" && /^-?[1-9]\d*$/.test(value) && !Number.isSafeInteger(Number(value));

/** Integers above 2^53, which api.js keeps as text, are numbers again where the browser can write them. */
const exact = (name, value) => (/^(id|[a-z]+Id)$/.test(name) && isLong(value) && JSON.rawJSON ? JSON.rawJSON(value) : value);

/** @param {object} about what comes before the deliveries: entity, filters, time */
export function jsonOf(deliveries, about) {
  const entregas = deliveries.map(({ cuerpo, sha256Cuerpo, historial, ...listed }) => listed); // a delivery that was found by its number has more than a list
  return `${JSON.stringify({ ...about, entregas }, exact, 2)}\n`;
}

const stamp = (iso) => toZoned(iso).replace(":", "");
const plain = (text) => [...text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-")].slice(0, 40).join("").replace(/^-|-$/g, "");

/** "entregas_ayuntamiento-de-x_desde-2026-11-01T0000_2026-11-30T1015.csv", the times in the zone in force. @param {{nombre: string} | null} entity @param {Object<string, string>} filters @param {string} now */
export function fileName(entity, { desde, hasta }, now, kind) {
  const range = [["desde", desde], ["hasta", hasta]].filter(([, iso]) => iso && stamp(iso)).map(([word, iso]) => `${word}-${stamp(iso)}`);
  return `${["entregas", plain(entity?.nombre ?? "") || "entidad", ...range, stamp(now)].join("_")}.${kind}`;
}

function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Waits, telling each second how long it still is; ends at once if the signal is aborted. @param {(left: number) => any} tell */
function rest(seconds, signal, tell) {
  const until = performance.now() + seconds * 1000; // no change of the computer's clock prolongs it
  return new Promise((resolve) => {
    let timer = 0;
    const look = () => {
      const left = until - performance.now();
      if (left <= 0 || signal.aborted) return end();
      tell(left);
      timer = setTimeout(look, Math.min(left, 1000));
    };
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve(undefined);
    };
    signal.addEventListener("abort", end);
    look();
  });
}

/**
 * @param {object} source the list
 * @param {any[]} source.hooks
 * @param {Object<string, string>} source.filters as in the address
 * @param {{number: string, words: string[]}} source.search
 * @param {(limite: number, at: string, signal: AbortSignal) => Promise<import("./api.js").Answer>} source.ask
 * @param {(signal: AbortSignal) => Promise<any>} source.withNumber
 */
export function exporter(portal, place, { hooks, filters, search, ask, withNumber }) {
  const said = el("p", {});
  const bar = el("progress", { "aria-label": "Entregas reunidas" });
  const going = el("div", { hidden: true }, said, bar, el("div", { class: "actions" }, el("button", { type: "button", class: "button", id: "detener-descarga", onclick: () => stop() }, "Detener")));
  const told = el("div", { role: "status" });
  const buttons = Object.entries(KINDS).map(([kind, [name]]) => el("button", { type: "button", class: "button", id: `descargar-${kind}`, onclick: () => running ?? begin(kind) }, `Descargar ${name}`));
  let running = null;
  place.signal.addEventListener("abort", () => running?.abort());

  function begin(kind) {
    run({ kind, found: [], looked: 0, pages: 0, at: "", left: Boolean(search.words.length || !search.number), numbered: !search.number });
  }

  /** @param {any} work what is gathered so far; a retry goes on from there */
  async function run(work) {
    const controller = new AbortController();
    const { signal } = controller;
    running = controller;
    show(true);
    replace(told);
    announce("Reuniendo las entregas");
    try {
      const failed = await gather(work, signal);
      if (signal.aborted) return;
      ended(work);
      if (failed) replace(told, problemBox(failed, { retry: () => running ?? run(work) }), el("p", { class: "muted" }, `Reunidas: ${count(work.found.length, "entrega")}. No se ha descargado nada.`));
      else finish(work);
    } catch (error) {
      if (signal.aborted) return;
      ended(work);
      replace(told, problemBox({ kind: "invalid", status: 0, message: `No se ha hecho el archivo: ${error}`, retryAfter: 0 }));
    }
  }

  function ended({ kind }) {
    const focused = going.contains(document.activeElement);
    show(false);
    if (focused) buttons.find(({ id }) => id.endsWith(kind))?.focus();
  }

  /** Fetches pages until no more follow, or there are MOST deliveries or MOST_PAGES pages. Returns the answer that is no answer to a page, if there was one. */
  async function gather(work, signal) {
    while (!signal.aborted && (!work.numbered || (work.left && work.found.length < MOST && work.pages < MOST_PAGES))) {
      tell(work);
      if (work.pages) await rest(PACE_S, signal, () => {});
      const answer = work.numbered ? await ask(PAGE, work.at, signal) : await withNumber(signal);
      if (signal.aborted) return null;
      if (answer.kind === "tooMany") await pause(answer.retryAfter || USUAL_WAIT_S, signal);
      else if (!answer.ok) return answer;
      else take(work, answer);
    }
    return null;
  }

  function take(work, answer) {
    const rows = work.numbered ? answer.data.entregas : answer.found;
    const fresh = rows.filter((one) => (!work.numbered || matches(one, search.words)) && !(search.number && work.found.some(({ id }) => id === one.id)));
    const room = MOST - work.found.length;
    work.found.push(...fresh.slice(0, room));
    if (work.numbered) {
      work.looked += rows.length;
      work.pages += 1;
      work.at = answer.data.siguiente;
      work.left = Boolean(work.at) || fresh.length > room;
    }
    work.numbered = true;
  }

  function tell({ found, looked }) {
    said.textContent = search.words.length ? `${count(looked, "entrega mirada", "entregas miradas")}, ${count(found.length, "encontrada")}.` : `${thousands(found.length)} de ${thousands(MOST)} como máximo.`;
    if (search.words.length) return bar.removeAttribute("value");
    bar.max = MOST;
    bar.value = found.length;
  }

  function pause(seconds, signal) {
    announce(`El servicio pide esperar ${span(seconds * 1000)}`);
    return rest(seconds, signal, (left) => (said.textContent = `El servicio pide ir más despacio: se sigue dentro de ${span(left)}.`));
  }

  function finish({ kind, found, left, looked }) {
    const more = left && (found.length < MOST ? `Se ha parado tras mirar ${MOST_PAGES} páginas (${count(looked, "entrega")}): quedan más antiguas por mirar.` : "Hay más: son las más recientes.");
    const how = more && el("p", {}, `${more} Para las demás, acote las fechas en «Más filtros».`);
    if (!found.length && left) return replace(told, notice("warning", el("p", {}, "No se ha encontrado ninguna: no se ha descargado nada."), how));
    if (!found.length) return replace(told, notice("info", el("p", {}, "No hay ninguna entrega con esos filtros: no se ha descargado nada.")));
    const now = new Date(portal.clock.now()).toISOString();
    const { entity } = portal.session;
    const name = fileName(entity, filters, now, kind);
    const about = { entidad: entity && { id: entity.id, nombre: entity.nombre }, filtros: filters, generado: now, completo: !left };
    download(name, KINDS[kind][1], kind === "csv" ? csvOf(found, hooks) : jsonOf(found, about));
    replace(told, notice(left ? "warning" : "good", el("p", {}, `${count(found.length, "entrega")} en ${name}.`), how));
  }

  function stop() {
    running?.abort();
    show(false);
    replace(told, notice("info", el("p", {}, "Detenido: no se ha descargado nada.")));
    buttons[0].focus();
  }

  function show(busy) {
    if (!busy) running = null;
    going.hidden = !busy;
    for (const button of buttons) {
      if (busy) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
  }

  return el("details", { class: "card", id: "descargar" }, el("summary", {}, "Descargar lo filtrado"),
    el("p", { class: "muted small" }, `Todas las páginas, hasta ${thousands(MOST)} entregas o ${MOST_PAGES} páginas, las más recientes. Las horas van en UTC. En el CSV, separado por comas, lo que empezaría una fórmula (=, +, -, @), también tras un punto y coma o un salto de línea, lleva delante un apóstrofo. Al salir de la lista se detiene.`),
    el("div", { class: "actions" }, buttons), going, told);
}
