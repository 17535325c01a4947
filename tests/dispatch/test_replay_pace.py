"""Replays under way: behind what is new, not at a receiver that is down, and through kills and deletions."""
import json

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE, DATA
from support.stack import setting
from support.wait import wait_until

ALL = {"desde": "2020-01-01T00:00:00Z", "estados": ["entregada", "fallida"]}
SLOTS = 10  # delivery.max_in_flight_per_webhook


@pytest.fixture
def delivered_before(entity, stack):
    """A webhook to which so many have been delivered."""
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


def test_a_replay_holds_half_of_the_slots_and_what_is_new_goes_before_it(entity, receiver, delivered_before):
    hook = delivered_before(60)
    receiver.behave(hook.path, Behaviour(hold=True))
    number = ask(entity, hook)
    wait_until(lambda: receiver.in_flight(hook.path) == SLOTS // 2, 20, "half of the slots")
    for _ in range(SLOTS):
        entity.notify()
    wait_until(lambda: receiver.in_flight(hook.path) == SLOTS, 20, "all slots")
    assert len(replayed(receiver, hook)) == SLOTS // 2, "the other half is of what is new"
    receiver.behave(hook.path, Behaviour())
    receiver.release(hook.path)
    wait_until(lambda: progress(entity, hook, number)["entregadas"] == 60, 60, "all to be replayed")
    ids = list(dict.fromkeys(replayed(receiver, hook)))  # those that were held may have run out of time
    assert len(ids) == 60
    numbers = [int(id.rpartition("_")[2]) for id in ids]
    assert all(abs(number - rank) <= SLOTS for number, rank in zip(numbers, sorted(numbers))), "oldest first"


def test_at_a_receiver_that_is_down_one_is_tried_until_it_is_back(entity, receiver, stack, delivered_before):
    hook = delivered_before(40)
    with stack.dispatcher_with(**setting(delivery_retry_schedule="1h, 1h", delivery_probe_interval="0s")):
        receiver.behave(hook.path, Behaviour(status=502))
        number = ask(entity, hook)
        wait_until(lambda: len(replayed(receiver, hook)) >= 1, 20, "the first of them")
        wait_until(lambda: not int(stack.value(
            "SELECT COUNT(*) FROM reenvios_entregas r JOIN entregas e ON e.id = r.entrega_id"
            f" WHERE r.reenvio_id = {number} AND e.estado <> 'pendiente'")), 20, "what was handed over to fail")
        tried = len(replayed(receiver, hook))
        assert tried <= SLOTS // 2, "those that were due before the first of them had failed"
        entity.notify()
        receiver.wait(hook.path, 40 + tried + 1)
        assert len(replayed(receiver, hook)) == tried and progress(entity, hook, number)["reenviadas"] == tried
        receiver.behave(hook.path, Behaviour())
        entity.notify()
        wait_until(lambda: progress(entity, hook, number)["entregadas"] == 40, 60, "all once it is back")
    assert stack.count_deliveries(hook.id, "entregada") == 42


def test_a_dispatcher_that_is_killed_on_the_way_leaves_none_out(entity, receiver, stack, delivered_before):
    hook = delivered_before(60)
    number = ask(entity, hook)
    wait_until(lambda: progress(entity, hook, number)["reenviadas"] >= 10, 30, "some")
    stack.stop("dispatcher", "-9")
    assert progress(entity, hook, number)["reenviadas"] < 60
    stack.start("dispatcher")
    wait_until(lambda: progress(entity, hook, number) == {
        "id": number, "estado": "terminado", "candidatas": 60, "reenviadas": 60, "entregadas": 60, "fallidas": 0}, 90, "all")
    assert len(set(replayed(receiver, hook))) == 60


def test_a_webhook_that_is_deleted_during_its_replay_gets_no_more(entity, receiver, stack, delivered_before):
    hook = delivered_before(40)
    receiver.behave(hook.path, Behaviour(hold=True))
    number = ask(entity, hook)
    wait_until(lambda: receiver.in_flight(hook.path) == SLOTS // 2, 20, "the first of them")
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
    receiver.release(hook.path)
    wait_until(lambda: stack.value(f"SELECT estado FROM reenvios WHERE id = {number}") == "cancelado", 20, "it to be cancelled")
    assert len(replayed(receiver, hook)) <= SLOTS // 2
    assert entity.api("GET", f"{BASE}/{hook.id}/reenvios/{number}").status == 404


def test_what_is_purged_during_a_replay_is_no_longer_replayed(entity, receiver, stack, delivered_before):
    hook = delivered_before(40)
    receiver.behave(hook.path, Behaviour(hold=True))
    number = ask(entity, hook)
    wait_until(lambda: receiver.in_flight(hook.path) == SLOTS // 2, 20, "the first of them")
    ended = f"SELECT id FROM entregas WHERE webhook_id = {hook.id} AND estado = 'entregada'"
    stack.sql(f"DELETE FROM intentos_entrega WHERE entrega_id IN ({ended}); DELETE FROM entregas WHERE webhook_id = {hook.id} AND estado = 'entregada'")
    receiver.behave(hook.path, Behaviour())
    receiver.release(hook.path)
    wait_until(lambda: progress(entity, hook, number)["estado"] == "terminado", 60, "the end")
    assert progress(entity, hook, number)["reenviadas"] <= 2 * SLOTS
