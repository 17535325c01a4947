"""Measures the latency of a steady flow of rows of well-behaved entities, alone and beside another load."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from bench.flow import Flow, spread
from bench.receiver import Receiver
from bench.service import Service

Others = Callable[[], AbstractContextManager]  # entering the context starts the other load, leaving it ends the load


@dataclass(frozen=True)
class Healthy:
    """Entities, each with a webhook at a receiver that logs arrivals. Together they get `rate` rows a second."""
    service: Service
    receiver: Receiver
    entities: list[int]
    rate: float
    seconds: float
    patience: float = 60  # the longest wait for rows to arrive after the last one is written, in seconds

    def flow(self, others: Others = nullcontext, **settings: str) -> tuple[dict, int]:
        """Starts a dispatcher with these settings, and then runs the flow while the load of `others` runs. Returns the
        spread() of the latencies of the flow's rows, and how many of them did not arrive."""
        self.service.clear()
        self.service.start_dispatcher(**settings)
        try:
            self.service.write(len(self.entities), self.entities)  # opens the connections
            self.service.wait_recorded(60)
            self.receiver.forget()
            with others():
                flow = Flow(self.service, self.rate, self.entities, self.seconds).run()
                found, missing = flow.latencies_within(self.receiver, self.patience)
        finally:
            self.service.kill_dispatcher()  # a stop would wait for deliveries in flight
        return spread([one.from_commit for one in found]), missing


def in_turn(arms: tuple[str, ...], number: int) -> tuple[str, ...]:
    """Rotates the arms (the loads to compare) by `number` places, so that each round begins with another arm."""
    first = number % len(arms)
    return arms[first:] + arms[:first]
