"""A steady flow of rows, each committed alone at a random time, and the time until each reaches the receiver."""
from __future__ import annotations

import contextlib
import math
import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from bench.receiver import Receiver
from bench.report import percentile
from bench.service import EVENT, Service
from support.sql import SqlSession
from support.wait import wait_until

ROWS_PER_WRITER = 100  # rows a second; a higher rate needs more writers, because each commit waits for an fsync


@dataclass(frozen=True)
class Written:
    """One row: the times (wall clock, seconds) when it was due, when its INSERT was sent and when its commit was known."""
    number: int
    due: float
    sent: float
    committed: float


@dataclass(frozen=True)
class Latency:
    """Milliseconds from a row's commit, and from the sending of its INSERT, to its arrival."""
    from_commit: float
    from_insert: float


class Flow:
    """Writes rows with the evaluation system's rights at the times of a Poisson process, however slowly they are
    delivered."""

    def __init__(self, service: Service, rate: float, entities: list[int], seconds: float = math.inf,
                 rows: float = math.inf):
        """run() ends after `seconds` or after `rows`, whichever comes first."""
        self.service, self.rate, self.entities, self.seconds, self.rows = service, rate, entities, seconds, rows
        # Read here, because run() may be called in a thread that must not use service.sql.
        self.after = service.last("notificaciones_pendientes")
        self.written: list[Written] = []
        self._failures: list[Exception] = []

    def run(self) -> "Flow":
        """Writes everything, and returns when that is done."""
        writers = max(2, round(self.rate / ROWS_PER_WRITER))
        begin = time.time() + 0.2
        threads = [threading.Thread(target=self._write, args=(index, writers, begin)) for index in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failures:
            raise self._failures[0]
        return self

    def latencies(self, receiver: Receiver, timeout: float = 60) -> list[Latency]:
        """Waits until all rows have arrived; returns the latency of each row. `receiver` must log arrivals."""
        found, missing = self.latencies_within(receiver, timeout)
        if missing:
            raise AssertionError(f"{missing:,} of {len(found):,} rows have not arrived after {timeout} s")
        return found

    def latencies_within(self, receiver: Receiver, patience: float) -> tuple[list[Latency], int]:
        """Returns the latency of each row, and how many rows have not arrived after `patience` seconds. For a missing row the
        latency is the time waited so far, which is less than the real one."""
        wanted: dict[int, int] = {}
        arrived: dict[int, float] = {}

        def complete() -> bool:
            nonlocal wanted, arrived
            if len(wanted) < len(self.written):
                wanted = self._deliveries()
            arrived = receiver.arrivals_by_delivery()
            return len(wanted) >= len(self.written) and arrived.keys() >= set(wanted.values())

        with contextlib.suppress(AssertionError):
            wait_until(complete, patience, "every row to arrive", every=0.2)
        now = time.time()
        moments = [(row, arrived.get(wanted.get(row.number))) for row in self.written]
        found = [Latency(((moment or now) - row.committed) * 1e3, ((moment or now) - row.sent) * 1e3)
                 for row, moment in moments]
        return found, sum(moment is None for _, moment in moments)

    def _deliveries(self) -> dict[int, int]:
        """The delivery of each row that has been fanned out, by the row's number."""
        rows = self.service.sql(f"""
            SELECT JSON_VALUE(n.datos, '$.evaluacionId'), e.id
            FROM notificaciones_pendientes n JOIN entregas e ON e.notificacion_id = n.id
            WHERE n.id > {self.after} AND n.entidad_id IN ({', '.join(map(str, self.entities))})""")
        return {int(number): int(id) for number, id in rows}

    @property
    def latest_start_ms(self) -> float:
        """How many milliseconds late the most delayed INSERT was sent. A large value means a machine that is too small."""
        return max(row.sent - row.due for row in self.written) * 1e3

    def _write(self, index: int, writers: int, begin: float) -> None:
        stack = self.service.stack
        password = Path(stack.env["SECRETS_DIR"], "evaluacion.password").read_text().strip()
        session = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "evaluacion", password)
        try:
            number, due = index, begin + random.expovariate(self.rate / writers)
            while due < begin + self.seconds and number < self.rows:
                time.sleep(max(0.0, due - time.time()))
                self.written.append(self._insert(session, number, due))
                number, due = number + writers, due + random.expovariate(self.rate / writers)
        except Exception as error:  # reported to the waiting thread
            self._failures.append(error)
        finally:
            session.close()

    def _insert(self, session: SqlSession, number: int, due: float) -> Written:
        entity = self.entities[number % len(self.entities)]
        data = f'{{"evaluacionId": {number}, "titulo": "Convocatoria 2026"}}'
        sent = time.time()
        session(f"INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES ({entity}, '{EVENT}', '{data}')")
        return Written(number, due, sent, time.time())


def spread(values: list[float]) -> dict[str, float]:
    return {"p50 ms": percentile(values, 0.5), "p99 ms": percentile(values, 0.99), "p99.9 ms": percentile(values, 0.999),
            "max ms": max(values)}
