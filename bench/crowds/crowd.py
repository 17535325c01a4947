"""What the cases of bench/crowds have in common."""
from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from bench.beside import Healthy
from bench.crowds.figures import AT_MOST_MORE_MS, Figure, no_more_than
from bench.crowds.stage import Stage
from bench.report import number, progress

RATE = 100  # rows a second for all healthy entities together


class Crowd:
    """A load that must not delay the others. It is made while the dispatcher is stopped: the constructor adds its entities and
    receivers."""
    SETTINGS: dict[str, str] = {}  # of the stage's programs
    OTHERS, OTHERS_RATE = 20, RATE  # healthy entities with a webhook each, and their rows a second in all
    DISK = False  # whether the stage must have a disk of its own
    FACTOR, MORE_MS = 1, AT_MOST_MORE_MS  # the others' p99 is at most the baseline's times FACTOR, plus MORE_MS

    def __init__(self, stage: Stage):
        self.stage = stage
        # For bench/crowds/ledger.py:
        self.answering: list[int] = []  # entities whose receivers answer 200
        self.failing: list[int] = []  # entities whose receivers fail
        self.rejected = 0  # rows that must be rejected
        self.backlog = False  # whether rows may still wait when a measurement ends

    def fill(self) -> None:
        """Writes the rows that are there when the dispatcher starts."""

    def baseline(self) -> AbstractContextManager:
        """What runs in the phases without the crowd."""
        return nullcontext()

    def crowd(self) -> AbstractContextManager[Callable[[], bool] | None]:
        """The load. If the context's value is a function, the measurement goes on while that returns True."""
        raise NotImplementedError

    def figures(self) -> list[Figure]:
        """What was found besides the delay of the others, after all phases."""
        return []

    def measure(self) -> list[Figure]:
        return self.in_turns(self.stage.healthy(self.stage.enroll(self.OTHERS), self.OTHERS_RATE)) + self.figures()

    def in_turns(self, healthy: Healthy) -> list[Figure]:
        """Measures how long the rows of the healthy entities take to arrive, three times per round: with the baseline, with the
        crowd, and with the baseline again."""
        alone, beside = [], []
        for _ in range(self.stage.options.rounds):
            for into, what in ((alone, self.baseline), (beside, self.crowd), (alone, self.baseline)):
                into.append(healthy.flow(what, self.fill))
                progress(f"{'beside it' if into is beside else 'baseline'}: p99 {number(into[-1][0]['p99 ms'])} ms, "
                         f"{into[-1][1]:,} rows did not arrive")

        def figure(column: str, judged: bool = False) -> Figure:
            baselines = [found[column] for found, _ in alone]
            return Figure(column, statistics.median(found[column] for found, _ in beside), tuple(baselines),
                          no_more_than(self.MORE_MS, baselines, self.FACTOR) if judged else None)

        return [figure("p50 ms"), figure("p99 ms", judged=True),
                Figure("rows that did not arrive", sum(missing for _, missing in beside),
                       tuple(missing for _, missing in alone), ("at most", 0))]
