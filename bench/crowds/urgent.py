"""An entity writes 100,000 urgent rows."""
from __future__ import annotations

import contextlib

from bench.crowds.crowd import Crowd
from bench.crowds.stage import Stage, scaled
from bench.receiver import Receiver
from bench.service import EVENT, sequence

ROWS = 100_000


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        receiver = stage.enter(Receiver(*stage.pair))
        self.answering = stage.enroll(1, receiver.port)
        self.backlog = True

    @contextlib.contextmanager
    def crowd(self):
        self.stage.service.sql(f"""
            INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, urgente)
            SELECT {self.answering[0]}, '{EVENT}', '{{"evaluacionId": 1, "titulo": "Convocatoria 2026"}}', TRUE
            FROM {sequence(1, scaled(ROWS, self.stage.options))}""")
        yield
