"""Purges while deliveries go on: a purge delays no delivery for long, and may be killed at any point."""
import time

import pytest

from fakes.receiver import Behaviour, Receiver
from support.actors import BASE, Entity
from support.locks import in_background
from support.sql import SqlSession, numbers
from support.stack import Stack, setting
from support.wait import wait_until

OLD = 6_000
LEFT = "SELECT COUNT(*) FROM entregas WHERE terminada_en < UTC_TIMESTAMP(3) - INTERVAL 30 DAY"
# Counts the deliveries for which `intentos` is not the number of rows in intentos_entrega.
WITHOUT_EVIDENCE = ("SELECT COUNT(*) FROM entregas e WHERE intentos <> (SELECT COUNT(*) FROM intentos_entrega i"
                    " WHERE i.entrega_id = e.id)")


@pytest.fixture(scope="module")
def stack():
    running = Stack(setting(delivery_retry_jitter="0", delivery_retry_schedule="300ms")).up()
    yield running
    running.down()


@pytest.fixture(scope="module")
def receiver(stack):
    with Receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]) as running:
        yield running


@pytest.fixture
def root(root):
    """Deletes all notifications, deliveries and attempts first."""
    for table in ("intentos_entrega", "entregas", "notificaciones_pendientes"):
        root(f"DELETE FROM {table}")
    return root


@pytest.fixture
def entity(stack, receiver, root):
    return Entity(stack, receiver)


def add_old(root, hook, count=OLD, days=40, state="entregada"):
    """Adds `count` finished deliveries with one attempt each; they ended `days` days ago, a second apart."""
    root(f"SET @first = (SELECT COALESCE(MAX(id), 0) FROM notificaciones_pendientes),"
         f" @begin = UTC_TIMESTAMP(3) - INTERVAL {days} DAY")
    root("START TRANSACTION")
    root("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en) SELECT entidad_id,"
         " 'evaluacion.cerrada', '{\"evaluacionId\": 1, \"titulo\": \"t\"}', 'procesada', @begin + INTERVAL seq SECOND"
         f" FROM webhooks, {numbers(count)} WHERE id = {hook.id}")
    root("INSERT INTO entregas (notificacion_id, webhook_id, estado, intentos, proximo_intento, creada_en, terminada_en)"
         f" SELECT id, {hook.id}, '{state}', 1, terminada_en, terminada_en, terminada_en FROM notificaciones_pendientes"
         " WHERE id > @first ORDER BY id")
    root("INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, estado_http) SELECT id, 1, creada_en, 5, 200"
         " FROM entregas WHERE notificacion_id > @first")
    root("COMMIT")


def test_deliveries_and_inserts_go_on_during_a_purge(entity, receiver, stack, root):
    """During the purge a backup holds a snapshot, for which the database keeps every removed row."""
    hook = entity.register()
    backup = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")
    add_old(root, hook)
    backup("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    wait_until(lambda: 0 < int(root(LEFT)[0][0]) < OLD, 20, "the purge to be at work")
    written, inserts = {}, []
    while len(written) < 200 and int(root(LEFT)[0][0]) > 0:
        for _ in range(10):
            begin = time.monotonic()
            written[entity.notify()] = time.monotonic_ns()
            inserts.append(time.monotonic() - begin)
    requests = receiver.wait(hook.path, len(written), 60)
    wait_until(lambda: int(root(LEFT)[0][0]) == 0, 60, "all that is old to be gone")
    assert max(inserts) < 5 and sorted(inserts)[len(inserts) // 2] < 0.5
    arrivals = sorted(r.monotonic_ns for r in requests)
    late = [(a - w) / 1e9 for a, w in zip(arrivals, sorted(written.values()))]
    assert sorted(late)[len(late) // 2] < 5 and max(late) < 20
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == len(written), what="the new ones to be recorded")
    assert root("SELECT COUNT(*) FROM notificaciones_pendientes") == [[str(len(written))]]
    assert root(WITHOUT_EVIDENCE) == [["0"]]
    assert backup(LEFT) != [["0"]]
    backup.close()


def test_a_purge_that_is_killed_leaves_nothing_half_removed(entity, stack, root):
    hook = entity.register()
    add_old(root, hook)
    orphans = ("SELECT COUNT(*) FROM notificaciones_pendientes n WHERE NOT EXISTS (SELECT 1 FROM entregas e WHERE"
               " e.notificacion_id = n.id)")
    for part in (0.9, 0.6, 0.3):
        wait_until(lambda: int(root(LEFT)[0][0]) < part * OLD, 60, "some to be gone")
        stack.stop("dispatcher", "-9")
        assert root(WITHOUT_EVIDENCE) == root(orphans) == [["0"]]
        stack.start("dispatcher")
    wait_until(lambda: int(root(LEFT)[0][0]) == 0, 60, "all to be gone")
    for table in ("intentos_entrega", "entregas", "notificaciones_pendientes"):
        assert root(f"SELECT COUNT(*) FROM {table}") == [["0"]]


def test_what_is_replayed_during_a_purge_keeps_its_evidence(entity, receiver, stack, root):
    """A delivery is either gone, or sent again with all its evidence."""
    hook = entity.register()
    stack.stop("dispatcher")
    add_old(root, hook, 3000, 100, "fallida")
    stack.start("dispatcher")
    wait_until(lambda: int(root(LEFT)[0][0]) < 2700, 20, "the purge to be at work")
    replay = in_background(stack.admin, "delivery", "retry", "--webhook", hook.id, "--since", "2000-01-01T00:00:00Z")
    replayed = replay.result(60)["reintentadas"]
    assert 0 < replayed < 2700
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == replayed, 60, "the replayed ones to arrive")
    wait_until(lambda: int(root("SELECT COUNT(*) FROM entregas")[0][0]) == replayed, 60, "the others to be gone")
    assert root(WITHOUT_EVIDENCE) == [["0"]] and root("SELECT MIN(intentos) FROM entregas") == [["2"]]
    assert len({r.id for r in receiver.requests(hook.path)}) == replayed


def test_a_refused_purge_does_not_stop_other_maintenance(entity, receiver, stack, root):
    """The purge fails without the privilege to delete attempts, but other maintenance and deliveries go on."""
    hook, fresh = entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.cerrada"])
    receiver.behave(hook.path, Behaviour(status=503, headers={"Retry-After": "3600"}))
    right = "DELETE ON apientidades.intentos_entrega {} 'apientidades_dispatcher'@'localhost'"
    failures = lambda: stack.dev("logs", "dispatcher").stdout.count("maintenance task failed")
    stack.stop("dispatcher")
    root("REVOKE " + right.format("FROM"))
    try:
        before = failures()
        add_old(root, fresh, 10)
        stack.start("dispatcher")
        wait_until(lambda: failures() > before, 20, "the refusal to be logged")
        waiting = stack.delivery_id(entity.notify("evaluacion.abierta"), hook.id)
        wait_until(lambda: stack.attempts(waiting), what="a failure")
        assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
        stack.wait_delivery(waiting, "cancelada")
        entity.notify("evaluacion.cerrada")
        receiver.wait(fresh.path)
        assert root(LEFT) == [["10"]]
    finally:
        root("GRANT " + right.format("TO"))
        stack.stop("dispatcher")
        stack.start("dispatcher")
    wait_until(lambda: root(LEFT) == [["0"]], 30, "the old ones to go once the right is back")


def test_the_audit_goes_after_its_own_retention(entity, stack, root):
    root("DELETE FROM auditoria")
    for days in (8, 6):
        root("INSERT INTO auditoria (ocurrida_en, entidad_id, accion, detalle) VALUES"
             f" (UTC_TIMESTAMP(3) - INTERVAL {days} DAY, {entity.id}, 'cambio', '{{}}')")
    stack.stop("dispatcher")
    stack.start("dispatcher", **setting(retention_audit="7d"))
    wait_until(lambda: len(stack.admin("audit", "list", "--entity", entity.id)) == 1, 20, "the older one to be gone")
    assert root("SELECT MIN(ocurrida_en) > UTC_TIMESTAMP(3) - INTERVAL 7 DAY FROM auditoria") == [["1"]]
    stack.stop("dispatcher")
    stack.start("dispatcher")
