"""Measures the latency of a steady flow of rows of well-behaved entities, alone and beside another load."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from bench.flow import Flow, Latency, spread
from bench.receiver import Receiver
from bench.service import Service

# Entering the context starts the other load, leaving it ends the load. If its value is a function, the flow goes on while that
# returns True.
Others = Callable[[], AbstractContextManager]


@dataclass(frozen=True)
class Healthy:
    """Entities, each with a webhook at a receiver that logs arrivals. Together they get `rate` rows a second."""
    service: Service
    receiver: Receiver
    entities: list[int]
    rate: float
    seconds: float
    patience: float = 60  # the longest wait for rows to arrive after the last one is written, in seconds

    def flow(self, others: Others = nullcontext, fill: Callable[[], None] = lambda: None, **settings: str) -> tuple[dict, int]:
        """As rows(), but returns the spread() of the latencies."""
        found, missing = self.rows(others, fill, **settings)
        return spread([one.from_commit for one in found]), missing

    def rows(self, others: Others = nullcontext, fill: Callable[[], None] = lambda: None,
             **settings: str) -> tuple[list[Latency], int]:
        """Clears and fills the queue, starts a dispatcher with these settings, and then runs the flow while the load of `others`
        runs. Returns the latencies of the flow's rows, and how many of them did not arrive."""
        self.service.clear()
        fill()
        filled = self.service.last("entregas")
        self.service.start_dispatcher(**settings)
        try:
            self.service.write(len(self.entities), self.entities)  # opens the connections
            self.service.wait_recorded(60, filled)
            self.receiver.forget()
            with others() as goes_on:
                flow = Flow(self.service, self.rate, self.entities, self.seconds).run(goes_on)
                found, missing = flow.latencies_within(self.receiver, self.patience)
        finally:
            self.service.kill_dispatcher()  # a stop would wait for deliveries in flight
        return found, missing


def in_turn(arms: tuple[str, ...], number: int) -> tuple[str, ...]:
    """Rotates the arms (the loads to compare) by `number` places, so that each round begins with another arm."""
    first = number % len(arms)
    return arms[first:] + arms[:first]
