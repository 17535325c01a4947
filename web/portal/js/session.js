// Who is working: the token, in memory alone, and whether it may change anything.

/** What a token looks like. What people paste may have spaces around it, or the word Bearer. */
export const TOKEN = /^apie_[A-Za-z0-9_-]{43}$/;
export const cleanToken = (text) => text.trim().replace(/^(Authorization:\s*)?Bearer\s+/i, "").trim();

export function createSession() {
  const listeners = new Set();
  const session = {
    token: "",
    /** A token that only reads: nothing that changes is offered. */
    readOnly: false,
    get open() {
      return session.token !== "";
    },
    /** @param {string} token @param {boolean} readOnly */
    begin(token, readOnly) {
      session.token = token;
      session.readOnly = readOnly;
      for (const listener of listeners) listener();
    },
    end() {
      session.begin("", false);
    },
    onChange: (listener) => listeners.add(listener),
  };
  return session;
}

/**
 * Asks what a token is good for, changing nothing: a list, and then a change of no webhook, in a form that is never accepted. A token that only reads is refused
 * (403) before the form is looked at (415).
 * @param {(method: string, path: string, how: object) => Promise<import("./api.js").Answer>} request
 */
export async function tryToken(request) {
  const listed = await request("GET", "/webhooks", { ask: false });
  if (!listed.ok) return { answer: listed, readOnly: false };
  const probe = await request("PATCH", "/webhooks/0", { ask: false, body: "", headers: { "Content-Type": "text/plain" } });
  return { answer: listed, readOnly: probe.status === 403 };
}
