"""Replays 100,000 deliveries of one webhook, and measures how long new notifications take to arrive beside the replay:
those of other webhooks, and those of the replayed webhook."""
from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time

from bench.crowds.figures import Figure
from bench.crowds.stage import Stage, scaled, within
from bench.service import EVENT

DELIVERIES, OTHERS = 100_000, 20


def run(options):
    rates = []
    with Stage(options) as stage:
        others, own = stage.enroll(OTHERS), stage.enroll(1)
        count = scaled(DELIVERIES, options)

        @contextlib.contextmanager
        def crowd():
            deliver_long_ago(stage, own[0], count)
            ask(stage, own[0], count)
            try:
                within(lambda: handed_over(stage) > 0, every=0.05)
                first, start = handed_over(stage), time.monotonic()
                yield
                rates.append((handed_over(stage) - first) / (time.monotonic() - start))
            finally:
                stage.service.sql("DELETE FROM reenvios_entregas; DELETE FROM reenvios")

        figures = stage.in_turns(stage.healthy(others), crowd)
        figures += [dataclasses.replace(figure, name=f"{figure.name}, of the same webhook")
                    for figure in stage.in_turns(stage.healthy(own), crowd)]
    return figures + [Figure("replayed a second", statistics.median(rates))], stage.facts


def deliver_long_ago(stage: Stage, entity: int, count: int) -> None:
    sql = stage.service.sql
    after = stage.service.last("notificaciones_pendientes")
    sql(f"""INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en, estado, terminada_en)
            SELECT {entity}, '{EVENT}', CONCAT('{{"evaluacionId": ', seq, ', "titulo": "Convocatoria 2026"}}'),
                   UTC_TIMESTAMP(3) - INTERVAL 1 HOUR, 'procesada', UTC_TIMESTAMP(3) - INTERVAL 1 HOUR
            FROM seq_1_to_{count}""")
    sql(f"""INSERT INTO entregas (notificacion_id, webhook_id, estado, intentos, proximo_intento, creada_en, terminada_en, entregada_en,
                                  ultimo_estado)
            SELECT n.id, w.id, 'entregada', 1, n.ocurrida_en, n.ocurrida_en, n.terminada_en, n.terminada_en, 204
            FROM notificaciones_pendientes n JOIN webhooks w ON w.entidad_id = n.entidad_id
            WHERE n.id > {after} AND n.entidad_id = {entity} AND n.estado = 'procesada'""")
    sql("""INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, direccion, estado_http)
           SELECT e.id, 1, e.creada_en, 3, '127.0.0.1', 204 FROM entregas e LEFT JOIN intentos_entrega i ON i.entrega_id = e.id
           WHERE i.entrega_id IS NULL AND e.estado = 'entregada'""")


def ask(stage: Stage, entity: int, count: int) -> None:
    """Asks for the replay by a row of `reenvios`, as the API does."""
    stage.service.sql(f"""
        INSERT INTO reenvios (entidad_id, webhook_id, desde, hasta, fallidas, entregadas, candidatas, tope)
        SELECT entidad_id, id, UTC_TIMESTAMP(3) - INTERVAL 2 HOUR, UTC_TIMESTAMP(3) - INTERVAL 30 MINUTE, TRUE, TRUE, {count}, {count}
        FROM webhooks WHERE entidad_id = {entity}""")


def handed_over(stage: Stage) -> int:
    return int(stage.service.sql("SELECT COALESCE(SUM(reenviadas), 0) FROM reenvios")[0][0])
