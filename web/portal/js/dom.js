// Elements from values. Text always becomes text nodes: no code of the portal parses markup, and no character stays unseen.
import { pieces, visible } from "./visible.js";

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "rect", "line", "path", "circle", "text", "title"]);

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */

/**
 * Makes an element: el("a", {href: "#/entregas", class: "button", onclick: open}, "Ver entregas"). An attribute with the value null, undefined or false is
 * left out, and one with the value true is written empty. A function is added as a listener.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...Child} children
 * @returns {any}
 */
export function el(tag, attributes = {}, ...children) {
  const node = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  append(node, children);
  return node;
}

function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === "function") {
    node.addEventListener(name.replace(/^on/, ""), value);
    return;
  }
  if (/^on|^style$|^srcdoc$/i.test(name)) throw new Error(`${name} is no attribute of ours`);
  if (/^(href|src|action|formaction)$/i.test(name) && !/^(#|\/apientidades\/)/.test(value)) throw new Error(`${name} leads elsewhere`);
  node.setAttribute(name, value === true ? "" : name === "aria-label" ? visible(String(value)) : String(value));
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (child instanceof Node) node.append(child);
    else if (TEXT_ALONE.has(node.localName)) node.append(visible(String(child)));
    else node.append(...marked(String(child)));
  }
}

const TEXT_ALONE = new Set(["option", "text", "title"]); // elements that draw text and no elements in it

/** An escape is marked, since a person may have typed the same letters. */
const marked = (text) => pieces(text).map((piece, i) => (i % 2 ? el("span", { class: "escape" }, piece) : piece)).filter((piece) => piece !== "");

/** A link out of the portal. It opens another tab: if it replaced the portal, the token and the typed text would be lost. @param {string} href @param {string} words */
export const away = (href, words, attributes = {}) => el("a", { ...attributes, href, target: "_blank", rel: "noopener noreferrer" }, `${words} (se abre en otra pestaña)`);

/** Text that others wrote (URLs, titles, errors): isolated, in its own direction, broken anywhere if it is long. */
export const foreign = (text) => el("bdi", { dir: "auto", class: "foreign" }, text);

/** A URL that is long, shortened in the middle of what follows the host. @param {string} url */
export function shortUrl(url) {
  const [, base, rest] = /^(https:\/\/[^/?#]*)(.*)$/s.exec(url) ?? ["", "", url];
  return rest.length > 40 ? `${base}${rest.slice(0, 12)}…${rest.slice(-20)}` : url;
}

/** A URL, shortened if it is long; then it is shown whole on request. @param {string} url */
export const urlOnRequest = (url) => (shortUrl(url) === url ? urlOf(url) : el("details", { class: "whole-url" }, el("summary", {}, urlOf(shortUrl(url)), el("span", { class: "hidden" }, " (ver entera)")), el("p", {}, urlOf(url))));

/** A URL with its host emphasised. */
export function urlOf(url) {
  const [, scheme, host, rest] = /^(https:\/\/)([^/?]*)(.*)$/s.exec(url) ?? ["", "", url, ""];
  return el("bdi", { class: "foreign url" }, el("span", {}, scheme), el("strong", {}, host), el("span", {}, rest));
}

/**
 * Replaces the children of `parent`. If the new ones equal the earlier ones and contain no controls, nothing is replaced, so that
 * nothing moves while a person reads. Otherwise the focus and the open <details> are restored by their ids.
 * @param {Element} parent
 * @param {...Child} children
 */
export function replace(parent, ...children) {
  const next = document.createDocumentFragment();
  append(next, children);
  if (sameNodes(parent.childNodes, next.childNodes)) return;
  const active = parent.contains(document.activeElement) ? document.activeElement : null;
  const focusedId = active?.id || (active?.matches("summary") && active.parentElement?.id);
  const opened = [...parent.querySelectorAll("details[open][id]")].map((one) => one.id);
  parent.replaceChildren(next);
  for (const id of opened) {
    const details = document.getElementById(id);
    if (details && parent.contains(details)) details.setAttribute("open", "");
  }
  const again = focusedId && document.getElementById(focusedId);
  if (again && parent.contains(again)) (again.matches("details") ? again.querySelector("summary") : again)?.focus({ preventScroll: true });
}

const CONTROLS = "button, input, select, textarea, form";

function sameNodes(before, after) {
  if (before.length !== after.length) return false;
  return [...before].every((node, i) => node.isEqualNode(after[i]) && !(node instanceof Element && (node.matches(CONTROLS) || node.querySelector(CONTROLS))));
}

let ids = 0;
/** An id that is unique on the page. */
export const freshId = (prefix = "id") => `${prefix}-${++ids}`;
