"""GET /webhooks, GET /webhooks/eventos and DELETE /webhooks/{id}."""
import pytest

from support.actors import BASE
from support.stack import EVENTS

FIELDS = ["id", "url", "eventos", "activo", "fechaAlta", "ultimaEjecucion", "ultimoEstado", "ultimoError"]


def test_events_in_the_documented_order(entity):
    response = entity.api("GET", BASE + "/eventos")
    assert response.status == 200
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.json() == {"eventos": EVENTS}


def test_empty_list(entity):
    response = entity.api("GET", BASE)
    assert (response.status, response.text) == (200, "[]")


def test_list_in_order_of_creation(entity):
    hooks = [entity.register(EVENTS[:n + 1]) for n in range(3)]
    response = entity.api("GET", BASE)
    assert response.status == 200
    listed = response.json()
    assert [w["id"] for w in listed] == [h.id for h in hooks]
    for n, webhook in enumerate(listed):
        assert list(webhook) == FIELDS
        assert webhook["url"] == hooks[n].url and webhook["eventos"] == EVENTS[:n + 1]
        assert webhook["activo"] is True
        assert (webhook["ultimaEjecucion"], webhook["ultimoEstado"], webhook["ultimoError"]) == (None, None, "")


def test_the_creation_time_is_the_listed_one(entity):
    created = entity.api("POST", BASE, json_body={"url": "https://example.com/", "eventos": EVENTS}).json()
    listed = entity.api("GET", BASE).json()[0]
    assert {name: listed[name] for name in created} == created


def test_an_inactive_webhook_is_listed_as_such(entity, stack):
    hook = entity.register()
    stack.admin("webhook", "disable", hook.id)
    assert entity.listed(hook)["activo"] is False
    stack.admin("webhook", "enable", hook.id)
    assert entity.listed(hook)["activo"] is True


def test_query_parameters_are_ignored(entity):
    assert entity.api("GET", BASE + "?activo=false&x=%00").text == "[]"


def test_delete(entity):
    hook, other = entity.register(), entity.register()
    response = entity.api("DELETE", f"{BASE}/{hook.id}")
    assert response.status == 200
    assert list(response.json()) == ["message"] and response.json()["message"]
    assert [w["id"] for w in entity.api("GET", BASE).json()] == [other.id]
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 404


def test_the_webhook_of_another_entity_is_as_if_it_did_not_exist(entity, new_entity):
    foreign = new_entity().register()
    answers = [entity.api("DELETE", f"{BASE}/{id}") for id in (foreign.id, 999999999)]
    assert [a.status for a in answers] == [404, 404]
    assert answers[0].text == answers[1].text and answers[0].message
    dated = [{**a.headers, "date": "", "x-request-id": ""} for a in answers]
    assert dated[0] == dated[1]


@pytest.mark.parametrize("id", [
    "0", "-1", "abc", "1.5", "1e3", "+1", "%31", "9223372036854775808", "99999999999999999999999999", "0x1", "1 ",
    "1;",
])
def test_an_invalid_identifier_is_refused(entity, id):
    response = entity.api("DELETE", f"{BASE}/{id.replace(' ', '%20')}")
    assert response.status in (400, 404), response
    assert response.message


def test_a_body_on_delete_is_ignored(entity):
    hook = entity.register()
    assert entity.api("DELETE", f"{BASE}/{hook.id}", json_body={"id": 1}).status == 200
