"""One receiver in ten never answers and has a large backlog: how much does that delay the others? And one entity has a
backlog of a million rows: how long does a row of another entity wait?"""
from __future__ import annotations

import statistics
from contextlib import contextmanager, nullcontext

from bench import black_holes
from bench.beside import Healthy, Others, in_turn
from bench.flow import Flow
from bench.receiver import Receiver
from bench.report import Report, Target, progress
from bench.service import Service
from support.wait import wait_until

DEFAULTS = {"webhooks": 100, "rounds": 5, "seconds": 15, "backlog": 1_000_000}
RATE = 200  # rows a second, in all, for the well-behaved entities
ONE_IN = 10
HELD_SHARE = 100  # each black hole gets --backlog / HELD_SHARE rows
FAIR_ROWS, FAIR_RATE = 10, 2  # of the entity beside the large backlog: rows in all, and rows a second
ARMS = ("baseline", "baseline again", "black holes")


def run(options) -> Report:
    with Service() as service:
        pair = service.stack.env["RECEIVER_CERT"], service.stack.env["RECEIVER_KEY"]
        with Receiver(*pair, log=True) as receiver, black_holes.ports(*pair) as hole_ports:
            others, holes = register(service, receiver, hole_ports, options.webhooks)
            report = Report("isolation", f"{len(others)} webhooks at {RATE}/s, beside {len(holes)} black holes with "
                                         f"{options.backlog // HELD_SHARE:,} rows each; {options.seconds} s each")
            report.facts = service.facts()
            service.stop_dispatcher()
            healthy = Healthy(service, receiver, others, RATE, options.seconds)
            backlog = options.backlog // HELD_SHARE * len(holes)
            arms = [arm_of(name, number, healthy, lambda: held_by(service, holes, backlog), options)
                    for number in range(1, options.rounds + 1) for name in in_turn(ARMS, number)]
            fair = fairness(service, receiver, others, options)
    report.rows = [summary(name, [arm for kind, arm in arms if kind == name]) for name in ARMS]
    judge(report, fair, options)
    return report


def register(service: Service, receiver: Receiver, hole_ports: list[int], webhooks: int) -> tuple[list[int], list[int]]:
    """Registers a webhook for each entity; returns the well-behaved entities and the black holes."""
    progress(f"registering {webhooks:,} webhooks")
    holes = [number for number in range(1, webhooks + 1) if number % ONE_IN == 0]
    others = [number for number in range(1, webhooks + 1) if number % ONE_IN]
    service.register([receiver.port if number % ONE_IN else hole_ports[number // ONE_IN % len(hole_ports)]
                      for number in range(1, webhooks + 1)])
    return others, holes


@contextmanager
def held_by(service: Service, holes: list[int], rows: int):
    """Writes a backlog of `rows` in all for the black holes, in one statement."""
    service.write(rows, holes)
    yield


def arm_of(name: str, number: int, healthy: Healthy, backlog: Others, options) -> tuple[str, dict]:
    """Measures one arm with a new dispatcher, which does not know yet that the black holes fail."""
    found, missing = healthy.flow(backlog if name == "black holes" else nullcontext)
    if missing:
        raise AssertionError(f"{name}: {missing:,} rows have not arrived {healthy.patience} s after the last one was written")
    progress(f"round {number} of {options.rounds}: {name}: p99 {found['p99 ms']:.1f} ms")
    return name, found


def summary(name: str, arms: list[dict]) -> dict:
    """Medians of the rounds; the p99 of each round shows the spread."""
    return {"arm": name} | {column: statistics.median(arm[column] for arm in arms) for column in arms[0]} | {
        "p99 of each round": " ".join(f"{arm['p99 ms']:.0f}" for arm in arms)}


def fairness(service: Service, receiver: Receiver, others: list[int], options) -> list[float]:
    """Returns how many milliseconds each row of one entity takes while the backlog of another entity drains."""
    service.clear()
    progress(f"writing {options.backlog:,} rows of one entity")
    service.write(options.backlog, others[:1])
    receiver.forget()
    progress("waiting until the backlog begins to drain")
    before = receiver.counts()["requests"]
    service.start_dispatcher()
    try:
        enough = min(1000, options.backlog // 2)
        wait_until(lambda: receiver.counts()["requests"] - before > enough, 120, "the backlog to begin to drain", every=0.05)
        flow = Flow(service, FAIR_RATE, others[1:2], rows=FAIR_ROWS).run()
        found = [one.from_commit for one in flow.latencies(receiver)]
    finally:
        service.kill_dispatcher()
    progress(f"rows of another entity took {min(found):.0f} to {max(found):.0f} ms")
    return found


def judge(report: Report, fair: list[float], options) -> None:
    baseline, again, with_holes = (row["p99 ms"] for row in report.rows)
    report.targets = [
        Target("p99 beside black holes, ratio to the baseline's", with_holes / baseline, "at most", 1.2),
        Target(f"slowest of {len(fair)} rows beside one entity's {options.backlog:,}", max(fair), "at most", 200, "ms"),
    ]
    report.notes = [
        f"the noise: p99 of `baseline again` is {again / baseline:.2f} of the baseline's",
        "latency from the commit of the row, medians of the rounds; black holes: a stalled handshake, dropped SYNs, no answer",
        f"rows beside the backlog took, in ms: {' '.join(f'{value:.0f}' for value in sorted(fair))}",
    ]
