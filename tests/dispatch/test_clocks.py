"""The wall clock of the dispatcher or of the database jumps by an hour, a day or 100 days: no burst and no standstill follows."""
import time

import pytest

from fakes.receiver import Behaviour, Receiver
from support.actors import BASE, Entity
from support.faketime import WallClock, old_certificates
from support.sql import SqlError
from support.stack import Stack, setting
from support.wait import holds_for, wait_until

HOUR, DAY = 3600, 86400
TIMEOUT, LEASE, STEP = 10, 20, 300  # seconds; STEP is the wait before the second retry
PER_WEBHOOK = 10  # the default of delivery.max_in_flight_per_webhook


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return old_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def stack(certificates):
    running = Stack(setting(
        delivery_connect_timeout="5s", delivery_timeout=f"{TIMEOUT}s", delivery_lease=f"{LEASE}s",
        delivery_retry_schedule=f"300ms,{STEP}s", delivery_retry_jitter="0", delivery_ca_file=certificates[0])).up()
    yield running
    running.down()


@pytest.fixture(scope="module")
def receiver(certificates):
    with Receiver(*certificates[1:]) as running:
        yield running


@pytest.fixture
def entity(stack, receiver):
    return Entity(stack, receiver)


def seconds_since(monotonic_ns: int) -> float:
    return (time.monotonic_ns() - monotonic_ns) / 1e9


@pytest.fixture
def hooks(entity):
    """Five webhooks, each as (event, webhook)."""
    events = ["evaluacion.abierta", "evaluacion.prorroga", "evaluacion.cerrada", "incidencia.cerrada", "incidencia.respuesta"]
    return [(event, entity.register([event])) for event in events]


# The dispatcher's wall clock (docs/delivery.md#clocks).

@pytest.fixture(scope="module")
def jumping_dispatcher(stack, tmp_path_factory):
    clock = WallClock(tmp_path_factory.mktemp("clock"))
    with stack.dispatcher_with(**clock.environment):
        yield clock


@pytest.fixture
def dispatcher_clock(jumping_dispatcher):
    yield jumping_dispatcher
    jumping_dispatcher.jump_to(0)


@pytest.mark.parametrize("ahead", [HOUR, -HOUR, DAY, -DAY])
def test_the_dispatchers_clock_jumps(dispatcher_clock, entity, receiver, stack, hooks, ahead):
    (silence, silent), (holding, held), (asking, asked), (news, fresh), _ = hooks
    receiver.behave(asked.path, Behaviour(status=503, headers={"Retry-After": "3600"}))
    waiting = stack.delivery_id(entity.notify(asking), asked.id)
    wait_until(lambda: stack.attempts(waiting), what="the failure")
    receiver.behave(silent.path, Behaviour(fault="silent"), Behaviour())
    receiver.behave(held.path, Behaviour(hold=True))
    timed_out = stack.delivery_id(entity.notify(silence), silent.id)
    in_flight = stack.delivery_id(entity.notify(holding), held.id)
    started = receiver.wait(silent.path)[0].monotonic_ns
    receiver.wait(held.path)

    dispatcher_clock.jump_to(ahead)
    written = time.monotonic_ns()
    entity.notify(news)
    request = receiver.wait(fresh.path)[0]
    assert (request.monotonic_ns - written) / 1e9 < TIMEOUT / 2, "polling goes on"
    assert abs(int(request.headers["webhook-timestamp"]) - (time.time() + ahead)) < 60
    assert receiver.in_flight(silent.path) == receiver.in_flight(held.path) == 1, "no time-out comes early"
    receiver.release(held.path)
    stack.wait_delivery(in_flight, "entregada")
    assert entity.api("DELETE", f"{BASE}/{asked.id}").status == 200

    retried = receiver.wait(silent.path, 2, TIMEOUT + 20)[1].monotonic_ns
    assert TIMEOUT <= (retried - started) / 1e9 < TIMEOUT + 10, "no time-out comes late, and the schedule goes on"
    stack.wait_delivery(timed_out, "entregada")
    first, _ = stack.attempts(timed_out)
    assert TIMEOUT * 1000 - 100 <= first["duracion_ms"] < TIMEOUT * 1000 + 5000, "the evidence has the true duration"
    assert len(receiver.requests(held.path)) == len(receiver.requests(fresh.path)) == 1
    stack.wait_delivery(waiting, "cancelada", 30)  # maintenance goes on


# The database's clock: leases, the schedule and rests depend on it.

@pytest.fixture(scope="module")
def jumping_database(stack, tmp_path_factory):
    clock = WallClock(tmp_path_factory.mktemp("clock"))
    stack.stop("db")
    stack.start("db", **clock.environment)
    stack.connect_evaluation()
    return clock


@pytest.fixture
def root(jumping_database, root):
    return root


@pytest.fixture
def database_clock(jumping_database, root):
    yield jumping_database
    jumping_database.jump_to(0)
    wait_until(lambda: root("SELECT hora <= UTC_TIMESTAMP(3) AND hora > UTC_TIMESTAMP(3) - INTERVAL 30 SECOND"
                            " FROM reloj_visto") == [["1"]], 30, "the dispatcher to have seen the true time")


def counted(root, hook, condition) -> int:
    return int(root(f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id} AND {condition}")[0][0])


def fill(entity, receiver, event, hook, count=25):
    """Leaves some of `count` deliveries in flight, and the others pending."""
    receiver.behave(hook.path, Behaviour(hold=True))
    for _ in range(count):
        entity.notify(event)
    receiver.wait(hook.path, 2)


def fail_twice(entity, receiver, root, event, hook, count=30):
    """Makes `count` deliveries wait for the second, long step of the schedule; returns how many requests have arrived."""
    receiver.behave(hook.path, Behaviour(status=500))
    for _ in range(count):
        entity.notify(event)
    wait_until(lambda: counted(root, hook, "intentos = 2 AND estado = 'pendiente'") == count, 30, "two failures of each")
    return len(receiver.requests(hook.path))


@pytest.mark.parametrize("ahead", [HOUR, DAY])
def test_the_databases_clock_goes_forward(database_clock, entity, receiver, stack, root, hooks, ahead):
    """A clock jumps like this when a suspended machine wakes up: everything that waited is due, and every lease seems expired."""
    (waits, waiting), (fills, busy), *_ = hooks
    failed = fail_twice(entity, receiver, root, waits, waiting)
    receiver.behave(waiting.path, Behaviour(delay=0.1))
    fill(entity, receiver, fills, busy)

    leases = ", ".join(row[0] for row in root(f"SELECT arriendo FROM entregas WHERE webhook_id = {busy.id} AND arriendo > 0"))
    database_clock.jump_to(ahead)
    wait_until(lambda: counted(root, busy, f"arriendo IN ({leases})") == 0, 20, "the leases to count as expired")
    holds_for(0.5, lambda: receiver.in_flight(busy.path) <= PER_WEBHOOK, "the limit in flight")
    receiver.release(busy.path)
    wait_until(lambda: counted(root, busy, "estado = 'entregada'") == 25, 20, "the deliveries of `busy` to arrive")
    requests = receiver.requests(busy.path)
    assert len({r.id for r in requests}) == 25 and len(requests) <= 25 + PER_WEBHOOK, "only what was in flight is repeated, once"
    assert receiver.peak_in_flight(busy.path) <= PER_WEBHOOK

    wait_until(lambda: counted(root, waiting, "estado = 'entregada'") == 30, 20, "what came due to be sent")
    assert len(receiver.requests(waiting.path)) == failed + 30
    assert receiver.peak_in_flight(waiting.path) <= PER_WEBHOOK


@pytest.mark.parametrize("crashed", [False, True])
def test_the_databases_clock_goes_back(database_clock, entity, receiver, stack, root, hooks, crashed):
    """What is new goes on, leases end in time, and what waited is due once the operator accepts the clock."""
    (waits, waiting), (fills, busy), (asks, asked), (news, fresh), _ = hooks
    warnings = lambda: stack.dev("logs", "dispatcher").stdout.count("clock has gone back")
    warned = warnings()
    fail_twice(entity, receiver, root, waits, waiting)
    receiver.behave(asked.path, Behaviour(status=429, headers={"Retry-After": "600"}), Behaviour())
    entity.notify(asks)
    wait_until(lambda: counted(root, asked, "intentos = 1 AND estado = 'pendiente'") == 1, what="a 429")
    fill(entity, receiver, fills, busy)

    if crashed:
        stack.stop("dispatcher", "-9")
    database_clock.jump_to(-DAY)
    entity.notify(news)
    receiver.release(busy.path)
    if crashed:
        stack.start("dispatcher")
    receiver.wait(fresh.path)
    wait_until(lambda: stack.admin("queue", "status")["salto_reloj_s"] < HOUR - DAY, what="the jump to be noticed")
    wait_until(lambda: counted(root, busy, "estado = 'en_curso'") == 0, LEASE + 30, "the leases to end")
    wait_until(lambda: warnings() > warned, what="the warning")

    receiver.behave(waiting.path, Behaviour())
    stack.admin("queue", "clock", "accept")
    assert stack.admin("queue", "status")["salto_reloj_s"] == 0
    receiver.wait(asked.path, 2, 30)
    wait_until(lambda: counted(root, busy, "estado = 'entregada'") == 25, 20, "the backlog to arrive")
    wait_until(lambda: counted(root, waiting, "estado = 'entregada'") == 30, 20, "what waited to arrive")
    requests = receiver.requests(busy.path)
    assert len({r.id for r in requests}) == 25
    assert len(requests) <= 25 + (PER_WEBHOOK if crashed else 0)
    assert warnings() <= warned + 2, "no warning each second (the test before may have added one late)"


def test_nothing_is_purged_by_a_clock_that_has_jumped(database_clock, entity, receiver, root, stack, hooks):
    """A clock that is 100 days ahead puts everything past its retention."""
    (event, hook), *_ = hooks
    key = {"clave": "una-vez"}
    stack.admin("queue", "clock", "accept")  # an earlier test's jumps
    receiver.behave(hook.path, Behaviour())
    delivery = stack.delivery_id(entity.notify(event, **key), hook.id)
    stack.wait_delivery(delivery, "entregada")
    assert entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": "otro"}).status == 200
    database_clock.jump_to(100 * DAY)
    wait_until(lambda: stack.admin("queue", "status")["salto_reloj_s"] > 99 * DAY, what="the jump to be noticed")
    entity.notify(event)
    receiver.wait(hook.path, 2)
    secrets = f"SELECT (secreto_sellado IS NOT NULL) + (secreto_b_sellado IS NOT NULL) FROM webhooks WHERE id = {hook.id}"
    holds_for(22, lambda: counted(root, hook, "TRUE") == 2 and root(secrets) == [["2"]],
              "no purge (one is due every 5 s) and no erasing of secrets (every 20 s)")
    with pytest.raises(SqlError):
        entity.notify(event, **key)
    database_clock.jump_to(0)
    wait_until(lambda: stack.admin("queue", "status")["salto_reloj_s"] < -99 * DAY, 30, "the jump back to be noticed")
    stack.admin("queue", "clock", "accept")
    assert entity.api("GET", f"{BASE}/{hook.id}").json()["secretoAnteriorHasta"], "the old secret's day of grace goes on"
    assert counted(root, hook, "TRUE") == 2
    database_clock.jump_to(100 * DAY)
    wait_until(lambda: stack.admin("queue", "status")["salto_reloj_s"] > 99 * DAY, what="the second jump")
    stack.admin("queue", "clock", "accept")
    wait_until(lambda: counted(root, hook, "TRUE") == 1, 30, "the retention to go on")
    entity.notify(event, **key)
