"""Every two of the cases and the faults at once, at a tenth of their size, with a ledger. Many faults of the service were meetings
of two mechanisms, each of which passes its own tests."""
from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import time

from bench.crowds import ledger
from bench.crowds.crowd import Crowd
from bench.crowds.faults import CLASSES, Fault
from bench.crowds.stage import RESUMED_WITHIN, Span, Stage
from bench.flow import Latency
from bench.report import Report, Target, number, percentile, progress

SHARE = 10  # one in so many of each case's counts
OTHERS, RATE = 100, 50
MORE_MS = 250
ALONE_EVERY = 10  # pairs
PATIENCE = 60  # seconds for which statements are repeated while the database does not work
SPARE = 120  # seconds before the command's time-out in which no pair is begun


def run(options: argparse.Namespace) -> Report:
    """Measures every two of options.pairs; with options.only, the pairs that have one of these."""
    deadline = time.monotonic() + options.timeout - SPARE
    pairs = [pair for pair in itertools.combinations(options.pairs, 2) if not options.only or set(pair) & set(options.only)]
    report = Report("crowds", f"{len(pairs)} pairs of crowds and faults, each at {options.size / SHARE:g} % of its counts")
    options = argparse.Namespace(**vars(options) | {"size": max(1, options.size // SHARE)})
    pairs.sort(key=needs_of)
    scene: Scene | None = None
    with contextlib.ExitStack() as opened:
        for turn, pair in enumerate(pairs, 1):
            name = " + ".join(pair)
            if time.monotonic() > deadline:
                report.targets.append(Target(f"{name}: measured in time", 0, "at least", 1))
                continue
            try:
                if not scene or scene.needs != needs_of(pair):
                    opened.close()
                    scene = opened.enter_context(Scene(options, needs_of(pair)))
                    report.facts |= scene.stage.facts
                found = scene.measure(pair)
            except Exception as error:  # whatever it is, the other pairs are measured
                scene = None  # the next pair gets a new one
                found = row(None, None, None, None, [f"counts for nothing: {error}"])
            report.rows.append({"pair": name} | found)
            report.targets.append(Target(f"{name}: problems", found["found"], "at most", 0))
            progress(f"{turn} of {len(pairs)}: {name}: {described(found)}")
    return report


def class_of(name: str) -> type[Crowd]:
    return CLASSES.get(name) or importlib.import_module(f"bench.crowds.{name}").Case


def needs_of(pair: tuple[str, ...]) -> tuple[bool, bool]:
    """What the pair's stage must have: a disk of its own, a database whose clock can jump."""
    return any(class_of(name).DISK for name in pair), "clock_jump" in pair


class Scene:
    """A stage on which the pairs with the same needs are measured, one after the other."""

    def __init__(self, options: argparse.Namespace, needs: tuple[bool, bool]):
        self.needs = needs
        settings = {key: value for name in options.pairs for key, value in class_of(name).SETTINGS.items()}
        self.stage = Stage(options, disk=needs[0], **settings)
        self.crowds: dict[str, Crowd] = {}
        self.measured, self.alone = 0, 0.0

    def __enter__(self) -> "Scene":
        with contextlib.ExitStack() as entered:
            entered.enter_context(self.stage)
            self.stage.service.patience = PATIENCE
            self.others = Crowd(self.stage)
            self.others.answering = self.stage.enroll(OTHERS)
            self.healthy = self.stage.healthy(self.others.answering, RATE)
            self._entered = entered.pop_all()
        return self

    def __exit__(self, *error) -> None:
        self._entered.__exit__(*error)

    def measure(self, pair: tuple[str, ...]) -> dict:
        # Faults come last, so that the crowd is there when they begin.
        crowds = sorted(map(self.crowd, pair), key=lambda crowd: isinstance(crowd, Fault))
        if self.measured % ALONE_EVERY == 0:
            self.alone = self.healthy.flow()[0]["p99 ms"]
        self.measured += 1
        self.stage.faults.clear()
        problems: list[str] = []
        found, missing = self.healthy.rows(lambda: self.together(crowds, problems), lambda: [crowd.fill() for crowd in crowds])
        return judge(self.alone, found, missing, self.stage.faults, problems)

    def crowd(self, name: str) -> Crowd:
        if name not in self.crowds:
            self.crowds[name] = class_of(name)(self.stage)
        return self.crowds[name]

    @contextlib.contextmanager
    def together(self, crowds: list[Crowd], problems: list[str]):
        after = self.stage.service.last("entregas")
        with contextlib.ExitStack() as entered:
            going = [entered.enter_context(crowd.crowd()) for crowd in crowds]
            yield lambda: any([goes_on() for goes_on in going if goes_on])
        problems += ledger.problems(self.stage, [self.others, *crowds], after)


def judge(alone: float, found: list[Latency], missing: int, faults: list[Span], problems: list[str]) -> dict:
    """A fault may delay rows for as long as it lasts, and for RESUMED_WITHIN more."""
    length, p99 = sum(fault.ended - fault.began for fault in faults), p99_of(found)
    resumed = max((fault.ended for fault in faults), default=0) + RESUMED_WITHIN
    late = sum(row.committed + row.from_commit / 1e3 > max(row.committed + RESUMED_WITHIN, resumed) for row in found)
    afterwards = p99_of([row for row in found if row.committed > resumed]) if faults else None
    bound = alone + MORE_MS
    problems = problems + [f"the others' p99 is {number(p99)} ms, over {number(bound + length * 1e3)}"] * (p99 > bound + length * 1e3)
    problems += [f"their p99 after the fault is {number(afterwards)} ms, over {number(bound)}"] * ((afterwards or 0) > bound)
    problems += [f"{late:,} of their rows were late"] * (late > 0) + [f"{missing:,} did not arrive"] * (missing > 0)
    return row(alone, p99, length, afterwards, problems)


def p99_of(rows: list[Latency]) -> float | None:
    return percentile([row.from_commit for row in rows], 0.99) if rows else None


def row(alone: float | None, p99: float | None, length: float | None, afterwards: float | None, problems: list[str]) -> dict:
    return {"alone, p99 ms": alone, "p99 ms": p99, "fault s": length, "p99 after it": afterwards, "found": len(problems),
            "problems": "; ".join(problems)}


def described(row: dict) -> str:
    return ", ".join(f"{key} {number(value)}" for key, value in row.items() if value not in (None, ""))
