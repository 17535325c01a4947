// The session: the token, only in memory, and whether it may change anything.

/** The form of a token. Pasted text may have spaces around it, or the word Bearer. */
export const TOKEN = /^apie_[A-Za-z0-9_-]{43}$/;
export const cleanToken = (text) => text.trim().replace(/^(Authorization:\s*)?Bearer\s+/i, "").trim();

export function createSession() {
  const listeners = new Set();
  const changed = () => listeners.forEach((listener) => listener());
  const set = (token, readOnly, entity) => {
    Object.assign(session, { token, readOnly, entity });
    changed();
  };
  const session = {
    /** Changes at each login and logout: a request of an earlier session is not repeated with the token of this one. */
    number: 0,
    token: "",
    /** Whether the token only reads; then the portal offers no changes. */
    readOnly: false,
    /** Why the session ended, if not by the person's wish. */
    ended: "",
    /** The entity as GET /entidad gives it; null before a login, and with an API that does not have it. @type {any} */
    entity: null,
    get open() {
      return session.token !== "";
    },
    /** @param {string} token @param {boolean} readOnly @param {any} [entity] */
    begin(token, readOnly, entity = null) {
      session.number += 1;
      session.ended = "";
      set(token, readOnly, entity);
    },
    /**
     * Continues with another token of the same entity. Returns false and changes nothing if the token is of another entity, or if the API does not say of which.
     * @param {string} token @param {boolean} readOnly @param {any} entity
     */
    renew(token, readOnly, entity) {
      if (!entity || entity.id !== session.entity?.id) return false;
      set(token, readOnly, entity);
      return true;
    },
    /** Marks the token as read-only after a refused change. */
    onlyReads() {
      set(session.token, true, session.entity);
    },
    /** @param {string} [why] what the person is told; left out if it is the person's wish */
    end(why = "") {
      session.begin("", false);
      session.ended = why;
    },
    onChange: (listener) => listeners.add(listener),
  };
  return session;
}

const PASSING = new Set(["unauthorized", "tooMany", "unavailable", "network", "timeout", "error"]); // kinds of answers with a message that is shown as it is

/**
 * Finds out whether a token is valid, what it may do, and of which entity it is (`answer.data`). Any answer that does not say so makes the result an error.
 * @param {(method: string, path: string, how: object) => Promise<import("./api.js").Answer>} request
 */
export async function tryToken(request) {
  const answer = await request("GET", "/entidad", { ask: false });
  if (answer.kind === "notFound") return { answer: { ...answer, ok: true, data: null }, readOnly: true }; // an API of before, during an upgrade: it answers 401 first
  const readOnly = answer.ok ? answer.data.token?.soloLectura : undefined;
  if (typeof readOnly === "boolean") return { answer, readOnly };
  return { answer: PASSING.has(answer.kind) ? answer : { ...answer, ok: false, kind: "error", message: "No se ha podido comprobar si el token permite cambiar datos" }, readOnly: true };
}
