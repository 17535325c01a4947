"""Notifications of the largest allowed size: their effect on other entities, and on the dispatcher's memory."""
from __future__ import annotations

import contextlib
import statistics

from bench import machine
from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure, all_of, no_more_than
from bench.crowds.stage import Stage, scaled, within
from bench.service import EVENT, sequence

ENTITIES, ROWS = 64, 3_200
HEAD, TAIL = '{"evaluacionId": 1, "titulo": "', '"}'
TITLE = 65_536 - len(HEAD) - len(TAIL)
AT_MOST_MORE_MIB = 32


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.answering, self.rows = stage.enroll(scaled(ENTITIES, stage.options)), scaled(ROWS, stage.options)
        self.highest: list[float] = []
        self.alone: list[float] = []
        self.delivered: list[int] = []

    def baseline(self):
        return memory(self.stage, self.alone)

    @contextlib.contextmanager
    def crowd(self):
        self.stage.service.sql(f"""
            INSERT INTO notificaciones_pendientes (entidad_id, evento, datos)
            SELECT {self.answering[0]} + seq MOD {len(self.answering)}, '{EVENT}',
                   CONCAT('{HEAD}', REPEAT('a', {TITLE}), '{TAIL}')
            FROM {sequence(1, self.rows)}""")
        with memory(self.stage, self.highest):
            yield
            within(lambda: self.stage.delivered(self.answering) >= self.rows)
        self.delivered.append(self.stage.delivered(self.answering))

    def figures(self) -> list[Figure]:
        return [Figure("highest resident MiB", statistics.median(self.highest), tuple(self.alone),
                       no_more_than(AT_MOST_MORE_MIB, self.alone)),
                all_of("large rows delivered", min(self.delivered), self.rows)]


@contextlib.contextmanager
def memory(stage: Stage, into: list[float]):
    """When the block ends, appends to `into` the dispatcher's peak resident MiB."""
    yield
    into.append(machine.memory_kib(stage.service.dispatcher(), "VmHWM") / 1024)
