// openapi-typescript writes the types of the document; openapi-fetch calls with them.
import createClient from "openapi-fetch";
import type { paths } from "./openapi_typescript/cliente.js";
import { api, large, laterApi, onlyRefused, readOnlyToken, say, token, tomorrow, until, url, webhook, yesterday } from "./common.js";

const clientOf = (baseUrl: string, bearer: string) => createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${bearer}` } });
const client = clientOf(api, token);

type Answer<T> = { data?: T; error?: { message: string }; response: Response };

async function read<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (data === undefined) throw new Error(`${response.status} ${error?.message}`);
  return data;
}

async function refused(call: Promise<Answer<unknown>>): Promise<void> {
  const { error, response } = await call;
  say("error", response.status, error?.message);
}

if (onlyRefused) {
  await refused(client.GET("/webhooks"));
  process.exit(0);
}

say("events", (await read(client.GET("/webhooks/eventos"))).eventos.length);
say("list", ...(await read(client.GET("/webhooks"))).map(({ id }) => id));

const body = { url, eventos: ["evaluacion.abierta" as const, "documento.disponible" as const], secreto: "secreto-de-un-cliente" };
const key = { header: { "Idempotency-Key": "alta" } };
const created = await read(client.POST("/webhooks", { params: key, body }));
say("create", created.activo, new Date(created.fechaAlta) > yesterday);

const params = { path: { id: created.id } };
const seen = await client.GET("/webhooks/{id}", { params });
const { id, motivo, tieneSecreto } = seen.data!;
say("get", id === created.id, motivo, tieneSecreto);

const ifMatch = { header: { "If-Match": seen.response.headers.get("etag")! } };
const change = (eventos: ("evaluacion.abierta" | "evaluacion.cerrada")[]) =>
  client.PATCH("/webhooks/{id}", { params: { ...params, ...ifMatch }, body: { eventos } });
say("patch", ...(await read(change(["evaluacion.abierta"]))).eventos);
await refused(change(["evaluacion.cerrada"]));

const renew = (secreto: string) => client.PUT("/webhooks/{id}/secreto", { params, body: { secreto } });
say("secret", new Date((await read(renew("otro-secreto-de-un-cliente"))).secretoAnteriorHasta!) > new Date());
say("test", ...(await read(client.POST("/webhooks/test", { body: { evento: "documento.disponible", datosExtra: { a: 1 } } }))).webhooks.map(({ id }) => id));

const path = { id: webhook };
const page = (cursor?: string) =>
  read(client.GET("/webhooks/{id}/entregas", { params: { path, query: {
    evento: "evaluacion.abierta", desde: yesterday.toISOString(), hasta: tomorrow.toISOString(), limite: 2, cursor } } }));
const first = await page();
const second = await page(first.siguiente!);
say("log", first.entregas.length, second.entregas.length, second.siguiente);

const entrega = first.entregas[0].id;
const delivery = await read(client.GET("/webhooks/{id}/entregas/{entrega}", { params: { path: { ...path, entrega } } }));
say("delivery", delivery.estado, delivery.historial[0].estadoHttp, JSON.parse(delivery.cuerpo!).data.evaluacionId);

const ended = (reenvio: number) => until(() => read(client.GET("/webhooks/{id}/reenvios/{reenvio}", { params: { path: { ...path, reenvio } } })),
  ({ entregadas, candidatas }) => entregadas === candidatas);
const { reenvio } = await read(client.POST("/webhooks/{id}/entregas/{entrega}/reenvio", { params: { path: { ...path, entrega } } }));
say("replay", (await ended(reenvio.id)).entregadas);

const many = { desde: yesterday.toISOString(), hasta: tomorrow.toISOString(), estados: ["entregada" as const] };
const replays = (simular: boolean) => read(client.POST("/webhooks/{id}/reenvios", { params: { path }, body: { ...many, simular } }));
const simulated = await replays(true);
say("simulate", simulated.candidatas, simulated.exacto);
say("replays", (await ended((await replays(false)).reenvio!.id)).entregadas);

await read(client.POST("/webhooks/{id}/diagnostico", { params: { path } }));
const diagnosis = await until(() => read(client.GET("/webhooks/{id}/diagnostico", { params: { path } })), ({ estado }) => estado === "terminado");
say("diagnosis", ...diagnosis.pruebas.map(({ prueba, resultado }) => `${prueba}=${resultado}`));

const statistics = await read(client.GET("/webhooks/{id}/estadisticas", { params: { path, query: { ventana: "7d" } } }));
say("statistics", statistics.ventana, statistics.entregadas, statistics.fallidas);

await refused(client.POST("/webhooks", { body: { ...body, url: "http://example.org" } }));
await refused(clientOf(api, "no-vale").GET("/webhooks"));
await refused(clientOf(api, readOnlyToken).DELETE("/webhooks/{id}", { params }));
await refused(client.GET("/webhooks/{id}", { params: { path: { id: 1 } } }));
await refused(renew("un-tercer-secreto-de-un-cliente"));
await refused(client.POST("/webhooks/test", { body: { evento: "documento.disponible", datosExtra: large } }));
await refused(client.POST("/webhooks", { params: key, body: { ...body, eventos: ["evaluacion.cerrada"] } }));
say("delete", (await read(client.DELETE("/webhooks/{id}", { params }))).message === `Webhook ${created.id} eliminado`);

const later = clientOf(laterApi, token);
say("later", ...(await read(later.GET("/webhooks"))).map(({ id }) => id),
  (await read(later.GET("/webhooks/{id}/entregas", { params: { path } }))).entregas.length > 2);
