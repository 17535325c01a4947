"""A million deliveries have expired when they are due."""
from __future__ import annotations

import contextlib
import statistics
import time

from bench import filling
from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure
from bench.crowds.stage import Stage, scaled

ENTITIES, ROWS = 1_000, 1_000_000


class Case(Crowd):
    OTHERS, OTHERS_RATE = 100, 20

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.entities, self.rows = stage.enroll(scaled(ENTITIES, stage.options)), scaled(ROWS, stage.options)
        self.rates: list[float] = []

    def fill(self) -> None:
        service = self.stage.service
        filling.notifications(service, self.rows, self.entities[0], len(self.entities))
        service.sql("UPDATE notificaciones_pendientes SET caduca_en = ocurrida_en"
                    f" WHERE entidad_id BETWEEN {self.entities[0]} AND {self.entities[-1]}")

    @contextlib.contextmanager
    def crowd(self):
        begin = time.monotonic()
        of_them = f"w.entidad_id BETWEEN {self.entities[0]} AND {self.entities[-1]}"
        filling.deliveries(self.stage.service, "'pendiente', 0, 0, n.ocurrida_en, NULL, NULL", of_them)
        yield
        self.rates.append(self.ended() / (time.monotonic() - begin))

    def ended(self) -> int:
        return self.stage.service.count("entregas", "estado = 'cancelada'")

    def figures(self) -> list[Figure]:
        return [Figure("ended a second", statistics.median(self.rates))]
