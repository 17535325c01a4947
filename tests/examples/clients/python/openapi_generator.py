"""OpenAPI Generator, python"""
import json

from openapi_client import (ApiClient, ApiException, Cambio, Configuration, EntregasApi, Evento, Mensaje, Prueba, ReceptorApi, Reenvio, Registro,
                            SecretoApi, SecretoNuevo, WebhooksApi)

from common import API, LARGE, LATER_API, NOW, ONLY_REFUSED, READ_ONLY_TOKEN, TOKEN, TOMORROW, URL, WEBHOOK, YESTERDAY, say, until


def client_of(api: str, token: str) -> ApiClient:
    # Without retries=0, urllib3 waits after a 429 for as long as Retry-After says, and asks again.
    return ApiClient(Configuration(host=api, access_token=token, retries=0))


def refused(call, *arguments, **named) -> None:
    try:
        call(*arguments, **named)
    except ApiException as problem:
        assert isinstance(problem.data, Mensaje)
        say("error", problem.status, problem.data.message)


client = client_of(API, TOKEN)
webhooks, secret, deliveries, receiver = WebhooksApi(client), SecretoApi(client), EntregasApi(client), ReceptorApi(client)
if ONLY_REFUSED:
    refused(webhooks.enumerar_webhooks)
    raise SystemExit

say("events", len(webhooks.enumerar_eventos().eventos))
say("list", *(one.id for one in webhooks.enumerar_webhooks()))

registro = Registro(url=URL, eventos=[Evento.EVALUACION_DOT_ABIERTA, Evento.DOCUMENTO_DOT_DISPONIBLE], secreto="secreto-de-un-cliente")
created = webhooks.registrar_webhook(registro, idempotency_key="alta")
say("create", created.activo, created.fecha_alta > YESTERDAY)

answer = webhooks.ver_webhook_with_http_info(created.id)
seen, etag = answer.data, answer.headers["ETag"]
say("get", seen.id == created.id, seen.motivo, seen.tiene_secreto)

say("patch", *(one.value for one in webhooks.cambiar_webhook(created.id, Cambio(eventos=[Evento.EVALUACION_DOT_ABIERTA]), if_match=etag).eventos))
refused(webhooks.cambiar_webhook, created.id, Cambio(eventos=[Evento.EVALUACION_DOT_CERRADA]), if_match=etag)

renewal = SecretoNuevo(secreto="otro-secreto-de-un-cliente")
say("secret", secret.cambiar_secreto(created.id, renewal).secreto_anterior_hasta > NOW)
say("test", *(one.id for one in webhooks.lanzar_prueba(Prueba(evento=Evento.DOCUMENTO_DOT_DISPONIBLE, datos_extra={"a": 1})).webhooks))


def page(cursor=None):
    return deliveries.enumerar_entregas(WEBHOOK, evento=Evento.EVALUACION_DOT_ABIERTA, desde=YESTERDAY, hasta=TOMORROW, limite=2, cursor=cursor)


first = page()
second = page(first.siguiente)
say("log", len(first.entregas), len(second.entregas), second.siguiente)

delivery = deliveries.ver_entrega(WEBHOOK, first.entregas[0].id)
say("delivery", delivery.estado, delivery.historial[0].estado_http, json.loads(delivery.cuerpo)["data"]["evaluacionId"])


def ended(pedido):
    return until(lambda: deliveries.ver_reenvio(WEBHOOK, pedido.reenvio.id), lambda one: one.entregadas == one.candidatas)


def replays(simular: bool):
    return deliveries.reenviar_entregas(WEBHOOK, Reenvio(desde=YESTERDAY, hasta=TOMORROW, estados=["entregada"], simular=simular))


say("replay", ended(deliveries.reenviar_entrega(WEBHOOK, delivery.id)).entregadas)
simulated = replays(True)
say("simulate", simulated.candidatas, simulated.exacto)
say("replays", ended(replays(False)).entregadas)

receiver.pedir_diagnostico(WEBHOOK)
diagnosis = until(lambda: receiver.ver_diagnostico(WEBHOOK), lambda one: one.estado == "terminado")
say("diagnosis", *(f"{one.prueba}={one.resultado}" for one in diagnosis.pruebas))

statistics = deliveries.ver_estadisticas(WEBHOOK, ventana="7d")
say("statistics", statistics.ventana, statistics.entregadas, statistics.fallidas)

refused(webhooks.registrar_webhook, Registro.model_construct(url="http://example.org", eventos=registro.eventos))
refused(WebhooksApi(client_of(API, "no-vale")).enumerar_webhooks)
refused(WebhooksApi(client_of(API, READ_ONLY_TOKEN)).eliminar_webhook, created.id)
refused(webhooks.ver_webhook, 1)
refused(secret.cambiar_secreto, created.id, SecretoNuevo(secreto="un-tercer-secreto-de-un-cliente"))
refused(webhooks.lanzar_prueba, Prueba(evento=Evento.DOCUMENTO_DOT_DISPONIBLE, datos_extra=LARGE))
refused(webhooks.registrar_webhook, Registro(url=URL, eventos=[Evento.EVALUACION_DOT_CERRADA]), idempotency_key="alta")
say("delete", webhooks.eliminar_webhook(created.id).message == f"Webhook {created.id} eliminado")

later = client_of(LATER_API, TOKEN)
say("later", *(one.id for one in WebhooksApi(later).enumerar_webhooks()), len(EntregasApi(later).enumerar_entregas(WEBHOOK).entregas) > 2)
