"""Webhooks whose receivers are silent, and each of them is to be probed now: as after an outage that was longer than
delivery.probe_interval."""
from __future__ import annotations

import contextlib

from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure
from bench.crowds.stage import Stage, scaled
from bench.service import EVENT
from bench.silent import silent_port

WEBHOOKS = 10_000


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.failing = stage.enroll(scaled(WEBHOOKS, stage.options), stage.enter(silent_port()))
        self.webhooks = f"entidad_id BETWEEN {self.failing[0]} AND {self.failing[-1]}"
        self.probed: list[int] = []

    @contextlib.contextmanager
    def crowd(self):
        sql, after = self.stage.service.sql, self.stage.service.last("notificaciones_pendientes")
        sql(f"""
            INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en)
            SELECT entidad_id, '{EVENT}', '{{"evaluacionId": 1, "titulo": "Convocatoria 2026"}}', 'procesada', UTC_TIMESTAMP(3)
            FROM webhooks WHERE {self.webhooks};
            INSERT INTO entregas (notificacion_id, webhook_id, evento, estado, intentos, paso, proximo_intento, ultimo_error, creada_en)
            SELECT n.id, w.id, n.evento, 'pendiente', 1, 1, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, 'No respondió', UTC_TIMESTAMP(3)
            FROM notificaciones_pendientes n JOIN webhooks w ON w.entidad_id = n.entidad_id WHERE n.id > {after} AND w.{self.webhooks};
            INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_error, sondeo, adelantar_en)
            SELECT id, UTC_TIMESTAMP(3), 'No respondió', TRUE, UTC_TIMESTAMP(3) FROM webhooks WHERE {self.webhooks}
            ON DUPLICATE KEY UPDATE ultimo_error = 'No respondió', sondeo = TRUE, adelantar_en = UTC_TIMESTAMP(3)""")
        yield
        self.probed.append(int(sql(f"SELECT COUNT(*) FROM entregas WHERE notificacion_id > {after} AND tipo = 'sondeo'")[0][0]))

    def figures(self) -> list[Figure]:
        return [Figure("webhooks with a probe begun or due", sum(self.probed) / len(self.probed))]
