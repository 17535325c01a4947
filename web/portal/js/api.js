// Calls the API and returns every error as a value. The token is only in memory, and is lost with the tab.

export const BASE = "/apientidades/v1";
const TIMEOUT_MS = 20_000;

/**
 * @typedef {object} Answer
 * @property {boolean} ok
 * @property {string} kind "ok", a value of KINDS, or "error"; without an answer "network", "timeout" or "aborted"
 * @property {number} status 0 without an answer
 * @property {any} data the body, if it is JSON
 * @property {string} message a sentence in Spanish, if not ok
 * @property {number} retryAfter seconds; 0: the answer names none
 * @property {string | null} etag
 * @property {string | null} requestId
 */

const KINDS = {
  400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "notFound", 409: "conflict", 412: "precondition", 422: "conflict", 429: "tooMany",
  502: "unavailable", 503: "unavailable", 504: "unavailable",
};

const OWN_WORDS = {
  network: "No hay conexión con el servicio: compruebe su red.",
  timeout: "El servicio no ha respondido a tiempo.",
  aborted: "Se dejó de esperar la respuesta.",
  error: "El servicio ha respondido algo que no se entiende.",
};

/**
 * @param {object} means
 * @param {() => string} means.token
 * @param {(message: string) => Promise<boolean>} means.askForToken shows the message and asks for another token; true once one is entered
 * @param {() => number} [means.session] the session's number, which changes at each login and logout
 * @param {(headers: Headers) => void} [means.onHeaders]
 * @param {() => void} [means.onForbidden] called when the token turns out to be read-only
 * @param {typeof fetch} [means.fetch]
 */
export function createApi({ token, askForToken, session = () => 0, onHeaders = () => {}, onForbidden = () => {}, fetch = globalThis.fetch.bind(globalThis) }) {
  /**
   * @param {string} method
   * @param {string} path below /apientidades/v1
   * @param {object} [how]
   * @param {Object<string, any>} [how.query] empty values are left out
   * @param {any} [how.body] sent as JSON
   * @param {Object<string, string>} [how.headers]
   * @param {AbortSignal} [how.signal]
   * @param {number} [how.timeout] milliseconds
   * @param {boolean} [how.ask] false: a 401 is given back at once
   * @returns {Promise<Answer>}
   */
  async function request(method, path, how = {}) {
    const begun = session();
    for (;;) {
      const used = token();
      const answer = await send(fetch, method, path, how, used);
      if (answer.headers) onHeaders(answer.headers);
      if (session() !== begun) return answer;
      if (answer.kind === "forbidden" && method !== "GET" && token() === used) onForbidden();
      // A 401 means that the server did nothing. So the request is repeated with another token of the same entity, and the form keeps its values.
      const retried = answer.kind === "unauthorized" && how.ask !== false && (token() !== used || (await askForToken(answer.message)));
      if (!retried || session() !== begun || how.signal?.aborted) return answer;
    }
  }
  return {
    request,
    /** @param {string} path @param {object} [query] @param {AbortSignal} [signal] */
    get: (path, query, signal) => request("GET", path, { query, signal }),
  };
}

async function send(fetch, method, path, how, token) {
  const stop = new AbortController();
  const abort = () => stop.abort("aborted");
  if (how.signal?.aborted) return failure("aborted");
  how.signal?.addEventListener("abort", abort);
  const timer = setTimeout(() => stop.abort("timeout"), how.timeout ?? TIMEOUT_MS);
  try {
    const response = await fetch(BASE + path + queryText(how.query), {
      method,
      headers: headersOf(how, token),
      body: how.body === undefined ? undefined : typeof how.body === "string" ? how.body : JSON.stringify(how.body),
      signal: stop.signal,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    return read(response, await response.text());
  } catch {
    return failure(stop.signal.aborted ? String(stop.signal.reason) : "network");
  } finally {
    clearTimeout(timer);
    how.signal?.removeEventListener("abort", abort);
  }
}

function headersOf(how, token) {
  const headers = { Accept: "application/json", Authorization: `Bearer ${token}` };
  if (how.body !== undefined) headers["Content-Type"] = "application/json";
  return { ...headers, ...how.headers };
}

export function queryText(query = {}) {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${String(new URLSearchParams(given.map(([name, value]) => [name, String(value)]))).replaceAll("+", "%20")}` : ""; // the API takes + as itself
}

function read(response, text) {
  const data = parse(text);
  const about = {
    headers: response.headers, status: response.status, data, etag: response.headers.get("ETag"), requestId: response.headers.get("X-Request-Id"),
    retryAfter: seconds(response.headers.get("Retry-After")),
  };
  if (response.ok && data !== undefined) return { ok: true, kind: "ok", message: "", ...about };
  const kind = response.ok ? "error" : KINDS[response.status] ?? "error";
  const told = typeof data?.message === "string" ? data.message : OWN_WORDS.error;
  return { ok: false, kind, message: told, ...about };
}

// JavaScript rounds integers above 2^53: where the browser gives their digits, they are kept as text.
const exact = (_name, value, context) => (Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source ? context.source : value);

/** The value of a JSON text; undefined if it is none. */
export function parse(text) {
  try {
    return JSON.parse(text, exact);
  } catch {
    return undefined;
  }
}

const seconds = (header) => (/^\d{1,9}$/.test(header ?? "") ? Number(header) : 0);

const failure = (kind) => ({ ok: false, kind, status: 0, data: undefined, message: OWN_WORDS[kind] ?? OWN_WORDS.network, retryAfter: 0, etag: null, requestId: null, headers: null });
