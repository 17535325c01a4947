// Repeats a request at a bounded rate: more slowly while it fails, not at all while the page is hidden, never two at a time.

const SLOWEST_MS = 300_000;

/**
 * @param {() => Promise<{ok: boolean, retryAfter?: number, wait?: number, done?: boolean} | void>} ask makes the request. `done` ends polling. `retryAfter` (s) and `wait` (ms) are the least time to the next call, but a hidden page calls at once when it is shown again
 * @param {object} how
 * @param {number} how.every milliseconds from an answer to the next call
 * @param {AbortSignal} how.signal
 * @param {boolean} [how.now] makes the first call at once, instead of after `every`
 * @returns {{now: () => Promise<void>}} now() calls at once, unless a call runs or polling has ended
 */
export function poll(ask, { every, signal, now = false }) {
  let timer = 0;
  let failures = 0;
  let running = null;
  let ended = false;

  async function once() {
    clearTimeout(timer);
    const answer = (await ask()) ?? { ok: true };
    failures = answer.ok ? 0 : failures + 1;
    ended = Boolean(answer.done);
    plan(Math.max(Math.min(every * 2 ** failures, SLOWEST_MS), (answer.retryAfter ?? 0) * 1000, answer.wait ?? 0));
  }

  function plan(ms) {
    clearTimeout(timer);
    if (!signal.aborted && !ended && !document.hidden) timer = setTimeout(run, ms);
  }

  function run() {
    if (signal.aborted || ended) return Promise.resolve();
    running ??= once().finally(() => (running = null));
    return running;
  }

  function visibility() {
    clearTimeout(timer);
    if (!document.hidden) run();
  }

  document.addEventListener("visibilitychange", visibility);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", visibility);
  });
  if (now) run();
  else plan(every);
  return { now: run };
}
