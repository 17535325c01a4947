// The search: finds the parts of pages in which all words occur. The browser does it alone, with search_index.js.
const MOST = 12; // results that are shown
const AROUND = [6, 18]; // words of the text before and after the first that was found

const box = document.querySelector(".search");
const input = document.getElementById("buscar");
const panel = document.getElementById("encontrado");
const status = panel.querySelector("p");
const list = panel.querySelector("ul");

/** Without accents and capitals, so that "diagnostico" finds "Diagnóstico". @param {string} text */
const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const wordsOf = (text) => fold(text).match(/[\p{L}\p{N}_]+/gu) ?? [];
/** Without the plural's ending: the singular begins the plural, and so both are found. @param {string} word */
const stem = (word) => (word.length > 4 ? word.replace(/(?<=[lnrd])es$|s$/, "") : word);
const withBlanks = (text) => ` ${wordsOf(text).join(" ")}`;

let loaded;
/** Loads the index once, when it is first needed. A load that failed is repeated the next time. */
function parts() {
  loaded ??= import("./search_index.js").then(
    ({ PARTS }) => PARTS.map(([address, title, heading, text]) => ({ address, title, heading, text, places: [heading || title, title, text].map(withBlanks) })),
    (error) => { loaded = undefined; throw error; });
  return loaded;
}

/** A word counts 4 in the heading, 3 in the page's title and 1 in the text; 0: a word is missing. */
function score({ places: [heading, title, text] }, words) {
  const each = words.map((word) => 4 * heading.includes(word) + 3 * title.includes(word) + text.includes(word));
  return each.includes(0) ? 0 : each.reduce((sum, one) => sum + one, 0);
}

function excerpt(text, words) {
  const all = text.split(/\s+/);
  const first = Math.max(0, all.findIndex((one) => words.some((word) => withBlanks(one).includes(word))));
  const from = Math.max(0, first - AROUND[0]);
  const to = first + AROUND[1];
  return `${from > 0 ? "… " : ""}${all.slice(from, to).join(" ")}${to < all.length ? " …" : ""}`;
}

function element(name, ...content) {
  const node = document.createElement(name);
  node.append(...content);
  return node;
}

function result({ address, title, heading, text }, words) {
  const link = element("a", heading ? `${title}: ${heading}` : title);
  link.href = new URL(address, import.meta.url).href; // the page of a missing address may be at any depth
  return element("li", link, element("p", excerpt(text, words)));
}

function show(found, words) {
  status.textContent = found.length === 0 ? "No se ha encontrado nada: pruebe con menos palabras."
    : found.length === 1 ? "1 resultado" : found.length > MOST ? `Los ${MOST} primeros de ${found.length} resultados` : `${found.length} resultados`;
  list.replaceChildren(...found.slice(0, MOST).map(({ part }) => result(part, words)));
  panel.hidden = false;
}

async function search() {
  const words = wordsOf(input.value).map((word) => ` ${stem(word)}`);
  const asked = input.value;
  if (words.join("").trim().length < 2) return close();
  try {
    const found = (await parts()).map((part) => ({ part, score: score(part, words) })).filter((one) => one.score > 0);
    if (asked === input.value) show(found.sort((a, b) => b.score - a.score), words);
  } catch {
    status.textContent = "No se pudo cargar el índice: inténtelo otra vez.";
    list.replaceChildren();
    panel.hidden = false;
  }
}

function close() {
  panel.hidden = true;
}

input.addEventListener("input", search);
input.addEventListener("focus", search);
box.addEventListener("submit", (event) => {
  event.preventDefault();
  list.querySelector("a")?.focus();
});
box.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || panel.hidden) return;
  event.preventDefault(); // the browser would empty the field
  input.focus();
  close();
});
// The panel covers what is below it, so it closes when the focus goes there.
box.addEventListener("focusout", (event) => {
  if (event.relatedTarget && !box.contains(event.relatedTarget)) close();
});
box.addEventListener("click", (event) => event.target.closest("a") && close());
document.addEventListener("click", (event) => box.contains(event.target) || close());
box.hidden = false;
