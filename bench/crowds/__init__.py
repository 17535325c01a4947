"""Each case is a load (rows, receivers or requests) that must not delay other entities. It runs on a stack (database, programs,
nginx) of its own."""
from __future__ import annotations

import argparse
import http.client
import importlib
import subprocess

from bench.crowds import pairs
from bench.crowds.stage import Stage
from bench.report import Report, Target, progress
from support.sql import SqlError

CASES = {
    "slow": "100 webhooks of 20 entities that answer 200 after 13 s, with a backlog",
    "bad_rows": "500 rows that evade the table's CHECKs",
    "broadcast": "40,000 rows for 40,000 entities, compared with 40,000 rows for 1,000 entities and with the bare loop (bench/control.cpp)",
    "broadcast_beside": "a broadcast to 10,000 hosts that answer 200 or 500, refuse or are silent; and to 40,000 hosts",
    "costly_reads": "an entity with 125,000 failed deliveries asks for replays, statistics and its log",
    "deleted": "an entity with 400,000 deleted webhooks polls the API",
    "hostile_client": "a client without a token fills the log, and sends slow bodies",
    "large": "3,200 rows of 64 KiB of 64 entities",
    "locked": "the rows of 30 webhooks, locked by a forgotten transaction",
    "locked_rows": "every row of the table of notifications, locked by a forgotten transaction",
    "deferred": "a million rows whose no_antes_de comes at one moment",
    "expired": "a million deliveries of 1,000 webhooks that have expired",
    "urgent": "100,000 urgent rows of one entity",
    "uncommitted": "a transaction with a million rows, before and after its COMMIT",
    "unknown_entities": "80,000 rows for 80,000 entities that do not exist",
    "probes": "10,000 webhooks that are silent, and all of them are to be probed now",
    "release": "an entity activates a webhook with 100,000 held deliveries",
    "one_host": "a broadcast to 2,000 webhooks of one host",
    "replay": "a replay of 100,000 deliveries of one webhook",
    "black_holes": "ten webhooks that never answer, with 10,000 rows each (as in bench/isolation.py)",
}
FAULTS = {
    "outage": "no packet gets to the receivers for 20 s",
    "frozen": "the dispatcher is stopped (SIGSTOP) for 20 s",
    "full_disk": "the disk is full for 8 s",
    "clock_jump": "the database's clock jumps forward by two hours",
    "restart": "the database restarts",
    "purge": "200,000 deliveries past their retention are removed",
}
UNPAIRED = ("broadcast", "hostile_client", "probes")  # no others; stopped by nginx before our programs; receivers as of black_holes
PAIRED = [name for name in CASES if name not in UNPAIRED] + list(FAULTS)
DEFAULTS = {"only": None, "pairs": None, "size": 100, "rounds": 1, "seconds": 10}


def run(options: argparse.Namespace) -> Report:
    if options.pairs:
        return pairs.run(options)
    names = options.only or list(CASES)
    report = Report("crowds", f"the delay of the others by {', '.join(names)}; {options.seconds} s each, "
                              f"{options.size} % of the counts")
    for name in names:
        progress(f"{name}: {CASES[name]}")
        measure(name, options, report)
    report.notes += [
        "baseline: the median of the measurements without the crowd, before and after it; `each baseline` shows the noise",
        "latency: from the commit of a row; a row that did not arrive counts with the time waited so far",
    ]
    return report


def measure(name: str, options: argparse.Namespace, report: Report) -> None:
    """Adds one case to the report. A case that fails becomes a missed target; the other cases keep their figures."""
    try:
        case = importlib.import_module(f"bench.crowds.{name}").Case
        with Stage(options, **case.SETTINGS) as stage:
            figures = case(stage).measure()
    except (AssertionError, SqlError, OSError, subprocess.SubprocessError, http.client.HTTPException) as error:
        progress(f"{name} counts for nothing: {error}")
        report.notes.append(f"{name} counts for nothing: {error}")
        report.targets.append(Target(f"{name}: measured", 0, "at least", 1))
        return
    report.facts |= stage.facts
    for figure in figures:
        target = figure.target(name)
        report.rows.append(figure.row(name, target))
        report.targets += [target] if target else []
