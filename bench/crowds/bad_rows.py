"""Rows that the CHECKs of notificaciones_pendientes would refuse (on MySQL: rows that do not match their event), among good rows of
the same entities: every bad row must be listed with a reason, and every good one delivered."""
from __future__ import annotations

import contextlib

from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure, all_of
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
BAD_ON_MYSQL = [f"""'{EVENT}', '{{"evaluacionId": "42", "titulo": "mala"}}', UTC_TIMESTAMP(3), NULL"""]  # no session evades a CHECK


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.answering = stage.enroll(scaled(ENTITIES, stage.options))
        self.bad = BAD if "MariaDB" in stage.service.stack.value("SELECT VERSION()") else BAD_ON_MYSQL
        self.rows = self.rejected = max(len(self.bad), scaled(ROWS, stage.options))
        self.listed: list[int] = []
        self.delivered: list[int] = []

    @contextlib.contextmanager
    def crowd(self):
        self.write()
        yield
        within(lambda: self.stage.delivered(self.answering) >= self.rows)
        within(lambda: self.reasons() >= self.rows, every=1)
        self.delivered.append(self.stage.delivered(self.answering))
        self.listed.append(self.reasons())

    def write(self) -> None:
        """Alternates bad and good rows in one commit, with the rights of the evaluation system's user."""
        values = []
        for number in range(self.rows):
            clave_of_its_own = self.bad[number % len(self.bad)].replace("REPEAT('c', 100)", f"CONCAT(REPEAT('c', 100), {number})")
            values += [f"({self.answering[number % len(self.answering)]}, {row})" for row in (clave_of_its_own, GOOD)]
        insert = f"INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en, clave) VALUES {', '.join(values)}"
        if self.bad is BAD:
            insert = f"SET check_constraint_checks = 0; {insert}; SET check_constraint_checks = 1"
        self.stage.write_as_evaluation(insert)

    def reasons(self) -> int:
        """Counts the rows of these entities to which `apientidades-admin notification list` gives a reason."""
        found = self.stage.service.stack.admin("notification", "list", "--limit", 1_000_000)
        return sum(row["entidad_id"] in self.answering and bool(row["error"]) for row in found)

    def figures(self) -> list[Figure]:
        return [all_of("bad rows listed with a reason", min(self.listed), self.rows),
                all_of("good rows of the same entities delivered", min(self.delivered), self.rows)]
