// @hey-api/openapi-ts
import { createClient } from "./hey_api/client/index.js";
import * as sdk from "./hey_api/sdk.gen.js";
import type { Cambio } from "./hey_api/types.gen.js";
import { api, large, laterApi, onlyRefused, readOnlyToken, say, token, tomorrow, until, url, webhook, yesterday } from "./common.js";

const clientOf = (baseUrl: string, auth: string) => createClient({ baseUrl, auth });
const client = clientOf(api, token);

async function refused(call: Promise<{ error?: { message: string }; response?: Response }>): Promise<void> {
  const { error, response } = await call;
  say("error", response?.status, error?.message);
}

if (onlyRefused) {
  await refused(sdk.enumerarWebhooks({ client }));
  process.exit(0);
}

const calling = { client, throwOnError: true } as const;
say("events", (await sdk.enumerarEventos(calling)).data.eventos.length);
say("list", ...(await sdk.enumerarWebhooks(calling)).data.map(({ id }) => id));

const body = { url, eventos: ["evaluacion.abierta" as const, "documento.disponible" as const], secreto: "secreto-de-un-cliente" };
const headers = { "Idempotency-Key": "alta" };
const { data: created } = await sdk.registrarWebhook({ ...calling, headers, body });
say("create", created.activo, new Date(created.fechaAlta) > yesterday);

const path = { id: created.id };
const seen = await sdk.verWebhook({ ...calling, path });
say("get", seen.data.id === created.id, seen.data.motivo, seen.data.tieneSecreto);

const change = (eventos: Cambio["eventos"]) => ({ client, path, headers: { "If-Match": seen.response.headers.get("etag")! }, body: { eventos } });
say("patch", ...(await sdk.cambiarWebhook({ ...calling, ...change(["evaluacion.abierta"]) })).data.eventos);
await refused(sdk.cambiarWebhook(change(["evaluacion.cerrada"])));

const renewal = (secreto: string) => ({ client, path, body: { secreto } });
say("secret", new Date((await sdk.cambiarSecreto({ ...calling, ...renewal("otro-secreto-de-un-cliente") })).data.secretoAnteriorHasta!) > new Date());
const tested = await sdk.lanzarPrueba({ ...calling, body: { evento: "documento.disponible", datosExtra: { a: 1 } } });
say("test", ...tested.data.webhooks.map(({ id }) => id));

const log = { id: webhook };
const page = async (cursor?: string) => (await sdk.enumerarEntregas({ ...calling, path: log, query: {
  evento: "evaluacion.abierta", desde: yesterday.toISOString(), hasta: tomorrow.toISOString(), limite: 2, cursor } })).data;
const first = await page();
const second = await page(first.siguiente!);
say("log", first.entregas.length, second.entregas.length, second.siguiente);

const one = { ...log, entrega: first.entregas[0].id };
const { data: delivery } = await sdk.verEntrega({ ...calling, path: one });
say("delivery", delivery.estado, delivery.historial[0].estadoHttp, JSON.parse(delivery.cuerpo!).data.evaluacionId);

const ended = (reenvio: number) => until(async () => (await sdk.verReenvio({ ...calling, path: { ...log, reenvio } })).data, ({ entregadas, candidatas }) => entregadas === candidatas);
say("replay", (await ended((await sdk.reenviarEntrega({ ...calling, path: one })).data.reenvio.id)).entregadas);

const replays = async (simular: boolean) => (await sdk.reenviarEntregas({ ...calling, path: log, body: {
  desde: yesterday.toISOString(), hasta: tomorrow.toISOString(), estados: ["entregada"], simular } })).data;
const simulated = await replays(true);
say("simulate", simulated.candidatas, simulated.exacto);
say("replays", (await ended((await replays(false)).reenvio!.id)).entregadas);

await sdk.pedirDiagnostico({ ...calling, path: log });
const diagnosis = await until(async () => (await sdk.verDiagnostico({ ...calling, path: log })).data, ({ estado }) => estado === "terminado");
say("diagnosis", ...diagnosis.pruebas.map(({ prueba, resultado }) => `${prueba}=${resultado}`));

const { data: statistics } = await sdk.verEstadisticas({ ...calling, path: log, query: { ventana: "7d" } });
say("statistics", statistics.ventana, statistics.entregadas, statistics.fallidas);

await refused(sdk.registrarWebhook({ client, body: { ...body, url: "http://example.org" } }));
await refused(sdk.enumerarWebhooks({ client: clientOf(api, "no-vale") }));
await refused(sdk.eliminarWebhook({ client: clientOf(api, readOnlyToken), path }));
await refused(sdk.verWebhook({ client, path: { id: 1 } }));
await refused(sdk.cambiarSecreto(renewal("un-tercer-secreto-de-un-cliente")));
await refused(sdk.lanzarPrueba({ client, body: { evento: "documento.disponible", datosExtra: large } }));
await refused(sdk.registrarWebhook({ client, headers, body: { ...body, eventos: ["evaluacion.cerrada"] } }));
say("delete", (await sdk.eliminarWebhook({ ...calling, path })).data.message === `Webhook ${created.id} eliminado`);

const later = { client: clientOf(laterApi, token), throwOnError: true } as const;
say("later", ...(await sdk.enumerarWebhooks(later)).data.map(({ id }) => id), (await sdk.enumerarEntregas({ ...later, path: log })).data.entregas.length > 2);
