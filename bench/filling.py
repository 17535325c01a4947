"""Fills the tables with deliveries that are not measured: they finished an hour ago, or are not sent before tomorrow."""
from __future__ import annotations

from bench.report import progress
from bench.service import EVENT, Service, sequence

CHUNK = 250_000  # ids that one statement covers
SHARE_RESTING = 0.5  # the share of the pending deliveries that belong to resting webhooks; the others wait for a retry


def finished(service: Service, count: int, webhooks: int) -> None:
    """Writes `count` deliveries, spread evenly over the webhooks, and one attempt of each. That attempt succeeded an hour
    ago."""
    notifications(service, count, 1, webhooks)
    deliveries(service, "'entregada', 1, 0, n.ocurrida_en, n.ocurrida_en, 204", "TRUE")
    attempts(service, 1, 204, "TRUE")


def pending(service: Service, count: int, webhooks: int, resting: int) -> None:
    """Writes `count` pending deliveries. Those of `webhooks` webhooks wait for a second attempt tomorrow. Those of `resting`
    further webhooks are due, but these webhooks rest until tomorrow after a 429."""
    due = int(count * SHARE_RESTING)
    notifications(service, count - due, 1, webhooks)
    notifications(service, due, webhooks + 1, resting)
    service.sql(f"""
        INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_estado, ultimo_error, sondeo, descansa_hasta,
                                         fallos, fallos_desde)
        SELECT id, UTC_TIMESTAMP(3), 429, 'HTTP 429', TRUE, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, 1, UTC_TIMESTAMP(3)
        FROM webhooks WHERE entidad_id > {webhooks}""")
    deliveries(service, "'pendiente', 1, 1, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, NULL, 503", f"w.entidad_id <= {webhooks}")
    deliveries(service, "'pendiente', 0, 0, n.ocurrida_en, NULL, NULL", f"w.entidad_id > {webhooks}")


def notifications(service: Service, count: int, first: int, entities: int, age: str = "1 HOUR") -> None:
    """Writes notifications processed `age` ago for the entities from id `first` on, entity after entity, because this loads
    fastest."""
    progress(f"writing {count:,} other notifications")
    for start in range(0, count, CHUNK):
        service.sql(f"""
            INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en, estado, terminada_en)
            SELECT {first} + (seq - 1) * {entities} DIV {count}, '{EVENT}',
                   CONCAT('{{"evaluacionId": ', seq, ', "titulo": "Convocatoria 2026"}}'),
                   UTC_TIMESTAMP(3) - INTERVAL {age}, 'procesada', UTC_TIMESTAMP(3) - INTERVAL {age}
            FROM {sequence(start + 1, min(start + CHUNK, count))}""")


def deliveries(service: Service, values: str, condition: str) -> None:
    """Writes a delivery of each notification for each webhook of its entity, in the order of a fan-out; `values` are estado, intentos, paso,
    proximo_intento, terminada_en, ultimo_estado."""
    in_chunks(service, "notificaciones_pendientes", f"""
        INSERT INTO entregas (notificacion_id, webhook_id, creada_en, evento, prueba,
                              estado, intentos, paso, proximo_intento, terminada_en, ultimo_estado)
        SELECT n.id, w.id, n.ocurrida_en, n.evento, FALSE, {values}
        FROM notificaciones_pendientes n STRAIGHT_JOIN webhooks w ON w.entidad_id = n.entidad_id
        WHERE {condition} AND n.id""")


def attempts(service: Service, count: int, status: int, condition: str) -> None:
    """Writes `count` attempts of each delivery, all with this answer."""
    in_chunks(service, "entregas", f"""
        INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, direccion, estado_http)
        SELECT e.id, seq, e.creada_en, 3, '127.0.0.1', {status}
        FROM entregas e JOIN webhooks w ON w.id = e.webhook_id JOIN {sequence(1, count)} WHERE {condition} AND e.id""")


def in_chunks(service: Service, table: str, statement: str) -> None:
    """Runs `statement`, which ends in a column with `table`'s ids, for one range of ids after another."""
    progress(f"… and the rows that depend on {table}")
    last = service.last(table)
    for start in range(0, last, CHUNK):
        service.sql(f"{statement} BETWEEN {start + 1} AND {start + CHUNK}")
