"""The operator tries one receiver: `webhook diagnose`, `webhook test`, `webhook trace`."""
import contextlib
import json
import signal
import subprocess

import pytest

from fakes.receiver import Behaviour
from fakes.scripted import ScriptedReceiver
from support.actors import BASE, Entity
from support.diagnosis import CHECKS, Verifier, ask
from support.stack import setting
from support.wait import wait_until

SECRET = "s3creto-de-prueba"


@contextlib.contextmanager
def verified(stack, **how):
    """An entity with a webhook at a receiver that verifies signatures."""
    with contextlib.closing(ScriptedReceiver((stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]), Verifier(**how))) as receiver:
        entity = Entity(stack, receiver)
        yield entity, entity.register(secret=SECRET)


@pytest.fixture
def no_dispatcher(stack):
    stack.stop("dispatcher")
    stack.sql("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3) - INTERVAL 2 MINUTE")
    yield
    stack.start("dispatcher")
    wait_until(lambda: stack.admin("queue", "status")["sin_despachador_s"] < 60, 20, "the dispatcher to note that it works")


def actions(entity, stack) -> list[str]:
    return [row["accion"] for row in stack.admin("audit", "list", "--entity", entity.id)]


def test_a_good_receiver_is_diagnosed(stack):
    with verified(stack) as (entity, hook):
        found = stack.admin("webhook", "diagnose", hook.id)
        assert list(found) == ["id", "entidad_id", "estado", "iniciado", "pruebas"]
        assert (found["id"], found["entidad_id"], found["estado"]) == (hook.id, entity.id, "terminado") and found["iniciado"]
        assert [one["prueba"] for one in found["pruebas"]] == CHECKS
        assert entity.api("GET", f"{BASE}/{hook.id}/diagnostico").json()["pruebas"] == found["pruebas"], "the entity reads the same"
        assert actions(entity, stack)[-1] == "webhook diagnose" and "diagnostico" not in actions(entity, stack)


def test_a_bad_receiver_is_a_failure_with_the_remedy(stack):
    with verified(stack, signature=False) as (entity, hook):
        shown = stack.try_admin("webhook", "diagnose", hook.id)
        assert shown.returncode == 1 and f"Webhook {hook.id} of entity {entity.id}: diagnosis terminado." in shown.stdout
        assert "\n- mal firma_incorrecta: " in shown.stdout and "\n- bien autentica: " in shown.stdout and " → " in shown.stdout
        assert f"diagnosis of webhook {hook.id}: " in shown.stderr


def test_the_operator_uses_nothing_of_the_entitys_quota(stack):
    with verified(stack) as (entity, hook):
        with stack.part_with("fcgi", **setting(limits_diagnostics="1")):
            for _ in range(2):
                assert stack.admin("webhook", "diagnose", hook.id)["estado"] == "terminado"
            assert ask(entity, hook).status == 202


@pytest.mark.parametrize("command", ["diagnose", "test"])
def test_what_cannot_be_tried(entity, stack, command):
    hook = entity.register()

    def refused(webhook, *options):
        answer = stack.try_admin("webhook", command, webhook, *options)
        assert answer.returncode == 1 and answer.stdout == ""
        return answer.stderr
    assert "there is no webhook" in refused(10**15)
    stack.admin("webhook", "disable", hook.id)
    assert f"`webhook enable {hook.id}` first" in refused(hook.id)
    stack.admin("entity", "disable", entity.id)
    assert f"`entity enable {entity.id}` first" in refused(hook.id)
    assert stack.try_admin("webhook", command, hook.id, "--wait", "0s").returncode == 2


def test_a_test_event_goes_to_one_webhook(entity, receiver, stack):
    hook, other = entity.register(), entity.register()
    sent = stack.admin("webhook", "test", hook.id)
    assert (sent["webhook_id"], sent["evento"], sent["estado"], sent["intentos"]) == (hook.id, "evaluacion.abierta", "entregada", 1)
    assert [attempt["estado_http"] for attempt in sent["historial"]] == [200]
    request, = receiver.requests(hook.path)
    data = json.loads(request.body)["data"]
    assert data["test"] is True and data["entidadId"] == entity.id and data["datos"] == {}
    assert receiver.requests(other.path) == []
    logged, = entity.api("GET", f"{BASE}/{hook.id}/entregas").json()["entregas"]
    assert logged["prueba"] is True and logged["id"] == sent["id"]
    stored = stack.value(f"SELECT datos FROM notificaciones_pendientes WHERE id = {sent['notificacion_id']}")
    assert "sellado" in stored and "mensaje" not in stored
    assert actions(entity, stack)[-1] == "webhook test"


def test_a_test_event_that_fails_shows_the_attempt(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    shown = stack.try_admin("webhook", "test", hook.id)
    assert shown.returncode == 1 and " is fallida." in shown.stdout
    for number in (1, 2, 3):
        assert f" attempt {number} (programado) 127.0.0.1 " in shown.stderr and " ms: 500, " in shown.stderr
    assert "it has not been delivered: `delivery show " in shown.stderr


def test_a_test_event_is_one_of_the_webhooks(stack, entity, receiver):
    hook = entity.register(["incidencia.cerrada", "documento.disponible"])
    assert stack.admin("webhook", "test", hook.id)["evento"] == "incidencia.cerrada"
    assert stack.admin("webhook", "test", hook.id, "--event", "documento.disponible")["evento"] == "documento.disponible"
    for event in ("evaluacion.abierta", "ninguno"):
        refused = stack.try_admin("webhook", "test", hook.id, "--event", event)
        assert refused.returncode == 1 and "its events are incidencia.cerrada,documento.disponible" in refused.stderr
    assert len(receiver.requests(hook.path)) == 2


@pytest.mark.parametrize("command", ["diagnose", "test"])
def test_without_a_dispatcher_the_command_says_what_to_do(entity, stack, no_dispatcher, command):
    hook = entity.register()
    shown = stack.try_admin("webhook", command, hook.id, "--wait", "1s")
    assert shown.returncode == 1 and "it waits: no dispatcher has been seen since " in shown.stderr
    assert "`systemctl status apientidades-dispatcher`" in shown.stderr and f"`webhook explain {hook.id}`" in shown.stderr


def test_a_pause_is_named(entity, stack):
    hook = entity.register()
    stack.admin("queue", "pause", "--webhook", hook.id, "--reason", "su mantenimiento")
    try:
        for command in ("diagnose", "test"):
            assert "su mantenimiento" in stack.try_admin("webhook", command, hook.id, "--wait", "1s").stderr
    finally:
        stack.admin("queue", "resume", "--webhook", hook.id)


@contextlib.contextmanager
def traced(stack, hook, *options):
    arguments, environment = stack.command_of("dispatcher")
    program = [arguments[0].replace("dispatcher", "admin"), *arguments[1:], "webhook", "trace", str(hook.id), *options]
    password = f"{stack.env['SECRETS_DIR']}/admin.password"
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**environment, **setting(database_user="apientidades_admin", database_password_file=password)})
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_trace_shows_each_attempt_once(entity, receiver, stack):
    hook, other = entity.register(), entity.register()
    before = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(before, "entregada")
    receiver.behave(hook.path, Behaviour(status=500), Behaviour())
    with traced(stack, hook, "--json", "--since", "1h") as process:
        assert json.loads(process.stdout.readline())["entrega_id"] == before
        first = stack.delivery_id(entity.notify(), hook.id)
        rows = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert [(row["entrega_id"], row["numero"], row["estado_http"]) for row in rows] == [(first, 1, 500), (first, 2, 200)]
        assert "500" in rows[0]["error"] and rows[1]["error"] == "" and rows[1]["estado"] == "entregada"
        stack.admin("delivery", "retry", before)
        rows.append(json.loads(process.stdout.readline()))
        assert (rows[2]["entrega_id"], rows[2]["numero"], rows[2]["estado_http"]) == (before, 2, 200)
        process.send_signal(signal.SIGTERM)
        rest, complaints = process.communicate(timeout=20)
        assert process.returncode == 0 and rest == "" and complaints == ""
    sent = {request.headers["webhook-id"]: request for request in receiver.requests(hook.path)}
    for row in rows:
        headers = dict(line.split(": ", 1) for line in row["cabeceras"])
        request = sent[headers["webhook-id"]]
        assert headers["X-Webhook-Event"] == request.headers["x-webhook-event"] and headers["Content-Type"] == "application/json"
        assert row["firmas"] == 1 and not [name for name in headers if "ignature" in name]
    assert {line.split(":")[0].lower() for row in rows for line in row["cabeceras"]} < {name.lower() for name in request.headers}


def test_a_trace_goes_back_and_ends_by_itself(entity, receiver, stack):
    hook = entity.register()
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "entregada")
    shown = stack.dev("admin", "webhook", "trace", hook.id, "--since", "1h", "--for", "1s")
    line, headers = shown.stdout.splitlines()
    assert f" delivery {delivery} attempt 1 (programado) 127.0.0.1 " in line and line.endswith(" ms: 200; entregada")
    assert "X-Webhook-Event: evaluacion.abierta; webhook-id: msg_" in headers and headers.endswith("; signatures: 1")
    assert SECRET not in shown.stdout and "sha256=" not in shown.stdout and "v1," not in shown.stdout
    assert stack.try_admin("webhook", "trace", 10**15).returncode == 1
