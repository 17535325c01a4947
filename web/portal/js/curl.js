// A delivery as a curl command, to repeat the request by hand: without its signatures, or signed here with a secret that is pasted.

/** Puts the text in single quotes, in which a shell interprets nothing. */
export const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * @param {string} url of the webhook
 * @param {{evento: string, mensaje: string, cuerpo: string}} delivery
 * @param {string[]} [signed] the headers of signedHeaders()
 */
export function curlOf(url, { evento, mensaje, cuerpo }, signed = []) {
  const headers = ["Content-Type: application/json", `X-Webhook-Event: ${evento}`, `webhook-id: ${mensaje}`, ...signed];
  return ["curl -g -i -X POST", ...headers.map((header) => `-H ${quote(header)}`), `--data-raw ${quote(cuerpo)}`, `--url ${quote(url)}`].join(" \\\n  ");
}

const bytesOf = (text) => new TextEncoder().encode(text);
const textOf = (bytes) => String.fromCharCode(...bytes);

async function hmac(key, text) {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, bytesOf(text)));
}

/** The key that a secret of Standard Webhooks encodes; null for any other. */
function encodedKey(secret) {
  const [, digits = "", padding = ""] = /^(?:v1,)?whsec_([A-Za-z0-9+/]+)(={0,2})$/.exec(secret) ?? [];
  const right = digits.length % 4 !== 1 && (!padding || (digits.length + padding.length) % 4 === 0);
  return digits && right ? Uint8Array.from(atob(digits), (digit) => digit.charCodeAt(0)) : null;
}

/** The headers with which the service signs (lib/webhook/signature.cpp). @param {string} secret not empty @param {{mensaje: string, cuerpo: string}} delivery @param {number} now milliseconds */
export async function signedHeaders(secret, { mensaje, cuerpo }, now) {
  const seconds = Math.floor(now / 1000);
  const sign = async (key) => `v1,${btoa(textOf(await hmac(key, `${mensaje}.${seconds}.${cuerpo}`)))}`;
  const raw = bytesOf(secret);
  const key = encodedKey(secret);
  const usual = key && secret === `whsec_${btoa(textOf(key))}`;
  const signatures = await Promise.all((usual ? [key] : key ? [raw, key] : [raw]).map(sign));
  const hex = [...await hmac(raw, cuerpo)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [`X-Webhook-Signature: sha256=${hex}`, `webhook-timestamp: ${seconds}`, `webhook-signature: ${signatures.join(" ")}`];
}
