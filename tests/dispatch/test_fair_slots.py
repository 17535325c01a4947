"""No receiver delays another: neither many slow receivers, nor a host that many webhooks share."""
import secrets

from fakes.receiver import Behaviour
from support.actors import BASE
from support.stack import EVENTS, setting
from support.wait import wait_until

SLOTS = 64
RESERVED = SLOTS // 8


def delivered(stack, ids) -> int:
    return int(stack.value("SELECT COUNT(*) FROM entregas WHERE estado = 'entregada' AND webhook_id IN"
                           f" ({','.join(map(str, ids))})"))


def register_at(entity, host: str, receiver) -> tuple[int, str]:
    """Registers a webhook at that host with its own path; returns its id and path."""
    path = f"/{secrets.token_hex(6)}"
    url = f"https://{host}.receptor.test:{receiver.port}{path}"
    response = entity.api("POST", BASE, json_body={"url": url, "eventos": list(EVENTS)})
    assert response.status == 201, response
    return response.json()["id"], path


def test_a_crowd_that_holds_every_slot_does_not_hold_up_a_healthy_one(new_entity, receiver, stack):
    """Four entities have 240 deliveries in all, for 64 slots. Their receivers do not answer until they are released."""
    crowd = [new_entity() for _ in range(4)]
    slow = [entity.register() for entity in crowd for _ in range(5)]
    healthy = new_entity()
    quick = healthy.register()
    with stack.dispatcher_with(**setting(delivery_max_in_flight=str(SLOTS), delivery_timeout="40s", delivery_lease="60s")):
        for hook in slow:
            receiver.behave(hook.path, Behaviour(hold=True))
        for entity in crowd:
            for _ in range(12):
                entity.notify()
        held = lambda: receiver.in_flight(*(hook.path for hook in slow))
        wait_until(lambda: held() >= SLOTS - RESERVED, 30, "the slow webhooks to hold all slots but the reserved ones")
        for _ in range(3):
            for _ in range(30):
                healthy.notify()
            before = len(receiver.requests(quick.path)) // 30 * 30
            receiver.wait(quick.path, before + 30, 30)
        assert SLOTS // 2 <= held() <= SLOTS
        for hook in slow:
            receiver.release(hook.path)
        wait_until(lambda: delivered(stack, [hook.id for hook in slow]) == 4 * 5 * 12, 60, "the slow webhooks' deliveries")
    assert all(len(receiver.requests(hook.path)) == 12 for hook in slow), "and nothing twice"


def test_a_host_that_many_webhooks_share_has_a_limit_and_shares_its_connections(new_entity, receiver, stack):
    entities = [new_entity() for _ in range(6)]
    hooks = [register_at(entity, "proveedor", receiver) for entity in entities for _ in range(5)]
    most = 4
    with stack.dispatcher_with(**setting(delivery_max_in_flight_per_host=str(most))):
        for _, path in hooks:
            receiver.behave(path, Behaviour(delay=0.05))
        for entity in entities:
            for _ in range(4):
                entity.notify()
        peak = 0

        def all_arrived() -> bool:
            nonlocal peak
            peak = max(peak, receiver.in_flight(*(path for _, path in hooks)))
            return delivered(stack, [id for id, _ in hooks]) == 6 * 5 * 4

        wait_until(all_arrived, 60, "all to arrive")
    assert 1 < peak <= most
    requests = [request for _, path in hooks for request in receiver.requests(path)]
    assert len({request.connection for request in requests}) <= most, "kept connections are shared"


def test_one_entity_has_no_more_than_half_of_a_host(new_entity, receiver, stack):
    greedy, other = new_entity(), new_entity()
    hooks = [register_at(greedy, "compartido", receiver) for _ in range(5)]
    _, path = register_at(other, "compartido", receiver)
    with stack.dispatcher_with(**setting(delivery_max_in_flight_per_host="6", delivery_timeout="40s", delivery_lease="60s")):
        for _, held in hooks:
            receiver.behave(held, Behaviour(hold=True))
        for _ in range(5):
            greedy.notify()
        in_flight = lambda: receiver.in_flight(*(held for _, held in hooks))
        wait_until(lambda: in_flight() == 3, what="half of the host's slots")
        for _ in range(10):
            other.notify()
        receiver.wait(path, 10)
        assert in_flight() == 3
        for _, held in hooks:
            receiver.release(held)
        wait_until(lambda: delivered(stack, [id for id, _ in hooks]) == 25, 30, "the rest")
