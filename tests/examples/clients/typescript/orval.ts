// orval, with its usual client, axios
import axios, { type AxiosRequestConfig, isAxiosError } from "axios";
import * as calls from "./orval/cliente.js";
import { api, large, laterApi, onlyRefused, readOnlyToken, say, token, tomorrow, until, url, webhook, yesterday } from "./common.js";

const optionsOf = (baseURL: string, bearer: string, headers: Record<string, string> = {}): AxiosRequestConfig =>
  ({ baseURL, headers: { Authorization: `Bearer ${bearer}`, ...headers } });
const options = optionsOf(api, token);

async function refused(call: Promise<unknown>): Promise<void> {
  const reason: unknown = await call.catch((problem: unknown) => problem);
  if (!isAxiosError<calls.Mensaje>(reason)) throw reason;
  say("error", reason.response?.status, reason.response?.data.message);
}

if (onlyRefused) {
  await refused(calls.enumerarWebhooks(options));
  process.exit(0);
}

say("events", (await calls.enumerarEventos(options)).data.eventos.length);
say("list", ...(await calls.enumerarWebhooks(options)).data.map(({ id }) => id));

const body: calls.Registro = { url, eventos: [calls.Evento.evaluacionabierta, calls.Evento.documentodisponible], secreto: "secreto-de-un-cliente" };
const keyed = optionsOf(api, token, { "Idempotency-Key": "alta" });
const { data: created } = await calls.registrarWebhook(body, keyed);
say("create", created.activo, new Date(created.fechaAlta) > yesterday);

const seen = await calls.verWebhook(created.id, options);
say("get", seen.data.id === created.id, seen.data.motivo, seen.data.tieneSecreto);

const change = (eventos: calls.Evento[]) => calls.cambiarWebhook(created.id, { eventos }, optionsOf(api, token, { "If-Match": String(seen.headers.etag) }));
say("patch", ...(await change([calls.Evento.evaluacionabierta])).data.eventos);
await refused(change([calls.Evento.evaluacioncerrada]));

const renew = (secreto: string) => calls.cambiarSecreto(created.id, { secreto }, options);
say("secret", new Date((await renew("otro-secreto-de-un-cliente")).data.secretoAnteriorHasta!) > new Date());
const test = (datosExtra: calls.Prueba["datosExtra"]) => calls.lanzarPrueba({ evento: calls.Evento.documentodisponible, datosExtra }, options);
say("test", ...(await test({ a: 1 })).data.webhooks.map(({ id }) => id));

const page = async (cursor?: string) => (await calls.enumerarEntregas(webhook, {
  evento: calls.Evento.evaluacionabierta, desde: yesterday.toISOString(), hasta: tomorrow.toISOString(), limite: 2, cursor }, options)).data;
const first = await page();
const second = await page(first.siguiente!);
say("log", first.entregas.length, second.entregas.length, second.siguiente);

const { data: delivery } = await calls.verEntrega(webhook, first.entregas[0].id, options);
say("delivery", delivery.estado, delivery.historial[0].estadoHttp, JSON.parse(delivery.cuerpo!).data.evaluacionId);

const ended = (reenvio: number) => until(async () => (await calls.verReenvio(webhook, reenvio, options)).data, ({ entregadas, candidatas }) => entregadas === candidatas);
say("replay", (await ended((await calls.reenviarEntrega(webhook, delivery.id, options)).data.reenvio.id)).entregadas);

const replays = async (simular: boolean) => (await calls.reenviarEntregas(webhook, {
  desde: yesterday.toISOString(), hasta: tomorrow.toISOString(), estados: ["entregada"], simular }, options)).data;
const simulated = await replays(true);
say("simulate", simulated.candidatas, simulated.exacto);
say("replays", (await ended((await replays(false)).reenvio!.id)).entregadas);

await calls.pedirDiagnostico(webhook, options);
const diagnosis = await until(async () => (await calls.verDiagnostico(webhook, options)).data, ({ estado }) => estado === "terminado");
say("diagnosis", ...diagnosis.pruebas.map(({ prueba, resultado }) => `${prueba}=${resultado}`));

const { data: statistics } = await calls.verEstadisticas(webhook, { ventana: "7d" }, options);
say("statistics", statistics.ventana, statistics.entregadas, statistics.fallidas);

await refused(calls.registrarWebhook({ ...body, url: "http://example.org" }, options));
await refused(calls.enumerarWebhooks(optionsOf(api, "no-vale")));
await refused(calls.eliminarWebhook(created.id, optionsOf(api, readOnlyToken)));
await refused(calls.verWebhook(1, options));
await refused(renew("un-tercer-secreto-de-un-cliente"));
await refused(test(large));
await refused(calls.registrarWebhook({ ...body, eventos: [calls.Evento.evaluacioncerrada] }, keyed));
say("delete", (await calls.eliminarWebhook(created.id, options)).data.message === `Webhook ${created.id} eliminado`);

const later = optionsOf(laterApi, token);
say("later", ...(await calls.enumerarWebhooks(later)).data.map(({ id }) => id), (await calls.enumerarEntregas(webhook, {}, later)).data.entregas.length > 2);
