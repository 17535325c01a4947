"""A kept connection ends after one to two minutes, each host's after its own time (docs/receivers.md#what-counts-as-an-answer). The clocks of
the dispatcher are moved on instead of waiting."""
import pytest

from support.faketime import WallClock
from support.wait import wait_until

HOSTS = 20


@pytest.fixture
def clock(stack, tmp_path):
    clock = WallClock(tmp_path)
    with stack.dispatcher_with(**clock.environment | {"FAKETIME_DONT_FAKE_MONOTONIC": "0"}):
        yield clock


@pytest.fixture
def hooks(new_entity):
    """(entity, webhook) of webhooks with a host each."""
    entities = [new_entity() for _ in range(HOSTS // 5)]
    return [(entity, entity.register()) for entity in entities for _ in range(5)]


def connections(stack, hooks, receiver):
    """Notifies each entity once; returns the connection of each host's last request, once all results are recorded: an
    attempt in flight would time out when the clock moves on."""
    before = delivered(stack, hooks)
    for entity in {id(entity): entity for entity, _ in hooks}.values():
        entity.notify()
    wait_until(lambda: delivered(stack, hooks) == before + HOSTS, 20, "all results")
    return [receiver.requests(hook.path)[-1].connection for _, hook in hooks]


def delivered(stack, hooks):
    ids = ", ".join(str(hook.id) for _, hook in hooks)
    return int(stack.value(f"SELECT COUNT(*) FROM entregas WHERE webhook_id IN ({ids}) AND estado = 'entregada'"))


def test_kept_connections_end_after_one_to_two_minutes_at_different_times(clock, hooks, receiver, stack):
    first = connections(stack, hooks, receiver)
    clock.jump_to(30)  # with the seconds that a busy machine takes, below 60
    assert connections(stack, hooks, receiver) == first
    clock.jump_to(90)
    kept = sum(before == after for before, after in zip(first, connections(stack, hooks, receiver)))
    assert 0 < kept < HOSTS, "one in a million runs has all on one side"
    clock.jump_to(130)
    assert not set(connections(stack, hooks, receiver)) & set(first)
    assert all(len(receiver.requests(hook.path)) == 4 for _, hook in hooks), "the end of a connection fails no attempt"
