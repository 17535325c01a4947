"""A steady flow of rows, each committed alone at a random time, and the time until each reaches the receiver."""
from __future__ import annotations

import contextlib
import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.receiver import Receiver
from bench.report import percentile
from bench.service import EVENT, Service
from support.sql import SqlError
from support.wait import wait_until

DUPLICATE = 1062  # the row is there, although the answer to its INSERT was lost
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
    """When a row was committed (wall clock, seconds), and the milliseconds from then, and from the sending of its INSERT, to its
    arrival."""
    committed: float
    from_commit: float
    from_insert: float


class Flow:
    """Writes rows with the evaluation system's rights at the times of a Poisson process, however slowly they are
    delivered."""

    def __init__(self, service: Service, rate: float, entities: list[int], seconds: float = math.inf,
                 rows: float = math.inf):
        """run() ends after `seconds` or after `rows`, whichever comes first. With service.patience, each row has a `clave`, and
        is written again after an error: it may be there already."""
        self.service, self.rate, self.entities, self.seconds, self.rows = service, rate, entities, seconds, rows
        self.after = service.last("notificaciones_pendientes")
        self.written: list[Written] = []
        self._failures: list[Exception] = []

    def run(self, goes_on: Callable[[], bool] | None = None) -> "Flow":
        """Writes everything, and returns when that is done. While `goes_on` returns True, the flow does not end."""
        writers = max(2, round(self.rate / ROWS_PER_WRITER))
        begin = time.time() + 0.2
        self._end = begin + self.seconds
        threads = [threading.Thread(target=self._write, args=(index, writers, begin)) for index in range(writers)]
        for thread in threads:
            thread.start()
        while goes_on and goes_on():
            self._end = max(self._end, time.time() + 2)
            time.sleep(0.2)
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
        found = [Latency(row.committed, ((moment or now) - row.committed) * 1e3, ((moment or now) - row.sent) * 1e3)
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
        session = Session(self.service)
        try:
            number, due = index, begin + random.expovariate(self.rate / writers)
            while due < self._end and number < self.rows:
                time.sleep(max(0.0, due - time.time()))
                self.written.append(self._insert(session, number, due))
                number, due = number + writers, due + random.expovariate(self.rate / writers)
        except Exception as error:  # reported to the waiting thread
            self._failures.append(error)
        finally:
            session.close()

    def _insert(self, session: "Session", number: int, due: float) -> Written:
        entity = self.entities[number % len(self.entities)]
        data = f'{{"evaluacionId": {number}, "titulo": "Convocatoria 2026"}}'
        clave = f"'{self.after}-{number}'" if self.service.patience else "NULL"
        sent = time.time()
        self.service.patiently(lambda: session(
            "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave)"
            f" VALUES ({entity}, '{EVENT}', '{data}', {clave})"))
        return Written(number, due, sent, time.time())


class Session:
    """A session of the evaluation system. After an error the next statement opens a new one."""

    def __init__(self, service: Service):
        self._stack, self._session = service.stack, service.stack.writer()

    def __call__(self, insert: str) -> None:
        self._session = self._session or self._stack.writer()
        try:
            self._session(insert)
        except (SqlError, OSError) as error:
            self.close()
            if getattr(error, "code", 0) != DUPLICATE:
                raise

    def close(self) -> None:
        if self._session:
            self._session.close()
        self._session = None


def spread(values: list[float]) -> dict[str, float]:
    return {"p50 ms": percentile(values, 0.5), "p99 ms": percentile(values, 0.99), "p99.9 ms": percentile(values, 0.999),
            "max ms": max(values)}
