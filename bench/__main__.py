"""`./dev bench`: runs the named benchmarks, prints a table of each and writes its JSON."""
from __future__ import annotations

import argparse
import importlib
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from bench import ROOT, machine
from bench.crowds import CASES, FAULTS, PAIRED
from bench.report import number, progress
from support.sql import SqlError

NAMES = {
    "throughput": "deliveries per second of a backlog, beside a bare libcurl loop",
    "latency": "commit of a row to its arrival, at 200 and 2,000 a second",
    "cost": "statements, rows, bytes and instructions of a delivery: counts that a noisy machine hardly changes",
    "idle": "processor time with nothing to do",
    "scale": "a backlog beside millions of finished or waiting rows, and beside a backup",
    "isolation": "how much receivers that never answer, and one entity's million rows, delay other entities",
    "crowds": "how much a crowd (slow receivers, bad rows, locks, replays …) delays others: --only CASE,…",
    "memory": "resident memory with 1,000 deliveries in flight, beside a bare libcurl loop",
    "log": "pages of the delivery log of a webhook with a million deliveries, and its statistics, beside a FastCGI hello",
    "api": "requests per second of each endpoint, beside a FastCGI hello and the database's own commits",
}


def main() -> int:
    options = parse()
    if options.only_arguments:
        return 0
    stop_on_signals(options.timeout)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    met = True
    for name in options.names:
        try:
            met &= run(name, options)
        except Stopped as stopped:
            progress(f"{name} stopped: {stopped}")
            return 130
        except (AssertionError, OSError, subprocess.SubprocessError, SqlError) as error:
            progress(f"{name} failed: {error}")
            return 1
    return 0 if met or not options.check else 3


def run(name: str, options: argparse.Namespace) -> bool:
    module = importlib.import_module(f"bench.{name}")
    given = {key: value for key, value in vars(options).items() if value is not None}
    facts = machine.facts()
    started = time.monotonic()
    report = module.run(argparse.Namespace(**module.DEFAULTS | given))
    report.facts = {"machine": facts, "seconds": round(time.monotonic() - started, 1)} | report.facts
    path = report.write(options.output)
    print(f"\n{report.text()}")
    print(f"  machine: {facts['cores']} cores, {facts['processor']}, Linux {facts['kernel']}, "
          f"load average {number(facts['load_average'])} at the start; all figures are in {path}\n", flush=True)
    return report.met


def parse() -> argparse.Namespace:
    parser = Parser(
        prog="./dev bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures the delivery engine and the API, most benchmarks beside a control in the same run.\n\nBenchmarks:\n"
        + listing(NAMES) + "\n\nCases of crowds:\n" + listing(CASES) + "\n\nFaults, for --pairs:\n" + listing(FAULTS),
        epilog="Each benchmark has its own default counts, and its targets are for these. docs/benchmarks.md explains both.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which (default: all, in this order)")
    parser.add_argument("--notifications", type=positive, metavar="N", help="notifications of a round")
    parser.add_argument("--webhooks", type=positive, metavar="N", help="webhooks, one for each entity")
    parser.add_argument("--rounds", type=positive, metavar="N", help="rounds of service and control in turn")
    parser.add_argument("--dispatchers", type=positive, metavar="N", help="throughput: dispatchers side by side (1)")
    parser.add_argument("--seconds", type=positive, metavar="N", help="length of a measurement at a steady load")
    parser.add_argument("--in-flight", type=positive, metavar="N", help="memory: deliveries in flight at once (1,000)")
    parser.add_argument("--requests", type=positive, metavar="N",
                        help="api: requests until a handler's memory is judged (1,000,000)")
    parser.add_argument("--others", type=several, metavar="N,…",
                        help="scale: other rows (100000,2000000); log: the last value is the number of deliveries (1000000)")
    parser.add_argument("--backlog", type=positive, metavar="N",
                        help="isolation: rows of one entity (1,000,000); each black hole has a hundredth")
    parser.add_argument("--only", type=cases, metavar="CASE,…",
                        help="crowds: only these cases (all); with --pairs, only pairs with one of them")
    parser.add_argument("--pairs", type=paired, nargs="?", const=PAIRED, metavar="CASE,…",
                        help="crowds: every two of these cases and faults at once (all), at a tenth of --size")
    parser.add_argument("--size", type=positive, metavar="PERCENT", help="crowds: this share of the counts (100)")
    parser.add_argument("--no-instructions", action="store_true", help="cost: leave out callgrind, which takes a minute")
    parser.add_argument("--output", type=Path, default=ROOT / ".dev" / "bench", metavar="FOLDER",
                        help="where NAME.json is written (.dev/bench)")
    parser.add_argument("--check", action="store_true", help="end with status 3 when a target is not met")
    parser.add_argument("--timeout", type=positive, metavar="SECONDS", help="limit of the whole run (5400; 7200 with --pairs)")
    parser.add_argument("--settle-timeout", dest="record_timeout", type=positive, default=600, metavar="SECONDS",
                        help="limit of the deliveries of one round (600)")
    parser.add_argument("--only-arguments", action="store_true", help=argparse.SUPPRESS)  # to check them before the build
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}: there are {', '.join(NAMES)}")
    options.names = options.names or list(NAMES)
    options.timeout = options.timeout or (7200 if options.pairs else 5400)
    return options


class Parser(argparse.ArgumentParser):
    """Reports an error like the rest of ./dev: in one line, with exit status 2."""

    def error(self, message: str):
        self.exit(2, f"dev: bench: {message} (./dev bench --help)\n")


def positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def several(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


def cases(text: str, known=CASES) -> list[str]:
    for name in text.split(","):
        if name not in known:
            raise argparse.ArgumentTypeError(f"crowds has no case {name!r}: there are {', '.join(known)}")
    return text.split(",")


def paired(text: str) -> list[str]:
    return cases(text, PAIRED)


def listing(texts: dict[str, str]) -> str:
    return "\n".join(f"  {name:<16} {text}" for name, text in texts.items())


class Stopped(BaseException):
    """Ended by a signal or a time-out: everything that was started is ended before the exit."""


def stop_on_signals(timeout: int) -> None:
    reasons = {signal.SIGINT: "interrupted", signal.SIGTERM: "told to end", signal.SIGALRM: f"not done in {timeout} s"}

    def stop(received, _frame):
        for other in reasons:
            signal.signal(other, signal.SIG_IGN)  # the cleanup is not interrupted
        raise Stopped(reasons[received])

    for known in reasons:
        signal.signal(known, stop)
    signal.alarm(timeout)


if __name__ == "__main__":
    sys.exit(main())
