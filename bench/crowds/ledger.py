"""What must be true of all rows at the end of a measurement, whatever load and faults there were: nothing is lost, and no failure
is charged to a receiver that answers 200."""
from __future__ import annotations

from bench.crowds.crowd import Crowd
from bench.crowds.stage import Stage, within

SETTLED_WITHIN = 40  # seconds
WAITING = "'pendiente', 'en_curso'"


def problems(stage: Stage, crowds: list[Crowd], after: int) -> list[str]:
    """`after`: the last delivery before the measurement."""
    def lost() -> list[str]:
        return [text for crowd in crowds for text in unsettled(stage, crowd)] + rejections(stage, crowds)

    within(lambda: not lost(), SETTLED_WITHIN, every=0.5)
    return lost() + [text for crowd in crowds for text in charged(stage, crowd.answering)] + not_arrived(stage, after)


def unsettled(stage: Stage, crowd: Crowd) -> list[str]:
    """Rows that are neither where they must end nor where they may wait."""
    found = []
    for kind, entities, states in (("answer", crowd.answering, "'entregada'"), ("fail", crowd.failing, f"{WAITING}, 'fallida'")):
        states += f", {WAITING}" if crowd.backlog else ""
        undone = "'cancelada'" + ("" if crowd.backlog else ", 'pendiente'")
        found += grouped(stage, f"""
            SELECT 'notifications', n.estado, COUNT(*) FROM notificaciones_pendientes n
            WHERE n.entidad_id IN ({listed(entities)}) AND n.estado IN ({undone}) GROUP BY 2
            UNION ALL
            SELECT 'deliveries', COALESCE(e.estado, 'missing'), COUNT(*)
            FROM notificaciones_pendientes n JOIN webhooks w ON w.entidad_id = n.entidad_id
            LEFT JOIN entregas e ON e.notificacion_id = n.id AND e.webhook_id = w.id
            WHERE n.entidad_id IN ({listed(entities)}) AND n.estado = 'procesada' AND COALESCE(e.estado, '') NOT IN ({states})
            GROUP BY 2""", f"whose receivers {kind}")
    return found


def charged(stage: Stage, entities: list[int]) -> list[str]:
    """Failures recorded against receivers that answer 200."""
    return grouped(stage, f"""
        SELECT 'attempts', CONCAT_WS(' ', i.tipo, i.estado_http, i.error), COUNT(*) FROM intentos_entrega i
        JOIN entregas e ON e.id = i.entrega_id JOIN webhooks w ON w.id = e.webhook_id
        WHERE w.entidad_id IN ({listed(entities)}) AND (i.error <> '' OR i.estado_http NOT BETWEEN 200 AND 299) GROUP BY 2
        UNION ALL
        SELECT 'deliveries', 'with a step spent', COUNT(*) FROM entregas e JOIN webhooks w ON w.id = e.webhook_id
        WHERE w.entidad_id IN ({listed(entities)}) AND e.paso > 0 HAVING COUNT(*) > 0
        UNION ALL
        SELECT 'webhooks', IF(w.activo, 'with a streak of failures', 'deactivated'), COUNT(*) FROM webhooks w
        LEFT JOIN webhook_ejecuciones j ON j.webhook_id = w.id
        WHERE w.entidad_id IN ({listed(entities)}) AND (j.fallos > 0 OR NOT w.activo)
        GROUP BY 2""", "though the receiver answers 200")


def rejections(stage: Stage, crowds: list[Crowd]) -> list[str]:
    expected = sum(crowd.rejected for crowd in crowds)
    found = stage.service.count("notificaciones_pendientes", "estado = 'rechazada'")
    return [] if found == expected else [f"{found:,} rows are rechazada instead of {expected:,}"]


def not_arrived(stage: Stage, after: int) -> list[str]:
    """Deliveries at the stage's receiver that are recorded as delivered and of which it knows nothing."""
    def missing() -> set[int]:
        delivered = {int(id) for id, in stage.service.sql(
            f"SELECT e.id FROM entregas e JOIN webhooks w ON w.id = e.webhook_id WHERE e.id > {after} AND e.estado = 'entregada'"
            f" AND w.url LIKE '%:{stage.receiver.port}/%'")}
        return delivered - stage.receiver.arrivals_by_delivery().keys()

    within(lambda: not missing(), 5)  # nginx writes its log once a second
    return [f"{len(missing()):,} deliveries are entregada and have not arrived"] if missing() else []


def grouped(stage: Stage, query: str, what: str) -> list[str]:
    return [f"{count} {table} {state} {what}" for table, state, count in stage.service.sql(query)]


def listed(entities: list[int]) -> str:
    return ", ".join(map(str, entities)) or "NULL"
