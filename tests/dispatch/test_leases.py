"""Leases: who may send a delivery, for how long, and who takes over."""
import contextlib
import subprocess

import pytest

from fakes.receiver import Behaviour, Receiver
from support.actors import BASE
from support.frozen import freeze, frozen
from support.metrics import observed_dispatcher
from support.stack import free_port, setting
from support.wait import wait_until

LEASE = 12  # seconds: delivery.lease of the shared stack


@pytest.fixture
def addresses(stack):
    """A receiver that can tell the dispatchers apart, because each dispatcher dials another address of this receiver."""
    certificate = stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]
    with Receiver(*certificate, free_port(), ("127.0.0.1", "127.0.0.2", "127.0.0.3")) as running:
        yield running


@contextlib.contextmanager
def another(stack, address):
    """Runs another dispatcher, which dials `address`."""
    query = "SELECT COUNT(DISTINCT id) FROM information_schema.processlist WHERE user LIKE '%dispatcher'"
    before = int(stack.value(query))
    with stack.second_dispatcher(**setting(delivery_host_overrides=f"*.receptor.test={address}")) as process:
        wait_until(lambda: int(stack.value(query)) > before, what="another dispatcher")
        yield process


def in_flight(stack, hook, count):
    """Returns the ids of the webhook's leased deliveries, once there are `count` of them."""
    query = f"SELECT id FROM entregas WHERE webhook_id = {hook.id} AND estado = 'en_curso'"
    wait_until(lambda: len(stack.sql(query)) == count, what=f"{count} in flight")
    return [int(row[0]) for row in stack.sql(query)]


@pytest.mark.parametrize("settings", [
    dict(delivery_timeout="2s", delivery_lease="11999ms"),
    dict(delivery_timeout="50001ms", delivery_lease="60s"),
])
def test_a_lease_that_does_not_outlast_the_longest_attempt_stops_the_start(stack, settings):
    arguments, environment = stack.command_of("dispatcher")
    result = subprocess.run(arguments, env={**environment, **setting(**settings)}, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2 and result.stdout == "" and len(result.stderr.strip().splitlines()) == 1, result
    assert "delivery.lease" in result.stderr and "delivery.timeout" in result.stderr


def test_three_dispatchers_share_the_work_without_repeats(new_entity, addresses, stack):
    entities = [new_entity() for _ in range(6)]
    hooks = [entity.register(port=addresses.port) for entity in entities]
    for hook in hooks:
        addresses.behave(hook.path, Behaviour(delay=0.05))
    with another(stack, "127.0.0.2"), another(stack, "127.0.0.3"):
        written, senders = 0, lambda: {request.local_address for request in addresses.requests()}
        while written < 40 or senders() != {"127.0.0.1", "127.0.0.2", "127.0.0.3"}:
            assert written < 2000, f"only {senders()} send"
            for entity in entities:
                entity.notify()
            written += 1
        for hook in hooks:
            wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == written, 60, "all to be recorded")
    requests = addresses.requests()
    assert len(requests) == len({r.id for r in requests}) == 6 * written


def test_what_a_dead_dispatcher_held_is_picked_up_by_another_one(entity, addresses, stack):
    """The fan-out creates one delivery under a lease; the other delivery, of a test event, is claimed later."""
    hook = entity.register(["evaluacion.abierta"], port=addresses.port)
    addresses.behave(hook.path, Behaviour(hold=True))
    pid, = stack.pids("dispatcher")
    entity.notify()
    entity.api("POST", BASE + "/test", json_body={"evento": "evaluacion.abierta"})
    first = addresses.wait(hook.path, 2)
    ids = in_flight(stack, hook, 2)
    freeze(pid)  # until the other one runs: a time-out would be a known outcome
    with another(stack, "127.0.0.2"):
        stack.stop("dispatcher", "-9")
        addresses.behave(hook.path, Behaviour())
        try:
            again = addresses.wait(hook.path, 4, 60)[2:]
            for id in ids:
                assert stack.wait_delivery(id, "entregada")["intentos"] == 1, "the outcome of the first attempt is unknown"
        finally:
            stack.start("dispatcher")
    assert {r.local_address for r in first} == {"127.0.0.1"} and {r.local_address for r in again} == {"127.0.0.2"}
    assert {r.id: r.body for r in first} == {r.id: r.body for r in again}
    waited = (min(r.monotonic_ns for r in again) - max(r.monotonic_ns for r in first)) / 1e9
    assert LEASE - 3 < waited < LEASE + 20, f"a lease of {LEASE} s, not {waited}"


def test_leases_are_recovered_as_soon_as_the_database_is_back(entity, receiver, stack):
    hook = entity.register(["evaluacion.abierta"])
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "entregada")
    with observed_dispatcher(stack) as scrape:
        failures = lambda: scrape().value("apientidades_database_errors_total", kind="unavailable")
        before = failures()
        stack.stop("db", "-9")
        wait_until(lambda: failures() >= before + 5, what="every task to have failed")
        stack.start("db")
        stack.connect_evaluation()
        stack.sql("UPDATE entregas SET estado = 'en_curso', terminada_en = NULL, arriendo = 1,"
                  f" arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 HOUR WHERE id = {delivery}")
        receiver.wait(hook.path, 2)


def test_a_stale_owner_changes_nothing(entity, addresses, stack):
    """The owner of two leases is frozen during both attempts, and reads the answers, 410 and 500, after the leases expire."""
    gone, failed = (entity.register([event], port=addresses.port) for event in ("evaluacion.abierta", "evaluacion.cerrada"))
    addresses.behave(gone.path, Behaviour(hold=True, status=410), Behaviour())
    addresses.behave(failed.path, Behaviour(hold=True, status=500), Behaviour())
    pid, = stack.pids("dispatcher")
    entity.notify("evaluacion.abierta")
    entity.notify("evaluacion.cerrada")
    for hook in (gone, failed):
        addresses.wait(hook.path)
    ids = [in_flight(stack, hook, 1)[0] for hook in (gone, failed)]
    with frozen(pid):
        for hook in (gone, failed):
            addresses.release(hook.path)
        with another(stack, "127.0.0.2"):
            for id in ids:
                stack.wait_delivery(id, "entregada", 60)
    stack.stop("dispatcher")  # returns once the owner has tried to record both answers
    stack.start("dispatcher")
    for hook, id in zip((gone, failed), ids):
        assert [r.local_address for r in addresses.requests(hook.path)] == ["127.0.0.1", "127.0.0.2"]
        shown = stack.delivery(id)
        assert (shown["estado"], shown["intentos"], shown["ultimo_estado"]) == ("entregada", 1, 200)
        assert [attempt["estado_http"] for attempt in stack.attempts(id)] == [200]
        listed = entity.listed(hook)
        assert (listed["activo"], listed["ultimoEstado"], listed["ultimoError"]) == (True, 200, "")
