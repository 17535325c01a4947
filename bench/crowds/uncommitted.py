"""One transaction writes a million rows and stays open. Halfway through the measurement it commits."""
from __future__ import annotations

import contextlib
import threading
import time

from bench.crowds.crowd import Crowd
from bench.crowds.stage import Stage, scaled
from bench.receiver import Receiver
from bench.report import progress
from bench.service import EVENT, sequence
from support.locks import in_background
from support.sql import SqlError, SqlSession

ENTITIES, ROWS = 1_000, 1_000_000
CHUNK = 50_000  # rows of a statement


class Case(Crowd):
    OTHERS, OTHERS_RATE = 100, 20  # each needs less than its fair share beside so many entities with a backlog
    def __init__(self, stage: Stage):
        super().__init__(stage)
        receiver = stage.enter(Receiver(*stage.pair))
        self.answering = stage.enroll(scaled(ENTITIES, stage.options), receiver.port)
        self.backlog = True

    @contextlib.contextmanager
    def crowd(self):
        env, seconds, ended = self.stage.service.stack.env, self.stage.options.seconds, threading.Event()
        writer = SqlSession(env["DB_SOCKET"], env["DB_NAME"], "root", "")
        try:
            self.write(writer, scaled(ROWS, self.stage.options))
            end = time.monotonic() + 2 * seconds

            def commit() -> None:
                if not ended.wait(seconds):
                    with contextlib.suppress(SqlError):  # a restarted database has rolled back
                        writer("COMMIT")

            committing = in_background(commit)
            yield lambda: time.monotonic() < end
            ended.set()
            committing.result()
        finally:
            writer.close()

    def write(self, writer: SqlSession, rows: int) -> None:
        progress(f"writing {rows:,} rows in one transaction")
        writer("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION")
        for start in range(0, rows, CHUNK):
            writer(f"""
                INSERT INTO notificaciones_pendientes (entidad_id, evento, datos)
                SELECT {self.answering[0]} + seq MOD {len(self.answering)}, '{EVENT}',
                       CONCAT('{{"evaluacionId": ', seq, ', "titulo": "Convocatoria 2026"}}')
                FROM {sequence(start + 1, min(start + CHUNK, rows))}""")
