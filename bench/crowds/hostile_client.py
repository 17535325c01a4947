"""A client without a token sends the requests that cost nginx's log most, as fast as it can, and slow bodies."""
from __future__ import annotations

import contextlib
import json
import re
import statistics
import subprocess
import threading
import time
from pathlib import Path

from bench import ROOT
from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure, no_more_than
from bench.crowds.polling import Client, polling
from bench.crowds.stage import Stage, scaled, within
from bench.report import percentile
from support.actors import BASE

CONNECTIONS, BODIES = 64, 25  # of an address: limits.concurrent_requests_per_address is 100, and a quarter may have bodies
BYTE_EVERY = 8  # seconds: nginx's client_body_timeout is 10
ASKING_FROM, ASKING_EVERY = "127.0.0.9", 0.11  # another address, with less than limits.requests_per_token
AT_MOST_MORE_MS = 50
AT_MOST_MB_A_DAY = 1000
DAY = 86400
FORGED = "apie_" + "x" * 43


class Case(Crowd):
    SETTINGS = {"limits_requests_per_address": "1800", "limits_concurrent_requests_per_address": "100", "limits_requests_per_token": "600"}

    def __init__(self, stage: Stage):
        super().__init__(stage)
        [asking] = stage.enroll(1)
        [self.token] = stage.service.add_tokens([asking])
        self.alone: list[list[float]] = []
        self.beside: list[list[float]] = []
        self.sent: list[float] = []  # requests a second
        self.logged: list[float] = []  # MB a day

    def baseline(self):
        return self.asks(self.alone)

    @contextlib.contextmanager
    def crowd(self):
        log = Path(self.stage.service.stack.folder, "log", "nginx-access.log")
        with self.asks(self.beside), self.slow_bodies(), self.flood():
            within(self.is_refused)  # the first 1,800 requests may come at once, which says nothing of a day
            before, began = log.stat().st_size, time.monotonic()
            yield
            self.logged.append((log.stat().st_size - before) / (time.monotonic() - began) * DAY / 1e6)

    def is_refused(self) -> bool:
        return self.stage.service.stack.api("GET", "/").status == 429

    @contextlib.contextmanager
    def asks(self, into: list[list[float]]):
        with polling(self.stage, Client(self.token, [("GET", BASE, None)], ASKING_EVERY, source=ASKING_FROM)) as [found]:
            yield
        into.append(found)

    @contextlib.contextmanager
    def flood(self):
        """wrk stands for another machine, so it runs when nothing else wants the processor."""
        process = subprocess.Popen(
            ["nice", "-n", "19", "wrk", "-t1", f"-c{scaled(CONNECTIONS, self.stage.options)}", f"-d{self.stage.options.timeout}s",
             "-s", ROOT / "bench" / "load.lua", self.stage.service.stack.env["BASE_URL"], "--", "quotes", "/dev/stdin"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        process.stdin.write(FORGED + "\n")
        process.stdin.close()
        began = time.monotonic()
        try:
            yield
        finally:
            process.send_signal(2)  # SIGINT: wrk reports what it has sent so far
            output = process.stdout.read()
            process.wait(10)
            found = re.search(r"JSON (\{.*\})", output)
            self.sent.append(json.loads(found[1])["requests"] / (time.monotonic() - began))

    @contextlib.contextmanager
    def slow_bodies(self):
        end = threading.Event()
        with contextlib.ExitStack() as opened:
            head = (f"POST {BASE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {FORGED}\r\n"
                    "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n").encode()
            wires = [opened.enter_context(self.stage.service.stack.api.wire(head)) for _ in range(scaled(BODIES, self.stage.options))]

            def trickle():
                while not end.wait(BYTE_EVERY):
                    for wire in wires:
                        with contextlib.suppress(OSError):
                            wire.send(b" ")
            thread = threading.Thread(target=trickle)
            thread.start()
            try:
                yield
            finally:
                end.set()
                thread.join()

    def figures(self) -> list[Figure]:
        baselines = [percentile(found, 0.99) for found in self.alone]
        return [Figure("another's GET p99 ms", statistics.median(percentile(found, 0.99) for found in self.beside), tuple(baselines),
                       no_more_than(AT_MOST_MORE_MS, baselines)),
                Figure("requests a second of the client", statistics.median(self.sent)),
                Figure("MB of log a day", statistics.median(self.logged), goal=("at most", AT_MOST_MB_A_DAY))]
