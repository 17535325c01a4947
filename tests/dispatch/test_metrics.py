"""The dispatcher's metrics, and STATUS= of the dispatcher and the API. Each test causes an event, and reads how the metrics or
STATUS= show it."""
import math
import re
import socket
import subprocess
import tempfile

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.metrics import observed_dispatcher
from support.stack import free_port, setting
from support.wait import holds_for, wait_until


@pytest.fixture(scope="module")
def scrape(stack):
    stack.cancel_all_waiting()
    with observed_dispatcher(stack) as scrape:
        yield scrape


def grows(scrape, before, by, name, **labels):
    wait_until(lambda: scrape().value(name, **labels) - before.value(name, **labels) == by, 30,
               f"{name}{labels} to grow by {by}")


def test_deliveries_retries_and_failures(scrape, stack, entity, receiver):
    before = scrape()
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500), Behaviour())
    entity.notify()
    grows(scrape, before, 1, "apientidades_deliveries_total", state="entregada")
    grows(scrape, before, 1, "apientidades_retries_total")
    grows(scrape, before, 1, "apientidades_attempts_total", outcome="http_5xx")
    grows(scrape, before, 1, "apientidades_attempts_total", outcome="delivered")
    grows(scrape, before, 1, "apientidades_attempt_duration_seconds_count", result="failed")
    grows(scrape, before, 1, "apientidades_notifications_total", state="procesada")
    receiver.behave(hook.path, Behaviour(status=404))
    entity.notify()
    grows(scrape, before, 1, "apientidades_deliveries_total", state="fallida")
    grows(scrape, before, 4, "apientidades_attempts_total", outcome="http_4xx")


def test_a_410_is_an_automatic_deactivation(scrape, stack, entity, receiver):
    before = scrape()
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=410))
    delivery = stack.delivery_id(entity.notify(), hook.id)
    grows(scrape, before, 1, "apientidades_webhooks_deactivated_total")
    grows(scrape, before, 1, "apientidades_attempts_total", outcome="http_410")
    stack.wait_delivery(delivery, "retenida")
    wait_until(lambda: scrape().value("apientidades_queue_deliveries", state="retenida") >= 1, what="a held delivery in the queue")
    entity.api("DELETE", f"{BASE}/{hook.id}")


def test_a_delivery_counts_once_it_is_recorded(scrape, entity, receiver, root):
    hook = entity.register()
    entity.notify()
    wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 200, what="an execution on record")
    before = scrape()
    root(f"START TRANSACTION; SELECT 1 FROM webhook_ejecuciones WHERE webhook_id = {hook.id} FOR UPDATE")
    entity.notify()
    wait_until(lambda: scrape().value("apientidades_unsettled") == 1, what="a result that waits for the lock")
    assert scrape().value("apientidades_deliveries_total", state="entregada") == before.value(
        "apientidades_deliveries_total", state="entregada")
    root("ROLLBACK")
    grows(scrape, before, 1, "apientidades_deliveries_total", state="entregada")


def test_a_rejected_row(scrape, stack, entity):
    before = scrape()
    stack.wait_notification(entity.notify(data="{}"), "rechazada")
    grows(scrape, before, 1, "apientidades_notifications_total", state="rechazada")
    wait_until(lambda: scrape().value("apientidades_queue_notifications", state="rechazada") >= 1, what="a rejected row in the queue")


def test_in_flight_depth_age_and_pause(scrape, stack, entity, receiver):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    entity.notify()
    wait_until(lambda: scrape().value("apientidades_in_flight") == 1, what="one in flight")
    receiver.release(hook.path)
    wait_until(lambda: scrape().value("apientidades_in_flight") == 0, what="none in flight")
    stack.admin("queue", "pause")
    try:
        wait_until(lambda: scrape().value("apientidades_paused") == 1, what="paused")
        entity.notify(ocurrida_en="2026-01-01 00:00:00")
        # `pending` is counted in the table, because the gauge is only as new as the dispatcher's last count.
        pending = int(stack.sql("SELECT COUNT(*) FROM notificaciones_pendientes WHERE estado = 'pendiente' AND aplazada_hasta IS NULL")[0][0])
        wait_until(lambda: scrape().value("apientidades_queue_notifications", state="pendiente") == pending, what="the depth")
        wait_until(lambda: scrape().value("apientidades_queue_oldest_seconds", of="notification") > 86400)
    finally:
        stack.admin("queue", "resume")
    wait_until(lambda: scrape().value("apientidades_paused") == 0
               and scrape().value("apientidades_queue_oldest_seconds", of="notification") == 0, what="caught up")


def test_a_secret_that_stays_unreadable_is_counted_again_and_again(scrape, stack, entity, receiver):
    hook = entity.register(secret="s3creto-de-prueba")
    spoil = f"UPDATE webhooks SET secreto_sellado = REVERSE(secreto_sellado) WHERE id = {hook.id}"
    stack.sql(spoil)
    before = scrape()
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "retenida")
    grows(scrape, before, 1, "apientidades_deliveries_total", state="retenida")
    grows(scrape, before, 1, "apientidades_unreadable_total")
    look_again = f"UPDATE webhook_ejecuciones SET descansa_hasta = NULL WHERE webhook_id = {hook.id}"
    stack.sql(look_again)  # otherwise the webhook rests for a minute
    grows(scrape, before, 2, "apientidades_unreadable_total")
    assert scrape().value("apientidades_deliveries_total", state="retenida") - before.value(
        "apientidades_deliveries_total", state="retenida") == 1
    stack.wait_delivery(delivery, "retenida")
    stack.sql(spoil)  # reversed again, so readable
    stack.sql(look_again)
    receiver.wait(hook.path, timeout=20)


def test_what_is_paused_on_its_own_is_not_late(scrape, stack, entity, receiver):
    hook = entity.register()
    stack.admin("queue", "pause", "--webhook", hook.id)
    try:
        wait_until(lambda: scrape().value("apientidades_paused_parts") == 1, what="the pause to be counted")
        delivery = stack.delivery_id(entity.notify(), hook.id)
        stack.sql(f"UPDATE entregas SET proximo_intento = UTC_TIMESTAMP(3) - INTERVAL 1 DAY WHERE id = {delivery}")
        holds_for(2, lambda: scrape().value("apientidades_queue_oldest_seconds", of="delivery") < 3600, "nothing late")
        assert stack.admin("queue", "status")["mas_antigua_s"] < 3600
    finally:
        stack.admin("queue", "resume", "--webhook", hook.id)
    receiver.wait(hook.path)
    wait_until(lambda: scrape().value("apientidades_paused_parts") == 0, what="no pause")


def test_entities_that_change_their_webhooks(scrape, stack, entity, new_entity):
    stack.sql("UPDATE auditoria SET ocurrida_en = ocurrida_en - INTERVAL 2 HOUR")
    wait_until(lambda: scrape().value("apientidades_entities_changing_webhooks") == 0, what="no entity to be counted")
    for one in (entity, new_entity()):
        hook = one.register()
        for events in (["evaluacion.abierta"], ["evaluacion.cerrada"]):
            assert one.api("PATCH", f"{BASE}/{hook.id}", json_body={"eventos": events}).status == 200
    wait_until(lambda: scrape().value("apientidades_entities_changing_webhooks") == 2, what="both entities to be counted")


def test_webhooks_near_their_deactivation(scrape, stack, entity, receiver):
    def past():
        return [scrape().value("apientidades_webhooks_near_deactivation", share=share) for share in ("0.5", "0.9")]

    def begin_streak(hours):
        stack.sql(f"UPDATE webhook_ejecuciones SET fallos_desde = UTC_TIMESTAMP(3) - INTERVAL {hours} HOUR WHERE webhook_id = {hook.id}")

    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "fallida")
    half, nine_tenths = wait_until(lambda: None if math.isnan(past()[0]) else past(), what="the first count")  # counts other tests' webhooks
    begin_streak(61)  # delivery.disable_after is 120 hours
    wait_until(lambda: past() == [half + 1, nine_tenths], what="one webhook past half")
    begin_streak(109)
    wait_until(lambda: past() == [half + 1, nine_tenths + 1], what="the same webhook past nine tenths")
    stack.sql("UPDATE reloj_visto SET salto_ms = 864000000")
    try:
        wait_until(lambda: all(math.isnan(value) for value in past()), what="the numbers to be unknown")
    finally:
        stack.sql("UPDATE reloj_visto SET salto_ms = 0")
    stack.admin("webhook", "disable", hook.id)
    wait_until(lambda: past() == [half, nine_tenths], what="the inactive webhook not to count")


def test_nothing_of_an_entity_is_in_the_metrics(scrape, new_entity, receiver):
    entity = new_entity(id=987_654_321_987)  # no number of the metrics has these digits by chance
    hook = entity.register(secret="unmistakable-secret")
    entity.notify()
    receiver.wait(hook.path)
    text = scrape().text
    assert [word for word in (hook.path[1:], "receptor.test", "unmistakable", str(entity.id)) if word in text] == []


def test_a_task_that_keeps_the_loop_from_all_others_is_counted_and_named(scrape, stack, root):
    before = scrape()
    root("LOCK TABLES reenvios WRITE")
    try:
        waiting = "SELECT 1 FROM information_schema.processlist WHERE state LIKE 'Waiting for table%' AND time >= 2"
        wait_until(lambda: root(waiting), 20, "the dispatcher to wait for the table")
    finally:
        root("UNLOCK TABLES")
    wait_until(lambda: scrape().value("apientidades_slow_tasks_total") > before.value("apientidades_slow_tasks_total"),
               what="the task to be counted")
    wait_until(lambda: re.search("a task kept the loop.* task=.*replays", stack.dev("logs", "dispatcher").stdout), what="its name")


def test_the_database_away(scrape, stack):
    before = scrape()
    assert before.value("apientidades_database_up") == 1
    rounds = before.value("apientidades_rounds_total")
    stack.stop("db", "-9")
    try:
        wait_until(lambda: scrape().value("apientidades_database_up") == 0, what="the database to be away")
        wait_until(lambda: math.isnan(scrape().value("apientidades_queue_deliveries", state="pendiente")), what="NaN")
        assert scrape().value("apientidades_database_errors_total", kind="unavailable") > before.value(
            "apientidades_database_errors_total", kind="unavailable")
    finally:
        stack.start("db")
        stack.connect_evaluation()
    wait_until(lambda: scrape().value("apientidades_database_up") == 1, what="the database to be back")
    wait_until(lambda: not math.isnan(scrape().value("apientidades_queue_deliveries", state="pendiente")), what="counts",
               timeout=20)
    assert scrape().value("apientidades_rounds_total") > rounds


def test_only_this_machine_reaches_them(scrape, stack):
    ports = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout
    pid = stack.pids("dispatcher")[0]
    listening = [line.split()[3] for line in ports.splitlines() if f"pid={pid}," in line]
    assert len(listening) == 1 and listening[0].startswith("127.0.0.1:"), listening


def test_an_address_in_use_stops_no_delivery(stack, entity, receiver):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        with stack.dispatcher_with(**setting(metrics_listen=address)):
            hook = entity.register()
            entity.notify()
            receiver.wait(hook.path)
            assert "metrics.listen" in stack.dev("logs", "dispatcher").stdout


def statuses(stack, part, enough, **settings):
    """Starts another process of that part; returns its first STATUS= for which `enough` is true."""
    command, environment = stack.command_of(part)
    with tempfile.TemporaryDirectory(prefix="apie-") as folder, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.socket(socket.AF_UNIX) as listener:
        manager.bind(f"{folder}/notify")
        manager.settimeout(15)
        listener.bind(f"{folder}/s")
        listener.listen()
        process = subprocess.Popen(command, env={**environment, **settings, "NOTIFY_SOCKET": f"{folder}/notify"},
                                   stdin=listener, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while True:
                message = manager.recv(4096).decode()
                if message.startswith("STATUS="):
                    assert "\n" not in message
                    if enough(message):
                        return message
        finally:
            process.terminate()
            assert process.wait(30) == 0


def test_the_status_line_of_the_dispatcher(stack, entity):
    stack.admin("queue", "pause")
    try:
        entity.notify(ocurrida_en="2026-01-01 00:00:00")
        interval = setting(metrics_queue_interval="200ms", metrics_listen="")
        status = statuses(stack, "dispatcher", lambda text: "PAUSED" in text, **interval)
        assert "1 notification and " in status and "the oldest for" in status and "0 in flight" in status
    finally:
        stack.admin("queue", "resume")


def test_the_status_line_of_the_pool(stack):
    status = statuses(stack, "fcgi", lambda text: "threads busy" in text, **setting(metrics_api_file=""))
    assert "0 of 16 threads busy; 0 requests answered" in status


def test_the_status_line_has_the_last_error(stack):
    bad = setting(metrics_queue_interval="200ms", metrics_listen="", delivery_poll_interval="10ms")
    right = "SELECT (id, activa) ON apientidades.entidades {} 'apientidades_dispatcher'@'localhost'"
    stack.sql("REVOKE " + right.format("FROM"))
    try:
        assert "1142" in statuses(stack, "dispatcher", lambda text: "last error" in text, **bad)
    finally:
        stack.sql("GRANT " + right.format("TO"))


def test_a_bad_address_is_refused(stack):
    command, environment = stack.command_of("dispatcher")
    port = free_port()
    for address in (f"0.0.0.0:{port}", f"[::]:{port}", f"localhost:{port}", str(port)):
        result = subprocess.run(command, env={**environment, **setting(metrics_listen=address)}, capture_output=True,
                                text=True, timeout=60)
        assert result.returncode == 2 and "metrics.listen" in result.stderr, result
