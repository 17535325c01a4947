"""A provider hosts the receivers of many entities: how many connections does its host get when each gets a notification?"""
from __future__ import annotations

import contextlib

from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure, all_of
from bench.crowds.stage import PATIENCE, Stage, scaled, within
from bench.receiver import Watch
from bench.slow import slow_receiver

WEBHOOKS = 2_000
SECONDS = 0.2  # from a request to its answer: without this delay, a few connections would do
LIMIT = "50"  # for an older release, which has no delivery.max_in_flight_per_host


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.provider = stage.enter(slow_receiver(*stage.pair, SECONDS))
        self.count = scaled(WEBHOOKS, stage.options)
        self.answering = stage.service.enroll([[f"https://proveedor.receptor.test:{self.provider.port}/{number}"]
                                              for number in range(self.count)])

    @contextlib.contextmanager
    def crowd(self):
        self.stage.service.write(self.count, self.answering)
        with Watch(self.provider) as self.watch:
            yield
            within(lambda: self.watch.arrived >= self.count and self.stage.delivered(self.answering) >= self.count, 3 * PATIENCE)
        self.delivered = self.stage.delivered(self.answering)

    def figures(self) -> list[Figure]:
        limit = int(self.stage.service.setting("delivery.max_in_flight_per_host", LIMIT))
        return [Figure("connections at once", self.watch.most_open, goal=("at most", limit)),
                Figure("connections made in all", self.watch.connections),
                Figure("seconds from the first request to the last", self.watch.last_at - (self.watch.first_at or 0)),
                all_of("rows delivered", self.delivered, self.count)]
