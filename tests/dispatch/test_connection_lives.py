"""A kept connection ends after one to two minutes: a fixed time for each host (docs/receivers.md#what-counts-as-an-answer).
The test moves the dispatcher's clocks on instead of waiting."""
import time

import pytest

from dispatch.test_isolation import delivered
from support.faketime import WallClock
from support.wait import wait_until

HOSTS = 20


@pytest.fixture
def clock(stack, tmp_path):
    clock = WallClock(tmp_path)
    with stack.dispatcher_with(**clock.environment | {"FAKETIME_DONT_FAKE_MONOTONIC": "0"}):
        yield clock


@pytest.fixture
def entities(new_entity):
    return [new_entity() for _ in range(HOSTS // 5)]


@pytest.fixture
def hooks(entities):
    """Webhooks, each at a host of its own."""
    return [entity.register() for entity in entities for _ in range(5)]


def connections(stack, entities, hooks, receiver):
    """Notifies each entity once and returns the connection of each host's last request. Waits until all results are recorded,
    because an attempt in flight would time out when the clock moves on."""
    before = sum(delivered(stack, hooks))
    for entity in entities:
        entity.notify()
    wait_until(lambda: sum(delivered(stack, hooks)) == before + HOSTS, what="all results")
    return [receiver.requests(hook.path)[-1].connection for hook in hooks]


def test_kept_connections_end_after_one_to_two_minutes_at_different_times(clock, entities, hooks, receiver, stack):
    began = time.monotonic()
    first = connections(stack, entities, hooks, receiver)
    clock.jump_to(30)  # below 60 s even with the time that a busy machine takes
    assert connections(stack, entities, hooks, receiver) == first
    clock.jump_to(max(30, round(90 - (time.monotonic() - began))))  # the time that has passed counts, too
    kept = sum(before == after for before, after in zip(first, connections(stack, entities, hooks, receiver)))
    assert 0 < kept < HOSTS, "by chance, one run in a million keeps all or none"
    clock.jump_to(130)
    assert not set(connections(stack, entities, hooks, receiver)) & set(first)
    assert all(len(receiver.requests(hook.path)) == 4 for hook in hooks), "the end of a connection fails no attempt"
