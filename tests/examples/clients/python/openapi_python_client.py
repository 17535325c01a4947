"""openapi-python-client"""
import json

from cliente import AuthenticatedClient
from cliente.api.entregas import enumerar_entregas, reenviar_entrega, reenviar_entregas, ver_entrega, ver_estadisticas, ver_reenvio
from cliente.api.receptor import pedir_diagnostico, ver_diagnostico
from cliente.api.secreto import cambiar_secreto
from cliente.api.webhooks import (cambiar_webhook, eliminar_webhook, enumerar_eventos, enumerar_webhooks, lanzar_prueba, registrar_webhook,
                                  ver_webhook)
from cliente.models import (Cambio, Evento, Mensaje, Prueba, PruebaDatosExtraType0, Reenvio, ReenvioEstadosType0Item, Registro, SecretoNuevo,
                            VerEstadisticasVentana)
from cliente.types import UNSET
from common import API, LARGE, LATER_API, NOW, ONLY_REFUSED, READ_ONLY_TOKEN, TOKEN, TOMORROW, URL, WEBHOOK, YESTERDAY, say, until


def client_of(api: str, token: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=api, token=token)


def refused(answer) -> None:
    assert isinstance(answer.parsed, Mensaje)
    say("error", int(answer.status_code), answer.parsed.message)


client = client_of(API, TOKEN)
if ONLY_REFUSED:
    refused(enumerar_webhooks.sync_detailed(client=client))
    raise SystemExit

say("events", len(enumerar_eventos.sync(client=client).eventos))
say("list", *(one.id for one in enumerar_webhooks.sync(client=client)))

registro = Registro(url=URL, eventos=[Evento.EVALUACION_ABIERTA, Evento.DOCUMENTO_DISPONIBLE], secreto="secreto-de-un-cliente")
created = registrar_webhook.sync(client=client, body=registro, idempotency_key="alta")
say("create", created.activo, created.fecha_alta > YESTERDAY)

answer = ver_webhook.sync_detailed(created.id, client=client)
seen, etag = answer.parsed, answer.headers["ETag"]
say("get", seen.id == created.id, seen.motivo, seen.tiene_secreto)


def change(*eventos):
    return cambiar_webhook.sync_detailed(created.id, client=client, if_match=etag, body=Cambio(eventos=list(eventos)))


say("patch", *(one.value for one in change(Evento.EVALUACION_ABIERTA).parsed.eventos))
refused(change(Evento.EVALUACION_CERRADA))


def renew(secreto: str):
    return cambiar_secreto.sync_detailed(created.id, client=client, body=SecretoNuevo(secreto=secreto))


def test(extra: dict):
    body = Prueba(evento=Evento.DOCUMENTO_DISPONIBLE, datos_extra=PruebaDatosExtraType0.from_dict(extra))
    return lanzar_prueba.sync_detailed(client=client, body=body)


say("secret", renew("otro-secreto-de-un-cliente").parsed.secreto_anterior_hasta > NOW)
say("test", *(one.id for one in test({"a": 1}).parsed.webhooks))


def page(cursor=UNSET):
    return enumerar_entregas.sync(WEBHOOK, client=client, evento=Evento.EVALUACION_ABIERTA, desde=YESTERDAY, hasta=TOMORROW, limite=2, cursor=cursor)


first = page()
second = page(first.siguiente)
say("log", len(first.entregas), len(second.entregas), second.siguiente)

delivery = ver_entrega.sync(WEBHOOK, first.entregas[0].id, client=client)
say("delivery", delivery.estado.value, delivery.historial[0].estado_http, json.loads(delivery.cuerpo)["data"]["evaluacionId"])


def ended(pedido):
    return until(lambda: ver_reenvio.sync(WEBHOOK, pedido.reenvio.id, client=client), lambda one: one.entregadas == one.candidatas)


def replays(simular: bool):
    body = Reenvio(desde=YESTERDAY, hasta=TOMORROW, estados=[ReenvioEstadosType0Item.ENTREGADA], simular=simular)
    return reenviar_entregas.sync(WEBHOOK, client=client, body=body)


say("replay", ended(reenviar_entrega.sync(WEBHOOK, delivery.id, client=client)).entregadas)
simulated = replays(True)
say("simulate", simulated.candidatas, simulated.exacto)
say("replays", ended(replays(False)).entregadas)

pedir_diagnostico.sync(WEBHOOK, client=client)
diagnosis = until(lambda: ver_diagnostico.sync(WEBHOOK, client=client), lambda one: one.estado.value == "terminado")
say("diagnosis", *(f"{one.prueba.value}={one.resultado.value}" for one in diagnosis.pruebas))

statistics = ver_estadisticas.sync(WEBHOOK, client=client, ventana=VerEstadisticasVentana("7d"))
say("statistics", statistics.ventana.value, statistics.entregadas, statistics.fallidas)

refused(registrar_webhook.sync_detailed(client=client, body=Registro(url="http://example.org", eventos=registro.eventos)))
refused(enumerar_webhooks.sync_detailed(client=client_of(API, "no-vale")))
refused(eliminar_webhook.sync_detailed(created.id, client=client_of(API, READ_ONLY_TOKEN)))
refused(ver_webhook.sync_detailed(1, client=client))
refused(renew("un-tercer-secreto-de-un-cliente"))
refused(test(LARGE))
refused(registrar_webhook.sync_detailed(client=client, body=Registro(url=URL, eventos=[Evento.EVALUACION_CERRADA]), idempotency_key="alta"))
say("delete", eliminar_webhook.sync(created.id, client=client).message == f"Webhook {created.id} eliminado")

later = client_of(LATER_API, TOKEN)
say("later", *(one.id for one in enumerar_webhooks.sync(client=later)), len(enumerar_entregas.sync(WEBHOOK, client=later).entregas) > 2)
