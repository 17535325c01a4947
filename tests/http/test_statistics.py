"""GET /webhooks/{id}/estadisticas: how the recent deliveries of a webhook went."""
import pytest

from fakes.receiver import Behaviour
from support.actors import BASE

FIELDS = ["ventana", "entregadas", "fallidas", "pendientes", "retenidas", "intentosFallidos", "p50Ms", "p95Ms", "exacto"]


def shown(entity, hook, query=""):
    response = entity.api("GET", f"{BASE}/{hook.id}/estadisticas{query}")
    assert response.status == 200, response
    assert list(response.json()) == FIELDS
    return response.json()


def test_what_arrived_what_failed_and_how_long_it_took(entity, receiver, stack):
    hook = entity.register()
    assert shown(entity, hook) == dict.fromkeys(FIELDS, 0) | {"ventana": "24h", "p50Ms": None, "p95Ms": None, "exacto": True}
    receiver.behave(hook.path, Behaviour(status=500), Behaviour(delay=0.1))
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
    receiver.behave(hook.path, Behaviour(status=404))
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "fallida")
    entity.api("POST", f"{BASE}/test", json_body={"evento": "evaluacion.abierta"})
    receiver.wait(hook.path, 7)
    found = shown(entity, hook, "?ventana=7d")
    assert (found["entregadas"], found["fallidas"], found["pendientes"], found["intentosFallidos"]) == (1, 1, 0, 5)
    assert found["p50Ms"] == found["p95Ms"] >= 100 and found["ventana"] == "7d" and found["exacto"]


@pytest.mark.parametrize("query", ["?ventana=", "?ventana=1h", "?ventana=24h&ventana=7d", "?otro=1", "?ventana"])
def test_another_window_is_400(entity, query):
    hook = entity.register()
    assert entity.api("GET", f"{BASE}/{hook.id}/estadisticas{query}").status == 400


def test_a_foreign_webhook_is_404_like_an_unknown_one(entity, new_entity):
    hook, stranger = entity.register(), new_entity()
    foreign = stranger.api("GET", f"{BASE}/{hook.id}/estadisticas")
    assert foreign.status == 404 and foreign.text == stranger.api("GET", f"{BASE}/999999999/estadisticas").text
    assert entity.api("POST", f"{BASE}/{hook.id}/estadisticas", json_body={}).status == 405
