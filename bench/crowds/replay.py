"""Replays 100,000 deliveries of one webhook, and measures how long new notifications take to arrive beside the replay:
those of other webhooks, and those of the replayed webhook."""
from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time

from bench import filling
from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure
from bench.crowds.stage import Stage, scaled, within

DELIVERIES = 100_000


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.answering, self.count = stage.enroll(1), scaled(DELIVERIES, stage.options)
        self.rates: list[float] = []

    def fill(self) -> None:
        service, of_it = self.stage.service, f"w.entidad_id = {self.answering[0]}"
        filling.notifications(service, self.count, self.answering[0], 1)
        filling.deliveries(service, "'entregada', 1, 0, n.ocurrida_en, n.terminada_en, 204", of_it)
        filling.attempts(service, 1, 204, of_it)

    @contextlib.contextmanager
    def crowd(self):
        ask(self.stage, self.answering[0], self.count)
        try:
            within(lambda: handed_over(self.stage) > 0, every=0.05)
            first, start = handed_over(self.stage), time.monotonic()
            yield
            self.rates.append((handed_over(self.stage) - first) / (time.monotonic() - start))
        finally:
            self.stage.service.sql("DELETE FROM reenvios_entregas; DELETE FROM reenvios")

    def measure(self) -> list[Figure]:
        return super().measure() + [dataclasses.replace(figure, name=f"{figure.name}, of the same webhook")
                                    for figure in self.in_turns(self.stage.healthy(self.answering, self.OTHERS_RATE))]

    def figures(self) -> list[Figure]:
        return [Figure("replayed a second", statistics.median(self.rates))]


def ask(stage: Stage, entity: int, count: int) -> None:
    """Asks for the replay by a row of `reenvios`, as the API does."""
    stage.service.sql(f"""
        INSERT INTO reenvios (entidad_id, webhook_id, desde, hasta, fallidas, entregadas, candidatas, tope)
        SELECT entidad_id, id, UTC_TIMESTAMP(3) - INTERVAL 2 HOUR, UTC_TIMESTAMP(3) - INTERVAL 30 MINUTE, TRUE, TRUE, {count}, {count}
        FROM webhooks WHERE entidad_id = {entity}""")


def handed_over(stage: Stage) -> int:
    return int(stage.service.sql("SELECT COALESCE(SUM(reenviadas), 0) FROM reenvios")[0][0])
