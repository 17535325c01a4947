// Shows times in the zone that the person has chosen, and in UTC. "Now" is the browser's time, corrected by the service's clock.
import { el } from "./dom.js";

const DAY = 86_400_000;
const NOTICED_MS = 90_000;

const formatIn = (timeZone, options) => new Intl.DateTimeFormat("es-ES", { timeZone, ...options });
const partsIn = (timeZone) => formatIn(timeZone, { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const UTC = partsIn("UTC");

/** A zone: its name, its words ("Hora de la península"; "(península)" after a time) and its formatters. */
const zoneOf = (name, of, short) => ({
  name, of, short,
  parts: partsIn(name),
  hour: formatIn(name, { hour: "2-digit", minute: "2-digit" }),
  seconds: formatIn(name, { hour: "2-digit", minute: "2-digit", second: "2-digit" }),
  weekday: formatIn(name, { weekday: "long" }),
  date: formatIn(name, { day: "numeric", month: "short", year: "numeric" }),
  year: formatIn(name, { year: "numeric" }),
});

const ZONES = [zoneOf("Europe/Madrid", "de la península", "península"), zoneOf("Atlantic/Canary", "de Canarias", "Canarias")];
const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
const find = (name) => ZONES.find((one) => one.name === name) ?? ZONES[0];
let chosen = find(browserZone());

/** The zone in force: the Canaries' if the browser is there, until the person chooses the other one. */
export const zone = () => chosen;
export const otherZone = () => ZONES.find((one) => one !== chosen) ?? chosen;
/** @param {string} name of a zone that can be chosen */
export function useZone(name) {
  chosen = find(name);
}

function numbers(formatter, ms) {
  return Object.fromEntries(formatter.formatToParts(ms).filter((part) => part.type !== "literal").map((part) => [part.type, Number(part.value)]));
}

/** The number of the day in the zone, to distinguish today from yesterday. */
function dayOf(ms) {
  const part = numbers(chosen.parts, ms);
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
  const hour = chosen.hour.format(ms);
  const article = /^1:|^01:/.test(hour) ? "a la" : "a las";
  const names = { "0": "hoy", "-1": "ayer", "1": "mañana" };
  const day = names[days] ?? (Math.abs(days) < 7 ? `el ${chosen.weekday.format(ms)}${days < 0 ? " pasado" : ""}` : `el ${chosen.date.format(ms)}`);
  return `${day} ${article} ${hour}`;
}

/** When something will be done: "ahora" within a minute, otherwise as when(). */
export const due = (iso, now) => (Date.parse(iso) - now < 60_000 ? "ahora" : when(iso, now));

/** "20 nov 2026, 11:00:06", in the zone in force. */
export const zoned = (iso) => `${chosen.date.format(Date.parse(iso))}, ${chosen.seconds.format(Date.parse(iso))}`;
/** Like zoned(), but without the year if that is the year of `now`. */
export const zonedCompact = (iso, now) => zoned(iso).replace(` ${chosen.year.format(now)},`, ",");
export const zonedShort = (iso) => `${chosen.date.format(Date.parse(iso))}, ${chosen.hour.format(Date.parse(iso))}`;
/** "4 dic 2026"; a text that is no date as it is. @param {string} text a date, or a date and time in UTC */
export const zonedDate = (text) => (Number.isNaN(Date.parse(text)) ? String(text) : chosen.date.format(Date.parse(text)));
export const zonedHour = (ms) => chosen.hour.format(ms);

/** "2026-11-20 10:00:06 UTC". */
export function utc(iso) {
  const part = numbers(UTC, Date.parse(iso));
  const two = (number) => String(number).padStart(2, "0");
  return `${part.year}-${two(part.month)}-${two(part.day)} ${two(part.hour)}:${two(part.minute)}:${two(part.second)} UTC`;
}

/** "10:00:06 UTC", with the UTC date if the zone in force has another date. */
export function utcBeside(iso) {
  const ms = Date.parse(iso);
  return dayOf(ms) === Math.floor(ms / DAY) ? utc(iso).slice(11) : utc(iso);
}

/** The time in the zone in force and in UTC, side by side. */
export const bothTimes = (iso) => el("span", { class: "both-times" }, el("time", { datetime: iso }, zoned(iso), el("span", { class: "zone" }, ` (${chosen.short})`)), el("span", { class: "utc" }, ` · ${utc(iso)}`));

/** The difference between the clock of the zone in force and UTC at a moment, in milliseconds. */
function offset(ms) {
  const part = numbers(chosen.parts, ms);
  return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second) - Math.floor(ms / 1000) * 1000;
}

/**
 * Reads the value of an <input type="datetime-local"> in the zone in force; returns ISO 8601 in UTC, "" if it is invalid. If the time occurs
 * twice, returns the first. A time that a change of clocks skips is taken as an hour later (02:30 as 03:30).
 * @param {string} local "2026-11-20T11:00"
 */
export function fromZoned(local) {
  const wall = Date.parse(`${local}Z`);
  if (Number.isNaN(wall)) return "";
  const earlier = wall - offset(wall - DAY);
  const later = wall - offset(wall + DAY);
  const right = [earlier, later].find((ms) => ms + offset(ms) === wall) ?? earlier;
  return new Date(right).toISOString().replace(".000Z", "Z");
}

/** From ISO 8601 to the zone in force, for an <input type="datetime-local">; "" if it is invalid. */
export function toZoned(iso) {
  const ms = Date.parse(iso);
  return Number.isNaN(ms) ? "" : new Date(ms + offset(ms)).toISOString().slice(0, 16);
}

/** When a day of the zone in force begins, in ISO 8601. @param {number} now @param {number} ago in days */
export function startOfDay(now, ago) {
  const today = Date.parse(toZoned(new Date(now).toISOString()).slice(0, 10));
  return fromZoned(`${new Date(today - ago * DAY).toISOString().slice(0, 10)}T00:00`);
}

/** A sentence if the browser's zone has another time than the zone in force, in winter or in summer; otherwise "". */
export function zoneNote(browser = browserZone()) {
  const style = { dateStyle: "short", timeStyle: "short" };
  const [here, there] = [browser, chosen.name].map((name) => formatIn(name, style));
  const same = [Date.UTC(2026, 0), Date.UTC(2026, 6)].every((ms) => here.format(ms) === there.format(ms));
  return same ? "" : `Este equipo está en otra zona horaria (${browser}). Aquí las horas son ${chosen.of}.`;
}
