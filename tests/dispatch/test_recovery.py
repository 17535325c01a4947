"""A receiver that answers again gets its waiting deliveries ahead of the schedule. A receiver that stays away is probed."""
import json
import signal

import pytest

from fakes.receiver import Behaviour, Receiver
from support.actors import BASE, DATA
from support.arena import end
from support.stack import free_port, setting
from support.wait import holds_for, wait_until

EARLY = 5  # most deliveries of a webhook that are brought forward at a time: half of delivery.max_in_flight_per_webhook
HOURS = "1h,2h"  # no retry falls due during a test


@pytest.fixture
def patient(stack):
    """Yields a function that runs a dispatcher that retries after hours, and probes every `probe_interval` (0s: never)."""
    def start(probe_interval="0s", **more):
        return stack.dispatcher_with(**setting(delivery_retry_schedule=HOURS, delivery_probe_interval=probe_interval,
                                               delivery_max_in_flight_per_webhook=str(2 * EARLY), **more))
    yield start
    # Otherwise deliveries that still wait would be tried during other tests.
    stack.sql("UPDATE entregas SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3) WHERE reintento_de IS NOT NULL")


def steps(stack, webhook) -> list[tuple[str, int, int]]:
    """Returns state, attempts and step of each of the webhook's deliveries."""
    rows = stack.sql(f"SELECT estado, intentos, paso FROM entregas WHERE webhook_id = {webhook.id} ORDER BY id")
    return [(state, int(attempts), int(step)) for state, attempts, step in rows]


def fail_all(stack, entity, hook, receiver, count: int, behaviour=Behaviour(status=500)) -> None:
    """Writes `count` notifications; returns once the first attempt of each has failed. The second attempts are due an hour later."""
    receiver.behave(hook.path, behaviour)
    for _ in range(count):
        entity.notify()
    wait_until(lambda: sum(one == ("pendiente", 1, 1) for one in steps(stack, hook)) == count, 60, "all to fail")


def delivered(stack, hook) -> int:
    return stack.count_deliveries(hook.id, "entregada")


def test_what_waits_arrives_after_the_first_success_oldest_first(entity, receiver, stack, patient):
    count = 1000
    hook = entity.register()
    with patient():
        receiver.behave(hook.path, Behaviour(status=500))
        entity.notify()
        wait_until(lambda: steps(stack, hook) == [("pendiente", 1, 1)], what="the first to fail")
        row = f"({entity.id}, 'evaluacion.abierta', '{json.dumps(DATA['evaluacion.abierta'])}')"
        stack.sql("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES " + ", ".join([row] * (count - 1)))
        wait_until(lambda: sum(one == ("pendiente", 1, 1) for one in steps(stack, hook)) == count, 60, "all to fail")
        failed = [request.id for request in receiver.requests(hook.path)]
        assert len(failed) == count
        receiver.behave(hook.path, Behaviour(delay=0.01))
        peak_before = receiver.peak_in_flight(hook.path)
        entity.notify()
        wait_until(lambda: delivered(stack, hook) == count + 1, 30, "all to arrive")
    assert peak_before <= 2 * EARLY
    arrived = [request.id for request in receiver.requests(hook.path)[count:]]
    assert len(arrived) == len(set(arrived)) == count + 1, "nothing is repeated"
    numbers = [int(id.rpartition("_")[2]) for id in arrived[1:]]
    assert all(number - earliest <= 2 * EARLY for number, earliest in zip(numbers, sorted(numbers))), "oldest first"
    kinds = dict(stack.sql("SELECT i.tipo, COUNT(*) FROM intentos_entrega i JOIN entregas e ON e.id = i.entrega_id"
                           f" WHERE e.webhook_id = {hook.id} AND i.numero = 2 GROUP BY i.tipo"))
    assert kinds == {"adelantado": str(count)}


def test_a_test_event_that_arrives_is_a_recovery_too(entity, receiver, stack, patient):
    hook = entity.register()
    with patient():
        fail_all(stack, entity, hook, receiver, 3)
        receiver.behave(hook.path, Behaviour())
        assert entity.api("POST", f"{BASE}/test", json_body={"evento": "evaluacion.abierta", "datosExtra": {}}).status == 200
        wait_until(lambda: delivered(stack, hook) == 4, what="the test event and the three")


def test_a_delivery_refused_while_others_succeed_gets_one_early_attempt_per_step(entity, receiver, stack, patient):
    hook = entity.register()
    with patient():
        fail_all(stack, entity, hook, receiver, 1)
        refused = receiver.requests(hook.path)[0].id
        receiver.behave(hook.path, Behaviour(), Behaviour(status=400), Behaviour())
        entity.notify()
        wait_until(lambda: steps(stack, hook)[0] == ("pendiente", 2, 1), what="the early attempt to fail")
        for _ in range(3):
            before = delivered(stack, hook)
            entity.notify()
            wait_until(lambda: delivered(stack, hook) == before + 1, what="another to arrive")
        holds_for(3, lambda: steps(stack, hook)[0] == ("pendiente", 2, 1), "one early attempt, and no step spent")
    assert [request.id for request in receiver.requests(hook.path)].count(refused) == 2
    assert stack.value(f"SELECT proximo_intento > UTC_TIMESTAMP() + INTERVAL 30 MINUTE FROM entregas"
                       f" WHERE webhook_id = {hook.id} AND estado = 'pendiente'") == "1"


def test_a_failure_during_the_recovery_stops_it(entity, receiver, stack, patient):
    count = 60
    hook = entity.register()
    with patient():
        fail_all(stack, entity, hook, receiver, count)
        receiver.behave(hook.path, *[Behaviour()] * 11, Behaviour(status=500))
        entity.notify()
        wait_until(lambda: delivered(stack, hook) >= 11, what="some to arrive")
        wait_until(lambda: len(receiver.requests(hook.path)) >= count + 12, what="the failure")
        wait_until(lambda: stack.value(f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id} AND estado = 'en_curso'") == "0",
                   10, "those under way to end")
        made = len(receiver.requests(hook.path))
        assert made <= count + 12 + 3 * EARLY, "at most those in flight, and those that were due already"
        holds_for(3, lambda: len(receiver.requests(hook.path)) == made, "nothing more tried")
        receiver.behave(hook.path, Behaviour())
        entity.notify()
        tried = sum(attempts == 2 and state == "pendiente" for state, attempts, _ in steps(stack, hook))
        wait_until(lambda: delivered(stack, hook) == count + 2 - tried, 20, "all but those that have had their early attempt")


def test_the_recovery_waits_for_the_retry_after_of_a_delivery(entity, receiver, stack, patient):
    hook = entity.register()
    with patient():
        fail_all(stack, entity, hook, receiver, 1, Behaviour(status=503, headers={"Retry-After": "3"}))
        asked = receiver.requests(hook.path)[0]
        receiver.behave(hook.path, Behaviour())
        entity.notify()
        wait_until(lambda: delivered(stack, hook) == 2, 20, "both to arrive")
    again = [request for request in receiver.requests(hook.path) if request.id == asked.id]
    assert len(again) == 2 and (again[1].monotonic_ns - asked.monotonic_ns) / 1e9 >= 2.9


def test_a_webhook_that_fails_is_probed_and_gets_everything_once_it_answers(entity, stack, patient):
    port = free_port()
    hook = entity.register(port=port)
    count = 12
    with patient(probe_interval="1s"):
        for _ in range(count):
            entity.notify()
        wait_until(lambda: all(step == 1 for _, _, step in steps(stack, hook)) and len(steps(stack, hook)) == count, 30, "all to fail")
        wait_until(lambda: sum(attempts > 1 for _, attempts, _ in steps(stack, hook)) >= 3, 20, "three deliveries to be probed")
        assert all(state == "pendiente" and step == 1 for state, _, step in steps(stack, hook))
        assert int(stack.value(f"SELECT fallos FROM webhook_ejecuciones WHERE webhook_id = {hook.id}")) == count
        with Receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"], port=port) as back:
            wait_until(lambda: delivered(stack, hook) == count, 31, "all to arrive")
            assert len({request.id for request in back.requests(hook.path)}) == count


def test_a_webhook_is_probed_while_slow_receivers_use_every_slot(new_entity, receiver, stack, patient):
    slow = [new_entity() for _ in range(4)]
    hooks = [entity.register() for entity in slow for _ in range(2)]
    failing = new_entity()
    away = failing.register(port=free_port())
    with patient(probe_interval="1s", delivery_max_in_flight="4"):
        delivery = stack.delivery_id(failing.notify(), away.id)
        attempts = lambda: stack.delivery(delivery)["intentos"]
        wait_until(lambda: attempts() == 1, what="the first attempt to fail")
        for hook in hooks:
            receiver.behave(hook.path, Behaviour(delay=1))
        for _ in range(20):
            for entity in slow:
                entity.notify()
        wait_until(lambda: all(receiver.requests(hook.path) for hook in hooks), 30, "all slow receivers to have their turn")
        before = attempts()
        wait_until(lambda: attempts() >= before + 2, 20, "two probes")
        assert sum(delivered(stack, hook) for hook in hooks) < 150, "the slow ones still use every slot"
        for hook in hooks:
            receiver.behave(hook.path, Behaviour())
        wait_until(lambda: all(delivered(stack, hook) == 20 for hook in hooks), 60, "the others to arrive")


def test_of_successive_failed_probes_the_first_the_last_and_their_number_are_kept(entity, stack, patient):
    hook = entity.register(port=free_port())
    with patient(probe_interval="200ms"):
        delivery = stack.delivery_id(entity.notify(), hook.id)
        wait_until(lambda: stack.delivery(delivery)["intentos"] >= 6, 30, "five probes")
    def shown():  # the stack's usual dispatcher runs again, and may send a probe between the two readings
        before = stack.delivery(delivery)["intentos"]
        attempts = stack.attempts(delivery)
        return stack.delivery(delivery)["intentos"] == before and (before, attempts)

    made, attempts = wait_until(shown, what="no probe between two readings")
    assert [one["tipo"] for one in attempts] == ["programado", "sondeo", "sondeo"]
    assert [one["numero"] for one in attempts] == [1, 2, made]
    assert [one["sondeos"] for one in attempts] == [None, 1, made - 1]
    assert steps(stack, hook)[0][2] == 1, "no step is spent"


def test_a_dispatcher_that_is_killed_on_the_way_loses_none_of_it(entity, receiver, stack, patient):
    count = 40
    hook = entity.register()
    with patient():
        fail_all(stack, entity, hook, receiver, count)
        receiver.behave(hook.path, Behaviour(), Behaviour(hold=True))
        pid, = stack.pids("dispatcher")
        entity.notify()
        wait_until(lambda: receiver.in_flight(hook.path) >= 1, what="an early attempt to be under way")
        end(pid, signal.SIGKILL)
        receiver.release(hook.path)
        receiver.behave(hook.path, Behaviour())
        stack.start("dispatcher", **setting(delivery_retry_schedule=HOURS, delivery_probe_interval="0s"))
        wait_until(lambda: delivered(stack, hook) == count + 1, 40, "all to arrive")
