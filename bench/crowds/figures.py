"""The results of a case of bench/crowds, as rows of the report's table and as targets."""
from __future__ import annotations

import statistics
from dataclasses import dataclass

from bench.report import Target, number

AT_MOST_MORE_MS = 100  # by how much the p99 measured while the crowd runs may exceed the median of the p99s measured without it


@dataclass(frozen=True)
class Figure:
    """A case measures how much its load, the crowd, delays others. `beside` is usually measured while the crowd runs,
    `baselines` without it. `goal` is a relation and its bound; a figure without a goal only explains other figures."""
    name: str
    beside: float
    baselines: tuple[float, ...] = ()
    goal: tuple[str, float] | None = None

    def target(self, case: str) -> Target | None:
        return Target(f"{case}: {self.name}", self.beside, *self.goal) if self.goal else None

    def row(self, case: str, target: Target | None) -> dict:
        return {"case": case, "figure": self.name,
                "baseline": statistics.median(self.baselines) if self.baselines else None, "beside it": self.beside,
                "each baseline": " ".join(map(number, self.baselines)),
                "goal": f"{target.relation} {number(target.bound)}" if target else "",
                "met": {None: "", True: "met", False: "NOT MET"}[target and target.met]}


def no_more_than(more: float, baselines: list[float], factor: float = 1) -> tuple[str, float]:
    """The goal: at most the baselines' median times `factor`, plus `more`."""
    return "at most", statistics.median(baselines) * factor + more


def all_of(name: str, found: int, expected: int) -> Figure:
    return Figure(f"{name} (of {expected:,})", found, goal=("at least", expected))
