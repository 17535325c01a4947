"""A running replay lets new deliveries go first, waits while its receiver fails, and survives a kill of the dispatcher."""
import json

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE, DATA
from support.stack import setting
from support.wait import holds_for, wait_until

ALL = {"desde": "2020-01-01T00:00:00Z", "estados": ["entregada", "fallida"]}
SLOTS = 10  # delivery.max_in_flight_per_webhook


@pytest.fixture
def delivered_before(entity, stack):
    """Makes a webhook with `count` delivered notifications."""
    def make(count):
        hook = entity.register()
        row = f"({entity.id}, 'evaluacion.abierta', '{json.dumps(DATA['evaluacion.abierta'])}')"
        stack.sql("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES " + ", ".join([row] * count))
        wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == count, 60, "all to arrive")
        return hook
    return make


def ask(entity, hook, **body):
    answer = entity.api("POST", f"{BASE}/{hook.id}/reenvios", json_body=ALL | body)
    assert answer.status == 202, answer
    return answer.json()["reenvio"]["id"]


def progress(entity, hook, number):
    return entity.api("GET", f"{BASE}/{hook.id}/reenvios/{number}").json()


def replayed(receiver, hook):
    return [one.id for one in receiver.requests(hook.path) if "x-webhook-reenvio" in one.headers]


@pytest.mark.usefixtures("patient")
def test_a_replay_holds_half_of_the_slots_and_what_is_new_goes_before_it(entity, receiver, delivered_before):
    hook = delivered_before(60)
    receiver.behave(hook.path, Behaviour(hold=True))
    number = ask(entity, hook)
    wait_until(lambda: receiver.in_flight(hook.path) == SLOTS // 2, 20, "half of the slots")
    for _ in range(SLOTS):
        entity.notify()
    wait_until(lambda: receiver.in_flight(hook.path) == SLOTS, 20, "all slots")
    assert len(replayed(receiver, hook)) == SLOTS // 2, "the other half of the slots is for new deliveries"
    receiver.release(hook.path)
    wait_until(lambda: progress(entity, hook, number)["entregadas"] == 60, 60, "all to be replayed")
    ids = replayed(receiver, hook)
    assert len(ids) == 60
    numbers = [int(id.rpartition("_")[2]) for id in ids]
    assert all(abs(number - rank) <= SLOTS for number, rank in zip(numbers, sorted(numbers))), "oldest first"


def test_a_replay_to_a_failing_receiver_waits_until_it_recovers(entity, receiver, stack, delivered_before):
    hook = delivered_before(40)
    with stack.dispatcher_with(**setting(delivery_retry_schedule="1h, 1h", delivery_probe_interval="0s")):
        receiver.behave(hook.path, Behaviour(status=502))
        number = ask(entity, hook)
        wait_until(lambda: len(replayed(receiver, hook)) >= 1, 20, "the first replayed deliveries")
        wait_until(lambda: not int(stack.value(
            "SELECT COUNT(*) FROM reenvios_entregas r JOIN entregas e ON e.id = r.entrega_id"
            f" WHERE r.reenvio_id = {number} AND (e.estado <> 'pendiente' OR e.paso = 0)")), 20, "all handed-over deliveries to have failed")
        tried = len(replayed(receiver, hook))
        assert tried <= SLOTS // 2, "only those that were handed over before the first had failed"
        entity.notify()
        receiver.wait(hook.path, 40 + tried + 1)
        holds_for(2, lambda: len(replayed(receiver, hook)) == tried and progress(entity, hook, number)["reenviadas"] == tried,
                  "no more while it is down")
        receiver.behave(hook.path, Behaviour())
        entity.notify()
        wait_until(lambda: progress(entity, hook, number)["entregadas"] == 40, 60, "all to be replayed once the receiver is back")
    assert stack.count_deliveries(hook.id, "entregada") == 42


def test_a_refused_replay_stops_and_delays_no_new_delivery(entity, receiver, stack, delivered_before):
    hook = delivered_before(60)
    with stack.dispatcher_with(**setting(delivery_retry_schedule="1h, 1h", delivery_probe_interval="0s")):
        receiver.behave(hook.path, Behaviour(status=401))
        number = ask(entity, hook)
        wait_until(lambda: len(replayed(receiver, hook)) >= 10, 30, "ten to be refused")
        wait_until(lambda: int(stack.value(f"SELECT fallos FROM webhook_ejecuciones WHERE webhook_id = {hook.id}")) >= 10, 20, "the streak")
        wait_until(lambda: receiver.in_flight(hook.path) == 0, 20, "those under way to end")
        tried = len(replayed(receiver, hook))
        assert tried <= 10 + SLOTS // 2
        assert receiver.peak_in_flight(hook.path) <= SLOTS
        new = stack.delivery_id(entity.notify(), hook.id)
        wait_until(lambda: stack.attempts(new), 30, "the new delivery's first attempt, before any retry")
        holds_for(2, lambda: len(replayed(receiver, hook)) == tried, "no more while it refuses all")
        receiver.behave(hook.path, Behaviour())
        entity.notify()
        wait_until(lambda: progress(entity, hook, number)["entregadas"] == 60, 60, "all to be replayed once the receiver takes them")


@pytest.mark.usefixtures("patient")
def test_a_webhook_that_is_disabled_during_its_replay_gets_the_rest_once_it_is_enabled(entity, receiver, stack, delivered_before):
    hook = delivered_before(40)
    receiver.behave(hook.path, Behaviour(hold=True))
    number = ask(entity, hook)
    wait_until(lambda: receiver.in_flight(hook.path) == SLOTS // 2, 20, "the first replayed deliveries")
    stack.admin("webhook", "disable", hook.id)
    receiver.release(hook.path)
    wait_until(lambda: receiver.in_flight(hook.path) == 0, 20, "those under way to end")
    sent = len(replayed(receiver, hook))
    holds_for(2, lambda: len(replayed(receiver, hook)) == sent, "nothing more")
    assert progress(entity, hook, number)["estado"] == "en_curso"
    stack.admin("webhook", "enable", hook.id)
    wait_until(lambda: progress(entity, hook, number)["entregadas"] == 40, 60, "the rest")


def test_a_single_replay_probes_a_failing_webhook(entity, receiver, stack, delivered_before):
    hook = delivered_before(1)
    with stack.dispatcher_with(**setting(delivery_retry_schedule="1h, 1h", delivery_probe_interval="1s")):
        receiver.behave(hook.path, Behaviour(status=503))
        waits = stack.delivery_id(entity.notify(), hook.id)
        wait_until(lambda: stack.attempts(waits), 20, "the first failure")
        delivered = stack.value(f"SELECT MIN(id) FROM entregas WHERE webhook_id = {hook.id}")
        answer = entity.api("POST", f"{BASE}/{hook.id}/entregas/{delivered}/reenvio")
        assert answer.status == 202, answer
        wait_until(lambda: replayed(receiver, hook), 20, "the replayed delivery to be sent, though another one waits for a retry")
        receiver.behave(hook.path, Behaviour())
        stack.wait_delivery(waits, "entregada", 30)
        number = answer.json()["reenvio"]["id"]
        wait_until(lambda: progress(entity, hook, number)["entregadas"] == 1, 30, "the replayed one to arrive, too, without a retry")


def test_an_extreme_or_broken_range_does_not_block_later_replays(entity, new_entity, receiver, stack, delivered_before):
    hook = delivered_before(3)
    number = ask(entity, hook, desde="0001-01-01T00:00:00Z", hasta="9999-12-31T23:59:59Z")
    wait_until(lambda: progress(entity, hook, number)["entregadas"] == 3, 30, "all of them")
    stack.sql("INSERT INTO reenvios (entidad_id, webhook_id, candidatas, tope) VALUES"
              f" ({entity.id}, {hook.id}, 1, 1)")  # a broken replay: its range has no times
    broken = stack.value(f"SELECT MAX(id) FROM reenvios WHERE webhook_id = {hook.id}")
    wait_until(lambda: stack.value(f"SELECT estado FROM reenvios WHERE id = {broken}") == "cancelado", 20, "the broken replay to be given up")
    again = ask(entity, hook)
    wait_until(lambda: progress(entity, hook, again)["entregadas"] == 3, 30, "the next replay")


def test_a_dispatcher_that_is_killed_on_the_way_leaves_none_out(entity, receiver, stack, delivered_before):
    hook = delivered_before(60)
    receiver.behave(hook.path, *[Behaviour()] * 10, Behaviour(hold=True))
    number = ask(entity, hook)
    wait_until(lambda: receiver.in_flight(hook.path) > 0, 30, "the first request that waits for its answer")
    stack.stop("dispatcher", "-9")
    assert 10 <= progress(entity, hook, number)["reenviadas"] < 60
    receiver.behave(hook.path, Behaviour())
    stack.start("dispatcher")
    wait_until(lambda: progress(entity, hook, number) == {
        "id": number, "estado": "terminado", "candidatas": 60, "reenviadas": 60, "entregadas": 60, "fallidas": 0, "porReintentar": 0}, 90, "all")
    assert len(set(replayed(receiver, hook))) == 60


@pytest.mark.usefixtures("patient")
def test_a_webhook_that_is_deleted_during_its_replay_gets_no_more(entity, receiver, stack, delivered_before):
    hook = delivered_before(40)
    receiver.behave(hook.path, Behaviour(hold=True))
    number = ask(entity, hook)
    wait_until(lambda: receiver.in_flight(hook.path) == SLOTS // 2, 20, "the first replayed deliveries")
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
    receiver.release(hook.path)
    wait_until(lambda: stack.value(f"SELECT estado FROM reenvios WHERE id = {number}") == "cancelado", 20, "the replay to be cancelled")
    assert len(replayed(receiver, hook)) <= SLOTS // 2
    assert entity.api("GET", f"{BASE}/{hook.id}/reenvios/{number}").status == 404


@pytest.mark.usefixtures("patient")
def test_what_is_purged_during_a_replay_is_no_longer_replayed(entity, receiver, stack, delivered_before):
    hook = delivered_before(40)
    receiver.behave(hook.path, Behaviour(hold=True))
    number = ask(entity, hook)
    wait_until(lambda: receiver.in_flight(hook.path) == SLOTS // 2, 20, "the first replayed deliveries")
    ended = f"SELECT id FROM entregas WHERE webhook_id = {hook.id} AND estado = 'entregada'"
    stack.sql(f"DELETE FROM intentos_entrega WHERE entrega_id IN ({ended}); DELETE FROM entregas WHERE webhook_id = {hook.id} AND estado = 'entregada'")
    receiver.release(hook.path)
    wait_until(lambda: progress(entity, hook, number)["estado"] == "terminado", 60, "the end")
    assert progress(entity, hook, number)["reenviadas"] <= 2 * SLOTS
