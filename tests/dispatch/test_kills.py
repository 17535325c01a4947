"""Kills in the middle of the work: nothing is lost, and no more is repeated than was in flight."""
import os

import pytest

from fakes.receiver import Behaviour
from support.wait import wait_until

pytestmark = pytest.mark.skipif(not os.environ.get("TEST_LONG"), reason="takes minutes: ./dev test --long")

KILLS, ROWS_BETWEEN = 10, 50
IN_FLIGHT_PER_WEBHOOK = 10  # the default of delivery.max_in_flight_per_webhook


@pytest.mark.parametrize("part", ["dispatcher", "db"])
def test_kills_lose_nothing_and_repeat_only_what_was_in_flight(entity, receiver, stack, part):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(delay=0.05))
    rows = []
    for _ in range(KILLS):
        rows += [entity.notify() for _ in range(ROWS_BETWEEN)]
        arrived = len(receiver.requests(hook.path))
        wait_until(lambda: len(receiver.requests(hook.path)) > arrived + 3, 60, "deliveries under way")
        stack.stop(part, "-9")
        stack.start(part)
        if part == "db":
            stack.connect_evaluation()
    deliveries = f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id}"
    wait_until(lambda: int(stack.value(f"{deliveries} AND estado = 'entregada'")) == len(rows), 120, "all to be delivered")
    assert int(stack.value(deliveries)) == len(rows), "nothing else"
    requests = receiver.requests(hook.path)
    assert len({request.id for request in requests}) == len(rows), "lost 0, unexpected 0"
    assert len(requests) - len(rows) <= KILLS * IN_FLIGHT_PER_WEBHOOK, "repeated: at most what was in flight"
