"""GET /webhooks/{id}/entregas and /webhooks/{id}/entregas/{entrega}: what an entity sees of its deliveries."""
import hashlib
import json
import re
from urllib.parse import parse_qs, quote, urljoin, urlsplit

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.sql import numbers
from support.wait import wait_until

LISTED = ["id", "mensaje", "evento", "prueba", "estado", "intentos", "creada", "entregada", "terminada", "proximoIntento",
          "ultimoEstado", "ultimoError"]
SHOWN = [*LISTED, "cuerpo", "sha256Cuerpo", "historial"]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ATTEMPT = ["numero", "tipo", "inicio", "duracionMs", "direccion", "firmas", "estadoHttp", "error"]


def log(entity, hook, query=""):
    response = entity.api("GET", f"{BASE}/{hook.id}/entregas{query}")
    assert response.status == 200, response
    assert list(response.json()) == ["entregas", "siguiente"]
    return response.json()


def shown(entity, hook, delivery):
    response = entity.api("GET", f"{BASE}/{hook.id}/entregas/{delivery}")
    assert response.status == 200, response
    return response.json()


def settled(entity, hook, state, count=1):
    """Returns the deliveries in that state, once there are `count` of them."""
    return wait_until(lambda: len(found := log(entity, hook, f"?estado={state}")["entregas"]) == count and found, 20, state)


def test_a_failure_is_found_in_the_log_with_its_reason_and_what_was_sent(entity, receiver):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500, body="SECRETO-DEL-RECEPTOR"))
    entity.notify("evaluacion.abierta", '{"evaluacionId": 42, "titulo": "ñ  "}')
    failed, = settled(entity, hook, "fallida")
    assert list(failed) == LISTED
    assert (failed["evento"], failed["prueba"], failed["intentos"], failed["ultimoEstado"]) == ("evaluacion.abierta", False, 4, 500)
    assert failed["entregada"] is None and failed["proximoIntento"] is None and "500" in failed["ultimoError"]
    assert TIME.fullmatch(failed["creada"]) and TIME.fullmatch(failed["terminada"])
    whole = shown(entity, hook, failed["id"])
    assert list(whole) == SHOWN and {name: whole[name] for name in LISTED} == failed
    requests = receiver.requests(hook.path)
    assert {request.body for request in requests} == {whole["cuerpo"].encode()}, "byte for byte"
    assert {request.headers["webhook-id"] for request in requests} == {failed["mensaje"]}
    assert whole["sha256Cuerpo"] == hashlib.sha256(requests[0].body).hexdigest()
    assert [a["numero"] for a in whole["historial"]] == [1, 2, 3, 4]
    for attempt in whole["historial"]:
        assert list(attempt) == ATTEMPT
        assert (attempt["tipo"], attempt["estadoHttp"], attempt["firmas"]) == ("programado", 500, 1)
        assert TIME.fullmatch(attempt["inicio"]) and attempt["duracionMs"] >= 0 and "500" in attempt["error"]
        assert attempt["direccion"] is None, "an address from host_overrides is not shown"
    text = json.dumps([failed, whole])
    signatures = [request.headers["webhook-signature"] for request in requests]
    assert not any(secret in text for secret in (hook.secret, "SECRETO-DEL-RECEPTOR", "sha256=", *signatures))


def add_attempts(stack, delivery, first, count, error="El receptor respondió 500", address="8.8.8.8"):
    stack.sql("INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, direccion, estado_http, error, firmas)"
              f" SELECT {delivery}, {first} - 1 + seq, UTC_TIMESTAMP(3), 5, '{address}', 500, '{error}', 1 FROM {numbers(count)}")


def test_a_public_address_is_shown_whatever_the_url_is_by_now(entity, stack):
    hook = entity.register()
    entity.notify()
    delivered, = settled(entity, hook, "entregada")
    add_attempts(stack, delivered["id"], 2, 1)
    assert [a["direccion"] for a in shown(entity, hook, delivered["id"])["historial"]] == [None, "8.8.8.8"]
    patched = entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"url": "https://ejemplo.es/avisos"})
    assert patched.status == 200
    assert [a["direccion"] for a in shown(entity, hook, delivered["id"])["historial"]] == [None, "8.8.8.8"]


def test_of_many_attempts_the_newest_hundred_are_shown(entity, stack):
    hook = entity.register()
    entity.notify()
    delivered, = settled(entity, hook, "entregada")
    add_attempts(stack, delivered["id"], 2, 9_999)
    stack.sql(f"UPDATE entregas SET intentos = 10000 WHERE id = {delivered['id']}")
    whole = shown(entity, hook, delivered["id"])
    assert [a["numero"] for a in whole["historial"]] == list(range(9_901, 10_001)) and whole["intentos"] == 10_000
    assert len(stack.attempts(delivered["id"])) == 10_000, "the operator sees all attempts"


def test_a_pending_and_a_delivered_delivery_are_shown(entity, receiver):
    hook = entity.register(secret=None)
    entity.notify("evaluacion.abierta")
    delivered, = settled(entity, hook, "entregada")
    assert (delivered["intentos"], delivered["ultimoEstado"], delivered["ultimoError"]) == (1, 200, "")
    assert delivered["entregada"] == delivered["terminada"] and TIME.fullmatch(delivered["entregada"])
    assert shown(entity, hook, delivered["id"])["historial"][0]["firmas"] == 0
    receiver.behave(hook.path, Behaviour(status=503, headers={"Retry-After": "3600"}))
    entity.notify("evaluacion.cerrada")
    waiting = wait_until(lambda: (found := log(entity, hook, "?evento=evaluacion.cerrada")["entregas"]) and found[0]["intentos"] == 1 and found[0])
    assert (waiting["estado"], waiting["terminada"]) == ("pendiente", None) and TIME.fullmatch(waiting["proximoIntento"])
    assert [d["id"] for d in log(entity, hook)["entregas"]] == [waiting["id"], delivered["id"]], "the newest first"


def test_a_test_event_shows_what_the_entity_sent_with_it(entity, receiver):
    hook = entity.register(["evaluacion.abierta"])
    entity.api("POST", BASE + "/test", json_body={"evento": "evaluacion.abierta", "datosExtra": {"mío": "ñ"}})
    delivered, = settled(entity, hook, "entregada")
    assert delivered["prueba"] is True
    assert shown(entity, hook, delivered["id"])["cuerpo"].encode() == receiver.requests(hook.path)[0].body


def test_pages_have_each_delivery_once_while_others_are_made(entity):
    hook = entity.register()
    made = [entity.notify() for _ in range(12)]
    settled(entity, hook, "entregada", 12)
    seen, query = [], "?limite=5"
    while query:
        page = log(entity, hook, query)
        seen += [d["id"] for d in page["entregas"]]
        query = f"?limite=5&cursor={page['siguiente']}" if page["siguiente"] else None
        if len(seen) == 5:
            entity.notify()
    assert len(seen) == len(set(seen)) == len(made) and seen == sorted(seen, reverse=True)
    changed = log(entity, hook, "?limite=5")["siguiente"]
    assert len(log(entity, hook, f"?limite=100&cursor={changed}")["entregas"]) >= 7, "a cursor is not bound to limite"


def test_link_leads_to_the_next_page(entity):
    """RFC 8288. The reference is relative, and repeats the filter."""
    hook = entity.register()
    made = [entity.notify() for _ in range(5)]
    settled(entity, hook, "entregada", 5)
    base, seen = f"{BASE}/{hook.id}/entregas", []
    target = base + "?limite=2&estado=entregada&evento=evaluacion.abierta&desde=2026-01-01T00:00:00%2B00:00"
    while target:
        page = entity.api("GET", target)
        assert page.status == 200, (target, page)
        seen += [d["id"] for d in page.json()["entregas"]]
        link = page.headers.get("link")
        assert (link is None) == (page.json()["siguiente"] is None)
        found = re.fullmatch('<([^<>"]+)>; rel="next"', link or "")
        assert bool(link) == bool(found)
        target = urljoin(target, found[1]) if found else None
        assert not target or parse_qs(urlsplit(target).query)["cursor"] == [page.json()["siguiente"]]
    assert len(seen) == len(set(seen)) == len(made)
    assert "link" not in entity.api("GET", base + "?estado=fallida").headers


def test_filters(entity):
    hook = entity.register()
    for event in ("evaluacion.abierta", "evaluacion.cerrada", "evaluacion.abierta"):
        entity.notify(event)
    all_of_them = settled(entity, hook, "entregada", 3)
    assert len(log(entity, hook, "?evento=evaluacion.abierta")["entregas"]) == 2
    assert log(entity, hook, "?estado=fallida") == {"entregas": [], "siguiente": None}
    oldest, newest = all_of_them[-1]["creada"], all_of_them[0]["creada"]
    assert len(log(entity, hook, f"?desde={oldest}")["entregas"]) == 3
    assert all(d["creada"] < newest for d in log(entity, hook, f"?hasta={newest}")["entregas"])
    assert log(entity, hook, f"?desde={oldest}&hasta={oldest}")["entregas"] == []
    assert log(entity, hook, "?desde=2000-01-01T00:00:00Z&hasta=2000-01-02T00:00:00Z")["entregas"] == []
    for written in ("+00:00", "000Z", "456+00:00", "999999Z", "456+0000"):  # as Python, C#, Go and Java write a time in UTC
        for text in (written, quote(written)):  # a plus sign in a query is a plus sign, and no space
            assert len(log(entity, hook, "?desde=" + oldest.replace("Z", text))["entregas"]) == 3


@pytest.mark.parametrize("query, field", [
    ("limite=0", "limite"), ("limite=101", "limite"), ("limite=1000000000", "limite"), ("limite=-1", "limite"), ("limite=", "limite"),
    ("estado=perdida", "estado"), ("evento=nada", "evento"), ("desde=ayer", "desde"), ("hasta=2026-02-30T00:00:00Z", "hasta"),
    ("desde=2026-01-02T00:00:00Z&hasta=2026-01-01T00:00:00Z", "desde"), ("cursor=", "cursor"), ("cursor=1", "cursor"),
    ("cursor=9.00000000000000000000000000000000", "cursor"), ("pagina=2", "consulta"), ("limite=1&limite=1", "consulta"),
    ("conFallos=false", "conFallos"), ("estado=%zz", "consulta"), ("estado=%FF", "consulta")])
def test_a_question_that_cannot_be_understood_is_refused(entity, query, field):
    hook = entity.register()
    response = entity.api("GET", f"{BASE}/{hook.id}/entregas?{query}")
    assert response.status == 400 and field in response.json()["message"], response


def test_a_cursor_is_good_for_its_own_question_alone(entity):
    hooks = [entity.register(), entity.register()]
    for _ in range(3):
        entity.notify()
    settled(entity, hooks[0], "entregada", 3)
    cursor = log(entity, hooks[0], "?limite=1")["siguiente"]
    position, code = cursor.split(".")
    for hook, query in ((hooks[1], f"cursor={cursor}"), (hooks[0], f"estado=entregada&cursor={cursor}"),
                        (hooks[0], f"cursor={int(position) + 1}.{code}")):
        assert entity.api("GET", f"{BASE}/{hook.id}/entregas?{query}").status == 400
    assert len(log(entity, hooks[0], f"?limite=1&cursor={cursor}")["entregas"]) == 1


def test_foreign_and_unknown_webhooks_and_deliveries_are_404(entity, new_entity, stack):
    hook, second = entity.register(), entity.register()
    delivery = stack.delivery_id(entity.notify(), hook.id)
    other = new_entity()
    for caller, path in ((other, f"{hook.id}/entregas"), (other, f"{hook.id}/entregas/{delivery}"), (other, "999999999/entregas"),
                         (entity, "0/entregas"), (entity, "x/entregas"), (entity, "eventos/entregas")):
        response = caller.api("GET", f"{BASE}/{path}")
        assert (response.status, response.json()["message"]) == (404, "No existe ningún webhook con ese identificador"), path
    for path in (f"{second.id}/entregas/{delivery}", f"{hook.id}/entregas/999999999", f"{hook.id}/entregas/x", f"{hook.id}/entregas/0"):
        response = entity.api("GET", f"{BASE}/{path}")
        assert (response.status, response.json()["message"]) == (404, "No existe ninguna entrega con ese identificador en el webhook"), path
    assert entity.api("GET", f"{BASE}/{hook.id}/entregas/{delivery}?x=1").status == 400
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
    assert entity.api("GET", f"{BASE}/{hook.id}/entregas").status == 404, "it was deleted"


def test_a_purge_between_two_pages_hides_only_purged_deliveries(entity, stack):
    hook = entity.register()
    for _ in range(4):
        entity.notify()
    ids = [d["id"] for d in settled(entity, hook, "entregada", 4)]
    cursor = log(entity, hook, "?limite=2")["siguiente"]
    stack.sql(f"DELETE FROM intentos_entrega WHERE entrega_id IN ({ids[1]}, {ids[2]})")
    stack.sql(f"DELETE FROM entregas WHERE id IN ({ids[1]}, {ids[2]})")
    rest = log(entity, hook, f"?limite=2&cursor={cursor}")
    assert [d["id"] for d in rest["entregas"]] == [ids[3]] and rest["siguiente"] is None
    assert entity.api("GET", f"{BASE}/{hook.id}/entregas/{ids[1]}").status == 404


def test_a_token_that_only_reads(entity, stack):
    hook = entity.register()
    token = entity.issue_token("--read-only")
    refused = [stack.api("POST", BASE, token, json_body={"url": "https://example.com/", "eventos": ["evaluacion.abierta"]}),
               stack.api("POST", BASE + "/test", token, json_body={"evento": "evaluacion.abierta"}),
               stack.api("DELETE", f"{BASE}/{hook.id}", token), stack.api("POST", BASE, token, body=b"no es JSON")]
    message = "El token de acceso es de solo lectura: no permite cambiar nada"
    assert [(r.status, r.json()) for r in refused] == [(403, {"message": message})] * len(refused)
    assert [w["id"] for w in stack.api("GET", BASE, token).json()] == [hook.id]
    assert stack.api("GET", f"{BASE}/{hook.id}/entregas", token).status == 200
    assert stack.api("PUT", BASE, token).status == 405, "403 comes after 405"
    assert [t["solo_lectura"] for t in stack.admin("token", "list", "--entity", entity.id)] == [False, True]
