"""A million rows wait for their `no_antes_de`, also in the baseline. With the crowd they are due at one moment."""
from __future__ import annotations

import contextlib
import statistics
import time

from bench import filling
from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure
from bench.crowds.stage import Stage, scaled
from bench.receiver import Receiver

ENTITIES, ROWS = 1_000, 1_000_000


class Case(Crowd):
    OTHERS, OTHERS_RATE = 100, 20  # each needs less than its fair share beside so many entities with a backlog

    def __init__(self, stage: Stage):
        super().__init__(stage)
        receiver = stage.enter(Receiver(*stage.pair))
        self.answering, self.rows = stage.enroll(scaled(ENTITIES, stage.options), receiver.port), scaled(ROWS, stage.options)
        self.backlog = True
        self.rates: list[float] = []

    def fill(self) -> None:
        service = self.stage.service
        filling.notifications(service, self.rows, self.answering[0], len(self.answering))
        of_them = f"entidad_id BETWEEN {self.answering[0]} AND {self.answering[-1]}"
        service.sql(f"""
            UPDATE notificaciones_pendientes SET estado = 'pendiente', terminada_en = NULL, no_antes_de = ocurrida_en,
              aplazada_hasta = UTC_TIMESTAMP(3) + INTERVAL 7 DAY WHERE {of_them}""")

    @contextlib.contextmanager
    def crowd(self):
        self.stage.service.sql("UPDATE notificaciones_pendientes SET aplazada_hasta = UTC_TIMESTAMP(3) WHERE aplazada_hasta IS NOT NULL")
        begin, left = time.monotonic(), self.left()
        yield
        self.rates.append((left - self.left()) / (time.monotonic() - begin))

    def left(self) -> int:
        return self.stage.service.count("notificaciones_pendientes", "estado = 'pendiente' AND aplazada_hasta IS NOT NULL")

    def figures(self) -> list[Figure]:
        return [Figure("released a second", statistics.median(self.rates))]
