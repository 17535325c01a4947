"""GET /entidad: who the caller is, what is left of its limits, and how to reach the operator."""
import pytest

from support.actors import BASE
from support.stack import setting
from support.wait import wait_until

PATH = "/apientidades/v1/entidad"
EVENT = "evaluacion.abierta"
LIMITS = {"webhooks": 5, "cambios": 12, "reenvios": 6, "diagnosticos": 3, "codigos-de-confirmacion": 5, "bytes-de-prueba": 65536, "reenviadas": 100,
          "pruebas-sin-terminar": 2}


def shown(entity) -> dict:
    response = entity.api("GET", PATH)
    assert response.status == 200, response
    assert list(response.json()) == ["id", "nombre", "token", "limites", "contacto"]
    return response.json()


def left(entity) -> dict:
    limits = shown(entity)["limites"]
    assert {one["nombre"]: one["maximo"] for one in limits} == LIMITS
    for one in limits:
        at_once = one["nombre"] in ("webhooks", "pruebas-sin-terminar")
        assert (one["ventanaSegundos"] is None, one["masEnSegundos"] is None) == (at_once, at_once), one
        assert at_once or (one["masEnSegundos"] == 0) == (one["queda"] == one["maximo"]), one
    return {one["nombre"]: one["queda"] for one in limits}


def test_the_entity_and_its_token(entity):
    found = shown(entity)
    assert (found["id"], found["nombre"]) == (entity.id, entity.name)
    assert found["token"] == {"etiqueta": "", "caduca": None, "soloLectura": False}
    assert found["contacto"] == {"correo": None, "telefono": None, "pagina": None}
    entity.token = entity.issue_token("--read-only", "--ttl", "30d", "--label", "Consulta ñ")
    token = shown(entity)["token"]
    assert token.pop("caduca").endswith("Z")
    assert token == {"etiqueta": "Consulta ñ", "soloLectura": True}


def test_without_limits_only_that_of_the_schema_is_shown(entity):
    entity.register()
    assert shown(entity)["limites"] == [{"nombre": "webhooks", "maximo": 5, "queda": 4, "ventanaSegundos": None, "masEnSegundos": None}]


@pytest.fixture(scope="module")
def configured(stack):
    with stack.part_with("fcgi", **setting(
            limits_registrations="12", limits_replay_requests="6", limits_diagnostics="3", limits_contact_codes="5", limits_test_bytes="64KiB", limits_replayed="100",
            limits_pending_test_deliveries="2", contact_email="soporte@ejemplo.es", contact_phone="+34 900 123 456",
            contact_page="https://ejemplo.es/soporte")):
        yield


def test_what_is_left_of_each_limit_and_how_to_reach_the_operator(configured, entity, stack):
    assert left(entity) == LIMITS
    assert shown(entity)["contacto"] == {"correo": "soporte@ejemplo.es", "telefono": "+34 900 123 456", "pagina": "https://ejemplo.es/soporte"}
    hook = entity.register()
    path = f"{BASE}/{hook.id}"
    stack.admin("queue", "pause")
    assert entity.api("POST", BASE + "/test", json_body={"evento": EVENT}).status == 200
    found = left(entity)
    assert found["pruebas-sin-terminar"] == 1 and 0 < found.pop("bytes-de-prueba") < 65536 - 1024
    stack.admin("queue", "resume")
    delivery = wait_until(lambda: entity.api("GET", path + "/entregas?estado=entregada").json()["entregas"], what="the test")[0]["id"]
    assert entity.api("POST", path + "/reenvios", json_body={"desde": "2026-01-01T00:00:00Z", "simular": True}).status == 200
    assert entity.api("POST", path + "/diagnostico").status == 202
    assert entity.api("POST", f"{path}/entregas/{delivery}/reenvio").status == 202
    found = wait_until(lambda: (now := left(entity))["pruebas-sin-terminar"] == 2 and now, what="the end of the test that was sent again")
    assert found.pop("bytes-de-prueba") > 0
    assert found == {"webhooks": 4, "cambios": 11, "reenvios": 5, "diagnosticos": 2, "codigos-de-confirmacion": 5, "reenviadas": 99, "pruebas-sin-terminar": 2}
    assert left(entity)["cambios"] == 11, "to look costs nothing"


def test_a_disabled_token_and_other_requests(entity, stack):
    assert stack.api("GET", PATH).status == 401
    for query in ("?x=1", "?id=1"):
        assert entity.api("GET", PATH + query).status == 400
    refused = entity.api("POST", PATH, json_body={})
    assert refused.status == 405 and refused.headers["allow"] == "GET, HEAD"
    assert entity.api("GET", PATH + "/").status == 404
