"""A job writes rows for entities that do not exist: each of its rows has another unknown entity."""
from __future__ import annotations

import contextlib
import statistics
import time
from pathlib import Path

from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure, no_more_than
from bench.crowds.stage import Stage, scaled
from bench.service import EVENT, sequence

ROWS, COMMITS = 80_000, 8
FIRST = 1_000_000_000
AT_LEAST_PER_SECOND = 10_000
AT_MOST_MORE_KIB = 64  # of log


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.rates: list[float] = []
        self.logged: list[float] = []
        self.logged_alone: list[float] = []
        self.each = max(1, scaled(ROWS, stage.options) // COMMITS)
        self.rejected = COMMITS * self.each

    def baseline(self):
        return log_growth(self.stage, self.logged_alone)

    @contextlib.contextmanager
    def crowd(self):
        with log_growth(self.stage, self.logged):
            after, start, rates = self.stage.service.last("notificaciones_pendientes"), time.monotonic(), []
            for commit in range(COMMITS):
                self.stage.service.sql(f"""
                    INSERT INTO notificaciones_pendientes (entidad_id, evento, datos)
                    SELECT {FIRST + commit * self.each} + seq, '{EVENT}', '{{"evaluacionId": 1, "titulo": "Convocatoria 2026"}}'
                    FROM {sequence(1, self.each)}""")

            def goes_on() -> bool:
                if not rates and self.stage.service.sql(
                        f"SELECT 1 FROM notificaciones_pendientes FORCE INDEX (PRIMARY) WHERE id > {after}"
                        f" AND estado = 'pendiente' AND entidad_id >= {FIRST} LIMIT 1") == []:
                    rates.append(COMMITS * self.each / (time.monotonic() - start))
                return not rates

            yield goes_on
        self.rates += rates

    def figures(self) -> list[Figure]:
        return [Figure("rejected a second, from the first INSERT on", statistics.median(self.rates),
                       goal=("at least", AT_LEAST_PER_SECOND)),
                Figure("KiB of log", statistics.median(self.logged), tuple(self.logged_alone),
                       no_more_than(AT_MOST_MORE_KIB, self.logged_alone))]


@contextlib.contextmanager
def log_growth(stage: Stage, into: list[float]):
    """When the block ends, appends to `into` by how many KiB the dispatcher's log has grown."""
    log = Path(stage.service.stack.folder, "log", "dispatcher.log")
    before = log.stat().st_size
    yield
    into.append((log.stat().st_size - before) / 1024)
