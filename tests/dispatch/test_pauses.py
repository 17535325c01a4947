"""`queue pause` of an entity, a webhook or a host: nothing is sent to it, and everything else is sent. With --for the pause ends
by itself."""
import time

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.metrics import observed_dispatcher
from support.stack import setting
from support.wait import holds_for, wait_until

# A request that is held and a retry that waits outlast the commands of a busy machine.
SLOW = setting(delivery_timeout="30s", delivery_lease="60s", delivery_retry_schedule="1h,1h", delivery_probe_interval="0s")


@pytest.fixture
def pause(stack):
    """A function that pauses an entity, a webhook or a host. The pauses end after the test."""
    selectors = []

    def of(option, value, *more):
        selectors.append((f"--{option}", value))
        return stack.admin("queue", "pause", *selectors[-1], *more)
    yield of
    for selector in selectors:
        stack.admin("queue", "resume", *selector)


def host_of(hook):
    return hook.url.split("/")[2].split(":")[0]


def selector(option, entity, hook):
    return {"entity": entity.id, "webhook": hook.id, "host": host_of(hook).upper()}[option]


def caught_up(entity, receiver, hook):
    """Waits until the dispatcher has seen everything written so far: writes a notification of another entity, and waits until it
    has arrived."""
    before = len(receiver.requests(hook.path))
    entity.notify()
    receiver.wait(hook.path, before + 1)


@pytest.mark.parametrize("option", ["entity", "webhook", "host"])
def test_a_pause_stops_its_part_and_nothing_else(entity, new_entity, receiver, stack, pause, option):
    hook, other = entity.register(), new_entity()
    others = other.register()
    shown = pause(option, selector(option, entity, hook), "--reason", "su mantenimiento")
    assert shown["objeto"] == str(selector(option, entity, hook)).lower() and shown["hasta"] is None
    notifications = [entity.notify() for _ in range(3)]
    assert entity.api("POST", BASE + "/test", json_body={"evento": "evaluacion.abierta"}).status == 200
    deliveries = [stack.delivery_id(one, hook.id) for one in notifications]
    for _ in range(3):
        caught_up(other, receiver, others)
    holds_for(1, lambda: receiver.requests(hook.path) == [], "nothing sent while paused")
    assert [stack.delivery(one)["intentos"] for one in deliveries] == [0, 0, 0]
    part = next(p for p in stack.admin("queue", "status")["pausas"] if p["objeto"] == shown["objeto"])
    assert part["motivo"] == "su mantenimiento" and stack.admin("queue", "status")["pausada"] is False
    assert f"--{option} {shown['objeto']}" in stack.dev("admin", "queue", "status").stdout
    why = stack.admin("webhook", "explain", hook.id)
    assert [c["causa"] for c in why["causas"]][:1] == ["pausa"] and "su mantenimiento" in why["causas"][0]["detalle"]
    stack.admin("queue", "resume", f"--{option}", selector(option, entity, hook))
    receiver.wait(hook.path, 4)
    assert [stack.wait_delivery(one, "entregada")["intentos"] for one in deliveries] == [1, 1, 1]


def test_a_pause_with_for_ends_by_itself(entity, receiver, stack, pause):
    hook = entity.register()
    shown = pause("webhook", hook.id, "--for", "2s")
    assert shown["hasta"]
    delivery = stack.delivery_id(entity.notify(), hook.id)
    receiver.wait(hook.path)
    stack.wait_delivery(delivery, "entregada")
    assert stack.admin("delivery", "show", delivery)["historial"][0]["inicio"] >= shown["hasta"]
    assert stack.admin("queue", "status")["pausas"] == []


def test_a_pause_outlasts_a_killed_dispatcher(entity, receiver, stack, pause):
    hook = entity.register()
    pause("entity", entity.id)
    stack.dev("kill", "dispatcher", "-9")
    notifications = [entity.notify() for _ in range(3)]
    stack.start("dispatcher")
    for one in notifications:
        stack.wait_notification(one, "procesada")
    holds_for(1, lambda: receiver.requests(hook.path) == [], "nothing sent after a restart")
    stack.admin("queue", "resume", "--entity", entity.id)
    receiver.wait(hook.path, 3)


def test_what_is_in_flight_ends_and_a_retry_waits_without_losing_its_place(entity, receiver, stack, pause):
    hook, failing = entity.register(), entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    receiver.behave(failing.path, Behaviour(status=503))
    with stack.dispatcher_with(**SLOW):
        notification = entity.notify()
        held, retried = (stack.delivery_id(notification, one.id) for one in (hook, failing))
        receiver.wait(hook.path)
        wait_until(lambda: stack.delivery(retried)["intentos"] == 1)
        pause("entity", entity.id)
        stack.sql(f"UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) WHERE id = {retried}")
        receiver.release(hook.path)
        stack.wait_delivery(held, "entregada")
        wait_until(lambda: stack.admin("webhook", "explain", failing.id)["vencidas"] == 1, 20, "the retry to be due")
        holds_for(1, lambda: len(receiver.requests(failing.path)) == 1, "no retry while paused")
        assert stack.delivery(retried)["intentos"] == 1
        receiver.behave(failing.path, Behaviour())
        stack.admin("queue", "resume", "--entity", entity.id)
        stack.wait_delivery(retried, "entregada")


@pytest.mark.parametrize("words, status, said", [
    (("--entity", 7, "--webhook", 3), 2, "only one of"), (("--for", "2h"), 2, "go with"), (("--reason", "x"), 2, "go with"),
    (("--webhook", 10**15), 1, "there is no webhook"), (("--entity", 10**15), 1, "there is no entity"),
    (("--host", "https://"), 2, "--host must be"), (("--host", "a b"), 2, "--host must be"),
    (("--host", "*.example.com"), 2, "--host must be"), (("--host", "2001:db8::1::2"), 2, "--host must be"),
    (("--host", "x", "--for", "0s"), 2, "--for must be"), (("--host", "x", "--for", "soon"), 2, "--for must be")])
def test_what_cannot_be_paused(stack, words, status, said):
    refused = stack.try_admin("queue", "pause", *words)
    assert refused.returncode == status and said in refused.stderr
    assert stack.admin("queue", "status")["pausas"] == [] and stack.admin("queue", "status")["pausada"] is False


@pytest.mark.parametrize("typed", ["2001:db8::1", "[2001:DB8:0::1]", "[2001:db8::1]:8443", "https://[2001:db8::0001]/x"])
def test_an_ipv6_address_is_paused_in_every_spelling_and_resumed_as_it_is_shown(stack, pause, typed):
    shown = pause("host", typed)
    assert shown["objeto"] == "2001:db8::1"
    resumed = stack.try_admin("queue", "resume", "--host", shown["objeto"])
    assert resumed.returncode == 0 and stack.admin("queue", "status")["pausas"] == []


def test_the_explanation_names_why_a_webhook_waits(entity, receiver, stack):
    hook = entity.register()
    names = lambda: [cause["causa"] for cause in stack.admin("webhook", "explain", hook.id)["causas"]]
    assert names() == []
    receiver.behave(hook.path, Behaviour(status=429, headers={"Retry-After": "60"}))
    delivery = stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: names()[:2] == ["descanso", "reintento"], what="the rest after a 429")
    why = stack.admin("webhook", "explain", hook.id)
    assert why["causas"][0]["hasta"] and why["causas"][1]["hasta"] == stack.delivery(delivery)["proximo_intento"]
    assert why["tope_a_la_vez"] == 1 and why["tope_por_segundo"] > 0 and why["duracion_ms"] is not None
    stack.admin("webhook", "disable", hook.id)
    assert "inactivo" in names()
    stack.admin("entity", "disable", entity.id)
    assert names()[0] == "entidad_desactivada"
    assert f"Webhook {hook.id} of entity {entity.id}" in stack.dev("admin", "webhook", "explain", hook.id).stdout
    assert stack.try_admin("webhook", "explain", 10**15).returncode == 1


def test_the_explanation_needs_no_right_to_the_key_file(entity, stack):
    hook = entity.register()
    assert stack.admin("webhook", "explain", hook.id, "--secrets.key_file=/nonexistent/keys")["causas"] == []


def test_the_loop_rests_in_a_pause_although_a_notification_is_passed_over(entity, receiver, stack):
    hook = entity.register()
    stack.admin("queue", "pause")
    locked = entity.notify()
    writer = stack.writer()
    with observed_dispatcher(stack) as scrape:
        try:
            writer("START TRANSACTION")
            writer(f"SELECT id FROM notificaciones_pendientes WHERE id = {locked} LOCK IN SHARE MODE")
            stack.admin("queue", "resume")
            entity.notify()
            receiver.wait(hook.path, 1)  # the locked one has been passed over
            stack.admin("queue", "pause")
            wait_until(lambda: scrape().value("apientidades_paused") == 1, what="the pause")
            begun, before = time.monotonic(), scrape().value("apientidades_rounds_total")
            rounds = lambda: scrape().value("apientidades_rounds_total") - before
            wait_until(lambda: rounds() > 30, 30, "rounds")
            assert rounds() / (time.monotonic() - begun) < 200
            writer("ROLLBACK")
        finally:
            writer.close()
            stack.admin("queue", "resume")
    receiver.wait(hook.path, 2)


def test_a_locked_notification_does_not_bypass_a_pause(new_entity, receiver, stack, pause):
    entity, other = new_entity(), new_entity()
    hook, beside = entity.register(), other.register()
    stack.admin("queue", "pause")
    pause("webhook", hook.id)
    notification = entity.notify()
    other.notify()
    writer = stack.writer()
    try:
        writer("START TRANSACTION")
        writer("SELECT COUNT(*) FROM (SELECT id FROM notificaciones_pendientes LOCK IN SHARE MODE) t")
        stack.admin("queue", "resume")
        writer("ROLLBACK")
    finally:
        writer.close()
    receiver.wait(beside.path, 1)
    wait_until(lambda: stack.notification(notification)["estado"] == "procesada", what="the paused webhook's notification to be fanned out")
    holds_for(0.5, lambda: receiver.requests(hook.path) == [], "nothing sent while paused")
    stack.admin("queue", "resume", "--webhook", hook.id)
    receiver.wait(hook.path, 1)
