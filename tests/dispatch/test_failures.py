"""How the dispatcher reacts to receivers that fail: retries, Retry-After, 410, giving up."""
import json
import time
from email.utils import formatdate

import pytest

from fakes import verify
from fakes.receiver import Behaviour
from support.actors import BASE, DATA
from support.stack import free_port
from support.wait import holds_for, wait_until

ATTEMPTS = 4  # the first attempt, and a retry for each step of SCHEDULE
SCHEDULE = [0.3, 0.6, 0.9]  # seconds; the stack's delivery.retry_schedule (tests/conftest.py)


def started(entity, hook, **row):
    return entity.stack.delivery_id(entity.notify(**row), hook.id)


def gaps(requests):
    return [(b.monotonic_ns - a.monotonic_ns) / 1e9 for a, b in zip(requests, requests[1:])]


def test_retried_by_the_schedule_and_then_failed_for_good(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500, body="<h1>it is broken</h1>"))
    delivery = started(entity, hook)
    shown = stack.wait_delivery(delivery, "fallida")
    assert (shown["intentos"], shown["ultimo_estado"], shown["proximo_intento"]) == (ATTEMPTS, 500, None)
    assert shown["ultimo_error"]
    requests = receiver.requests(hook.path)
    assert len(requests) == ATTEMPTS
    for gap, wait in zip(gaps(requests), SCHEDULE):
        assert wait * 0.95 < gap < wait + 5, gaps(requests)
    listed = entity.listed(hook)
    assert (listed["ultimoEstado"], listed["ultimoError"], listed["activo"]) == (500, shown["ultimo_error"], True)


def test_a_retry_is_the_same_message_signed_anew(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500), Behaviour(status=502), Behaviour())
    stack.wait_delivery(started(entity, hook, ocurrida_en="2026-01-02 03:04:05.678"), "entregada")
    requests = receiver.requests(hook.path)
    assert len(requests) == 3
    assert len({r.id for r in requests}) == len({r.body for r in requests}) == 1
    assert requests[0].json()["timestamp"] == "2026-01-02T03:04:05.678Z"
    for request in requests:
        now = request.wall_ns / 1e9
        assert verify.problems(request.headers, request.body, hook.secret, now, tolerance=10) == []
    listed = entity.listed(hook)
    assert (listed["ultimoEstado"], listed["ultimoError"]) == (200, "")


def test_evidence_of_every_attempt(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=503, close=True), Behaviour(fault="hang_up"),
                    Behaviour(status=404, delay=0.2), Behaviour())
    delivery = started(entity, hook)
    stack.wait_delivery(delivery, "entregada")
    attempts = stack.attempts(delivery)
    assert [a["numero"] for a in attempts] == [1, 2, 3, 4]
    assert [a["estado_http"] for a in attempts] == [503, None, 404, 200]
    assert [bool(a["error"]) for a in attempts] == [True, True, True, False]
    assert 200 <= attempts[2]["duracion_ms"] < 2000
    assert [a["inicio"] for a in attempts] == sorted(a["inicio"] for a in attempts)


def test_a_kept_connection_that_the_receiver_closes_costs_no_attempt(entity, receiver, stack):
    """A receiver may close a kept connection at any time. The request is sent again at once, on a new connection, with the same id."""
    hook = entity.register()
    stack.wait_delivery(started(entity, hook), "entregada")
    receiver.behave(hook.path, Behaviour(fault="hang_up"), Behaviour())
    shown = stack.wait_delivery(started(entity, hook), "entregada")
    _, closed, answered = receiver.requests(hook.path)
    assert closed.id == answered.id and closed.connection != answered.connection
    assert shown["intentos"] == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_never_followed(entity, receiver, stack, status):
    hook, trap = entity.register(), f"/trap{entity.id}"
    elsewhere = {"Location": hook.url.removesuffix(hook.path) + trap}  # at the same receiver
    receiver.behave(hook.path, Behaviour(status=status, headers=elsewhere), Behaviour())
    delivery = started(entity, hook)
    stack.wait_delivery(delivery, "entregada")
    assert stack.attempts(delivery)[0]["estado_http"] == status and stack.attempts(delivery)[0]["error"]
    assert receiver.requests(trap) == []


@pytest.mark.parametrize("status", [304, 400, 401, 403, 404, 418, 429, 500, 501, 503, 599])
def test_every_other_status_is_retried(entity, receiver, stack, status):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=status), Behaviour())
    shown = stack.wait_delivery(started(entity, hook), "entregada")
    assert shown["intentos"] == 2


@pytest.mark.parametrize("fault", [
    "hang_up_early", "hang_up", "half_headers", "garbage", "silent", "drip", "endless_headers"])
def test_faults_of_transport_leave_no_status(entity, receiver, stack, fault):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(fault=fault), Behaviour())
    delivery = started(entity, hook)
    stack.wait_delivery(delivery, "entregada")
    first, second = stack.attempts(delivery)
    assert first["estado_http"] is None and first["error"] and (second["estado_http"], second["error"]) == (200, "")
    if fault in ("silent", "drip"):
        assert 1900 <= first["duracion_ms"] < 10_000, "delivery.timeout is 2 s here"


@pytest.mark.parametrize("fault", ["half_body", "endless_body"])
def test_a_delivery_succeeds_despite_a_faulty_body(entity, receiver, stack, fault):
    """The answer's status, which arrives before the body, decides. The test also accepts a second attempt, with the same id."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(fault=fault, body="0123456789"), Behaviour())
    stack.wait_delivery(started(entity, hook), "entregada")
    assert len({r.id for r in receiver.requests(hook.path)}) == 1


def test_an_answer_before_the_body_was_read(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(fault="early"))
    assert stack.wait_delivery(started(entity, hook), "entregada")["intentos"] == 1


def test_a_receiver_slower_than_the_time_out(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(delay=3), Behaviour(delay_body=3, body="x"), Behaviour(delay=1))
    delivery = started(entity, hook)
    stack.wait_delivery(delivery, "entregada")
    first = stack.attempts(delivery)[0]
    assert first["estado_http"] is None and 1900 <= first["duracion_ms"] < 10_000
    assert stack.attempts(delivery)[-1]["error"] == ""


def test_an_untrusted_certificate_fails_the_attempt(entity, untrusted_receiver, stack):
    hook = entity.register(port=untrusted_receiver.port)
    delivery = started(entity, hook)
    wait_until(lambda: stack.attempts(delivery), what="an attempt")
    assert stack.attempts(delivery)[0]["estado_http"] is None and stack.attempts(delivery)[0]["error"]
    assert untrusted_receiver.requests() == []
    wait_until(lambda: entity.listed(hook)["ultimoError"], what="the error in the listing")
    assert entity.listed(hook)["ultimoEstado"] is None


def test_a_closed_port(entity, stack):
    hook = entity.register(port=free_port())
    shown = stack.wait_delivery(started(entity, hook), "fallida")
    assert shown["ultimo_estado"] is None and shown["ultimo_error"] and shown["intentos"] == ATTEMPTS


@pytest.mark.parametrize("status, value, at_least", [
    (503, "2", 2.0), (429, "2", 2.0), (503, "0", 0.3), (503, "-5", 0.3), (503, "soon", 0.3), (500, "60", 0.3),
])
def test_retry_after(entity, receiver, stack, status, value, at_least):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=status, headers={"Retry-After": value}), Behaviour())
    stack.wait_delivery(started(entity, hook), "entregada")
    gap = gaps(receiver.requests(hook.path))[0]
    assert at_least * 0.95 <= gap < at_least + 10


def test_a_retry_after_with_a_date(entity, receiver, stack):
    hook = entity.register()
    due = int(time.time()) + 5
    receiver.behave(hook.path, Behaviour(status=503, headers={"Retry-After": formatdate(due, usegmt=True)}), Behaviour())
    stack.wait_delivery(started(entity, hook), "entregada", 30)
    assert due - 1 <= receiver.requests(hook.path)[1].wall_ns / 1e9 < due + 10


def test_an_absurd_retry_after_is_bounded(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=503, headers={"Retry-After": "9" * 30}))
    delivery = started(entity, hook)
    wait_until(lambda: stack.delivery(delivery)["intentos"] == 1)
    seconds = int(stack.value(
        f"SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), proximo_intento) FROM entregas WHERE id = {delivery}"))
    assert 86300 < seconds <= 86400


def test_429_rests_the_whole_webhook(entity, receiver, stack):
    hook, other = entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.cerrada"])
    receiver.behave(hook.path, Behaviour(status=429, headers={"Retry-After": "8"}), Behaviour())
    started(entity, hook)
    first = receiver.wait(hook.path)[0]
    wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 429, what="the 429 in the listing")
    entity.notify()
    entity.notify("evaluacion.cerrada")
    beside = receiver.wait(other.path)[0]
    later = receiver.wait(hook.path, 3, 30)[1:]
    assert all(r.monotonic_ns - first.monotonic_ns > 7.9e9 and r.monotonic_ns > beside.monotonic_ns for r in later)


def test_a_backlog_sends_at_most_ten_attempts_before_a_rest(entity, receiver, stack):
    """A webhook has at most ten attempts in flight, and they all get a 429. No other attempt starts once the first
    429 is recorded."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=429, headers={"Retry-After": "60"}))
    stack.admin("queue", "pause")
    for _ in range(60):
        entity.notify()
    stack.admin("queue", "resume")
    wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 429, what="the 429 in the listing")
    assert 1 <= len(receiver.requests(hook.path)) <= 10
    holds_for(1, lambda: len(receiver.requests(hook.path)) <= 10, "no more while it rests")


def test_410_deactivates_and_enable_releases(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=410), Behaviour())
    gone = started(entity, hook)
    wait_until(lambda: entity.listed(hook)["activo"] is False, what="the webhook to be inactive")
    shown = stack.admin("webhook", "show", hook.id)
    assert shown["motivo"] == "http_410" and shown["ultimo_estado"] == 410
    later = started(entity, hook)
    stack.wait_delivery(later, "retenida")
    assert entity.api("POST", BASE + "/test", json_body={"evento": "evaluacion.abierta"}).status == 404
    holds_for(0.5, lambda: len(receiver.requests(hook.path)) == 1, "nothing sent while inactive")
    stack.wait_delivery(gone, "retenida")
    stack.admin("webhook", "enable", hook.id)
    for delivery in (gone, later):
        stack.wait_delivery(delivery, "entregada")
    assert entity.listed(hook)["activo"] is True and entity.listed(hook)["ultimoError"] == ""


def test_an_inactive_webhook_holds_and_discard_cancels(entity, receiver, stack):
    hook = entity.register()
    stack.admin("webhook", "disable", hook.id)
    assert stack.admin("webhook", "show", hook.id)["motivo"] == "operador"
    held = [started(entity, hook) for _ in range(3)]
    for delivery in held:
        stack.wait_delivery(delivery, "retenida")
    stack.admin("webhook", "enable", hook.id, "--discard")
    assert {stack.delivery(d)["estado"] for d in held} == {"cancelada"}
    stack.wait_delivery(started(entity, hook), "entregada")
    assert len(receiver.requests(hook.path)) == 1


def test_a_failed_delivery_is_replayed_by_the_operator(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, *[Behaviour(status=500)] * ATTEMPTS, Behaviour())
    delivery = started(entity, hook)
    stack.wait_delivery(delivery, "fallida")
    stack.admin("delivery", "retry", delivery)
    shown = stack.wait_delivery(delivery, "entregada")
    assert shown["intentos"] == ATTEMPTS + 1
    assert len({r.id for r in receiver.requests(hook.path)}) == 1


def test_all_failed_deliveries_of_a_webhook_are_replayed(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    deliveries = [started(entity, hook) for _ in range(3)]
    for delivery in deliveries:
        stack.wait_delivery(delivery, "fallida")
    receiver.behave(hook.path, Behaviour())
    stack.admin("delivery", "retry", "--webhook", hook.id, "--since", "2000-01-01T00:00:00Z")
    for delivery in deliveries:
        stack.wait_delivery(delivery, "entregada")


def test_a_test_event_is_retried_twice_at_most(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    entity.api("POST", BASE + "/test", json_body={"evento": "evaluacion.abierta"})
    receiver.wait(hook.path, 3)
    wait_until(lambda: [d["estado"] for d in stack.admin("delivery", "list", "--webhook", hook.id)] == ["fallida"])
    assert len(receiver.requests(hook.path)) == 3
    assert stack.value(f"SELECT fallos FROM webhook_ejecuciones WHERE webhook_id = {hook.id}") == "0"


def test_a_webhook_that_does_nothing_but_fail_is_deactivated(entity, receiver, stack):
    hook, healthy = entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.cerrada"])
    receiver.behave(hook.path, Behaviour(status=500))
    with stack.dispatcher_with(APIENTIDADES_DELIVERY_DISABLE_AFTER="1s"):
        for _ in range(4):
            entity.notify()
        wait_until(lambda: not entity.listed(hook)["activo"], what="the webhook to be deactivated")
        assert len(receiver.requests(hook.path)) >= 10
        assert stack.admin("webhook", "show", hook.id)["motivo"] == "fallos"
        assert entity.listed(healthy)["activo"] is True


def test_what_the_entity_reads_of_an_error_is_not_the_receivers_text(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500, body="unmistakable", headers={"X-Secret": "unmistakable"}))
    started(entity, hook)
    wait_until(lambda: entity.listed(hook)["ultimoError"], what="an error in the listing")
    assert "unmistakable" not in entity.api("GET", BASE).text


def test_what_waited_behind_a_failure_comes_before_what_is_newer(entity, receiver, stack):
    """After a failure, claimed deliveries that have not started are handed back, and claimed again in order. Those that were being
    handed to the network meanwhile may overtake them: at most as many as a webhook may have in hand."""
    hook = entity.register()
    # The receiver answers this delivery quickly. The dispatcher then sends later ones one after the other on few connections.
    stack.wait_delivery(started(entity, hook), "entregada")
    stack.admin("queue", "pause", "--webhook", hook.id)
    count = 200
    row = f"({entity.id}, 'evaluacion.abierta', '{json.dumps(DATA['evaluacion.abierta'])}')"
    stack.sql("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES " + ", ".join([row] * count))
    wait_until(lambda: stack.count_deliveries(hook.id, "pendiente") == count, 20, "all to wait")
    receiver.behave(hook.path, *[Behaviour()] * 57, Behaviour(fault="half_headers"), Behaviour())
    stack.admin("queue", "resume", "--webhook", hook.id)
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == count + 1, 30, "all to arrive")
    numbers = [int(request.id.rpartition("_")[2]) for request in receiver.requests(hook.path)]
    first_attempts = list(dict.fromkeys(numbers))
    assert len(numbers) == count + 2
    assert all(abs(place - first_attempts.index(number)) <= 10 for place, number in enumerate(sorted(first_attempts)))
