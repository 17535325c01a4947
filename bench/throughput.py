"""Measures how fast a backlog for many webhooks is delivered. The control is a bare libcurl loop (bench/control.cpp) that
sends equal requests. The lean control (bench/lean.cpp) sends them without libcurl, so it is nearer to the machine's limit. The
service's time runs from the first request at the receiver until the last delivery is recorded in the database.
"""
from __future__ import annotations

import contextlib
import statistics

from bench import control, machine
from bench.receiver import Receiver, Watch
from bench.report import Report, Target, progress
from bench.service import Service

DEFAULTS = {"notifications": 200_000, "webhooks": 1_000, "rounds": 2, "dispatchers": 1}
# Every retry waits 1 s. On a busy machine a connection may not be made in time; with the default schedule the second failure
# of a delivery would prolong the round by five minutes. The column `failed` counts failed attempts.
PATIENCE = {"delivery_retry_schedule": ",".join(["1s"] * 10)}


def run(options) -> Report:
    report = Report("throughput", f"{options.notifications:,} notifications over {options.webhooks:,} webhooks")
    with Service(**PATIENCE) as service:
        service.stop_dispatcher()
        with Receiver(service.stack.env["RECEIVER_CERT"], service.stack.env["RECEIVER_KEY"]) as receiver:
            progress(f"registering {options.webhooks:,} webhooks")
            service.register([receiver.port] * options.webhooks)
            report.facts = service.facts() | {"max_in_flight": service.max_in_flight(), "dispatchers": options.dispatchers}
            for number in range(1, options.rounds + 1):
                for measure in (lean_round, control_round, service_round):
                    report.rows.append(measure(number, service, receiver, options))
                    progress(f"round {number} of {options.rounds}: {report.rows[-1]['rate/s']:,.0f}/s")
            stored = service.stored_bytes() / options.notifications
    judge(report)
    report.notes.append(f"stored for each delivery, its notification and its attempt: {stored:,.0f} bytes, indexes included")
    return report


def lean_round(number: int, service: Service, receiver: Receiver, options) -> dict:
    progress(f"round {number} of {options.rounds}: lean control")
    return send_bare(f"lean {number}", options.notifications, options.webhooks, service, receiver, control.LEAN)


def control_round(number: int, service: Service, receiver: Receiver, options) -> dict:
    progress(f"round {number} of {options.rounds}: control")
    return send_bare(f"control {number}", options.notifications, options.webhooks, service, receiver)


def send_bare(name: str, count: int, hosts: int, service: Service, receiver: Receiver, program=control.PROGRAM) -> dict:
    """Sends `count` messages to `hosts` hosts with a control program."""
    usage = machine.Usage(receiver=receiver.pids())
    with Watch(receiver) as watch:
        result = control.run(program, messages=count, hosts=hosts, port=receiver.port, connections=service.max_in_flight(),
                             ca_file=service.stack.env["CA_CERT"])
    used = usage.read(sender=result["cpu_seconds"])
    return row(name, count, watch.last_at - watch.first_at, result["seconds"], watch, used)


def service_round(number: int, service: Service, receiver: Receiver, options) -> dict:
    progress(f"round {number} of {options.rounds}: the service with a backlog")
    return deliver_backlog(f"service {number}", options.notifications, service.entities, service, receiver,
                           options.record_timeout, options.dispatchers)


def deliver_backlog(name: str, count: int, entities: list[int], service: Service, receiver: Receiver, timeout: float,
                    dispatchers: int = 1) -> dict:
    """Writes `count` notifications for these entities, starts the dispatchers, and measures until all deliveries are recorded."""
    service.clear()
    service.write(count, entities)
    usage = machine.Usage(receiver=receiver.pids(), database=[service.database()])
    with Watch(receiver) as watch, contextlib.ExitStack() as others:
        pids = [service.start_dispatcher()]
        for _ in range(1, dispatchers):
            pids.append(others.enter_context(service.stack.second_dispatcher()).pid)
        watch.await_arrivals(count, timeout)
        recorded_at = service.wait_recorded(timeout)
        used = usage.read(sender=sum(map(machine.cpu_seconds, pids)))
        started_at = machine.started(pids[0])
    service.stop_dispatcher()
    delivered = service.count("entregas", "estado = 'entregada'")
    require(delivered == count, f"{delivered:,} deliveries are entregada")
    failed = service.count("intentos_entrega", "COALESCE(estado_http, 0) NOT BETWEEN 200 AND 299")
    return row(name, delivered, recorded_at - watch.first_at, recorded_at - started_at, watch, used, failed)


def row(name: str, count: int, seconds: float, whole: float, watch: Watch, used: dict, failed: int = 0) -> dict:
    """Makes a row of the report. `seconds` is measured from the first request at the receiver. `whole` is measured from the start
    of the first sender; the rate `from start/s` is computed from it. Columns in µs are processor time."""
    parts = ("sender", "database", "receiver")
    per_delivery = {f"{part} µs": used[part] / count * 1e6 if part in used else None for part in parts}
    per_delivery["sum µs"] = sum(used.get(part, 0) for part in parts) / count * 1e6
    return {"round": name, "seconds": seconds, "rate/s": count / seconds, "from start/s": count / whole,
            "connections": watch.connections, "repeats": watch.arrived - count, "failed": failed} | per_delivery | {"others s": used["others"]}


def judge(report: Report) -> None:
    def median(kind: str, column: str) -> float:
        return statistics.median(row[column] for row in report.rows if row["round"].startswith(kind))

    service, bare, lean = (median(kind, "rate/s") for kind in ("service", "control", "lean"))
    cost, bare_cost = median("service", "sum µs"), median("control", "sum µs")
    report.targets = [
        Target("deliveries, median", service, "at least", 10_000, "per second"),
        Target("of the control's rate, medians", service / bare, "at least", 0.25),
    ]
    report.notes = [
        f"by processor time alone, which a busy machine distorts less: {bare_cost / cost:.2f} of the control's rate, and "
        f"{machine.cores() * 1e6 / cost:,.0f} per second if every core did nothing else",
        f"of the lean control's rate, medians: {service / lean:.2f}",
        "rate: from the first request at the receiver until everything is recorded (control: until the last request)",
        "connections: made in the round; repeats: requests that came once more; failed: attempts without a 2xx",
        "sender: the dispatchers or a control program; µs are processor time for each delivery",
        "others s: processor time in the round of all else that ran on the machine, the benchmark's own polling included",
    ]


def require(condition: bool, found: str) -> None:
    if not condition:
        raise AssertionError(f"this run counts for nothing: {found}")
