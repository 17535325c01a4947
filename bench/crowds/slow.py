"""Measures a healthy entity beside many receivers that answer 200 after 13 s, and how many slots those receivers hold."""
from __future__ import annotations

import contextlib
import statistics
import threading

from bench.crowds.figures import Figure
from bench.crowds.stage import Stage, scaled, within
from bench.slow import slow_receiver
from support.metrics import scrape
from support.stack import free_port

ENTITIES = 20  # with slow receivers
EACH = 5  # webhooks of each of these entities
ROWS = 100  # notifications of each of these entities; each notification is sent to all webhooks of its entity
SECONDS = 13
# The measurement begins when the slow receivers hold 90 % of the slots that they can have. If they never do, it begins after so
# many of their answer times, and 5 s.
TURNS = 5


def run(options):
    after = max(1.0, SECONDS * options.size / 100)
    address = f"127.0.0.1:{free_port()}"
    alone, beside = [], []
    with Stage(options) as stage, slow_receiver(*stage.pair, after) as receiver:
        healthy = stage.healthy(stage.enroll(1))
        slow = stage.enroll(scaled(ENTITIES, options), receiver.port, EACH)
        most = min(stage.service.max_in_flight(),
                   len(slow) * EACH * int(stage.service.setting("delivery.max_in_flight_per_webhook", "10")))

        @contextlib.contextmanager
        def crowd():
            stage.service.write(ROWS * len(slow), slow)
            within(lambda: in_flight(address) >= 0.9 * most, TURNS * after + 5)
            alone.append(in_flight(address))
            with samples(lambda: receiver.counts()["held"]) as held:
                yield
            beside.append(statistics.median(held))

        figures = stage.in_turns(healthy, crowd, metrics_listen=address)
    return figures + [
        Figure("slots of the slow, alone", statistics.median(alone), goal=("at least", most / 2)),
        Figure("slots of the slow, beside the healthy", statistics.median(beside)),
    ], stage.facts


def in_flight(address: str) -> float:
    return scrape(f"http://{address}/metrics").value("apientidades_in_flight")


@contextlib.contextmanager
def samples(look, every: float = 0.1):
    """Yields a list, to which the result of `look` is appended every `every` seconds until the context ends."""
    found, end = [look()], threading.Event()

    def sample():
        while not end.wait(every):
            found.append(look())

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        end.set()
        thread.join()
