// Chooses the screen by the address's fragment, such as "#/entregas?webhook=1", which the server never sees.
import { queryText } from "./api.js";

/**
 * @typedef {object} Place
 * @property {string} path
 * @property {Object<string, string>} params from match()
 * @property {Object<string, string>} query
 * @property {AbortSignal} signal aborted when the screen is left
 * @property {Element} root where the screen draws
 * @property {(text: string) => void} title puts the screen's name into the page's title
 */

/** An address within the portal. @param {string} path @param {object} [query] */
export const link = (path, query = {}) => `#${path}${queryText(query)}`;

/** @returns {{path: string, query: Object<string, string>}} */
export function parseHash(hash) {
  const [path, query = ""] = (hash.replace(/^#/, "") || "/").split(/\?(.*)/s);
  return { path, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** match("/entregas/:webhook/:entrega", "/entregas/1/806") returns { webhook: "1", entrega: "806" }; null if the path does not match. */
export function match(pattern, path) {
  const names = [];
  const regex = pattern.replace(/:(\w+)/g, (_, name) => names.push(name) && "([0-9]{1,19})");
  const found = new RegExp(`^${regex}$`).exec(path);
  return found && Object.fromEntries(names.map((name, i) => [name, found[i + 1]]));
}

/**
 * @param {object} means
 * @param {{pattern: string, screen: (place: Place) => any}[]} means.routes the last route is for unmatched addresses
 * @param {Element} means.root
 * @param {() => boolean} means.changed whether something typed would be lost by leaving the screen
 * @param {(left: AbortSignal, what?: string) => Promise<boolean>} means.askToLeave the signal is that of the screen
 * @param {(text: string) => string} means.pageTitle the page's title, with the screen's name in it
 */
export function createRouter({ routes, root, changed, askToLeave, pageTitle }) {
  let leave = new AbortController();
  let byLink = true;
  const left = new Map(); // the position and focus of each screen, for Back

  function find(path) {
    for (const route of routes) {
      const params = match(route.pattern, path);
      if (params) return { screen: route.screen, params };
    }
    return { screen: routes[routes.length - 1].screen, params: {} };
  }

  let current = null;
  function remember() {
    if (current !== null) left.set(current, { y: scrollY, id: document.activeElement?.id });
  }

  async function show({ first = false } = {}) {
    leave.abort();
    leave = new AbortController();
    const { signal } = leave;
    const back = !byLink && left.get(location.hash);
    byLink = false;
    current = location.hash;
    const { path, query } = parseHash(location.hash);
    const { screen, params } = find(path);
    root.replaceChildren();
    const place = { path, params, query, signal, root, title: (text) => (document.title = pageTitle(text)) };
    const drawn = screen(place);
    if (!first && !back) startOf(root);
    const focused = document.activeElement;
    await drawn;
    if (back && !signal.aborted && document.activeElement === focused) returnTo(back); // otherwise a person types already
  }

  function startOf(root, y = 0) {
    scrollTo(0, y);
    const heading = root.querySelector("h1");
    heading?.setAttribute("tabindex", "-1");
    heading?.focus({ preventScroll: true });
  }

  function returnTo({ y, id }) {
    const was = id && document.getElementById(id);
    startOf(root, y);
    if (was) was.focus({ preventScroll: true });
  }

  history.scrollRestoration = "manual";
  document.addEventListener("click", (event) => {
    const hash = event.target instanceof Element && event.target.closest("a[href^='#/']")?.getAttribute("href");
    if (!hash) return;
    remember();
    if (event.ctrlKey || event.metaKey || event.shiftKey || hash === location.hash || !changed()) {
      byLink = true;
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    askToLeave(leave.signal).then((yes) => yes && go(hash));
  }, true);
  addEventListener("scroll", remember, { passive: true });
  document.addEventListener("focusin", remember);
  addEventListener("hashchange", () => show());

  /** @param {string} hash from link() */
  function go(hash) {
    byLink = true;
    remember();
    if (location.hash === hash) show();
    else location.hash = hash;
  }

  return {
    show,
    go,
    /** Asks before the screen is left in another way than by a link. @param {string} what becomes of what was typed */
    askToLeave: (what) => askToLeave(leave.signal, what),
    /** Like the browser's Back: to the earlier screen, at the position where it was left. */
    back() {
      byLink = false;
      history.back();
    },
  };
}
