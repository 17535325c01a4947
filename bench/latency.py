"""Measures the time from the commit of a row to its arrival at the receiver, under a steady load, and the time of the
network alone."""
from __future__ import annotations

import statistics

from bench import control
from bench.flow import Flow, spread
from bench.receiver import Receiver
from bench.report import Report, Target, percentile, progress
from bench.service import Service
from support.wait import wait_until

DEFAULTS = {"webhooks": 1_000, "rounds": 1, "seconds": 30}
RATES = (200, 2_000)
TARGET_RATE = 200


def run(options) -> Report:
    report = Report("latency", f"commit of a row to its arrival, {options.webhooks:,} webhooks, {options.seconds} s each")
    with Service() as service, Receiver(service.stack.env["RECEIVER_CERT"], service.stack.env["RECEIVER_KEY"],
                                        log=True) as receiver:
        progress(f"registering {options.webhooks:,} webhooks")
        service.register([receiver.port] * options.webhooks)
        report.facts = service.facts()
        entities = list(range(1, options.webhooks + 1))
        for number in range(1, options.rounds + 1):
            for rate in RATES:
                report.rows.append(control_round(number, rate, service, receiver, options))
                report.rows.append(service_round(number, rate, service, receiver, options, entities))
    judge(report)
    return report


def connect_all(service: Service, webhooks: int) -> None:
    """Makes again the connections that have ended since the last round, so that their handshakes are not measured."""
    progress("connecting to every receiver")
    service.write(webhooks, service.entities)
    service.wait_recorded(60)


def control_round(number: int, rate: int, service: Service, receiver: Receiver, options) -> dict:
    progress(f"round {number} of {options.rounds}: control at {rate:,}/s for {options.seconds} s")
    receiver.forget()
    stamps = receiver.folder / "control.stamps"
    messages = options.webhooks + rate * options.seconds  # the first message to each host makes the connection
    control.run(messages=messages, hosts=options.webhooks, port=receiver.port, rate=rate, stamps=stamps,
                connections=service.max_in_flight(), ca_file=service.stack.env["CA_CERT"])
    sent = [line.split() for line in stamps.read_text().splitlines()][options.webhooks:]
    arrived = wait_until(lambda: arrivals_of([message for message, _ in sent], receiver), 10, "the control's arrivals")
    return row(f"control {number}", rate, [(arrived[message] - float(moment)) * 1e3 for message, moment in sent])


def arrivals_of(messages: list[str], receiver: Receiver) -> dict[str, float] | None:
    arrived = receiver.arrivals()
    return arrived if arrived.keys() >= set(messages) else None


def service_round(number: int, rate: int, service: Service, receiver: Receiver, options, entities: list[int]) -> dict:
    connect_all(service, options.webhooks)
    progress(f"round {number} of {options.rounds}: service at {rate:,}/s for {options.seconds} s")
    receiver.forget()
    flow = Flow(service, rate, entities, options.seconds).run()
    found = flow.latencies(receiver)
    return row(f"service {number}", rate, [one.from_commit for one in found]) | {
        "p50 from INSERT ms": percentile([one.from_insert for one in found], 0.5),
        "written late ms": flow.latest_start_ms}


def row(name: str, rate: int, milliseconds: list[float]) -> dict:
    return {"round": name, "rate/s": rate, "messages": len(milliseconds)} | spread(milliseconds) | {
        "p50 from INSERT ms": None, "written late ms": None}


def judge(report: Report) -> None:
    def median(column: str) -> float:
        return statistics.median(row[column] for row in report.rows
                                 if row["round"].startswith("service") and row["rate/s"] == TARGET_RATE)

    report.targets = [
        Target(f"p50 at {TARGET_RATE}/s", median("p50 ms"), "at most", 10, "ms"),
        Target(f"p99 at {TARGET_RATE}/s", median("p99 ms"), "at most", 30, "ms"),
    ]
    report.notes = [
        "service: from the moment the writer knows of its commit; control: from the start of the message in the bare loop",
        "an arrival is counted at the end of the millisecond that nginx logged: figures are up to 1 ms too long, never too short",
        "written late: how late the most delayed INSERT was sent after its random moment",
    ]
