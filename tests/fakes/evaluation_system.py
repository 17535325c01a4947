"""The evaluation system during faults: it writes rows, and later looks for those with an unknown outcome."""
from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from support.actors import Webhook
from support.ledger import Ledger
from support.sql import SqlError, SqlSession, insert
from support.wait import join

TABLE = "notificaciones_pendientes"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Audience:
    """An entity and the webhooks that must receive its notifications."""

    entity: int
    hooks: list[Webhook]


class Writer:
    """Writes on one session, and opens a new one after an error. If the outcome of a transaction is unknown, looks for the
    rows by their `clave`, and writes them again if they are missing."""

    def __init__(self, connect: Callable[[], SqlSession], ledger: Ledger):
        self._connect, self._ledger = connect, ledger
        self._session: SqlSession | None = None
        self.refusals = 0  # transactions of write() that ended with an error

    def close(self) -> None:
        if self._session:
            self._session.close()
        self._session = None

    def write(self, audience: Audience, count: int = 1, linger: float = 0,
              give_up: Callable[[], bool] = lambda: False) -> None:
        """Writes `count` rows in one transaction, never twice. It retries until it succeeds or `give_up` returns True.
        Before a COMMIT it waits `linger` seconds, so that other sessions commit higher ids first."""
        numbers = [next(_numbers) for _ in range(count)]
        while True:
            ids = self._attempt(audience.entity, numbers, linger)
            if ids is None:
                ids = self._find(audience.entity, numbers, give_up)
            if ids:
                break
            if give_up():
                return
        for number, id in ids.items():
            self._ledger.written(number, id, audience.hooks)

    def write_and_roll_back(self, audience: Audience) -> None:
        """Inserts a row that must never arrive."""
        try:
            session = self._open()
            session("START TRANSACTION")
            self._insert(session, audience.entity, next(_numbers))
            session("ROLLBACK")
        except (SqlError, OSError):
            self.close()  # which rolls back

    def _attempt(self, entity: int, numbers: list[int], linger: float) -> dict[int, int] | None:
        """Returns number -> id of the committed rows; None if the outcome is unknown."""
        try:
            session = self._open()
            session("START TRANSACTION")
            ids = {number: self._insert(session, entity, number) for number in numbers}
            time.sleep(linger)
            session("COMMIT")
            return ids
        except (SqlError, OSError):
            self.refusals += 1
            self.close()
            return None

    def _find(self, entity: int, numbers: list[int], give_up) -> dict[int, int]:
        keys = ", ".join(f"'{number}'" for number in numbers)
        query = f"SELECT clave, id FROM {TABLE} WHERE entidad_id = {entity} AND clave IN ({keys})"
        pause = threading.Event()
        while True:
            try:
                ids = {int(key): int(id) for key, id in self._open()(query)}
                assert len(ids) in (0, len(numbers)), f"half a transaction: {ids} of {numbers}"
                return ids
            except (SqlError, OSError):
                self.close()
                if give_up():
                    return {}
                pause.wait(0.1)  # the server is away

    @staticmethod
    def _insert(session: SqlSession, entity: int, number: int) -> int:
        data = json.dumps({"evaluacionId": number, "titulo": f"Convocatoria {number} ñ"}, ensure_ascii=False)
        row = insert(TABLE, entidad_id=entity, evento="evaluacion.abierta", datos=data, clave=str(number))
        return int(session(row + "; SELECT LAST_INSERT_ID()")[0][0])

    def _open(self) -> SqlSession:
        self._session = self._session or self._connect()
        return self._session


class Traffic:
    """A thread that writes whenever fewer than `outstanding` deliveries are on their way. Its transactions have one row
    or several, and are short or long."""

    def __init__(self, writer: Writer, ledger: Ledger, audiences: list[Audience], seed: int,
                 arrived: Callable[[], int], outstanding: int = 60):
        self._writer, self._ledger, self._audiences = writer, ledger, audiences
        self._random, self._arrived, self._outstanding = random.Random(seed), arrived, outstanding
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self.refusals = lambda: writer.refusals
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def alive(self) -> bool:
        """Returns True, or raises the error that ended the thread."""
        if self._error:
            raise self._error
        return True

    def stop(self) -> None:
        """Stops writing; raises the error that ended the thread."""
        self._stop.set()
        join(self._thread, 60)
        self._writer.close()
        self.alive()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                if self._ledger.expected - self._arrived() >= self._outstanding:
                    self._stop.wait(0.01)
                elif self._random.random() < 0.05:
                    self._writer.write_and_roll_back(self._random.choice(self._audiences))
                else:
                    count, linger = self._random.choice([1, 1, 1, 2, 5]), self._random.choice([0, 0, 0, 0.1, 0.4])
                    self._writer.write(self._random.choice(self._audiences), count, linger, self._stop.is_set)
        except BaseException as error:
            self._error = error
