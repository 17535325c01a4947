"""Measures a healthy entity beside many receivers that answer 200 after 13 s, and how many slots those receivers hold."""
from __future__ import annotations

import contextlib
import statistics
import threading

from bench.crowds.crowd import Crowd
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


class Case(Crowd):
    OTHERS = 1
    ADDRESS = f"127.0.0.1:{free_port()}"
    SETTINGS = {"metrics_listen": ADDRESS}

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.alone: list[float] = []
        self.beside: list[float] = []
        self.answer_time = max(1.0, SECONDS * stage.options.size / 100)
        self.receiver = stage.enter(slow_receiver(*stage.pair, self.answer_time))
        self.answering = stage.enroll(scaled(ENTITIES, stage.options), self.receiver.port, EACH)
        self.most = min(stage.service.max_in_flight(),
                        len(self.answering) * EACH * int(stage.service.setting("delivery.max_in_flight_per_webhook", "10")))

    @contextlib.contextmanager
    def crowd(self):
        self.stage.service.write(ROWS * len(self.answering), self.answering)
        within(lambda: in_flight() >= 0.9 * self.most, TURNS * self.answer_time + 5)
        self.alone.append(in_flight())
        with samples(lambda: self.receiver.counts()["held"]) as held:
            yield
        self.beside.append(statistics.median(held))

    def figures(self) -> list[Figure]:
        return [Figure("slots of the slow, alone", statistics.median(self.alone), goal=("at least", self.most / 2)),
                Figure("slots of the slow, beside the healthy", statistics.median(self.beside))]


def in_flight() -> float:
    return scrape(f"http://{Case.ADDRESS}/metrics").value("apientidades_in_flight")


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
