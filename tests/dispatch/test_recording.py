"""Results are recorded on a session of their own. A result that cannot be recorded must not delay the others."""
import contextlib
import re

import pytest

from dispatch.test_isolation import delivered
from dispatch.test_poison import refused
from fakes.receiver import Behaviour
from support.sql import SqlError
from support.stack import setting
from support.wait import holds_for, wait_until


@pytest.fixture
def logged(stack):
    """Returns a function that returns what the dispatcher has logged since the test began."""
    def text() -> str:
        return stack.dev("logs", "dispatcher").stdout

    before = len(text())
    return lambda: text()[before:]


def sessions(root, idle_s: int = 0) -> list[str]:
    """Returns the dispatcher's sessions that have been idle for at least `idle_s` seconds."""
    return [id for id, in root("SELECT id FROM information_schema.processlist WHERE user = 'apientidades_dispatcher'"
                               f" AND time >= {idle_s}")]


def kill(root, ids: list[str]):
    for id in ids:
        with contextlib.suppress(SqlError):  # the session has ended by itself
            root(f"KILL {id}")


@pytest.fixture
def one_session_only(stack, root):
    """Returns a function for `with one_session_only():`. Within the block the dispatcher can have only one session."""
    def limit(count: int):
        root(f"ALTER USER 'apientidades_dispatcher'@'localhost' WITH MAX_USER_CONNECTIONS {count}")

    @contextlib.contextmanager
    def limited():
        limit(1)
        try:
            kill(root, sessions(root))
            yield
        finally:
            limit(0)

    return limited


@pytest.mark.usefixtures("patient")
def test_a_locked_unstarted_delivery_delays_no_result(new_entity, receiver, stack, root):
    dark, other = new_entity(), new_entity()
    hook, free = dark.register(), other.register()
    other.notify()
    wait_until(lambda: delivered(stack, [free]) == [1], what="the first delivery")
    receiver.behave(hook.path, Behaviour(hold=True))
    for _ in range(10):
        dark.notify()
    leased = f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id} AND estado = 'en_curso'"
    wait_until(lambda: int(stack.value(leased)) == 10, what="all to be leased")
    root("START TRANSACTION")
    root(f"SELECT 1 FROM entregas WHERE webhook_id = {hook.id} ORDER BY id DESC LIMIT 1 FOR UPDATE")
    stack.admin("queue", "pause")
    wait_until(lambda: int(stack.value(leased)) < 10, what="the deliveries that have not started to be given back")
    stack.admin("queue", "resume")
    for _ in range(5):
        other.notify()
    wait_until(lambda: delivered(stack, [free]) == [6], 20, "the other entity's results")
    root("ROLLBACK")
    receiver.release(hook.path)
    wait_until(lambda: delivered(stack, [hook]) == [10], 30, "the rest")


def test_a_session_that_was_idle_for_too_long_is_replaced_without_a_word(entity, stack, root, logged):
    hook = entity.register()
    with stack.dispatcher_with():
        entity.notify()
        wait_until(lambda: delivered(stack, [hook]) == [1], what="the first delivery")

        kill(root, wait_until(lambda: sessions(root, 2), what="a session to idle"))
        entity.notify()
        wait_until(lambda: delivered(stack, [hook]) == [2], what="the next one")
        assert "results cannot be recorded" not in logged()


def test_a_server_that_prepares_no_more_statements_costs_no_result(new_entity, receiver, stack, root, logged):
    """The server has one limit for all its sessions, and another program may use it up over weeks. When the limit is reached
    here, the dispatcher has prepared no statement for a failed attempt."""
    good, bad = new_entity(), new_entity()
    free, failing = good.register(), bad.register()
    recorded = lambda: root(f"SELECT COUNT(*) FROM intentos_entrega WHERE entrega_id = {failed}") == [["1"]]
    given_up = lambda: "a refused result is given up" in logged()
    unavailable = lambda: re.search("results cannot be recorded: database unavailable.*max_prepared_stmt_count", logged())
    [[limit]] = root("SELECT @@GLOBAL.max_prepared_stmt_count")
    stack.cancel_all_waiting()
    with stack.dispatcher_with(**setting(delivery_timeout="30s", delivery_lease="60s")):
        receiver.behave(failing.path, Behaviour(status=500, hold=True))
        failed = stack.delivery_id(bad.notify(), failing.id)
        for count in (1, 2, 3):
            good.notify()
            wait_until(lambda: delivered(stack, [free]) == [count], what="a delivery")
        receiver.wait(failing.path)
        [[_, prepared]] = root("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")
        root(f"SET GLOBAL max_prepared_stmt_count = {prepared}")
        try:
            receiver.release(failing.path)
            wait_until(lambda: good.notify() and (unavailable() or recorded() or given_up()), 30, "the limit to be met")
        finally:
            root(f"SET GLOBAL max_prepared_stmt_count = {limit}")
        wait_until(lambda: recorded() or given_up(), 30, "the failed attempt to be recorded")
        assert recorded() and not given_up()


def test_while_only_the_session_that_records_is_away_nothing_more_is_sent(entity, receiver, stack, root, logged, one_session_only):
    hook = entity.register()
    entity.notify()
    wait_until(lambda: delivered(stack, [hook]) == [1], 20, "the first result to be recorded")
    with one_session_only():
        entity.notify()

        def fetched() -> bool:
            # If the session that records has connected first, the session that fetches cannot connect. So this ends every session
            # that has been idle for 2 s, which the session that fetches never is.
            kill(root, sessions(root, 2))
            return len(receiver.requests(hook.path)) == 2

        wait_until(fetched, 20, "the session that fetches to be connected")
        wait_until(lambda: "results cannot be recorded" in logged(), what="the refusal")
        for _ in range(5):
            entity.notify()
        holds_for(1.5, lambda: len(receiver.requests(hook.path)) == 2, "nothing more being sent")
    wait_until(lambda: delivered(stack, [hook]) == [7], 20, "the rest")
    assert len(receiver.requests(hook.path)) == 7, "none twice"
    assert "results are recorded again" in logged()


def test_uncommitted_rows_delay_only_their_own_webhooks(new_entity, stack, root):
    entities = [new_entity() for _ in range(10)]
    hooks = [entity.register() for entity in entities]
    other = new_entity()
    free = other.register()
    root("START TRANSACTION")
    root("INSERT INTO webhook_ejecuciones (webhook_id, ultimo_error) VALUES "
         + ", ".join(f"({hook.id}, '')" for hook in hooks))
    stack.admin("queue", "pause")
    for entity in entities:
        entity.notify()
    other.notify()
    stack.admin("queue", "resume")
    wait_until(lambda: delivered(stack, [free]) == [1], 6, "the delivery without a locked row")
    other.notify()
    wait_until(lambda: delivered(stack, [free]) == [2], 6, "the next delivery of the same webhook")
    root("ROLLBACK")
    wait_until(lambda: delivered(stack, hooks) == [1] * 10, 30, "the rest")


def lock_waits_s(root) -> int:
    """Returns how many seconds all sessions together have waited for row locks since the server's start."""
    return int(root("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_time'")[0][1]) // 1000


def test_rows_locked_all_the_time_hold_up_their_webhooks_only(new_entity, receiver, stack, root):
    """An operator's forgotten transaction locks rows: results stay in memory, and no session waits for the locks."""
    entities = [new_entity() for _ in range(6)]
    hooks = [entity.register() for entity in entities for _ in range(5)]
    other = new_entity()
    free = other.register()
    for entity in [*entities, other]:
        entity.notify()
    wait_until(lambda: delivered(stack, [*hooks, free]) == [1] * 31, 30, "the first ones")
    waited = lock_waits_s(root)
    with stack.dispatcher_with(**setting(delivery_lease="60s")):  # longer than the test takes on a slow machine
        for entity in entities:
            entity.notify()
        wait_until(lambda: delivered(stack, hooks) == [2] * 30, 30, "the second ones")
        root("START TRANSACTION")
        count = 1
        for locked, hook in enumerate(hooks, 1):  # each pass locks one more row
            root(f"SELECT 1 FROM webhook_ejecuciones WHERE webhook_id = {hook.id} FOR UPDATE")
            if locked % 5:
                continue
            entities[locked // 5 - 1].notify()
            for sent in hooks[locked - 5:locked]:
                receiver.wait(sent.path, 3)
            for _ in range(3):
                other.notify()
            count += 3
            wait_until(lambda: delivered(stack, [free]) == [count], what="the deliveries without a locked row")
        assert delivered(stack, hooks) == [2] * 30, "the rows were locked"
        assert lock_waits_s(root) == waited, "no session has waited for a lock"
        root("ROLLBACK")
        wait_until(lambda: delivered(stack, hooks) == [3] * 30, 30, "the rest")
    assert all(len(receiver.requests(hook.path)) == 3 for hook in hooks), "and nothing twice"


def test_a_result_that_waits_past_its_lease_is_not_sent_again(new_entity, receiver, stack, root, logged):
    entity, other = new_entity(), new_entity()
    hook, stray_hook = entity.register(), other.register()
    entity.notify()
    stray = stack.delivery_id(other.notify(), stray_hook.id)
    wait_until(lambda: delivered(stack, [hook, stray_hook]) == [1, 1], what="the first deliveries")
    root(f"START TRANSACTION; SELECT 1 FROM webhook_ejecuciones WHERE webhook_id = {hook.id} FOR UPDATE")
    waiting = stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: f"the results of its webhook wait webhook={hook.id}" in logged(), what="a result that waits")
    past = "arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND"
    stack.sql(f"UPDATE entregas SET {past} WHERE id = {waiting}")
    # A lease without a dispatcher: its recovery shows that leases were recovered.
    stack.sql(f"UPDATE entregas SET estado = 'en_curso', arriendo = 1, terminada_en = NULL, {past} WHERE id = {stray}")
    receiver.wait(stray_hook.path, 2)
    root("ROLLBACK")
    wait_until(lambda: delivered(stack, [hook, stray_hook]) == [2, 1], what="all to be recorded")
    assert len(receiver.requests(hook.path)) == 2, "nothing twice"
    assert len(stack.attempts(waiting)) == 1


@pytest.mark.usefixtures("patient")
def test_a_delivery_that_is_locked_keeps_no_other_of_its_webhook(entity, receiver, stack, root):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    locked = stack.delivery_id(entity.notify(), hook.id)
    entity.notify()
    receiver.wait(hook.path, 2)
    root("START TRANSACTION")
    root(f"SELECT 1 FROM entregas WHERE id = {locked} FOR UPDATE")
    receiver.release(hook.path)
    wait_until(lambda: delivered(stack, [hook]) == [1], what="the webhook's other delivery")
    entity.notify()
    wait_until(lambda: delivered(stack, [hook]) == [2], what="the next one")
    root("ROLLBACK")
    wait_until(lambda: delivered(stack, [hook]) == [3], what="the delivery that was locked")
    assert len(receiver.requests(hook.path)) == 3, "and nothing twice"


def test_a_few_refused_results_delay_no_other_result(new_entity, receiver, stack, logged):
    entity, other = new_entity(), new_entity()
    hook, free = entity.register(), other.register()
    with refused(stack, "intentos_entrega", f"NEW.entrega_id IN (SELECT id FROM entregas WHERE webhook_id = {hook.id})"):
        stack.admin("queue", "pause")
        entity.notify()
        entity.notify()
        stack.admin("queue", "resume")
        receiver.wait(hook.path, 2)
        wait_until(lambda: "cannot be recorded" in logged(), what="the refusal")
        other.notify()
        wait_until(lambda: delivered(stack, [free]) == [1], 5, "another's result")
        wait_until(lambda: "a refused result is given up" in logged(), 20, "a result to be given up: it was refused again after others were recorded")
    wait_until(lambda: delivered(stack, [hook]) == [2], 60, "their next attempts, after the leases")


def test_a_lock_of_a_whole_table_is_an_absence_of_the_database(new_entity, receiver, stack, root, logged):
    """A backup locks whole tables. The results are then retried together: tried one after the other, each would wait for seconds."""
    entities = [new_entity() for _ in range(4)]
    hooks = [entity.register() for entity in entities]
    for hook in hooks:
        receiver.behave(hook.path, Behaviour(hold=True))
    with stack.dispatcher_with(**setting(delivery_lease="60s", delivery_timeout="20s")):  # longer than the test takes on a slow machine
        lock_until_noticed(entities, hooks, receiver, stack, root, logged)


def lock_until_noticed(entities, hooks, receiver, stack, root, logged):
    for entity in entities:
        for _ in range(3):
            entity.notify()
    leased = f"SELECT COUNT(*) FROM entregas WHERE webhook_id IN ({', '.join(str(hook.id) for hook in hooks)}) AND estado = 'en_curso'"
    wait_until(lambda: int(stack.value(leased)) == 12, what="all to be leased")
    for hook in hooks:
        receiver.wait(hook.path, 1)
    root("LOCK TABLES entregas READ")
    try:
        for hook in hooks:
            receiver.release(hook.path)
        wait_until(lambda: "results cannot be recorded: database unavailable" in logged(), what="the absence to be noticed")
    finally:
        root("UNLOCK TABLES")
    wait_until(lambda: delivered(stack, hooks) == [3] * 4, 30, "all to be recorded")
    assert [len(receiver.requests(hook.path)) for hook in hooks] == [3] * 4, "nothing twice"
