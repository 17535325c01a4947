"""A row of `notificaciones_pendientes` becomes a signed POST, which web/docs/que-llega.md describes for entities."""
import json
import re
import subprocess
import time
from datetime import datetime

import pytest

from fakes import verify
from fakes.receiver import Behaviour
from support.actors import BASE, DATA
from support.stack import EVENTS
from support.wait import wait_until


def arrived(receiver, hook, count=1):
    """Verifies and returns the POSTs at a webhook; there must be exactly `count`."""
    requests = receiver.wait(hook.path, count)
    assert len(requests) == count
    for request in requests:
        assert request.method == "POST"
        assert verify.problems(request.headers, request.body, hook.secret) == []
        assert request.headers["x-webhook-event"] == request.json()["evento"]
        assert list(request.json()) == ["evento", "timestamp", "data"]
    return requests


def test_every_event_arrives_signed(entity, receiver):
    hook = entity.register(secret="clave ñ €")
    for event in EVENTS:
        entity.notify(event)
    requests = arrived(receiver, hook, len(EVENTS))
    assert {r.json()["evento"]: r.json()["data"] for r in requests} == DATA
    assert len({r.id for r in requests}) == len(EVENTS)
    wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 200, what="the listing to show 200")
    listed = entity.listed(hook)
    assert listed["ultimoError"] == ""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", listed["ultimaEjecucion"])


def test_the_end_of_the_receivers_certificate_is_shown_and_written_once(stack, entity, receiver):
    hook = entity.register()
    shown = lambda: entity.api("GET", f"{BASE}/{hook.id}").json()["certificadoCaduca"]  # noqa: E731
    assert shown() is None
    entity.notify()
    arrived(receiver, hook)
    printed = subprocess.run(["openssl", "x509", "-noout", "-enddate", "-in", stack.env["RECEIVER_CERT"]], capture_output=True, text=True)
    end = datetime.strptime(printed.stdout.strip(), "notAfter=%b %d %H:%M:%S %Y GMT")
    wait_until(lambda: shown() == end.strftime("%Y-%m-%dT%H:%M:%S.000Z"), what="the end of the certificate")
    assert stack.admin("webhook", "show", hook.id)["certificado_caduca"] == shown()
    entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"url": hook.url.replace(".receptor", ".otro.receptor")})
    wait_until(lambda: shown() is None, what="another URL's certificate to be unknown")


def test_headers_are_those_and_no_more(entity, receiver):
    hook = entity.register()
    entity.notify()
    request = arrived(receiver, hook)[0]
    names = [line.partition(":")[0].lower() for line in request.header_lines]
    assert len(names) == len(set(names))
    assert set(names) - {"user-agent", "accept"} == {
        "host", "content-type", "content-length", "x-webhook-event", "x-webhook-signature", "webhook-id",
        "webhook-timestamp", "webhook-signature"}
    assert request.headers["host"] == hook.url.split("/")[2]
    assert request.sni == hook.url.split("/")[2].split(":")[0]


@pytest.mark.parametrize("path", ["/a/../b/{name}", "/./{name}", "/{name}/..", "/{name}/%2e%2e/x", "/{name}//x/.?y=../z"])
def test_the_path_is_requested_as_it_is_registered(entity, receiver, path):
    hook = entity.register()
    path = path.replace("{name}", hook.path.strip("/"))
    url = hook.url.removesuffix(hook.path) + path
    assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"url": url}).json()["url"] == url
    entity.notify()
    assert len(receiver.wait(path, 1)) == 1


def test_without_a_secret_there_is_no_signature(entity, receiver):
    hook = entity.register(secret=None)
    entity.notify()
    assert "x-webhook-signature" not in arrived(receiver, hook)[0].headers


@pytest.mark.parametrize("secret", [
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_not base64", "whsec_", " spaces ", "😀" * 512, "a\tb\u0001c",
    "\\ \" '",
], ids=ascii)
def test_secrets_of_every_kind(entity, receiver, secret):
    hook = entity.register(secret=secret)
    entity.notify()
    arrived(receiver, hook)


@pytest.mark.parametrize("event, data", [
    ("evaluacion.abierta", '{"evaluacionId": 42,   "titulo":"a"}'),
    ("evaluacion.abierta", '{ "titulo" : "z primero" ,\n\t"evaluacionId" : 1 }'),
    ("evaluacion.abierta", '{"evaluacionId":-9223372036854775808,"titulo":""}'),
    ("evaluacion.abierta", '{"evaluacionId":9223372036854775807,"titulo":"\\u00f1\\u20AC\\/\\ud83d\\ude00 ñ€😀"}'),
    ("evaluacion.abierta", '{"evaluacionId":1,"titulo":"x","extra":{"z":[1.0,1e5,-0,0.10,true,null],"a":{}}}'),
    ("resultados.definitivos", '{"evaluacionId":1,"declaracionId":2,"notaFinal":7.50}'),
    ("resultados.provisionales", '{"evaluacionId":1,"declaracionId":2,"notaFinal":1234567890.12345678901234567890123}'),
    ("resultados.provisionales", '{"evaluacionId":1,"declaracionId":2,"notaFinal":7.5e0}'),
    ("alegaciones.periodo_abierto", '{"evaluacionId":1,"declaracionId":2,"fechaFin":"2026-12-20T22:59:59.5Z"}'),
    ("evaluacion.cierre_proximo", '{"evaluacionId":1,"fechaCierre":"2028-02-29T00:00:00Z","diasRestantes":-1}'),
    ("documento.disponible", '{"documentoId":1,"declaracionId":2,"tipo":-5,"descripcion":"' + "d" * 60000 + '"}'),
], ids=lambda value: value[:40])
def test_data_arrives_byte_for_byte(entity, receiver, event, data):
    hook = entity.register()
    entity.notify(event, data)
    assert arrived(receiver, hook)[0].body.endswith(b'"data":' + data.encode() + b"}")


def test_timestamp_is_that_of_the_event(entity, receiver):
    hook = entity.register()
    entity.notify(ocurrida_en="2026-03-29 01:30:00.120")
    body = arrived(receiver, hook)[0].body
    assert body.startswith(b'{"evento":"evaluacion.abierta","timestamp":"2026-03-29T01:30:00.120Z","data":{')


def test_timestamp_defaults_to_now_in_utc_in_any_session_time_zone(entity, receiver, stack):
    hook = entity.register()
    stack.evaluation("SET time_zone = '+11:00'")
    try:
        before = time.time()
        entity.notify()
    finally:
        stack.evaluation("SET time_zone = DEFAULT")
    request = arrived(receiver, hook)[0]
    stamp = request.json()["timestamp"]
    second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(before))
    assert second <= stamp[:19] <= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    assert abs(int(request.headers["webhook-timestamp"]) - time.time()) < 5


def test_only_subscribed_webhooks_of_the_entity(entity, new_entity, receiver, stack):
    subscribed = [entity.register(["incidencia.cerrada"]), entity.register(EVENTS)]
    others = [entity.register(["evaluacion.abierta"]), new_entity().register(["incidencia.cerrada"])]
    notification = entity.notify("incidencia.cerrada")
    ids = {arrived(receiver, hook)[0].id for hook in subscribed}
    assert len(ids) == 2
    stack.wait_notification(notification, "procesada")
    assert int(stack.value(f"SELECT COUNT(*) FROM entregas WHERE notificacion_id = {notification}")) == 2
    assert [receiver.requests(hook.path) for hook in others] == [[], []]


def test_a_notification_without_subscribers_is_processed(entity, stack):
    stack.wait_notification(entity.notify(), "procesada")


def test_rows_of_one_transaction_arrive_when_it_commits(entity, receiver, stack):
    hook = entity.register()
    stack.evaluation("START TRANSACTION")
    for _ in range(3):
        entity.notify()
    assert receiver.requests(hook.path) == []
    stack.evaluation("COMMIT")
    arrived(receiver, hook, 3)


def test_connections_are_kept(entity, receiver):
    hook = entity.register()
    for count in range(1, 6):
        entity.notify()
        receiver.wait(hook.path, count)
        wait_until(lambda: receiver.in_flight(hook.path) == 0)
    assert len({r.connection for r in arrived(receiver, hook, 5)}) < 5


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_success(entity, receiver, stack, status):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=status, body="" if status == 204 else "gracias"))
    delivery = stack.delivery_id(entity.notify(), hook.id)
    shown = stack.wait_delivery(delivery, "entregada")
    assert (shown["ultimo_estado"], shown["ultimo_error"], shown["intentos"]) == (status, "", 1)
    assert entity.listed(hook)["ultimoEstado"] == status


def test_a_test_event_reaches_exactly_the_webhooks_of_the_answer(entity, receiver):
    hooks = [entity.register(["documento.disponible"]), entity.register(secret=None)]
    other = entity.register(["evaluacion.abierta"])
    extra = {"nota": 7.5, "ñ": ["€", None]}
    response = entity.api("POST", BASE + "/test", json_body={"evento": "documento.disponible", "datosExtra": extra})
    assert [w["id"] for w in response.json()["webhooks"]] == [h.id for h in hooks]
    for hook in hooks:
        body = arrived(receiver, hook)[0].json()
        assert body["evento"] == "documento.disponible"
        assert list(body["data"]) == ["test", "entidadId", "entidadNombre", "mensaje", "datos"]
        assert "documento.disponible" in body["data"].pop("mensaje")
        assert body["data"] == {"test": True, "entidadId": entity.id, "entidadNombre": entity.name, "datos": extra}
    assert receiver.requests(other.path) == []


def test_a_test_event_without_extra_data(entity, receiver):
    hook = entity.register()
    entity.api("POST", BASE + "/test", json_body={"evento": "incidencia.cerrada"})
    assert arrived(receiver, hook)[0].json()["data"]["datos"] == {}


def test_extra_data_of_a_test_event_keeps_its_numbers(entity, receiver):
    hook = entity.register()
    extra = '{"b":7.50,"a":1e300,"b2":123456789012345678901234567890}'
    raw = '{"evento": "incidencia.cerrada", "datosExtra": %s}' % extra
    assert entity.api("POST", BASE + "/test", body=raw.encode()).status == 200
    assert f'"datos":{extra}' in arrived(receiver, hook)[0].body.decode()


def test_evidence_of_a_delivery(entity, receiver, stack):
    hook = entity.register()
    delivery = stack.delivery_id(entity.notify(), hook.id)
    shown = stack.wait_delivery(delivery, "entregada")
    assert (shown["webhook_id"], shown["evento"], shown["proximo_intento"]) == (hook.id, "evaluacion.abierta", None)
    attempt = stack.attempts(delivery)[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", attempt.pop("inicio"))
    assert attempt.pop("duracion_ms") >= 0
    assert attempt == {"numero": 1, "tipo": "programado", "sondeos": None, "direccion": "127.0.0.1", "estado_http": 200, "error": ""}
    assert json.dumps(shown).find(hook.secret) == -1
