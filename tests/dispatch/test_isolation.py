"""No entity delays another: with more demand than slots, with locked rows, with a database that refuses rows."""
import contextlib
import time

import pytest

from dispatch.test_poison import refused
from fakes.receiver import Behaviour
from support.actors import BASE
from support.later import Later
from support.locks import in_background
from support.metrics import observed_dispatcher
from support.sql import insert
from support.stack import setting
from support.wait import wait_until


def delivered(stack, hooks) -> list[int]:
    """Returns for each webhook how many of its deliveries are delivered. One statement reads all counts."""
    counts = dict.fromkeys((hook.id for hook in hooks), 0)
    rows = stack.sql("SELECT webhook_id, COUNT(*) FROM entregas WHERE estado = 'entregada' AND webhook_id IN"
                     f" ({','.join(map(str, counts))}) GROUP BY webhook_id")
    return list((counts | {int(id): int(count) for id, count in rows}).values())


def waited_in_vain(stack) -> int:
    """Returns how often a task of the dispatcher, other than the recording of results, has waited for a lock until the
    time-out."""
    lines = stack.dev("logs", "dispatcher").stdout.splitlines()
    return sum("transaction conflict" in line and "error 1205" in line and "task=record" not in line for line in lines)


def test_with_more_demand_than_slots_all_get_some(new_entity, receiver, stack):
    entities = [new_entity() for _ in range(5)]
    hooks = [entity.register() for entity in entities]
    for hook in hooks:
        receiver.behave(hook.path, Behaviour(delay=0.02))
        stack.admin("webhook", "disable", hook.id)
    for entity in entities:
        for _ in range(60):
            entity.notify()
    ids = ",".join(str(hook.id) for hook in hooks)
    held = f"SELECT COUNT(*) FROM entregas WHERE webhook_id IN ({ids}) AND estado = 'retenida'"
    wait_until(lambda: int(stack.value(held)) == 300, 30, "all to be held")
    with stack.dispatcher_with(**setting(delivery_max_in_flight="2")):
        stack.admin("queue", "pause")  # so that all compete from the first delivery on
        for hook in hooks:
            stack.admin("webhook", "enable", hook.id)
        wait_until(lambda: int(stack.value(held)) == 0, 30, "all to be released")
        stack.admin("queue", "resume")
        wait_until(lambda: sum(delivered(stack, hooks)) >= 100, 60, "some of them")
        counts = delivered(stack, hooks)
    assert min(counts) >= max(counts) / 4, counts
    wait_until(lambda: sum(delivered(stack, hooks)) == 300, 60, "all of them")


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("table, column", [("webhook_ejecuciones", "webhook_id"), ("webhooks", "id")])
def test_a_locked_row_delays_its_own_webhook_only(new_entity, receiver, stack, root, table, column):
    entities = [new_entity() for _ in range(4)]
    hooks = [entity.register() for entity in entities]
    for entity in entities:
        entity.notify()
    wait_until(lambda: sum(delivered(stack, hooks)) == 4, what="the first deliveries")
    root(f"START TRANSACTION; SELECT 1 FROM {table} WHERE {column} = {hooks[0].id} FOR UPDATE")
    waits = waited_in_vain(stack)
    for _ in range(20):
        for entity in entities:
            entity.notify()
    wait_until(lambda: delivered(stack, hooks)[1:] == [21, 21, 21], 20, "the other webhooks' deliveries")
    assert delivered(stack, hooks)[0] < 21, "the row was locked"
    assert waited_in_vain(stack) == waits, "claim and fan-out wait for no lock"
    root("ROLLBACK")
    wait_until(lambda: delivered(stack, hooks)[0] == 21, 30, "the rest")
    assert len(receiver.requests(hooks[0].path)) == 21, "and nothing twice"


def test_a_locked_index_gap_delays_only_adjacent_fan_outs(new_entity, receiver, stack, root):
    entities = [new_entity() for _ in range(5)]
    hooks = [entity.register() for entity in entities]
    # Each webhook rests and has one delivery that waits for an hour. So the index gaps that root locks below lie between the
    # deliveries of hooks[1] and hooks[3]. New deliveries are due at once, and the index puts them before the waiting one of their
    # webhook: only those of hooks[2] and hooks[3] fall into the gaps.
    for entity, hook in zip(entities, hooks):
        receiver.behave(hook.path, Behaviour(status=429, headers={"Retry-After": "3600"}))
        entity.notify()
        wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 429, what="an answer on record")
    locked = 2
    root("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    root("START TRANSACTION; SELECT 1 FROM entregas FORCE INDEX (entregas_por_reclamar)"
         f" WHERE espera = 'pendiente' AND webhook_id = {hooks[locked].id} FOR UPDATE")
    waits = waited_in_vain(stack)
    stack.admin("queue", "pause")  # so that one batch has them all
    notifications = [entity.notify() for entity in entities]
    stack.admin("queue", "resume")
    for free in (0, 1, 4):
        stack.wait_notification(notifications[free], "procesada")
    assert stack.notification(notifications[locked])["estado"] == "pendiente", "the gap was locked"
    assert waited_in_vain(stack) == waits, "no task waits for the lock"
    root("ROLLBACK")
    for held in (locked, 3):
        stack.wait_notification(notifications[held], "procesada", 30)


def test_held_rows_of_many_take_no_slot_of_the_others(new_entity, receiver, stack, root):
    """A result that cannot be recorded delays only its own webhook, however few slots there are."""
    entities = [new_entity() for _ in range(8)]
    hooks = [entity.register() for entity in entities]
    for entity in entities:
        entity.notify()
    wait_until(lambda: sum(delivered(stack, hooks)) == 8, what="the first deliveries")
    held, free = hooks[:6], hooks[6:]
    with stack.dispatcher_with(**setting(delivery_max_in_flight="4", delivery_lease="60s")):
        root("START TRANSACTION")
        # One statement per webhook: a statement for all of `held` would scan the table, and lock the rows of `free`, too.
        for hook in held:
            root(f"SELECT 1 FROM webhook_ejecuciones WHERE webhook_id = {hook.id} FOR UPDATE")
        for _ in range(20):
            for entity in entities:
                entity.notify()
        wait_until(lambda: delivered(stack, free) == [21, 21], 30, "the webhooks without a locked row")
        assert all(len(receiver.requests(hook.path)) <= 1 + 10 for hook in held), "no more than a webhook's own slots"
        root("ROLLBACK")
        wait_until(lambda: delivered(stack, hooks) == [21] * 8, 30, "the rest")
    assert all(len(receiver.requests(hook.path)) == 21 for hook in hooks), "and nothing twice"


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("lock", ["LOCK IN SHARE MODE", "FOR UPDATE"])
def test_a_lock_of_all_notifications_delays_no_delivery(new_entity, receiver, stack, lock):
    if lock == "FOR UPDATE" and "MariaDB" not in stack.value("SELECT VERSION()"):
        pytest.skip("MySQL requires the right to UPDATE for this")
    entities = [new_entity() for _ in range(3)]
    hooks = [entity.register() for entity in entities]
    receiver.behave(hooks[0].path, Behaviour(status=500))
    retried = stack.delivery_id(entities[0].notify(), hooks[0].id)
    receiver.behave(hooks[1].path, Behaviour(hold=True))
    under_way = [entities[1].notify() for _ in range(5)]
    receiver.wait(hooks[1].path, 1)
    wait_until(lambda: all(stack.notification(id)["estado"] == "procesada" for id in under_way), what="all to be taken up")
    before = len(receiver.wait(hooks[0].path, 1))
    writer = stack.writer()
    try:
        writer("START TRANSACTION")
        writer(f"SELECT COUNT(*) FROM (SELECT id FROM notificaciones_pendientes {lock}) t")
        writer(f"SELECT id FROM notificaciones_pendientes WHERE estado = 'pendiente' {lock}")
        receiver.release(hooks[1].path)
        wait_until(lambda: delivered(stack, [hooks[1]]) == [5], what="what was under way")
        # The retry is refused while an attempt of the delivery is in flight.
        wait_until(lambda: stack.try_admin("delivery", "retry", retried).returncode == 0, what="the delivery to be retried")
        receiver.wait(hooks[0].path, before + 1)
        assert entities[2].api("GET", BASE).status == 200
        assert entities[2].register().id, "a registration writes another table"
        begun = time.monotonic()
        test = entities[2].api("POST", f"{BASE}/test", json_body={"evento": "evaluacion.abierta"})
        assert test.status == 503 and time.monotonic() - begun < 10, test
        writer("ROLLBACK")
    finally:
        writer.close()
    assert entities[2].api("POST", f"{BASE}/test", json_body={"evento": "evaluacion.abierta"}).status == 200
    receiver.behave(hooks[0].path, Behaviour())
    entities[0].notify()
    wait_until(lambda: delivered(stack, [hooks[0]])[0] >= 1, what="a delivery after the lock")


def lock_notifications(stack, lock: str, which: str):
    """Locks notifications, as the evaluation system's user can with the right to SELECT alone. Returns the session that holds
    the locks."""
    if lock == "FOR UPDATE" and "MariaDB" not in stack.value("SELECT VERSION()"):
        pytest.skip("MySQL requires the right to UPDATE for this")
    writer = stack.writer()
    writer("START TRANSACTION")
    writer(f"SELECT COUNT(*) FROM (SELECT id FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE {which} {lock}) t")
    return writer


@pytest.mark.parametrize("lock", ["LOCK IN SHARE MODE", "FOR UPDATE"])
def test_locked_notifications_wait_and_new_ones_do_not(new_entity, receiver, stack, lock):
    entities = [new_entity() for _ in range(3)]
    hooks = [entity.register() for entity in entities]
    stack.admin("queue", "pause")
    ids = [entity.notify() for _ in range(6) for entity in entities] + [entities[0].notify(data={"nada": 1})]
    among = f"id IN ({', '.join(map(str, ids))})"
    pending = f"SELECT COUNT(*) FROM notificaciones_pendientes WHERE estado = 'pendiente' AND {among}"
    writer = lock_notifications(stack, lock, among)
    try:
        stack.admin("queue", "resume")
        for _ in range(2):
            for entity in entities:
                entity.notify()
        wait_until(lambda: delivered(stack, hooks) == [2, 2, 2], what="the new ones to be delivered beside the lock")
        assert int(stack.value(pending)) == len(ids), "their rows cannot be changed"
        writer("ROLLBACK")
    finally:
        writer.close()
        stack.admin("queue", "resume")
    wait_until(lambda: int(stack.value(pending)) == 0, what="those that were locked")
    wait_until(lambda: delivered(stack, hooks) == [8, 8, 8], what="all to be delivered")
    assert [len(receiver.requests(hook.path)) for hook in hooks] == [8, 8, 8], "nothing twice"
    assert stack.notification(ids[-1])["estado"] == "rechazada"


def test_the_operator_is_told_of_what_is_locked(entity, stack):
    entity.register()
    stack.admin("queue", "pause")
    try:
        id = entity.notify()
        stack.sql(f"UPDATE notificaciones_pendientes SET ocurrida_en = ocurrida_en - INTERVAL 2 MINUTE WHERE id = {id}")
        writer = lock_notifications(stack, "LOCK IN SHARE MODE", f"id = {id}")
        try:
            stack.admin("queue", "resume")
            locked = lambda: stack.admin("queue", "status").get("bloqueadas", {})
            wait_until(lambda: locked().get("primera") == id, what="queue status to name it")
            found = locked()
            assert found.pop("transacciones") == "none has locks for so long"  # this one is not as old as the row seems to be
            assert found == {"notificaciones": 1, "primera": id, "entidad_id": entity.id}
            writer("ROLLBACK")
        finally:
            writer.close()
        stack.wait_notification(id, "procesada")
        assert "bloqueadas" not in stack.admin("queue", "status")
    finally:
        stack.admin("queue", "resume")


def test_a_lock_that_ends_while_no_row_is_tried_is_no_longer_counted(entity, new_entity, stack, tmp_path):
    later, neighbour = Later(tmp_path), new_entity()
    entity.register(), (beside := neighbour.register())
    told = lambda: stack.dev("logs", "dispatcher").stdout.count("notifications wait for a lock of another session")
    with observed_dispatcher(stack, **later.environment) as scrape:
        locked = lambda: scrape().value("apientidades_notifications_locked")

        def lock(id: int):
            """Returns the session that holds the lock, once the lock is a minute old and is counted."""
            writer = lock_notifications(stack, "LOCK IN SHARE MODE", f"id = {id}")
            stack.admin("queue", "resume")
            stack.wait_delivery(stack.delivery_id(neighbour.notify(), beside.id), "entregada")  # the locked one has been passed over
            later.minute()
            wait_until(lambda: locked() == 1, what="the lock of a minute to be counted")
            return writer

        try:
            before = told()
            stack.admin("queue", "pause")
            first = entity.notify()
            with contextlib.closing(lock(first)) as writer:
                stack.admin("queue", "pause")
                writer("ROLLBACK")
            wait_until(lambda: locked() == 0, what="the end of the lock")
            later.minute()  # the next line may be logged
            second = entity.notify()
            with contextlib.closing(lock_notifications(stack, "LOCK IN SHARE MODE", f"id = {second}")):
                stack.admin("queue", "resume")
                stack.wait_notification(first, "procesada")
                assert locked() == 0 and told() == before + 1, "the lock that has ended"
        finally:
            stack.admin("queue", "resume")
        stack.wait_notification(second, "procesada")
        stack.admin("queue", "pause")
        third = entity.notify()
        lock(third)
        stack.stop("db", "-9")
        try:
            wait_until(lambda: locked() == 0, what="the database to be away")
        finally:
            stack.start("db")
            stack.connect_evaluation()
        stack.wait_notification(third, "procesada", 30)


def test_the_operator_is_told_who_blocks_inserts(entity, stack, root):
    """At REPEATABLE READ, a statement that writes elsewhere what it reads from the view locks what it reads."""
    root("CREATE TABLE suya (id BIGINT PRIMARY KEY); GRANT INSERT ON suya TO evaluacion@localhost")
    status = lambda: stack.admin("queue", "status").get("inserciones_bloqueadas")
    try:
        with contextlib.closing(stack.writer()) as holder, contextlib.closing(stack.writer()) as writer:
            holder("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION")
            holder("INSERT INTO suya SELECT notificacion_id FROM notificaciones_resultado WHERE estado = 'pendiente'")
            [[connection]] = holder("SELECT CONNECTION_ID()")
            waiting = in_background(writer, insert("notificaciones_pendientes", entidad_id=entity.id, evento="evaluacion.abierta", datos="{}"))
            found = wait_until(status, 30, "queue status to name the session", every=0.5)
            assert found["segundos"] >= 3
            assert f"connection {connection} of evaluacion from localhost since 20" in found["transacciones"]
            checked = stack.try_admin("queue", "status", "--check")
            assert checked.returncode == 2 and "BLOCKED: an INSERT of a notification has waited for" in checked.stdout
            holder("ROLLBACK")
            waiting.result(30)
        wait_until(lambda: status() is None, what="the end of the wait to be seen", every=0.15)  # the server caches it for 0.1 s
    finally:
        root("DROP TABLE suya")


def test_a_long_queue_of_slow_answers_gets_connections(entity, receiver):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(delay=0.1))
    for _ in range(30):
        entity.notify()
    receiver.wait(hook.path, 30)
    assert receiver.peak_in_flight(hook.path) > 1


def test_a_queue_of_quick_answers_shares_its_connections(entity, receiver, stack):
    hook = entity.register()
    stack.admin("queue", "pause")
    for _ in range(60):
        entity.notify()
    stack.admin("queue", "resume")
    requests = receiver.wait(hook.path, 60, 20)
    assert len({request.connection for request in requests}) <= 10


def test_results_that_are_all_refused_are_kept(entity, receiver, stack):
    hook = entity.register()
    with stack.dispatcher_with(**setting(delivery_lease="60s")):  # longer than this test takes on a slow machine
        with refused(stack, "intentos_entrega", "TRUE"):
            for _ in range(10):
                entity.notify()
            wait_until(lambda: "cannot be recorded" in stack.dev("logs", "dispatcher").stdout, what="the refusal")
            receiver.wait(hook.path, 1)
        wait_until(lambda: delivered(stack, [hook]) == [10], 30, "all to be recorded")
    assert len(receiver.requests(hook.path)) == 10, "nothing is sent again"


def test_results_refused_until_the_midst_of_them_are_kept(entity, receiver, stack):
    """The database refuses the first 15 rows of evidence that it gets, whichever results they belong to."""
    # The dispatcher gives up a result that the database refuses again after another result was recorded. No delivery of an earlier
    # test may wait, because its result could be that other one.
    stack.cancel_all_waiting()
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    with stack.dispatcher_with(**setting(delivery_timeout="30s", delivery_lease="60s")):
        with refused(stack, "intentos_entrega", "(@veces := COALESCE(@veces, 0) + 1) <= 15"):
            for _ in range(10):
                entity.notify()
            receiver.wait(hook.path, 10)
            receiver.release(hook.path)
            wait_until(lambda: delivered(stack, [hook]) == [10], 30, "all to be recorded")
    assert len(receiver.requests(hook.path)) == 10, "nothing is sent again"


@pytest.mark.usefixtures("patient")
def test_a_pause_returns_what_waits_for_a_connection(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    for _ in range(20):
        entity.notify()
    receiver.wait(hook.path, 1)
    stack.admin("queue", "pause")
    try:
        in_flight = f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id} AND estado = 'en_curso'"
        wait_until(lambda: int(stack.value(in_flight)) <= receiver.in_flight(hook.path), what="the rest to be returned")
    finally:
        stack.admin("queue", "resume")
        receiver.release(hook.path)
    wait_until(lambda: delivered(stack, [hook]) == [20], 30, "all to arrive")
    assert len(receiver.requests(hook.path)) == 20
