"""POST and GET …/diagnostico: the contract, its errors and their order. tests/dispatch/test_diagnoses.py tests the
findings."""
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE
from support.diagnosis import CHECKS, ask, shown, wait_ended
from support.stack import ROOT, setting

NO_WEBHOOK = "No existe ningún webhook con ese identificador"


@pytest.fixture
def idle(stack):
    """Without a dispatcher, diagnoses wait."""
    stack.stop("dispatcher")
    yield
    stack.start("dispatcher")


def path(hook) -> str:
    return f"{BASE}/{hook.id}/diagnostico"


def end(stack, hook):
    stack.sql(f"UPDATE diagnosticos SET estado = 'terminado', pruebas = '[]', iniciado_en = UTC_TIMESTAMP(3) WHERE webhook_id = {hook.id}")


def test_a_requested_diagnosis_is_pending_and_audited(entity, idle, stack):
    hook = entity.register()
    before = entity.api("GET", path(hook))
    assert (before.status, before.json()) == (404, {"message": "No se ha pedido ningún diagnóstico de ese webhook"})
    asked = ask(entity, hook)
    assert asked.status == 202 and asked.headers["content-type"] == "application/json; charset=utf-8"
    assert asked.json() == {"message": "El diagnóstico está en la cola", "diagnostico": {"estado": "pendiente"}}
    assert shown(entity, hook) == {"estado": "pendiente", "iniciado": None, "pruebas": []}
    entry, = stack.admin("audit", "list", "--entity", entity.id, "--action", "diagnostico")
    assert (entry["objeto"], entry["veces"], entry["detalle"]) == (f"webhook {hook.id}", 1, "{}")
    assert entry["token_id"]


def test_an_ended_diagnosis_shows_its_checks(entity):
    hook = entity.register()
    ask(entity, hook)
    found = wait_ended(entity, hook)
    assert list(found) == CHECKS
    again = shown(entity, hook)
    assert again["estado"] == "terminado" and again["iniciado"].endswith("Z") and len(again["iniciado"]) == 24


def test_a_webhook_has_one_diagnosis_at_a_time(entity, idle, stack):
    hook = entity.register()
    with ThreadPoolExecutor(8) as crowd:
        assert {one.status for one in crowd.map(lambda _: ask(entity, hook), range(16))} == {202}
    assert stack.value("SELECT SUM(veces) FROM auditoria WHERE accion = 'diagnostico' AND webhook_id = %d" % hook.id) == "1"
    stack.sql(f"UPDATE diagnosticos SET estado = 'en_curso', arriendo = 1, arriendo_hasta = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE,"
              f" iniciado_en = UTC_TIMESTAMP(3) WHERE webhook_id = {hook.id}")
    assert ask(entity, hook).json() == {"message": "El diagnóstico está en marcha", "diagnostico": {"estado": "en_curso"}}
    assert shown(entity, hook)["estado"] == "en_curso"


def test_diagnoses_of_an_entity_per_hour_are_limited(entity, new_entity, idle, stack):
    hook, second, other = entity.register(), entity.register(), new_entity()
    foreign = other.register()
    with stack.part_with("fcgi", **setting(limits_diagnostics="2")):
        for one in (hook, second):
            assert [ask(entity, one).status for _ in range(3)] == [202] * 3, "while one waits, no other is made"
            end(stack, one)
        refused = ask(entity, hook)
        assert refused.status == 429 and 1700 < int(refused.headers["retry-after"]) <= 1800
        assert refused.message == "La entidad ha pedido demasiados diagnósticos: el máximo es 2 por hora; vuelva a intentarlo más tarde"
        assert shown(entity, hook)["estado"] == "terminado", "the last diagnosis is still shown"
        assert ask(other, foreign).status == 202, "another entity has its own limit"


def test_what_is_refused_does_not_count(entity, idle, stack):
    hook, disabled = entity.register(), entity.register()
    stack.admin("webhook", "disable", disabled.id)
    with stack.part_with("fcgi", **setting(limits_diagnostics="1")):
        assert entity.api("POST", path(hook) + "?a=1").status == 400
        assert entity.api("POST", f"{BASE}/999999999/diagnostico").status == 404
        refused = ask(entity, disabled)
        assert (refused.status, refused.message) == (
            409, "El operador ha desactivado el webhook: póngase en contacto con él para diagnosticarlo")
        assert ask(entity, hook).status == 202


def test_a_foreign_unknown_or_deleted_webhook_is_404(entity, new_entity, idle):
    hook, other = entity.register(), new_entity()
    ask(entity, hook)
    for id in (hook.id, 999999999, "x", "01", 0):
        for method in ("POST", "GET"):
            answer = other.api(method, f"{BASE}/{id}/diagnostico")
            assert (answer.status, answer.json()) == (404, {"message": NO_WEBHOOK}), id
    entity.api("DELETE", f"{BASE}/{hook.id}")
    assert {entity.api(method, path(hook)).status for method in ("POST", "GET")} == {404}


def test_the_order_of_the_checks(entity, idle, stack):
    hook = entity.register()
    reader = entity.issue_token("--read-only")
    missing = f"{BASE}/999999999/diagnostico"
    assert stack.api("POST", missing + "?a=1").status == 401
    assert stack.api("PUT", missing, reader).status == 405
    assert stack.api("PUT", missing, reader).headers["allow"] == "GET, HEAD, POST"
    assert stack.api("POST", missing + "?a=1", reader).status == 403
    assert entity.api("POST", missing + "?a=1", headers={"If-Match": "*"}).status == 412
    assert entity.api("POST", missing + "?a=1").status == 400
    assert entity.api("GET", missing + "?a=1").status == 400
    assert entity.api("POST", missing).status == 404
    assert stack.api("GET", path(hook), reader).status == 404
    assert ask(entity, hook).status == 202
    assert stack.api("GET", path(hook), reader).status == 200
    assert entity.api("POST", path(hook), body=b"no es JSON", headers={"Content-Type": "text/plain"}).status == 202, "a body is not looked at"


def test_the_five_endpoints_of_the_spec_show_nothing_of_it(entity):
    hook = entity.register()
    before = entity.api("GET", BASE).text
    ask(entity, hook)
    wait_ended(entity, hook)
    assert entity.api("GET", BASE).text == before


def test_the_checks_are_those_of_the_document_and_of_the_page():
    document = json.loads((ROOT / "web/openapi.json").read_text())
    schema = document["components"]["schemas"]["PruebaDeDiagnostico"]["properties"]
    assert schema["prueba"]["enum"] == CHECKS
    example = document["paths"]["/webhooks/{id}/diagnostico"]["get"]["responses"]["200"]["content"]["application/json"]["examples"]
    assert [one["prueba"] for one in example["terminado"]["value"]["pruebas"]] == CHECKS
    page = (ROOT / "web/docs/diagnostico.md").read_text()
    assert [name for name in re.findall(r"^\| `(\w+)` \|", page, re.M) if name in CHECKS] == CHECKS
