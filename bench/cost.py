"""Counts what a delivery costs: what its statements read, write and send, and the dispatcher's instructions. Unlike times,
counts of two commits can be compared even if they were taken on a noisy machine. Each figure is the count for 3 N notifications
minus the count for N, divided by 2 N, so the cost of a start cancels out.

The notifications are a backlog, or come in small batches: each batch is one commit, written once the deliveries of the former
are recorded. What a batch costs, whatever its size, shows in the difference.
"""
from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from pathlib import Path

from bench import ROOT
from bench.receiver import Receiver
from bench.report import Report, Target, progress
from bench.service import Service

DEFAULTS = {"notifications": 1_000, "webhooks": 100, "no_instructions": False}
LARGER = 3  # the larger count is LARGER times N notifications
BATCHES = {1: 20, 5: 20, 20: 10, 200: 2}  # rows of a batch: how many batches the smaller count has
# Columns of information_schema.user_statistics, read for the dispatcher's user.
COUNTED = {"statements": "select_commands + update_commands + other_commands", "transactions": "commit_transactions",
           "rows read": "rows_read", "rows inserted": "rows_inserted", "rows updated": "rows_updated",
           "rows deleted": "rows_deleted", "bytes to the database": "bytes_received", "bytes from it": "bytes_sent"}
REDO = "bytes of redo log"
STORED = "bytes stored"
INSTRUCTIONS = "instructions of the dispatcher"
PAGE = ROOT / "docs" / "benchmarks.md"  # has the bound of each figure


def run(options) -> Report:
    report = Report("cost", f"{options.notifications:,} and {LARGER * options.notifications:,} notifications"
                            f" over {options.webhooks:,} webhooks, one delivery each")
    with Service() as service:
        command = service.stack.command_of("dispatcher")
        service.stop_dispatcher()
        service.sql("SET GLOBAL userstat = 1")
        with Receiver(service.stack.env["RECEIVER_CERT"], service.stack.env["RECEIVER_KEY"]) as receiver:
            service.register([receiver.port] * options.webhooks)
            report.facts = service.facts()
            def measure(count: int, rows: int) -> dict[str, float]:
                """Measures `count` notifications in batches of `rows`."""
                measured = per_delivery(count, lambda n: count_database(service, n, rows, options.record_timeout))
                if not options.no_instructions:
                    measured |= per_delivery(count, lambda n: count_instructions(service, command, n, rows, options.record_timeout))
                return measured

            counted = measure(options.notifications, LARGER * options.notifications)
            batches = {f"in batches of {rows:,}": measure(rows * count, rows) for rows, count in BATCHES.items()}
    for found in batches.values():
        found[STORED] = None  # too few deliveries: tables grow by pages
    report.rows = [{"for a delivery": name, "count": value} | {title: found[name] for title, found in batches.items()}
                   for name, value in counted.items()]
    bounds = documented()
    report.targets = [Target(name, value, "at most", bounds[name]) for name, value in counted.items()]
    report.notes = ["targets: the bounds in docs/benchmarks.md, which allow for smaller batches on a busy machine"]
    return report


def documented() -> dict[str, float]:
    """Returns the bounds in docs/benchmarks.md. If a change of the code makes a delivery cost more than a bound, the same change
    must also raise the bound on that page."""
    names = [*COUNTED, REDO, STORED, INSTRUCTIONS]
    rows = re.findall(r"^\| ([a-z ]+) \| [^|]+ \| ([\d.,]+) \|", PAGE.read_text(), re.M)
    found = {name: float(value.replace(",", "")) for name, value in rows if name in names}
    if missing := set(names) - set(found):
        raise AssertionError(f"{PAGE} has no figure for {', '.join(sorted(missing))}")
    return found


def per_delivery(count: int, measure) -> dict[str, float]:
    small, large = measure(count), measure(LARGER * count)
    return {name: (large[name] - small[name]) / ((LARGER - 1) * count) for name in small}


def deliver(service: Service, count: int, rows: int, timeout: float) -> None:
    """Waits for the first batch, which write_first() has written, and delivers the others."""
    service.wait_recorded(timeout)
    for written in range(rows, count, rows):
        last = service.last("entregas")
        first = written % len(service.entities)  # each batch goes to the next entities
        service.write(min(rows, count - written), service.entities[first:] + service.entities[:first])
        service.wait_recorded(timeout, last)


def write_first(service: Service, count: int, rows: int) -> None:
    service.clear()
    service.write(min(rows, count), service.entities)


def count_database(service: Service, count: int, rows: int, timeout: float) -> dict[str, float]:
    progress(f"{count:,} deliveries in batches of {rows:,}, by the database's counters")
    write_first(service, count, rows)
    service.sql("FLUSH USER_STATISTICS")
    before = redo_written(service)
    service.start_dispatcher()
    deliver(service, count, rows, timeout)
    service.stop_dispatcher()  # the server adds a session's counts when the session ends
    columns = ", ".join(COUNTED.values())
    values = service.sql(f"SELECT {columns} FROM information_schema.user_statistics WHERE user = 'apientidades_dispatcher'")[0]
    return dict(zip(COUNTED, map(float, values))) | {REDO: redo_written(service) - before, STORED: float(service.stored_bytes())}


def redo_written(service: Service) -> float:
    return float(service.sql("SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'")[0][1])


def count_instructions(service: Service, command, count: int, rows: int, timeout: float) -> dict[str, float]:
    progress(f"{count:,} deliveries in batches of {rows:,}, under callgrind")
    write_first(service, count, rows)
    with under_callgrind(*command) as collected:
        deliver(service, count, rows, timeout)
    return {INSTRUCTIONS: collected()}


@contextlib.contextmanager
def under_callgrind(arguments: list[str], environment: dict):
    """Runs a process under callgrind during the block. Yields a function to call after the block: it returns how many
    instructions the process executed."""
    with tempfile.TemporaryDirectory(prefix="apie-cost-", dir="/tmp") as folder:
        log = Path(folder, "log")
        with log.open("wb") as output:
            process = subprocess.Popen(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/profile", *arguments],
                                       env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            found = {}
            try:
                yield lambda: found["collected"]
            finally:
                process.terminate()
                status = process.wait(60)
        text = log.read_text(errors="replace")
        match = re.search(r"Collected : (\d+)", text)
        if status != 0 or match is None:
            raise AssertionError(f"the dispatcher under callgrind ended with {status}: {text[-500:]}")
        found["collected"] = float(match.group(1))
