"""A benchmark's results: a table, JSON, and a verdict on each target."""
from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

STARTED = time.monotonic()


@dataclass(frozen=True)
class Target:
    """A figure and its bound: "at least" or "at most"."""
    name: str
    value: float
    relation: str
    bound: float
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.value >= self.bound if self.relation == "at least" else self.value <= self.bound

    def line(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        verdict = "met" if self.met else "NOT MET"
        return f"  {self.name}: {number(self.value)}{unit}, target {self.relation} {number(self.bound)}{unit}: {verdict}"


@dataclass
class Report:
    """Rows are dicts with the same keys, which are the table's head; None is an empty cell."""
    name: str
    title: str
    rows: list[dict] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict = field(default_factory=dict)

    @property
    def met(self) -> bool:
        return all(target.met for target in self.targets)

    def text(self) -> str:
        parts = [f"{self.name}: {self.title}", "", *table(self.rows), ""]
        parts += [target.line() for target in self.targets]
        parts += [f"  note: {note}" for note in self.notes]
        return "\n".join(parts)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        targets = [vars(target) | {"met": target.met} for target in self.targets]
        path.write_text(json.dumps(vars(self) | {"targets": targets, "met": self.met}, indent=2, ensure_ascii=False)
                        + "\n")
        return path


def table(rows: list[dict]) -> list[str]:
    """Aligned lines: texts to the left, numbers to the right."""
    if not rows:
        return []
    cells = [list(rows[0])] + [[number(value) for value in row.values()] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    left = [isinstance(value, str) for value in rows[0].values()]
    return ["  " + "  ".join(text.ljust(width) if to_left else text.rjust(width)
                             for text, width, to_left in zip(line, widths, left)).rstrip() for line in cells]


def number(value) -> str:
    """Separates thousands. A float below 10 has two decimals, below 100 one, and from 100 on none."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percentile(values: list[float], share: float) -> float:
    """The nearest rank: percentile(v, 0.99) is the smallest value that at least 99 % of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * round(share * 10000) // 10000) - 1))]


def progress(text: str) -> None:
    """Reports the progress of long work on standard error, with the seconds since the start."""
    print(f"bench: {time.monotonic() - STARTED:5.0f} s  {text}", file=sys.stderr, flush=True)
