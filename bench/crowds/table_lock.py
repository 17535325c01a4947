"""The evaluation system's user locks all rows of notificaciones_pendientes. On MariaDB, that takes only the right to SELECT."""
from __future__ import annotations

import contextlib
import threading

from bench.crowds.stage import Stage, scaled
from support.locks import in_background
from support.sql import SqlSession

OTHERS, PROCESSED = 20, 5_000
OPEN, FREE = 0.4, 0.03  # seconds of each transaction, and between two transactions


def run(options):
    with Stage(options) as stage:
        healthy = stage.healthy(stage.enroll(OTHERS))
        entities = stage.enroll(OTHERS)

        @contextlib.contextmanager
        def crowd():
            stage.service.write(scaled(PROCESSED, options), entities)
            stage.service.wait_recorded(60)
            stage.receiver.forget()
            with lock(stage):
                yield

        return stage.in_turns(healthy, crowd), stage.facts


@contextlib.contextmanager
def lock(stage: Stage):
    """Locks again and again, because each lock must meet rows that are committed but not yet fanned out. While the transaction
    is open, INSERTs wait (REPEATABLE READ locks the gaps); to avoid this is up to the evaluation system."""
    over = threading.Event()
    locking = in_background(lock_again_and_again, stage.service.stack.writer(), over)
    try:
        yield
    finally:
        over.set()
        locking.result()


def lock_again_and_again(writer: SqlSession, over: threading.Event) -> None:
    try:
        while not over.wait(FREE):
            writer("START TRANSACTION")
            writer("SELECT COUNT(*) FROM (SELECT id FROM notificaciones_pendientes FOR UPDATE) t")
            over.wait(OPEN)
            writer("ROLLBACK")
    finally:
        writer.close()
