"""Measures the cost of idleness: processor time of the dispatcher and the database, and of the database without a
dispatcher."""
from __future__ import annotations

import time

from bench import machine
from bench.receiver import Receiver
from bench.report import Report, Target, progress
from bench.service import Service

DEFAULTS = {"webhooks": 1_000, "rounds": 2, "seconds": 20}


def run(options) -> Report:
    report = Report("idle", f"nothing to do, {options.webhooks:,} webhooks registered, {options.seconds} s each")
    with Service() as service:
        with Receiver(service.stack.env["RECEIVER_CERT"], service.stack.env["RECEIVER_KEY"]) as receiver:
            progress(f"registering {options.webhooks:,} webhooks")
            service.register([receiver.port] * options.webhooks)
            service.write(options.webhooks, service.entities)  # each has had a delivery, as in a service in use
            service.wait_recorded(60)
        report.facts = service.facts()
        for number in range(1, options.rounds + 1):
            service.stop_dispatcher()
            report.rows.append(measure(f"database alone {number}", service, None, options.seconds))
            report.rows.append(measure(f"service {number}", service, service.start_dispatcher(), options.seconds))
    judge(report)
    return report


def measure(name: str, service: Service, dispatcher: int | None, seconds: int) -> dict:
    progress(f"{name} for {seconds} s")
    wait_quiet(service.database())
    parts = {"database": [service.database()]} | ({"dispatcher": [dispatcher]} if dispatcher else {})
    usage, started = machine.Usage(**parts), machine.now()
    time.sleep(seconds)
    used, elapsed = usage.read(), machine.now() - started
    share = {part: used[part] / elapsed * 100 for part in parts}
    return {"round": name, "database %": share["database"], "dispatcher %": share.get("dispatcher"),
            "together %": sum(share.values()), "others %": used["others"] / elapsed * 100}


def wait_quiet(database: int, limit: float = 30) -> None:
    """Waits until the database has done its earlier work (pages to write, history to purge) and uses at most 2 % of a core;
    `limit` seconds at most."""
    window = 0.5
    deadline = machine.now() + limit
    while machine.now() < deadline:
        before = machine.cpu_seconds(database)
        time.sleep(window)
        if machine.cpu_seconds(database) - before <= 0.02 * window:
            return


def judge(report: Report) -> None:
    def least(kind: str) -> float:
        """The minimum of the rounds, because other work of the machine can only raise a round's figure."""
        return min(row["together %"] for row in report.rows if row["round"].startswith(kind))

    report.targets = [Target("processor time above the database's own", least("service") - least("database alone"),
                             "at most", 1.0, "%")]
    report.notes = ["% of one core; processor time is counted in steps of 10 ms; the target is judged by the quietest rounds"]
