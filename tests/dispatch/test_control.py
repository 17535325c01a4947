"""What operators and entities do to a working queue (pause, delete, cancel), and unreadable secrets."""
import os

import pytest

from fakes import verify
from fakes.receiver import Behaviour
from support.actors import BASE
from support.locks import locked
from support.stack import setting
from support.wait import holds_for, wait_until


def started(entity, hook, **row):
    return entity.stack.delivery_id(entity.notify(**row), hook.id)


@pytest.fixture
def paused(stack):
    stack.admin("queue", "pause")
    yield
    stack.dev("admin", "queue", "resume", check=False)


def test_pause_and_resume(entity, receiver, stack, paused):
    hook = entity.register()
    assert stack.admin("queue", "status")["pausada"] is True
    for _ in range(3):
        entity.notify()
    entity.api("POST", BASE + "/test", json_body={"evento": "evaluacion.abierta"})
    holds_for(1, lambda: receiver.requests(hook.path) == [], "nothing sent while paused")
    stack.admin("queue", "resume")
    receiver.wait(hook.path, 4)
    assert stack.admin("queue", "status")["pausada"] is False


@pytest.mark.usefixtures("patient")
def test_a_pause_lets_what_is_in_flight_end(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    delivery = started(entity, hook)
    receiver.wait(hook.path)
    stack.admin("queue", "pause")
    try:
        receiver.release(hook.path)
        stack.wait_delivery(delivery, "entregada")
    finally:
        stack.admin("queue", "resume")


def test_a_pause_succeeds_although_the_queue_cannot_be_counted(stack):
    """A locked table, or a deep queue on a busy database, prevents the count. The pause must not look as if it had failed."""
    try:
        with locked(stack, "entregas"):
            done = stack.try_admin("queue", "pause")
        assert done.returncode == 0 and done.stdout == "Sending is now paused until `queue resume`.\n"
        assert "could not be counted" in done.stderr
        assert stack.admin("queue", "status")["pausada"] is True
        assert stack.admin("audit", "list", "--since", "1m")[-1]["accion"] == "queue pause"
    finally:
        stack.admin("queue", "resume")


def test_queue_status_says_what_to_do_about_a_locked_table(stack):
    with locked(stack, "entregas"):
        said = stack.try_admin("queue", "status").stderr
    assert "error 1205" in said and "SHOW FULL PROCESSLIST" in said


@pytest.mark.usefixtures("patient")
def test_queue_status_counts(entity, receiver, stack):
    before = stack.admin("queue", "status")
    assert set(before) >= {"notificaciones_pendientes", "entregas_pendientes", "en_curso", "retenidas", "fallidas",
                           "rechazadas", "mas_antigua_s", "pausada"}
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    started(entity, hook)
    receiver.wait(hook.path)
    stack.wait_notification(entity.notify(data="{}"), "rechazada")
    during = stack.admin("queue", "status")
    assert during["en_curso"] >= 1 and during["rechazadas"] == before["rechazadas"] + 1
    receiver.release(hook.path)


def test_a_check_tells_a_monitor_what_is_wrong(stack):
    def check(*thresholds, **settings):
        found = stack.dev("admin", "queue", "status", "--check", *thresholds, check=False, **settings)
        return found.returncode, found.stdout
    whatever = ("--warning", "30d", "--critical", "30d")  # earlier tests may have left rows
    status, text = check(*whatever)
    assert status == 0 and text.startswith("QUEUE OK - the oldest waits for ") and ";2592000;2592000 notificaciones_pen" in text
    stack.stop("dispatcher")
    try:
        stack.sql("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3) - INTERVAL 2 MINUTE")
        status, text = check(*whatever)
        assert status == 2 and "QUEUE CRITICAL - " in text and "; NO DISPATCHER has noted for 2 min " in text
    finally:
        stack.start("dispatcher")
    wait_until(lambda: check(*whatever)[0] == 0, 20, "the dispatcher to note that it works")
    status, text = check(**setting(database_socket="/nonexistent"))
    assert status == 3 and text.startswith("QUEUE UNKNOWN - the database cannot be asked: ")


def test_delete_cancels_what_was_pending(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=503, headers={"Retry-After": "60"}))
    first = started(entity, hook)
    wait_until(lambda: stack.delivery(first)["intentos"] == 1, what="the first attempt")
    waiting = started(entity, hook)
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
    stack.wait_delivery(first, "cancelada", 30)
    stack.wait_delivery(waiting, "cancelada", 30)
    assert len(receiver.requests(hook.path)) <= 2
    after = len(receiver.requests(hook.path))
    stack.wait_notification(entity.notify(), "procesada")
    holds_for(0.5, lambda: len(receiver.requests(hook.path)) == after, "nothing sent to a deleted webhook")


@pytest.mark.usefixtures("patient")
def test_delete_while_in_flight(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    delivery = started(entity, hook)
    receiver.wait(hook.path)
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
    receiver.release(hook.path)
    wait_until(lambda: stack.delivery(delivery)["estado"] in ("entregada", "cancelada"), what="the delivery to end")
    assert len(receiver.requests(hook.path)) == 1


def test_cancelling_a_notification(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=503, headers={"Retry-After": "60"}))
    notification = entity.notify()
    delivery = stack.delivery_id(notification, hook.id)
    wait_until(lambda: stack.delivery(delivery)["intentos"] == 1, what="the first attempt")
    stack.admin("notification", "cancel", notification)
    assert stack.notification(notification)["estado"] == "cancelada"
    assert stack.delivery(delivery)["estado"] == "cancelada"


def test_cancelling_before_it_was_fanned_out(entity, receiver, stack, paused):
    hook = entity.register()
    notification = entity.notify()
    stack.admin("notification", "cancel", notification)
    stack.admin("queue", "resume")
    entity.notify("evaluacion.cerrada")
    receiver.wait(hook.path)
    wait_until(lambda: receiver.in_flight(hook.path) == 0)
    assert [r.json()["evento"] for r in receiver.requests(hook.path)] == ["evaluacion.cerrada"]


def test_a_disabled_entity_sends_nothing(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=503), Behaviour())
    delivery = started(entity, hook)
    receiver.wait(hook.path)
    stack.admin("entity", "disable", entity.id)
    stack.wait_notification(entity.notify(), "rechazada")
    assert stack.delivery(delivery)["estado"] in ("pendiente", "retenida", "en_curso", "entregada")


def swap_secrets(stack, one, other):
    query = "SELECT HEX(secreto_sellado) FROM webhooks WHERE id = {}"
    ones, others = stack.value(query.format(one.id)), stack.value(query.format(other.id))
    update = "UPDATE webhooks SET secreto_sellado = UNHEX('{}') WHERE id = {};"
    stack.sql(update.format(others, one.id) + update.format(ones, other.id))


MINUTE = pytest.mark.skipif(not os.environ.get("TEST_LONG"), reason="takes a minute; --long")


# A second delivery waits until the webhook has rested for a minute, even if the secret is corrected earlier.
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=MINUTE)])
def test_a_secret_that_cannot_be_decrypted_holds_its_deliveries(entity, receiver, stack, count):
    """A sealed secret is bound to its webhook: once two webhooks' sealed secrets are swapped, neither can be decrypted."""
    one, other, healthy = entity.register(secret="uno"), entity.register(secret="dos"), entity.register(secret=None)
    swap_secrets(stack, one, other)
    notifications = [entity.notify() for _ in range(count)]
    held = [stack.delivery_id(id, hook.id) for hook in (one, other) for id in notifications]
    receiver.wait(healthy.path, count)
    sent = lambda: receiver.requests(one.path) + receiver.requests(other.path)
    holds_for(1.5, lambda: not sent(), "never sent, least of all unsigned")
    for delivery in held:
        shown = stack.delivery(delivery)
        assert shown["estado"] in ("pendiente", "retenida") and shown["intentos"] == 0
        assert stack.attempts(delivery) == []
    assert "secret" in stack.dev("logs", "dispatcher").stdout[-20000:].lower(), "the operator must be told"
    swap_secrets(stack, one, other)
    for hook in (one, other):
        stack.admin("webhook", "enable", hook.id)
        assert [verify.problems(r.headers, r.body, hook.secret) for r in receiver.wait(hook.path, count, 90)] == [[]] * count


def test_a_test_event_that_cannot_be_read_holds_itself_alone(entity, receiver, stack, paused):
    """The sealed data of the test event are overwritten. Only that event's delivery is held; the next notification is not delayed."""
    hook = entity.register(events=["evaluacion.abierta"])
    assert entity.api("POST", f"{BASE}/test", json_body={"evento": "evaluacion.abierta"}).status == 200
    stack.sql(f"UPDATE notificaciones_pendientes SET datos = '{{}}' WHERE origen = 'prueba' AND entidad_id = {entity.id}")
    test = stack.value(f"SELECT id FROM entregas WHERE webhook_id = {hook.id}")
    stack.admin("queue", "resume")
    wait_until(lambda: stack.delivery(test)["estado"] == "retenida", what="the test event to be held")
    entity.notify()
    receiver.wait(hook.path)
    assert stack.value(f"SELECT COUNT(*) FROM webhook_ejecuciones WHERE webhook_id = {hook.id} AND descansa_hasta IS NOT NULL") == "0"
    shown = stack.delivery(test)
    assert shown["intentos"] == 0 and "prueba" in shown["ultimo_error"]
