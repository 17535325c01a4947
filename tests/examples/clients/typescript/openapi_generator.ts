// OpenAPI Generator, typescript-fetch
import * as generated from "./typescript-fetch/index.js";
import { api, large, laterApi, onlyRefused, readOnlyToken, say, token, tomorrow, until, url, webhook, yesterday } from "./common.js";

const { Evento } = generated;
const apisOf = (basePath: string, accessToken: string) => {
  const configuration = new generated.Configuration({ basePath, accessToken });
  return { webhooks: new generated.WebhooksApi(configuration), secret: new generated.SecretoApi(configuration),
    deliveries: new generated.EntregasApi(configuration), receiver: new generated.ReceptorApi(configuration) };
};
const { webhooks, secret, deliveries, receiver } = apisOf(api, token);

async function refused(call: Promise<unknown>): Promise<void> {
  const reason: unknown = await call.catch((problem: unknown) => problem);
  if (!(reason instanceof generated.ResponseError)) throw reason;
  const { message } = generated.MensajeFromJSON(await reason.response.json());
  say("error", reason.response.status, message);
}

if (onlyRefused) {
  await refused(webhooks.enumerarWebhooks());
  process.exit(0);
}

say("events", (await webhooks.enumerarEventos()).eventos.length);
say("list", ...(await webhooks.enumerarWebhooks()).map(({ id }) => id));

const registro: generated.Registro = { url, eventos: [Evento.EvaluacionAbierta, Evento.DocumentoDisponible], secreto: "secreto-de-un-cliente" };
const idempotencyKey = "alta";
const created = await webhooks.registrarWebhook({ registro, idempotencyKey });
say("create", created.activo, created.fechaAlta > yesterday);

const { id } = created;
const answer = await webhooks.verWebhookRaw({ id });
const seen = await answer.value();
say("get", seen.id === id, seen.motivo, seen.tieneSecreto);

const ifMatch = answer.raw.headers.get("etag")!;
const change = (eventos: generated.Evento[]) => webhooks.cambiarWebhook({ id, ifMatch, cambio: { eventos } });
say("patch", ...(await change([Evento.EvaluacionAbierta])).eventos);
await refused(change([Evento.EvaluacionCerrada]));

const renew = (secreto: string) => secret.cambiarSecreto({ id, secretoNuevo: { secreto } });
say("secret", (await renew("otro-secreto-de-un-cliente")).secretoAnteriorHasta! > new Date());
const test = (datosExtra: object) => webhooks.lanzarPrueba({ prueba: { evento: Evento.DocumentoDisponible, datosExtra } });
say("test", ...(await test({ a: 1 })).webhooks.map(({ id }) => id));

const page = (cursor?: string) =>
  deliveries.enumerarEntregas({ id: webhook, evento: Evento.EvaluacionAbierta, desde: yesterday, hasta: tomorrow, limite: 2, cursor });
const first = await page();
const second = await page(first.siguiente!);
say("log", first.entregas.length, second.entregas.length, second.siguiente);

const entrega = first.entregas[0].id;
const delivery = await deliveries.verEntrega({ id: webhook, entrega });
say("delivery", delivery.estado, delivery.historial[0].estadoHttp, JSON.parse(delivery.cuerpo!).data.evaluacionId);

const ended = (reenvio: number) => until(() => deliveries.verReenvio({ id: webhook, reenvio }), ({ entregadas, candidatas }) => entregadas === candidatas);
say("replay", (await ended((await deliveries.reenviarEntrega({ id: webhook, entrega })).reenvio.id)).entregadas);

const replays = (simular: boolean) =>
  deliveries.reenviarEntregas({ id: webhook, reenvio: { desde: yesterday, hasta: tomorrow, estados: ["entregada"], simular } });
const simulated = await replays(true);
say("simulate", simulated.candidatas, simulated.exacto);
say("replays", (await ended((await replays(false)).reenvio!.id)).entregadas);

await receiver.pedirDiagnostico({ id: webhook });
const diagnosis = await until(() => receiver.verDiagnostico({ id: webhook }), ({ estado }) => estado === "terminado");
say("diagnosis", ...diagnosis.pruebas.map(({ prueba, resultado }) => `${prueba}=${resultado}`));

const statistics = await deliveries.verEstadisticas({ id: webhook, ventana: "7d" });
say("statistics", statistics.ventana, statistics.entregadas, statistics.fallidas);

await refused(webhooks.registrarWebhook({ registro: { ...registro, url: "http://example.org" } }));
await refused(apisOf(api, "no-vale").webhooks.enumerarWebhooks());
await refused(apisOf(api, readOnlyToken).webhooks.eliminarWebhook({ id }));
await refused(webhooks.verWebhook({ id: 1 }));
await refused(renew("un-tercer-secreto-de-un-cliente"));
await refused(test(large));
await refused(webhooks.registrarWebhook({ registro: { ...registro, eventos: [Evento.EvaluacionCerrada] }, idempotencyKey }));
say("delete", (await webhooks.eliminarWebhook({ id })).message === `Webhook ${id} eliminado`);

const later = apisOf(laterApi, token);
say("later", ...(await later.webhooks.enumerarWebhooks()).map(({ id }) => id), (await later.deliveries.enumerarEntregas({ id: webhook })).entregas.length > 2);
