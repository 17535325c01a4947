// Shows times in Europe/Madrid and in UTC. "Now" is the browser's time, corrected by the service's clock.
import { el } from "./dom.js";

export const ZONE = "Europe/Madrid";
const DAY = 86_400_000;
const NOTICED_MS = 90_000;

const format = (options, timeZone = ZONE) => new Intl.DateTimeFormat("es-ES", { timeZone, ...options });
const HOUR = format({ hour: "2-digit", minute: "2-digit" });
const SECONDS = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const WEEKDAY = format({ weekday: "long" });
const DATE = format({ day: "numeric", month: "short", year: "numeric" });
const YEAR = format({ year: "numeric" });
const LONG_DATE = format({ weekday: "long", day: "numeric", month: "long", year: "numeric" });
const UTC_FULL = format({ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }, "UTC");
const PARTS = format({ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

function numbers(formatter, ms) {
  return Object.fromEntries(formatter.formatToParts(ms).filter((part) => part.type !== "literal").map((part) => [part.type, Number(part.value)]));
}

/** The number of the day in the zone, to distinguish today from yesterday. */
function dayOf(ms) {
  const part = numbers(PARTS, ms);
  return Date.UTC(part.year, part.month - 1, part.day) / DAY;
}

/** How far the service's clock is ahead of the browser's, from the Date header of the service's answers. */
export class Clock {
  #skew = 0;
  #known = false;

  /** @param {() => number} [browser] the browser's clock, in milliseconds */
  constructor(browser = Date.now) {
    this.browser = browser;
  }

  /** @param {string | null} date a Date header, which has whole seconds */
  learn(date) {
    const told = date ? Date.parse(date) : NaN;
    if (Number.isNaN(told)) return;
    const skew = told + 500 - this.browser();
    if (!this.#known || Math.abs(skew - this.#skew) > 2000) this.#skew = skew;
    this.#known = true;
  }

  /** Now, by the service's clock. */
  now() {
    return this.browser() + (Math.abs(this.#skew) > 2000 ? this.#skew : 0);
  }

  /** A sentence if the browser's clock is wrong by NOTICED_MS or more; otherwise "". */
  warning() {
    if (!this.#known || Math.abs(this.#skew) < NOTICED_MS) return "";
    const way = this.#skew < 0 ? "adelantado" : "atrasado";
    return `El reloj de este equipo va ${span(Math.abs(this.#skew))} ${way}. Aquí se usa la hora del servicio.`;
  }
}

/** "3 horas", "2 días": the largest unit alone. */
export function span(ms) {
  const units = [[DAY, "día", "días"], [3_600_000, "hora", "horas"], [60_000, "minuto", "minutos"], [1000, "segundo", "segundos"]];
  const [size, one, many] = units.find(([size]) => ms >= size) ?? units[3];
  const count = Math.max(0, Math.round(ms / size));
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * "hoy a las 10:32", "ayer a las 10:32"; within six days "el viernes a las 10:32" or "el viernes pasado a las 10:32";
 * otherwise "el 3 nov 2026 a las 10:32".
 */
export function when(iso, now) {
  const ms = Date.parse(iso);
  const days = dayOf(ms) - dayOf(now);
  const hour = HOUR.format(ms);
  const article = /^1:|^01:/.test(hour) ? "a la" : "a las";
  const names = { "0": "hoy", "-1": "ayer", "1": "mañana" };
  const day = names[days] ?? (Math.abs(days) < 7 ? `el ${WEEKDAY.format(ms)}${days < 0 ? " pasado" : ""}` : `el ${DATE.format(ms)}`);
  return `${day} ${article} ${hour}`;
}

/** "20 nov 2026, 11:00:06", in Madrid's time. */
export const madrid = (iso) => `${DATE.format(Date.parse(iso))}, ${SECONDS.format(Date.parse(iso))}`;
/** Like madrid(), but without the year if that is the year of `now`. */
export const madridCompact = (iso, now) => madrid(iso).replace(` ${YEAR.format(now)},`, ",");
export const madridShort = (iso) => `${DATE.format(Date.parse(iso))}, ${HOUR.format(Date.parse(iso))}`;
/** "4 dic 2026"; a text that is no date as it is. @param {string} text a date, or a date and time in UTC */
export const madridDate = (text) => (Number.isNaN(Date.parse(text)) ? String(text) : DATE.format(Date.parse(text)));
export const madridDay = (iso) => LONG_DATE.format(Date.parse(iso));
export const madridHour = (ms) => HOUR.format(ms);

/** "2026-11-20 10:00:06 UTC". */
export function utc(iso) {
  const part = numbers(UTC_FULL, Date.parse(iso));
  const two = (number) => String(number).padStart(2, "0");
  return `${part.year}-${two(part.month)}-${two(part.day)} ${two(part.hour)}:${two(part.minute)}:${two(part.second)} UTC`;
}

/** "10:00:06 UTC", with the UTC date if Madrid has another date. */
export function utcBeside(iso) {
  const ms = Date.parse(iso);
  return dayOf(ms) === Math.floor(ms / DAY) ? utc(iso).slice(11) : utc(iso);
}

/** The time in Europe/Madrid and in UTC, side by side. */
export const bothTimes = (iso) => el("span", { class: "both-times" }, el("time", { datetime: iso }, madrid(iso), el("span", { class: "zone" }, " (península)")), el("span", { class: "utc" }, ` · ${utc(iso)}`));

/** The difference between the zone's clock and UTC at a moment, in milliseconds. */
function offset(ms) {
  const part = numbers(PARTS, ms);
  return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second) - Math.floor(ms / 1000) * 1000;
}

/**
 * Reads the value of an <input type="datetime-local"> as Madrid's time; returns ISO 8601 in UTC, "" if it is invalid. If the time occurs
 * twice, returns the first. A time that a change of clocks skips is taken as an hour later (02:30 as 03:30).
 * @param {string} local "2026-11-20T11:00"
 */
export function fromMadrid(local) {
  const wall = Date.parse(`${local}Z`);
  if (Number.isNaN(wall)) return "";
  const earlier = wall - offset(wall - DAY);
  const later = wall - offset(wall + DAY);
  const right = [earlier, later].find((ms) => ms + offset(ms) === wall) ?? earlier;
  return new Date(right).toISOString().replace(".000Z", "Z");
}

/** From ISO 8601 to Madrid's time, for an <input type="datetime-local">; "" if it is invalid. */
export function toMadrid(iso) {
  const ms = Date.parse(iso);
  return Number.isNaN(ms) ? "" : new Date(ms + offset(ms)).toISOString().slice(0, 16);
}

/** A sentence if the browser's zone has another time than Madrid, in winter or in summer; otherwise "". */
export function zoneNote(browserZone = Intl.DateTimeFormat().resolvedOptions().timeZone) {
  const style = { dateStyle: "short", timeStyle: "short" };
  const same = [Date.UTC(2026, 0), Date.UTC(2026, 6)].every((ms) => format(style, browserZone).format(ms) === format(style).format(ms));
  return same ? "" : `Este equipo está en otra zona horaria (${browserZone}).`;
}
