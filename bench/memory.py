"""Measures resident memory with many deliveries in flight, of the service and of the control (bench/control.cpp). Each
delivery waits for its answer, because the receiver passes it on to a server that never answers.
"""
from __future__ import annotations

import statistics
import time

from bench import control, machine
from bench.receiver import Receiver
from bench.report import Report, Target, progress
from bench.service import Service
from bench.silent import ADDRESS, silent_port
from support.wait import wait_until

DEFAULTS = {"notifications": 20_000, "webhooks": 1_000, "rounds": 1, "in_flight": 1_000}
HOLD_SECONDS = 120  # delivery.timeout: no delivery ends during the measurement


def run(options) -> Report:
    report = Report("memory", f"{options.in_flight:,} deliveries in flight of {options.notifications:,} that wait")
    with silent_port() as port, Service() as service:
        service.stop_dispatcher()
        certificate, key = service.stack.env["RECEIVER_CERT"], service.stack.env["RECEIVER_KEY"]
        answer = f"proxy_pass http://{ADDRESS}:{port}; proxy_read_timeout 1h;"
        with Receiver(certificate, key, answer=answer) as receiver:
            progress(f"registering {options.webhooks:,} webhooks")
            service.register([receiver.port] * options.webhooks)
            report.facts = service.facts()
            for number in range(1, options.rounds + 1):
                for measure_one in (control_round, service_round):
                    report.rows.append(measure_one(number, service, receiver, options))
                    wait_until(lambda: receiver.counts()["held"] == 0, 30, "the held connections to be gone", every=0.1)
    judge(report)
    return report


def control_round(number: int, service: Service, receiver: Receiver, options) -> dict:
    progress(f"round {number} of {options.rounds}: control")
    with control.running(
            messages=options.notifications, hosts=options.webhooks, port=receiver.port, timeout=HOLD_SECONDS,
            connections=options.in_flight, ca_file=service.stack.env["CA_CERT"]) as process:
        return measure(f"control {number}", process.pid, receiver, options.in_flight)


def service_round(number: int, service: Service, receiver: Receiver, options) -> dict:
    progress(f"round {number} of {options.rounds}: service")
    service.clear()
    service.write(options.notifications, service.entities)
    dispatcher = service.start_dispatcher(
        delivery_max_in_flight=str(options.in_flight * 16 // 15 + 1),  # a sixteenth is kept for entities that come later
        delivery_timeout=f"{HOLD_SECONDS}s",
        delivery_lease=f"{HOLD_SECONDS + 60}s")
    try:
        return measure(f"service {number}", dispatcher, receiver, options.in_flight)
    finally:
        service.kill_dispatcher()


def measure(name: str, pid: int, receiver: Receiver, in_flight: int) -> dict:
    wait_until(lambda: receiver.counts()["held"] >= in_flight, 60, f"{in_flight:,} deliveries in flight", every=0.1)
    resident = []
    for _ in range(20):  # fan-out finishes in this time
        time.sleep(0.1)
        resident.append(machine.memory_kib(pid) / 1024)
    return {"round": name, "in flight": receiver.counts()["held"], "resident MiB": max(resident),
            "highest MiB": machine.memory_kib(pid, "VmHWM") / 1024, "KiB each": max(resident) * 1024 / in_flight}


def judge(report: Report) -> None:
    def median(kind: str) -> float:
        return statistics.median(row["highest MiB"] for row in report.rows if row["round"].startswith(kind))

    report.targets = [Target("highest resident memory, of the control's", median("service") / median("control"),
                             "at most", 1.4)]
