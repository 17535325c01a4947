// The session: the token, only in memory, and whether it may change anything.

/** The form of a token. Pasted text may have spaces around it, or the word Bearer. */
export const TOKEN = /^apie_[A-Za-z0-9_-]{43}$/;
export const cleanToken = (text) => text.trim().replace(/^(Authorization:\s*)?Bearer\s+/i, "").trim();

export function createSession() {
  const listeners = new Set();
  const changed = () => listeners.forEach((listener) => listener());
  let seen = new Set(); // ids of webhooks, which show that two tokens belong to one entity
  const set = (token, readOnly) => {
    Object.assign(session, { token, readOnly });
    changed();
  };
  const session = {
    /** Changes with each login, so that earlier requests are not repeated. */
    number: 0,
    token: "",
    /** A read-only token: no changes are offered. */
    readOnly: false,
    get open() {
      return session.token !== "";
    },
    /** @param {string} token @param {boolean} readOnly @param {{id: number}[]} [webhooks] its entity's */
    begin(token, readOnly, webhooks = []) {
      session.number += 1;
      seen = new Set();
      session.see(webhooks);
      set(token, readOnly);
    },
    /**
     * Continues with another token of the same entity. Returns false and changes nothing if the token belongs to another entity, because it lists no webhook
     * that was seen here. Two entities without webhooks cannot be told apart.
     * @param {string} token @param {boolean} readOnly @param {{id: number}[]} webhooks
     */
    renew(token, readOnly, webhooks) {
      if (!webhooks.some(({ id }) => seen.has(id)) && seen.size + webhooks.length > 0) return false;
      session.see(webhooks);
      set(token, readOnly);
      return true;
    },
    /** @param {{id: number}[]} webhooks the listed webhooks */
    see(webhooks) {
      for (const { id } of webhooks) seen.add(id);
    },
    /** Marks the token as read-only after a refused change. */
    onlyReads() {
      set(session.token, true);
    },
    end() {
      session.begin("", false);
    },
    onChange: (listener) => listeners.add(listener),
  };
  return session;
}

const PASSING = new Set(["unauthorized", "tooMany", "unavailable", "network", "timeout", "error"]); // kinds with their own message

/**
 * Finds out whether a token is valid and may change data, without changing any: lists the webhooks, then sends a PATCH to a webhook that cannot exist, with a
 * type of body that is never accepted. A token that only reads is refused (403) before the type is (415). Any other answer says nothing about the token, and is a
 * problem.
 * @param {(method: string, path: string, how: object) => Promise<import("./api.js").Answer>} request
 */
export async function tryToken(request) {
  const listed = await request("GET", "/webhooks", { ask: false });
  if (!listed.ok) return { answer: listed, readOnly: false };
  const probe = await request("PATCH", "/webhooks/0", { ask: false, body: "", headers: { "Content-Type": "text/plain" } });
  if (probe.status === 403 || probe.status === 415) return { answer: listed, readOnly: probe.status === 403 };
  return { answer: PASSING.has(probe.kind) ? probe : { ...probe, ok: false, kind: "error", message: "No se ha podido comprobar si el token permite cambiar datos" }, readOnly: true };
}
