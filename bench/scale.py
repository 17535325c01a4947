"""Measures how fast the same backlog is delivered: with no other rows in the tables, with many finished rows, with many waiting
rows, and while a transaction keeps an old snapshot open, as a backup does. None of these may slow the deliveries."""
from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from bench import filling
from bench.idle import wait_quiet
from bench.receiver import Receiver, Watch
from bench.report import Report, Target, progress
from bench.service import Service
from bench.throughput import PATIENCE
from support.sql import SqlSession

DEFAULTS = {"notifications": 50_000, "webhooks": 1_000, "rounds": 2, "others": [100_000, 2_000_000]}
NOISE = "none (the noise)"
RESTING = 10  # further webhooks; in the cases `… pending` they rest, so their deliveries are due but are not sent


def run(options) -> Report:
    report = Report("scale", f"{options.notifications:,} notifications over {options.webhooks:,} webhooks")
    with (Service(**PATIENCE) as small,
          Service(**PATIENCE, delivery_ca_file=small.stack.env["CA_CERT"]) as filled):
        with Receiver(small.stack.env["RECEIVER_CERT"], small.stack.env["RECEIVER_KEY"]) as receiver:
            for service in (small, filled):
                service.stop_dispatcher()
                progress(f"registering {options.webhooks + RESTING:,} webhooks")
                service.register([receiver.port] * (options.webhooks + RESTING))
                round_of(service, receiver, options)  # not counted: the first round fills the caches
            report.facts = filled.facts()
            for case in cases(options):
                report.rows.append(compare(case, small, filled, receiver, options))
    judge(report)
    return report


@dataclass(frozen=True)
class Case:
    """`fill` writes the other rows; `during` is entered while the backlog is delivered."""
    name: str
    fill: Callable[[Service], None] = lambda service: None
    during: Callable[[Service], AbstractContextManager] = lambda service: nullcontext()


def cases(options) -> list[Case]:
    webhooks = options.webhooks
    finished = [Case(f"{others:,} finished", lambda service, n=others: filling.finished(service, n, webhooks))
                for others in options.others]
    pending = [Case(f"{others:,} pending", lambda service, n=others: filling.pending(service, n, webhooks, RESTING))
               for others in options.others]
    return [Case(NOISE), *finished, *pending, Case("none, old snapshot", during=snapshot)]


@contextmanager
def snapshot(service: Service):
    """Holds a snapshot like mariadb-dump --single-transaction: the server keeps every row version that is overwritten after
    the snapshot."""
    session = SqlSession(service.stack.env["DB_SOCKET"], service.stack.env["DB_NAME"], "root", "")
    try:
        session("START TRANSACTION WITH CONSISTENT SNAPSHOT; SELECT COUNT(*) FROM control_envio")
        yield
    finally:
        session.close()


def compare(case: Case, small: Service, filled: Service, receiver: Receiver, options) -> dict:
    """Runs rounds in turn on `small`, which has no other rows, and on `filled`, which has those of the case. So disturbances of
    the machine affect both alike."""
    filled.clear()
    case.fill(filled)
    bare, with_others = [], []
    for number in range(1, options.rounds + 1):
        small.clear()
        bare.append(round_of(small, receiver, options))
        with case.during(filled):
            with_others.append(round_of(filled, receiver, options))
        progress(f"{case.name}: round {number} of {options.rounds}: {bare[-1]:,.0f}/s without, {with_others[-1]:,.0f}/s with")
    rates = statistics.median(bare), statistics.median(with_others)
    return {"others": case.name, "without/s": rates[0], "with/s": rates[1], "ratio": rates[1] / rates[0],
            "rounds without": spread(bare), "rounds with": spread(with_others)}


def spread(rates: list[float]) -> str:
    return " ".join(f"{rate:,.0f}" for rate in rates)


def round_of(service: Service, receiver: Receiver, options) -> float:
    """Deliveries per second, from the first request until everything of this round is recorded."""
    service.write(options.notifications, service.entities[:options.webhooks])
    wait_quiet(service.database())
    last = service.last("entregas")
    with Watch(receiver) as watch:
        service.start_dispatcher()
        watch.await_arrivals(options.notifications, options.record_timeout)
        recorded_at = service.wait_recorded(options.record_timeout, last)
    service.stop_dispatcher()
    delivered = service.count("entregas", f"id > {last} AND estado = 'entregada'")
    if delivered != options.notifications:
        raise AssertionError(f"this run counts for nothing: {delivered:,} deliveries are entregada")
    return delivered / (recorded_at - watch.first_at)


def judge(report: Report) -> None:
    report.targets = [Target(f"with {row['others']}, of the rate without", row["ratio"], "at least", 0.9)
                      for row in report.rows if row["others"] != NOISE]
    report.notes = ["rates are medians of the rounds; both stacks take turns; the first row compares two equal stacks"]
