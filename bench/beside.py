"""Measures a steady flow of rows of well-behaved entities, alone and with something else at the same time."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from bench.flow import Flow, spread
from bench.receiver import Receiver
from bench.service import Service

Others = Callable[[], AbstractContextManager]  # what else happens while this is entered


@dataclass(frozen=True)
class Healthy:
    """Entities with a webhook each at a receiver that logs, and how many rows a second they get in all."""
    service: Service
    receiver: Receiver
    entities: list[int]
    rate: float
    seconds: float
    patience: float = 60  # for the rows that have not arrived after the last one is written

    def flow(self, others: Others = nullcontext, **settings: str) -> tuple[dict, int]:
        """p50 to max of their rows, and how many did not arrive, with a dispatcher that starts with these settings and has
        seen no other entity yet."""
        self.service.clear()
        self.service.start_dispatcher(**settings)
        try:
            self.service.write(len(self.entities), self.entities)  # makes the connections
            self.service.wait_recorded(60)
            self.receiver.forget()
            with others():
                flow = Flow(self.service, self.rate, self.entities, self.seconds).run()
                found, missing = flow.latencies_within(self.receiver, self.patience)
        finally:
            self.service.kill_dispatcher()  # does not wait for locked rows
        return spread([one.from_commit for one in found]), missing


def in_turn(arms: tuple[str, ...], number: int) -> tuple[str, ...]:
    """Each round begins with another arm."""
    first = number % len(arms)
    return arms[first:] + arms[:first]
