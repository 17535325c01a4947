// Ends a session in which the person has done nothing for half an hour, and warns before. The wall clock decides: browsers slow down the timers of a
// hidden page, and stop them while the computer sleeps. What the page does by itself is no activity.
import { el } from "./dom.js";
import { ask } from "./dialog.js";
import { zonedHour } from "./time.js";

const END_MS = 30 * 60_000;
const WARN_MS = 28 * 60_000;
const LOOK_MS = 10_000;
const INPUT = ["keydown", "pointerdown", "wheel", "touchmove", "click", "input"]; // screen readers and voice control send the last two alone

/**
 * @param {object} what
 * @param {ReturnType<typeof import("./session.js").createSession>} what.session
 * @param {import("./time.js").Clock} what.clock
 * @param {() => void} what.end ends the session
 */
export function watchIdle({ session, clock, end }) {
  let last = Date.now();
  let warned = false;

  function look() {
    last = Math.min(last, Date.now()); // a clock that was set back prolongs nothing
    const idle = Date.now() - last;
    if (!session.open) return;
    if (idle >= END_MS) stop();
    else if (idle >= WARN_MS && !warned) warn(END_MS - idle);
  }

  /** Once warned, only an answer to the warning counts: a key that was meant for the screen does not. */
  function act({ isTrusted }) {
    if (!isTrusted) return;
    look();
    if (!warned) last = Date.now();
  }

  async function warn(left) {
    warned = true;
    await ask({ title: "¿Sigue ahí?", confirm: "Seguir", cancel: "", body: el("p", {}, `Por seguridad, la sesión se cerrará a las ${zonedHour(clock.now() + left)}, porque lleva casi media hora sin uso. Lo que está escribiendo se conserva, salvo los secretos.`) });
    warned = false;
    last = Date.now();
  }

  function stop() {
    for (const dialog of document.querySelectorAll("dialog")) dialog.close();
    end();
  }

  for (const type of INPUT) document.addEventListener(type, act, { capture: true, passive: true });
  document.addEventListener("visibilitychange", look);
  addEventListener("pageshow", look);
  setInterval(look, LOOK_MS);
  session.onChange(() => (last = Date.now()));
}
