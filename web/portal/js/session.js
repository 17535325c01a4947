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
    /** Changes at each login and logout: a request of an earlier session is not repeated with the token of this one. */
    number: 0,
    token: "",
    /** Whether the token only reads; then the portal offers no changes. */
    readOnly: false,
    get open() {
      return session.token !== "";
    },
    /** @param {string} token @param {boolean} readOnly @param {{id: number}[]} [webhooks] the webhooks of the token's entity */
    begin(token, readOnly, webhooks = []) {
      session.number += 1;
      seen = new Set();
      session.see(webhooks);
      set(token, readOnly);
    },
    /**
     * Continues with another token of the same entity. Returns false and changes nothing if the token is of another entity, which shows when the session
     * or the token has webhooks, but the two have none in common. Two entities without webhooks cannot be told apart.
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

const PASSING = new Set(["unauthorized", "tooMany", "unavailable", "network", "timeout", "error"]); // kinds of answers with a message that is shown as it is

/**
 * Finds out whether a token is valid and may change data: lists the webhooks, and asks for the entity, which says what the token may do. Any answer that does
 * not say so makes the result an error.
 * @param {(method: string, path: string, how: object) => Promise<import("./api.js").Answer>} request
 */
export async function tryToken(request) {
  const listed = await request("GET", "/webhooks", { ask: false });
  if (!listed.ok) return { answer: listed, readOnly: false };
  const entity = await request("GET", "/entidad", { ask: false });
  if (entity.kind === "notFound") return { answer: listed, readOnly: true }; // an API of before, during an upgrade
  const readOnly = entity.ok ? entity.data.token?.soloLectura : undefined;
  if (typeof readOnly === "boolean") return { answer: listed, readOnly };
  return { answer: PASSING.has(entity.kind) ? entity : { ...entity, ok: false, kind: "error", message: "No se ha podido comprobar si el token permite cambiar datos" }, readOnly: true };
}
