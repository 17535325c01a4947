// The deliveries of the last 24 hours, by the hour: as a small chart and as a table.
import { el } from "./dom.js";
import { utcBeside, zonedHour } from "./time.js";
import { count, thousands } from "./words.js";

const HOUR = 3_600_000;
const HEIGHT = 48;
const SLOT = 10;
// [member of Hour, class, width, words]: the widths and an outline tell the bars apart without their colours.
const KINDS = [["entregada", "good", 4, "Entregadas (barra estrecha)"], ["otra", "other", 7, "Por llegar (barra hueca)"], ["fallida", "bad", 10, "Fallidas (barra ancha)"]];

/** @typedef {{start: number, entregada: number, fallida: number, otra: number, seen: boolean}} Hour */

/**
 * @param {{creada: string, estado: string, entregada: string | null}[]} deliveries
 * @param {number} now
 * @param {string | null} seenFrom the creation time of the oldest delivery fetched; null if all were fetched
 * @returns {Hour[]} 24 hours, the last one is the present hour
 */
export function byHour(deliveries, now, seenFrom = null) {
  const first = Math.floor(now / HOUR) * HOUR - 23 * HOUR;
  const hours = Array.from({ length: 24 }, (_, i) => ({ start: first + i * HOUR, entregada: 0, fallida: 0, otra: 0, seen: !seenFrom || first + (i + 1) * HOUR > Date.parse(seenFrom) }));
  for (const { creada, estado, entregada } of deliveries) {
    const hour = hours[Math.floor((Date.parse(creada) - first) / HOUR)];
    if (hour) hour[entregada ? "entregada" : estado === "fallida" ? "fallida" : "otra"] += 1;
  }
  return hours;
}

const total = (hours, what) => hours.reduce((sum, hour) => sum + hour[what], 0);

/** The bars alone. @param {Hour[]} hours @param {boolean} whole whether all deliveries of the 24 hours were fetched */
export function dayChart(hours, whole) {
  const most = Math.max(3, ...hours.map((hour) => hour.entregada + hour.fallida + hour.otra));
  const words = `${count(total(hours, "entregada"), "entregada")}, ${count(total(hours, "fallida"), "fallida")} y ${total(hours, "otra")} por llegar${whole ? "" : ", de las más recientes"}`;
  return el("svg", { viewBox: `0 0 ${24 * SLOT} ${HEIGHT + 2}`, role: "img", "aria-label": `Últimas 24 horas: ${words}.`, preserveAspectRatio: "none", class: "bars" },
    hours.map((hour, i) => bars(hour, i * SLOT, most)), el("line", { x1: 0, x2: 24 * SLOT, y1: HEIGHT + 1, y2: HEIGHT + 1, class: "axis" }));
}

function bars(hour, x, most) {
  if (!hour.seen) return unseen(x, HEIGHT);
  const height = (number) => (number === 0 ? 0 : Math.max(2, (number / most) * (HEIGHT - 4)));
  let y = HEIGHT;
  return KINDS.map(([what]) => {
    const h = height(hour[what]);
    y -= h;
    return h > 0 && bar(what, x, y, h);
  });
}

const unseen = (x, bottom) => el("rect", { x: x + 1, y: bottom - 3, width: SLOT - 2, height: 3, class: "unseen" });

function bar(what, x, y, height) {
  const [, kind, width] = KINDS.find(([name]) => name === what);
  return el("rect", { x: x + (SLOT - width) / 2, y, width, height, class: `bar-${kind}` });
}

/** What the bars of all charts mean. @param {boolean} whole whether all deliveries of all charts were fetched */
export function legend(whole) {
  const one = (mark, words) => el("li", {}, el("svg", { viewBox: `0 0 ${SLOT} ${SLOT}`, "aria-hidden": "true" }, mark), ` ${words}`);
  return el("ul", { class: "legend small muted" }, KINDS.map(([what, , , words]) => one(bar(what, 0, 1, SLOT - 2), words)), !whole && one(unseen(0, SLOT), "Sin contar (raya)"));
}

const hourOf = (iso) => [el("time", { datetime: iso }, zonedHour(Date.parse(iso))), el("span", { class: "utc small" }, ` ${utcBeside(iso).replace(":00 UTC", " UTC")}`)];

/** The same hours as a table. @param {Hour[]} hours @param {boolean} whole */
export function dayTable(hours, whole) {
  const rows = hours.filter((hour) => !hour.seen || hour.entregada + hour.fallida + hour.otra > 0).reverse();
  if (!rows.length) return el("p", { class: "muted" }, "En las últimas 24 horas no hubo ninguna entrega.");
  return el("div", { class: "chart-table" }, el("table", {},
    el("caption", {}, "Entregas de las últimas 24 horas, por hora de creación"),
    el("thead", {}, el("tr", {}, ["Desde las", "Entregadas", "Fallidas", "Por llegar"].map((name, i) => el("th", { scope: "col", class: i && "number" }, name)))),
    el("tbody", {}, rows.map((hour) => el("tr", {}, el("th", { scope: "row" }, hourOf(new Date(hour.start).toISOString())),
      hour.seen ? ["entregada", "fallida", "otra"].map((what) => el("td", { class: "number" }, thousands(hour[what]))) : el("td", { colspan: 3 }, "sin contar"))))),
  !whole && el("p", { class: "muted small" }, "Se han contado las más recientes; las horas anteriores se marcan como no contadas."));
}
