"""PUT /webhooks/{id}/secreto and DELETE /webhooks/{id}/secreto/anterior: a change of secret makes no receiver refuse
notifications."""
import json

import pytest

from fakes import verify
from fakes.receiver import Behaviour
from support.actors import BASE
from support.stack import setting
from support.wait import wait_until


def put(entity, hook, body, **how):
    return entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body=body, **how)


def until(entity, hook):
    return entity.api("GET", f"{BASE}/{hook.id}").json()["secretoAnteriorHasta"]


def signed_with(request, *secrets) -> list[bool]:
    """For each secret: whether a receiver that has only that secret accepts `webhook-signature`."""
    id, at = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    offered = request.headers["webhook-signature"].split(" ")
    return [verify.standard_signature(secret, id, at, request.body) in offered for secret in secrets]


def test_both_secrets_sign_while_the_grace_runs(entity, receiver):
    hook = entity.register(secret="uno")
    changed = put(entity, hook, {"secreto": "dos", "graciaSegundos": 3600})
    assert changed.status == 200 and list(changed.json()) == ["message", "secretoAnteriorHasta"]
    assert changed.json()["secretoAnteriorHasta"] == until(entity, hook) is not None
    entity.notify()
    both = receiver.wait(hook.path, 1)[0]
    assert signed_with(both, "uno", "dos", "tres") == [True, True, False]
    assert both.headers["webhook-signature"].count(" ") == 1
    assert both.headers["x-webhook-signature"] == verify.hub_signature("uno", both.body)
    assert both.headers["x-webhook-signature-nueva"] == verify.hub_signature("dos", both.body)
    delivery = wait_until(lambda: entity.api("GET", f"{BASE}/{hook.id}/entregas?estado=entregada").json()["entregas"])[0]
    assert entity.api("GET", f"{BASE}/{hook.id}/entregas/{delivery['id']}").json()["historial"][0]["firmas"] == 2
    ended = entity.api("DELETE", f"{BASE}/{hook.id}/secreto/anterior")
    assert ended.status == 200 and until(entity, hook) is None
    entity.notify()
    alone = receiver.wait(hook.path, 2)[1]
    assert signed_with(alone, "uno", "dos") == [False, True]
    assert alone.headers["x-webhook-signature"] == verify.hub_signature("dos", alone.body) and "x-webhook-signature-nueva" not in alone.headers
    assert entity.api("DELETE", f"{BASE}/{hook.id}/secreto/anterior").status == 404


def test_no_signature_is_refused_while_a_receiver_changes_its_secret(entity, receiver, stack):
    """Each step of web/docs/cambiar-el-secreto.md, with notifications after it."""
    hook = entity.register(secret="uno")
    refused = []

    def check(*secrets):
        sent = len(receiver.requests(hook.path))
        for _ in range(5):
            entity.notify()
        for request in receiver.wait(hook.path, sent + 5)[sent:]:
            if not any(signed_with(request, *secrets)):
                refused.append(request)

    check("uno")
    put(entity, hook, {"secreto": "dos"})
    check("uno")  # the receiver still has only the old secret
    check("dos")  # the receiver now has only the new secret
    entity.api("DELETE", f"{BASE}/{hook.id}/secreto/anterior")
    check("dos")
    assert refused == []


def test_what_was_refused_before_is_retried_with_the_new_secret(entity, receiver, stack):
    hook = entity.register(secret="uno")
    receiver.behave(hook.path, Behaviour(status=401))
    with stack.dispatcher_with(**setting(delivery_retry_schedule=",".join(["1s"] * 30))):
        delivery = stack.delivery_id(entity.notify(), hook.id)
        wait_until(lambda: stack.attempts(delivery), what="a refusal")
        assert put(entity, hook, {"secreto": "dos", "graciaSegundos": 0}).json()["secretoAnteriorHasta"] is None
        receiver.behave(hook.path, Behaviour())
        stack.wait_delivery(delivery, "entregada")
    assert signed_with(receiver.requests(hook.path)[-1], "uno", "dos") == [False, True]


@pytest.mark.usefixtures("patient")
def test_a_rotation_during_a_delivery_counts_from_the_next_attempt(entity, receiver, stack):
    hook = entity.register(secret="uno")
    receiver.behave(hook.path, Behaviour(status=401, hold=True), Behaviour())
    delivery = stack.delivery_id(entity.notify(), hook.id)
    receiver.wait(hook.path)
    assert put(entity, hook, {"secreto": "dos", "graciaSegundos": 0}).status == 200
    receiver.release(hook.path)
    stack.wait_delivery(delivery, "entregada")
    assert [signed_with(request, "uno", "dos") for request in receiver.requests(hook.path)] == [[True, False], [False, True]]


def test_while_the_present_secret_cannot_be_read_nothing_is_sent(entity, receiver, stack):
    """During the grace period, `secreto_sellado` has the previous secret and `secreto_b_sellado` the present one."""
    hook = entity.register(secret="uno")
    put(entity, hook, {"secreto": "dos", "graciaSegundos": 3600})
    reverse = f"UPDATE webhooks SET secreto_b_sellado = REVERSE(secreto_b_sellado) WHERE id = {hook.id}"
    stack.sql(reverse)
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "retenida")
    assert receiver.requests(hook.path) == []
    stack.sql(reverse)
    stack.sql(f"UPDATE webhook_ejecuciones SET descansa_hasta = UTC_TIMESTAMP(3) WHERE webhook_id = {hook.id}")
    stack.wait_delivery(delivery, "entregada", 20)
    assert signed_with(receiver.requests(hook.path)[0], "uno", "dos") == [True, True]


def test_an_ended_secret_is_erased(entity, stack):
    hook = entity.register(secret="uno")
    kept = f"SELECT (secreto_sellado IS NOT NULL) + (secreto_b_sellado IS NOT NULL) FROM webhooks WHERE id = {hook.id}"
    put(entity, hook, {"secreto": "dos", "graciaSegundos": 3600})
    assert stack.value(kept) == "2"
    stack.sql(f"UPDATE webhooks SET secreto_anterior_hasta = secreto_anterior_hasta - INTERVAL 1 HOUR WHERE id = {hook.id}")
    assert until(entity, hook) is None
    wait_until(lambda: stack.value(kept) == "1", 60, "the old secret to be erased")
    assert stack.value(f"SELECT secreto_sellado IS NOT NULL FROM webhooks WHERE id = {hook.id}") == "1", "the column that an earlier version reads"


def test_the_same_secret_is_accepted_again_and_a_third_is_409(entity):
    hook = entity.register(secret="uno")
    first = put(entity, hook, {"secreto": "dos"}).json()
    assert put(entity, hook, {"secreto": "dos"}).json() == first
    refused = put(entity, hook, {"secreto": "tres"})
    assert refused.status == 409 and first["secretoAnteriorHasta"] in refused.json()["message"]
    assert put(entity, hook, {"secreto": "tres", "graciaSegundos": 0}).json()["secretoAnteriorHasta"] is None
    unsigned = entity.register(secret=None)
    assert put(entity, unsigned, {"secreto": "uno"}).json()["secretoAnteriorHasta"] is None
    assert entity.api("GET", f"{BASE}/{unsigned.id}").json()["tieneSecreto"] is True


@pytest.mark.parametrize("body, message", [
    ({"secreto": ""}, "secreto: no puede estar vacío, porque los avisos dejarían de ir firmados"),
    ({"secreto": None}, "secreto: no puede estar vacío, porque los avisos dejarían de ir firmados"),
    ({}, "secreto: no puede estar vacío, porque los avisos dejarían de ir firmados"),
    ({"secreto": 5}, "secreto: debe ser una cadena"), ({"secreto": "a" * 513}, "secreto: no puede pasar de 512 caracteres"),
    ({"secreto": "x", "graciaSegundos": 0.5}, "graciaSegundos: debe ser un número entero de 0 a 604800"),
    ({"secreto": "x", "graciaSegundos": 1e300}, "graciaSegundos: debe ser un número entero de 0 a 604800"),
    ({"secreto": "x", "graciaSegundos": -1}, "graciaSegundos: debe ser un número entero de 0 a 604800"),
    ({"secreto": "x", "graciaSegundos": 604801}, "graciaSegundos: debe ser un número entero de 0 a 604800"),
    ({"secreto": "x", "graciaSegundos": 1.5}, "graciaSegundos: debe ser un número entero de 0 a 604800"),
    ({"secreto": "x", "graciaSegundos": "1"}, "graciaSegundos: debe ser un número entero de 0 a 604800"),
    ({"secreto": "x", "gracia": 1}, "Solo se admiten secreto y graciaSegundos")])
def test_a_secret_that_cannot_be_set(entity, body, message):
    hook = entity.register()
    etag = entity.api("GET", f"{BASE}/{hook.id}").headers["etag"]
    response = put(entity, hook, body)
    assert (response.status, response.json()["message"]) == (400, message)
    assert entity.api("GET", f"{BASE}/{hook.id}").headers["etag"] == etag


def test_only_the_owner_changes_a_secret_and_it_is_audited(entity, new_entity, stack):
    hook = entity.register(secret="uno")
    other = new_entity()
    for response in (other.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": "x"}),
                     other.api("DELETE", f"{BASE}/{hook.id}/secreto/anterior"), put(entity, type(hook)(0, "", "", None), {"secreto": "x"})):
        assert (response.status, response.json()["message"]) == (404, "No existe ningún webhook con ese identificador")
    assert stack.api("PUT", f"{BASE}/{hook.id}/secreto", entity.issue_token("--read-only"), json_body={"secreto": "x"}).status == 403
    assert entity.api("PUT", f"{BASE}/{hook.id}/secreto", body=b"{}", headers={"Content-Type": "text/plain"}).status == 415
    etag = entity.api("GET", f"{BASE}/{hook.id}").headers["etag"]
    answers = put(entity, hook, {"secreto": "secreto-nuevo"}).text
    assert entity.api("GET", f"{BASE}/{hook.id}").headers["etag"] != etag
    entries = stack.admin("audit", "list", "--webhook", hook.id)
    assert [e["accion"] for e in entries] == ["alta", "secreto"]
    assert "secreto-nuevo" not in answers + json.dumps(entries)


@pytest.mark.parametrize("seconds", ["3600.0", "3.6e3", "36E+2"])
def test_an_integer_of_json_schema_is_an_integer(entity, seconds):
    hook = entity.register()
    body = f'{{"secreto": "dos", "graciaSegundos": {seconds}}}'
    answer = entity.api("PUT", f"{BASE}/{hook.id}/secreto", body=body.encode(), headers={"Content-Type": "application/json"})
    assert answer.status == 200 and answer.json()["secretoAnteriorHasta"], answer
