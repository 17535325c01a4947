"""Faults of the service's own parts, each while other entities get rows. bench/crowds/pairs.py has them meet the cases."""
from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time

from bench import filling
from bench.crowds.crowd import Crowd
from bench.crowds.stage import DISK, Stage, resize, scaled
from bench.service import EVENT
from bench.silent import ADDRESS
from bench.slow import slow_receiver
from support.faketime import WallClock
from support.frozen import frozen
from support.locks import in_background
from support.sql import SqlError

LEAD = 2  # seconds between the start of the measurement and that of the fault
ROOM = 2**20  # bytes that a full disk has left, which are used up at once
MORE = 5  # seconds for which the measurement goes on once everything must be as before


class Fault(Crowd):
    SECONDS = 0.0

    @contextlib.contextmanager
    def crowd(self):
        over = threading.Event()
        acting = in_background(self.act, over)
        try:
            yield lambda: not acting.done() or time.time() < self.stage.resumed() + MORE
        finally:
            over.set()
            acting.result()

    def act(self, over: threading.Event) -> None:
        if over.wait(LEAD):
            return
        with self.stage.fault(), self.fault():
            over.wait(self.SECONDS)

    def fault(self):
        """Entering the context is the fault, leaving it ends the fault."""
        raise NotImplementedError


class Outage(Fault):
    """No packet gets to the receivers."""
    SECONDS = 20.0  # longer than it takes to be recognized

    @contextlib.contextmanager
    def fault(self):
        route = ["route", "unreachable", f"{ADDRESS}/32", "table", "local"]
        ip("add", *route)
        try:
            yield
        finally:
            ip("del", *route)


class Frozen(Fault):
    """The dispatcher is stopped for longer than delivery.timeout. Some receivers answer meanwhile."""
    SECONDS = 20.0

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.answering = stage.enroll(10, stage.enter(slow_receiver(*stage.pair, 1)).port)

    @contextlib.contextmanager
    def fault(self):
        self.stage.service.write(len(self.answering), self.answering)
        time.sleep(0.5)  # by then they are in flight
        with frozen(self.stage.service.dispatcher()):
            yield


class Restart(Fault):
    """The database is stopped and started."""

    @contextlib.contextmanager
    def fault(self):
        self.stage.service.stack.stop("db")
        yield
        self.stage.service.stack.start("db", **self.stage.database)


class FullDisk(Fault):
    """The disk of the database, the logs and the sockets is full."""
    SECONDS = 8.0
    DISK = True

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.answering = stage.enroll(10)

    @contextlib.contextmanager
    def fault(self):
        disk = os.statvfs(self.stage.service.stack.folder)
        resize(self.stage.service.stack.folder, (disk.f_blocks - disk.f_bfree) * disk.f_bsize + ROOM)
        try:
            self.fill_tables()
            yield
        finally:
            resize(self.stage.service.stack.folder, DISK)
            # MariaDB may have aborted (`Out of disk space in rollback`). systemd would start it again.
            self.stage.service.stack.start("db", **self.stage.database)

    def fill_tables(self) -> None:
        """Writes large rows until the database refuses one: its files have room inside."""
        title = f"""CONCAT('{{"evaluacionId": 1, "titulo": "', REPEAT('a', 60000), '"}}')"""
        with contextlib.suppress(SqlError):
            for number in range(2_000):
                entity = self.answering[number % len(self.answering)]
                self.stage.service.stack.sql("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos)"
                                             f" VALUES ({entity}, '{EVENT}', {title})")


class ClockJump(Fault):
    """The database's clock jumps forward by two hours, and stays so."""
    HOURS = 2

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.clock, self.ahead = WallClock(stage.service.stack.folder), 0
        # Otherwise each look at the clock would read the file.
        stage.database = self.clock.environment | {"FAKETIME_NO_CACHE": "0", "FAKETIME_CACHE_DURATION": "1"}
        stage.service.stack.stop("db")
        stage.service.stack.start("db", **stage.database)

    @contextlib.contextmanager
    def fault(self):
        self.ahead += self.HOURS * 3600
        self.clock.jump_to(self.ahead)
        yield


class Purge(Crowd):
    """Rows past their retention are removed."""
    ROWS = 200_000

    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.entities = stage.enroll(100)

    def fill(self) -> None:
        service = self.stage.service
        filling.notifications(service, scaled(self.ROWS, self.stage.options), self.entities[0], len(self.entities), "40 DAY")
        of_these = f"w.entidad_id BETWEEN {self.entities[0]} AND {self.entities[-1]}"
        filling.deliveries(service, "'entregada', 1, 0, n.ocurrida_en, n.ocurrida_en, 204", of_these)
        filling.attempts(service, 1, 204, of_these)

    @contextlib.contextmanager
    def crowd(self):
        yield


def ip(verb: str, kind: str, *words: str) -> None:
    subprocess.run(["ip", kind, verb, *words], check=True)


CLASSES = {"outage": Outage, "frozen": Frozen, "full_disk": FullDisk, "clock_jump": ClockJump, "restart": Restart, "purge": Purge}
