"""Steady load on an Installation, and its losses: requests without a good answer, rows that never reached the receiver."""
from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass

from fakes.receiver import Behaviour
from support.actors import BASE, DATA
from support.installation import Installation
from support.sql import SqlError, insert
from support.wait import wait_until

EVENT = "evaluacion.abierta"
DUPLICATE = 1062
_batches = itertools.count(1)


@dataclass(frozen=True)
class Losses:
    requests: int
    lost_requests: int
    answers: Counter  # status, or name of the exception -> number of requests
    rows: int
    lost_deliveries: int
    repeated: int

    def __str__(self):
        strange = {answer: count for answer, count in self.answers.items() if answer != 200}
        return (f"{self.requests} requests, {self.lost_requests} lost{f' {strange}' if strange else ''}; "
                f"{self.rows} rows, {self.lost_deliveries} deliveries lost, {self.repeated} repeated")


class Load:
    """with Load(…) as load: …; then load.losses(). Two clients send requests, each request on a new connection,
    and pause for 10 ms after each. A third thread writes rows, and after an error the same row again, until it is stored."""

    CLIENTS = 2
    PAUSE = 0.05  # seconds between rows

    def __init__(self, installation: Installation):
        self.installation = installation
        self.entity = installation.entity()
        self.hook = self.entity.register(events=[EVENT])
        installation.receiver.behave(self.hook.path, Behaviour(delay=0.3))  # so that some deliveries are always in flight
        self._stop = threading.Event()
        self._answers: Counter = Counter()
        self._written, self._last_row = 0, time.monotonic()
        self._batch = next(_batches)
        self._threads = [threading.Thread(target=self._ask) for _ in range(self.CLIENTS)]
        self._threads.append(threading.Thread(target=self._write))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        try:
            self.goes_on()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def goes_on(self, patience: float = 60) -> None:
        """Waits for a few more good answers and rows: then the effects of what the test did last are over."""
        asked, written = self._answers[200], self._written
        wait_until(lambda: self._answers[200] > asked + 20 and self._written > written + 10, patience, "the load to go on")

    def seconds_without_rows(self) -> float:
        return time.monotonic() - self._last_row

    def losses(self, patience: float = 120) -> Losses:
        """Waits until every row has arrived, then until all results are recorded, `patience` seconds at most each time."""
        arrived = lambda: {json.loads(r.body)["data"]["evaluacionId"] for r in self._arrivals()}
        try:
            wait_until(lambda: len(arrived()) >= self._written, patience, "every row to arrive", every=0.2)
        except AssertionError:
            pass  # the result counts the missing rows as lost
        wait_until(lambda: not self.installation.sql(
            f"SELECT id FROM entregas WHERE webhook_id = {self.hook.id} AND estado IN ('pendiente', 'en_curso')"),
            patience, "the results to be recorded", every=0.2)
        return Losses(sum(self._answers.values()), sum(n for answer, n in self._answers.items() if answer != 200),
                      self._answers, self._written, self._written - len(arrived()),
                      len(self._arrivals()) - len(arrived()))

    def _arrivals(self):
        return self.installation.receiver.requests(self.hook.path)

    def _ask(self) -> None:
        while not self._stop.is_set():
            try:
                answer = self.entity.api("GET", BASE).status
            except OSError as error:
                answer = type(error).__name__
            self._answers[answer] += 1
            time.sleep(0.01)

    def _write(self) -> None:
        session = None
        while not self._stop.wait(self.PAUSE):
            number = self._written + 1
            row = insert("notificaciones_pendientes", entidad_id=self.entity.id, evento=EVENT,
                         datos=json.dumps({**DATA[EVENT], "evaluacionId": number}), clave=f"carga-{self._batch}-{number}")
            try:
                session = session or self.installation.connect_evaluation()
                session(row)
            except (SqlError, OSError) as error:
                if getattr(error, "code", 0) != DUPLICATE:
                    if session:
                        session.close()
                    session = None
                    time.sleep(0.2)
                    continue
            self._written, self._last_row = number, time.monotonic()
        if session:
            session.close()
