// The state of a webhook, as a sentence that begins with the word for the state: "Falla" + "desde ayer a las 10:32: el certificado caducó."
import { causeOf } from "./remedies.js";
import { when, zonedShort } from "./time.js";

const STOPPED = {
  operador: "por el operador del servicio: solo él puede reactivarlo.",
  http_410: "porque su receptor respondió 410 (ya no existe). Corrija el receptor y reactívelo.",
  fallos: "porque durante días no hubo más que fallos. Corrija el receptor y reactívelo.",
  entidad: "por decisión de su entidad",
};

/** What a deactivation means for what waits and for what is new (web/docs/datos.md). */
export const HELD = "Mientras tanto no se le envía nada: los avisos, los que esperan y los nuevos, se guardan 90 días, si el operador no ha fijado otra duración, y se envían al reactivarlo, salvo lo que haya caducado o se haya anulado.";

/** What a reactivation means for them. */
export const RELEASED = "Lo que estaba guardado se envía desde ahora, de lo más antiguo a lo más reciente, salvo lo que haya caducado o se haya anulado. Los fallos anteriores no cuentan.";

/** Whether the receiver's last answer was a 429, after which nothing is sent to the webhook for a time. */
export const rests = ({ activo, ultimoError }) => activo && /^El receptor respondió 429/.test(ultimoError);

/**
 * The latest time at which the rest after a 429 ends: when the first of the deliveries that were so answered is due. "" if that is not known.
 * @param {object} webhook @param {any[]} deliveries some of the webhook's @param {number} now
 */
export function restOf(webhook, deliveries, now) {
  const due = deliveries.filter((one) => one.estado === "pendiente" && one.ultimoEstado === 429 && Date.parse(one.proximoIntento) > now).map((one) => one.proximoIntento);
  return rests(webhook) && due.length ? due.reduce((a, b) => (a < b ? a : b)) : "";
}

/**
 * @param {object} webhook as GET /webhooks/{id} gives it; `pausedBy` is of pausedBy()
 * @param {number} now by the service's clock
 * @param {string} [rest] of restOf()
 * @returns {{kind: "good" | "warning" | "bad" | "muted", word: string, mark: string, sentence: string}} `sentence` continues after `word`, or is a new sentence if it begins with a capital
 */
export function webhookState(webhook, now, rest = "") {
  if (!webhook.activo) return stopped(webhook);
  const cause = causeOf(webhook.ultimoError);
  const pause = rest ? ` No se le envía nada hasta que pase lo que pidió: como tarde, ${when(rest, now)}.` : "";
  if (webhook.fallaDesde) {
    const end = webhook.desactivacion ? ` Se desactivará el ${zonedShort(webhook.desactivacion)} si no se recibe nada antes; los avisos se guardarán 90 días, si el operador no ha fijado otra duración.` : "";
    return { kind: "bad", word: "Falla", mark: "✕", sentence: `desde ${when(webhook.fallaDesde, now)}${cause && `: ${cause}`}.${pause}${end}` };
  }
  if (!webhook.ultimaEjecucion) return { kind: "muted", word: "Sin probar", mark: "○", sentence: "Todavía no se le ha enviado nada. Pruébelo antes de que llegue el primer aviso." };
  const last = when(webhook.ultimaEjecucion, now);
  if (cause) return { kind: "warning", word: "Último envío fallido", mark: "!", sentence: `${last}: ${cause}.${pause}` };
  return { kind: "good", word: "Funciona", mark: "✓", sentence: `El último envío, ${last}, se recibió bien.` };
}

function stopped({ motivo, inactivoDesde, pausedBy }) {
  const paused = motivo === "entidad";
  const since = inactivoDesde ? `desde el ${zonedShort(inactivoDesde)}, ` : "";
  return { kind: paused ? "warning" : "bad", word: paused ? "En pausa" : "Desactivado", mark: paused ? "‖" : "✕", sentence: STOPPED[motivo] ? `${since}${STOPPED[motivo]}${paused ? (pausedBy ? ` (token «${pausedBy}»).` : ".") : ""}` : "No se le envía nada." };
}
