// The state of a webhook, as a sentence that begins with the word for the state: "Falla" + "desde ayer a las 10:32: el certificado caducó."
import { causeOf } from "./remedies.js";
import { when } from "./time.js";

const STOPPED = {
  operador: "por el operador del servicio: solo él puede reactivarlo.",
  http_410: "porque su receptor respondió 410 (ya no existe). Corrija el receptor y reactívelo.",
  fallos: "porque durante días no hubo más que fallos. Corrija el receptor y reactívelo.",
  entidad: "por decisión de su entidad. Lo que le llegue se retiene hasta que lo reactive.",
};

/**
 * @param {object} webhook as GET /webhooks/{id} gives it
 * @param {number} now by the service's clock
 * @returns {{kind: "good" | "warning" | "bad" | "muted", word: string, mark: string, sentence: string}} `sentence` continues after `word`, or is a new sentence if it begins with a capital
 */
export function webhookState(webhook, now) {
  if (!webhook.activo) return stopped(webhook);
  const cause = causeOf(webhook.ultimoError);
  if (webhook.fallaDesde) {
    const end = webhook.desactivacion ? ` Se desactivará ${when(webhook.desactivacion, now)} si nada cambia.` : "";
    return { kind: "bad", word: "Falla", mark: "✕", sentence: `desde ${when(webhook.fallaDesde, now)}${cause && `: ${cause}`}.${end}` };
  }
  if (!webhook.ultimaEjecucion) return { kind: "muted", word: "Sin estrenar", mark: "○", sentence: "Todavía no se le ha enviado nada. Pruébelo antes de que llegue el primer aviso." };
  const last = when(webhook.ultimaEjecucion, now);
  if (cause) return { kind: "warning", word: "Último envío fallido", mark: "!", sentence: `${last}: ${cause}.` };
  return { kind: "good", word: "Funciona", mark: "✓", sentence: `El último envío, ${last}, se recibió bien.` };
}

function stopped({ motivo }) {
  const paused = motivo === "entidad";
  return { kind: paused ? "warning" : "bad", word: paused ? "En pausa" : "Desactivado", mark: paused ? "‖" : "✕", sentence: STOPPED[motivo] ?? "No se le envía nada." };
}
