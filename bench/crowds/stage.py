"""What the cases of bench/crowds share: a separate stack, a receiver, and thousands of entities."""
from __future__ import annotations

import argparse
import itertools
import math
import subprocess
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.beside import Healthy
from bench.receiver import Receiver
from bench.service import Service, webhook_url
from support.wait import wait_until

RESUMED_WITHIN = 10  # seconds from the end of a fault until everything is as before
DISK = 4 * 2**30  # bytes, of a stage with a disk of its own
PATIENCE = 20  # seconds that rows may still take after the last one is written


def scaled(count: int, options: argparse.Namespace) -> int:
    """`count` times --size, which is in percent; at least 1."""
    return max(1, count * options.size // 100)


def within(condition, timeout: float = PATIENCE, every: float = 0.2) -> None:
    """Waits until the condition holds, but at most `timeout` seconds. It does not fail: the caller measures the result."""
    with suppress(AssertionError):
        wait_until(condition, timeout, every=every)


@dataclass
class Span:
    """Wall clock, seconds."""
    began: float
    ended: float = math.inf


class Stage:
    """A service with a stopped dispatcher, and a receiver that answers at once. With `disk`, the service's files are on a disk of
    their own, which can be filled."""

    def __init__(self, options: argparse.Namespace, disk: bool = False, **settings: str):
        self.options, self._disk = options, disk
        self.service = Service(**settings)
        self.database: dict[str, str] = {}  # variables with which the database is started again
        self.faults: list[Span] = []
        self._hosts = itertools.count(1)

    def __enter__(self) -> "Stage":
        with ExitStack() as entered:
            if self._disk:
                entered.enter_context(mounted(self.service.stack.folder))
            entered.enter_context(self.service)
            self.receiver = entered.enter_context(Receiver(*self.pair, log=True))
            self.facts = self.service.facts()
            self.service.stop_dispatcher()
            self._entered = entered.pop_all()
        return self

    def __exit__(self, *error) -> None:
        self._entered.__exit__(*error)

    @property
    def pair(self) -> tuple[str, str]:
        """Certificate and key of a receiver that the dispatcher trusts."""
        return self.service.stack.env["RECEIVER_CERT"], self.service.stack.env["RECEIVER_KEY"]

    @contextmanager
    def fault(self):
        """While entered, a part of the service does not work."""
        span = Span(time.time())
        self.faults.append(span)
        try:
            yield
        finally:
            span.ended = time.time()

    def resumed(self) -> float:
        """By when everything must be as before the faults."""
        return max((fault.ended for fault in self.faults), default=-math.inf) + RESUMED_WITHIN

    def excused(self, moment: float) -> bool:
        """Whether a fault explains that something did not work at this moment."""
        return any(fault.began <= moment <= fault.ended + RESUMED_WITHIN for fault in self.faults)

    def enter(self, context):
        """Enters the context until the stage ends; returns its value."""
        return self._entered.enter_context(context)

    def write_as_evaluation(self, text: str) -> None:
        """Runs statements with the rights of the evaluation system's user."""
        with closing(self.service.stack.writer()) as session:
            session(text)

    def enroll(self, count: int, port: int | None = None, each: int = 1) -> list[int]:
        """Adds `count` entities. Each has `each` webhooks, every one at its own host. Returns the entities' ids."""
        return self.service.enroll([[webhook_url(next(self._hosts), port or self.receiver.port) for _ in range(each)]
                                    for _ in range(count)])

    def delivered(self, entities: list[int], condition: str = "TRUE") -> int:
        return self.service.count("entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id",
                                  f"e.estado = 'entregada' AND n.entidad_id IN ({', '.join(map(str, entities))})"
                                  f" AND {condition}")

    def healthy(self, entities: list[int], rate: float) -> Healthy:
        return Healthy(self.service, self.receiver, entities, rate, self.options.seconds, PATIENCE)


@contextmanager
def mounted(folder: str):
    """A small file system, in memory, which the user root may mount."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        Path(folder).rmdir()


def resize(folder: str, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)
