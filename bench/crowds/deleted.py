"""An entity that has registered and deleted webhooks for a month polls the API: how much does that delay another entity's
requests, and the healthy entities' deliveries?"""
from __future__ import annotations

import contextlib
import statistics

from bench.crowds.crowd import Crowd
from bench.crowds.figures import AT_MOST_MORE_MS, Figure, no_more_than
from bench.crowds.polling import Client, polling
from bench.crowds.stage import Stage, scaled
from bench.report import percentile, progress
from bench.service import EVENT, sequence
from support.actors import BASE

DELETED = 400_000
CHUNK = 100_000  # rows of a transaction
POLLERS = 8  # connections of the entity that polls
EVERY = 0.1  # seconds from one request of a connection to its next, unless the answer takes longer
NO_DIFFERENCE = 1.2  # times the baseline


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.alone: list[list[float]] = []
        self.beside: list[list[float]] = []
        clean, churned, asking = stage.enroll(3)
        self.clean, self.churned, self.asking = stage.service.add_tokens([clean, churned, asking])
        churn(stage, churned, scaled(DELETED, stage.options))

    def baseline(self):
        return self.polls(self.clean, self.alone)

    def crowd(self):
        return self.polls(self.churned, self.beside)

    @contextlib.contextmanager
    def polls(self, token: str, into: list[list[float]]):
        """The same polls in every phase: only the number of webhooks that the polling entity has deleted differs."""
        requests = [("GET", BASE, None)]
        with polling(self.stage, Client(token, requests, EVERY, POLLERS), Client(self.asking, requests, EVERY)) as (_, found):
            yield
        into.append(found)

    def figures(self) -> list[Figure]:
        return [get_figure(share, self.alone, self.beside) for share in (0.5, 0.99)]


def get_figure(share: float, baseline: list[list[float]], beside: list[list[float]]) -> Figure:
    """The median must hardly change; the p99 may vary, within bounds."""
    alone = [percentile(found, share) for found in baseline]
    goal = no_more_than(0, alone, NO_DIFFERENCE) if share == 0.5 else no_more_than(AT_MOST_MORE_MS, alone)
    return Figure(f"another's GET, p{share * 100:.0f} ms", statistics.median(percentile(found, share) for found in beside),
                  tuple(alone), goal)


def churn(stage: Stage, entity: int, count: int) -> None:
    progress(f"writing {count:,} deleted webhooks")
    for start in range(0, count, CHUNK):
        stage.service.sql(f"""
            INSERT INTO webhooks (entidad_id, plaza, url, eventos, fecha_baja)
            SELECT {entity}, NULL, CONCAT('https://baja.receptor.test/', seq), '{EVENT}', UTC_TIMESTAMP(3)
            FROM {sequence(start + 1, min(start + CHUNK, count))}""")
