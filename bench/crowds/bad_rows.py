"""Rows that the CHECKs of notificaciones_pendientes would refuse, among good rows of the same entities: every bad row must be
listed with a reason, and every good one delivered."""
from __future__ import annotations

import contextlib

from bench.crowds.figures import all_of
from bench.crowds.stage import Stage, scaled, within
from bench.service import EVENT

ENTITIES, ROWS, OTHERS = 20, 500, 20
GOOD = "'" + EVENT + """', '{"evaluacionId": 1, "titulo": "buena"}', UTC_TIMESTAMP(3), NULL"""
BAD = [  # evento, datos, ocurrida_en, clave
    """'evaluacion.inventada', '{"evaluacionId": 1, "titulo": "mala"}', UTC_TIMESTAMP(3), NULL""",
    f"'{EVENT}', 'no es JSON', UTC_TIMESTAMP(3), NULL",
    f"""'{EVENT}', CONCAT('{{"evaluacionId": 1, "titulo": "', REPEAT('a', 65536), '"}}'), UTC_TIMESTAMP(3), NULL""",
    f"""'{EVENT}', '{{"evaluacionId": 1, "titulo": "mala"}}', '1960-01-01', NULL""",
    f"""'{EVENT}', '{{"evaluacionId": 1, "titulo": "mala"}}', UTC_TIMESTAMP(3), REPEAT('c', 100)""",
]


def run(options):
    with Stage(options) as stage:
        healthy = stage.healthy(stage.enroll(OTHERS))
        entities = stage.enroll(scaled(ENTITIES, options))
        rows = max(len(BAD), scaled(ROWS, options))
        listed, delivered = [], []

        @contextlib.contextmanager
        def crowd():
            write(stage, entities, rows)
            yield
            within(lambda: stage.delivered(entities) >= rows)
            within(lambda: reasons(stage, entities) >= rows, every=1)
            delivered.append(stage.delivered(entities))
            listed.append(reasons(stage, entities))

        figures = stage.in_turns(healthy, crowd)
    return figures + [all_of("bad rows listed with a reason", min(listed), rows),
                      all_of("good rows of the same entities delivered", min(delivered), rows)], stage.facts


def write(stage: Stage, entities: list[int], rows: int) -> None:
    """Alternates bad and good rows in one commit, with the rights of the evaluation system's user."""
    values = []
    for number in range(rows):
        clave_of_its_own = BAD[number % len(BAD)].replace("REPEAT('c', 100)", f"CONCAT(REPEAT('c', 100), {number})")
        values += [f"({entities[number % len(entities)]}, {row})" for row in (clave_of_its_own, GOOD)]
    stage.service.stack.evaluation(
        "SET check_constraint_checks = 0; INSERT INTO notificaciones_pendientes"
        f" (entidad_id, evento, datos, ocurrida_en, clave) VALUES {', '.join(values)}; SET check_constraint_checks = 1")


def reasons(stage: Stage, entities: list[int]) -> int:
    """Counts the rows of these entities to which `apientidades-admin notification list` gives a reason."""
    found = stage.service.stack.admin("notification", "list", "--limit", 1_000_000)
    return sum(row["entidad_id"] in entities and bool(row["error"]) for row in found)
