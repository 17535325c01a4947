// A delivery as a curl command, to repeat the request by hand, without its signature.

/** Puts the text in single quotes, in which a shell interprets nothing. */
export const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * @param {string} url of the webhook
 * @param {{evento: string, mensaje: string, cuerpo: string}} delivery
 */
export function curlOf(url, { evento, mensaje, cuerpo }) {
  const headers = ["Content-Type: application/json", `X-Webhook-Event: ${evento}`, `webhook-id: ${mensaje}`];
  return ["curl -g -i -X POST", ...headers.map((header) => `-H ${quote(header)}`), `--data-raw ${quote(cuerpo)}`, `--url ${quote(url)}`].join(" \\\n  ");
}
