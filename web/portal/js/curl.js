// A delivery as a command: what reached the receiver, to be tried by hand from anywhere.

/** In single quotes, where a shell reads nothing. */
export const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * @param {string} url of the webhook
 * @param {{evento: string, mensaje: string, cuerpo: string}} delivery
 */
export function curlOf(url, { evento, mensaje, cuerpo }) {
  const headers = ["Content-Type: application/json", `X-Webhook-Event: ${evento}`, `webhook-id: ${mensaje}`];
  return ["curl -g -i -X POST", ...headers.map((header) => `-H ${quote(header)}`), `--data-raw ${quote(cuerpo)}`, `--url ${quote(url)}`].join(" \\\n  ");
}
