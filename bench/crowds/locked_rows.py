"""A forgotten transaction keeps every row of notificaciones_pendientes locked, a broadcast not yet fanned out among them. On
MariaDB the writer itself may do so, with the right to SELECT; on MySQL root does."""
from __future__ import annotations

import contextlib

from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure, all_of
from bench.crowds.stage import PATIENCE, Stage, scaled, within
from bench.service import EVENT
from support.sql import SqlError, SqlSession

ENTITIES, ROWS = 20, 5_000
ROW = f"""'{EVENT}', '{{"evaluacionId": 1, "titulo": "Convocatoria 2026"}}'"""


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.answering = stage.enroll(ENTITIES)
        self.rows = max(ENTITIES, scaled(ROWS, stage.options))
        self.delivered: list[int] = []

    @contextlib.contextmanager
    def crowd(self):
        """At READ COMMITTED the transaction locks rows and no gaps, so that other sessions can write. It begins right after the rows
        are committed, before the dispatcher has fanned them all out."""
        values = ", ".join(f"({self.answering[number % ENTITIES]}, {ROW})" for number in range(self.rows))
        stack = self.stage.service.stack
        own = "MariaDB" in stack.value("SELECT VERSION()")
        writer = stack.writer() if own else SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")
        try:
            writer("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            writer(f"START TRANSACTION; INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES {values};"
                   " COMMIT AND CHAIN; SELECT COUNT(*) FROM (SELECT id FROM notificaciones_pendientes FOR UPDATE) t")
            yield
            with contextlib.suppress(SqlError):  # a restarted database has ended the session
                writer("ROLLBACK")
        finally:
            writer.close()
        within(lambda: self.stage.delivered(self.answering) >= self.rows, 3 * PATIENCE)
        self.delivered.append(self.stage.delivered(self.answering))

    def figures(self) -> list[Figure]:
        return [all_of("rows delivered after the lock ends", min(self.delivered), self.rows)]
