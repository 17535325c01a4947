"""POST /webhooks/test: the answers of the API. tests/dispatch/test_delivery.py checks what arrives."""
import pytest

from support.actors import BASE

TEST = BASE + "/test"


@pytest.mark.parametrize("body", [
    {}, {"evento": ""}, {"evento": None}, {"evento": 5}, {"evento": ["evaluacion.abierta"]}, {"evento": "nada"},
    {"evento": "EVALUACION.ABIERTA"}, {"evento": "evaluacion.abierta "},
    {"evento": "evaluacion.abierta", "datosExtra": "x"}, {"evento": "evaluacion.abierta", "datosExtra": []},
    {"evento": "evaluacion.abierta", "datosExtra": 5},
], ids=str)
def test_a_bad_body_is_400(entity, body):
    entity.register()
    response = entity.api("POST", TEST, json_body=body)
    assert response.status == 400 and response.message


def test_an_event_without_an_active_subscriber_is_404(entity, new_entity, stack):
    entity.register(["evaluacion.cerrada"])
    inactive = entity.register(["evaluacion.abierta"])
    stack.admin("webhook", "disable", inactive.id)
    deleted = entity.register(["evaluacion.abierta"])
    entity.api("DELETE", f"{BASE}/{deleted.id}")
    new_entity().register(["evaluacion.abierta"])
    response = entity.api("POST", TEST, json_body={"evento": "evaluacion.abierta"})
    assert response.status == 404 and response.message
    assert stack.admin("notification", "list", "--entity", entity.id) == []


def test_answer_lists_the_active_subscribed_webhooks(entity, stack):
    hooks = [entity.register(["evaluacion.cerrada", "incidencia.cerrada"]) for _ in range(2)]
    entity.register(["evaluacion.abierta"])
    stack.admin("webhook", "disable", entity.register(["evaluacion.cerrada"]).id)
    extra = {"a": [1, {"b": None}]}
    response = entity.api("POST", TEST, json_body={"evento": "evaluacion.cerrada", "datosExtra": extra})
    assert response.status == 200
    body = response.json()
    assert list(body) == ["message", "webhooks"]
    assert body["webhooks"] == [{"id": h.id, "url": h.url} for h in hooks]
    assert "evaluacion.cerrada" in body["message"] and "2" in body["message"]
