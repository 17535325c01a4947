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


# POST /webhooks/{id}/prueba: to one webhook alone.

def probe(entity, hook, **body):
    return entity.api("POST", f"{BASE}/{hook.id}/prueba", json_body=body)


def test_one_webhook_is_tested_also_with_an_event_that_it_has_not(entity, receiver):
    hook, other = entity.register(["evaluacion.cerrada"]), entity.register()
    for event in ("evaluacion.cerrada", "documento.disponible"):
        answer = probe(entity, hook, evento=event, datosExtra={"a": 1})
        assert answer.status == 202 and list(answer.json()) == ["message", "entrega"]
        assert answer.json()["message"] == f"Evento de prueba '{event}' encolado para el webhook {hook.id}"
        delivery = answer.json()["entrega"]
        arrived = next(one for one in receiver.wait(hook.path, 1 if event == "evaluacion.cerrada" else 2)
                       if one.headers["webhook-id"] == delivery["mensaje"])
        assert arrived.headers["x-webhook-event"] == event
        assert arrived.json()["data"] | {"mensaje": ""} == {
            "test": True, "entidadId": entity.id, "entidadNombre": entity.name, "mensaje": "", "datos": {"a": 1}}
        shown = entity.api("GET", f"{BASE}/{hook.id}/entregas/{delivery['id']}").json()
        assert (shown["mensaje"], shown["prueba"], shown["evento"]) == (delivery["mensaje"], True, event)
    assert receiver.requests(other.path) == []
    assert entity.api("GET", f"{BASE}/{hook.id}").json()["eventos"] == ["evaluacion.cerrada"]


@pytest.mark.parametrize("body", [
    {}, {"evento": ""}, {"evento": 5}, {"evento": "nada"}, {"evento": "evaluacion.abierta", "datosExtra": []},
    {"evento": "evaluacion.abierta", "datos": {}}, {"evento": "evaluacion.abierta", "webhook": 1}], ids=str)
def test_a_bad_body_for_one_webhook_is_400(entity, body):
    response = probe(entity, entity.register(), **body)
    assert response.status == 400 and response.message


def test_a_webhook_that_cannot_be_tested(entity, new_entity, stack):
    hook = entity.register()
    stranger = new_entity()
    message = "No existe ningún webhook con ese identificador"
    for path in (f"{hook.id}", "999999999", "x", "0"):
        refused = stranger.api("POST", f"{BASE}/{path}/prueba", json_body={"evento": "evaluacion.abierta"})
        assert (refused.status, refused.message) == (404, message)
    assert stack.api("POST", f"{BASE}/{hook.id}/prueba", entity.issue_token("--read-only"), json_body={"evento": "evaluacion.abierta"}).status == 403
    assert entity.api("GET", f"{BASE}/{hook.id}/prueba").headers["allow"] == "POST"
    assert entity.api("POST", f"{BASE}/{hook.id}/prueba?x=1", json_body={"evento": "evaluacion.abierta"}).status == 400
    assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"activo": False}).status == 200
    inactive = probe(entity, hook, evento="evaluacion.abierta")
    assert inactive.status == 409 and inactive.message.startswith("El webhook está inactivo")
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
    assert probe(entity, hook, evento="evaluacion.abierta").status == 404
    assert stack.admin("notification", "list", "--entity", entity.id) == []
