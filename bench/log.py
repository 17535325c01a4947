"""Measures the delivery log of a webhook with a million deliveries: three of its pages, a filter without matches, one whole
delivery, the statistics; and the first page of all webhooks of an entity, of this one alone and of five. The control is a FastCGI program that says hello behind the same nginx."""
from __future__ import annotations

import json
from pathlib import Path

from bench import filling, load
from bench.api import HELLO, row
from bench.hello import Hello
from bench.report import Report, Target, progress
from bench.service import EVENT, Service

DEFAULTS = {"rounds": 5, "seconds": 3, "others": [1_000_000]}
PAGE = 50  # the API's default
ALL = "/apientidades/v1/entregas"
FIRST, MIDDLE, LAST = "first page", "page in the middle", "last page"
ENTITY, FIVE, OF_FIVE, SUMMARY = "first page of an entity with one webhook", "first page of an entity with five", "first page of one of them", "the same with datos=resumen"
NONE, WHOLE, STATISTICS = "page that nothing fits", "one delivery whole", "statistics"
ALONE = (NONE, STATISTICS)  # one request at a time


def run(options) -> Report:
    count = options.others[-1]
    with Service() as service:
        threads = int(service.setting("api.threads"))
        bench = Bench(service, threads * len(service.stack.pids("fcgi")), options.seconds)
        report = Report("log", f"requests about a webhook with {count:,} deliveries, over {bench.connections} kept connections, "
                               f"{options.rounds} rounds of {options.seconds} s each", facts=service.facts())
        bench.prepare(count)
        with Hello(service.stack, threads) as hello:
            found = [bench.round(hello, number, options.rounds) for number in range(1, options.rounds + 1)]
    report.rows = [row(name, [one[name] for one in found], [one[HELLO] for one in found]) for name in found[0]]
    report.facts["rounds"] = found
    judge(report)
    return report


class Bench:
    def __init__(self, service: Service, connections: int, seconds: int):
        self.service, self.connections, self.seconds = service, connections, seconds
        self._tokens = Path(service.stack.folder, "log.tokens")
        self._other_tokens = Path(service.stack.folder, "log.other.tokens")
        self.paths: dict[str, str] = {}

    def prepare(self, count: int) -> None:
        self.service.stop_dispatcher()
        token, another = self.service.add_entities(2)
        self._tokens.write_text(token + "\n")
        self._other_tokens.write_text(another + "\n")
        for entity, number in ((1, 1), *((2, number) for number in range(1, 6))):
            self.service.sql(f"INSERT INTO webhooks (entidad_id, plaza, url, eventos)"
                             f" VALUES ({entity}, {number}, 'https://h{entity}.receptor.test/notificaciones', '{EVENT}')")
        filling.notifications(self.service, count // 25, 2, 1)
        filling.finished(self.service, count, 1)
        base = "/1/entregas"
        self.paths = {FIRST: base, NONE: f"{base}?estado=fallida", WHOLE: f"{base}/{count // 2}",
                      STATISTICS: "/1/estadisticas", ENTITY: ALL, FIVE: ALL, OF_FIVE: "/2/entregas", SUMMARY: ALL + "?datos=resumen"}
        progress("walking through the pages")
        cursors = self._cursors(token, base)
        self.paths[MIDDLE] = f"{base}?cursor={cursors[len(cursors) // 2]}"
        self.paths[LAST] = f"{base}?cursor={cursors[-1]}"

    def _cursors(self, token: str, path: str) -> list[str]:
        """The cursors after every hundredth delivery, to the end."""
        cursors, query = [], "?limite=100"
        while True:
            answer = self.service.stack.api("GET", f"/apientidades/v1/webhooks{path}{query}", token)
            following = json.loads(answer.text)["siguiente"]
            if following is None:
                return cursors
            cursors.append(following)
            query = f"?limite=100&cursor={following}"

    def round(self, hello: Hello, number: int, rounds: int) -> dict[str, dict]:
        progress(f"round {number} of {rounds}")
        pids = {"nginx": self.service.stack.pids("nginx"), "database": [self.service.database()],
                "handlers": self.service.stack.pids("fcgi") + hello.pids()}
        found = {HELLO: self._load("list", pids, hello.url)}
        for name, path in self.paths.items():
            found[name] = self._load("get", pids, path=path, connections=1 if name in ALONE else self.connections,
                                     tokens=self._other_tokens if name in (FIVE, OF_FIVE, SUMMARY) else None)
        return found

    def _load(self, kind: str, pids: dict[str, list[int]], url: str | None = None, path: str = "",
              connections: int | None = None, tokens: Path | None = None) -> dict:
        return load.run(kind, url or self.service.stack.env["BASE_URL"], tokens or self._tokens, connections or self.connections,
                        self.seconds, pids, path)


def judge(report: Report) -> None:
    rows = {row["request"]: row for row in report.rows}
    slowest = min(rows[MIDDLE]["rate/s"], rows[LAST]["rate/s"]) / rows[FIRST]["rate/s"]
    report.targets = [
        Target(f"{FIRST} of {PAGE}, of the control's rate", rows[FIRST]["of control"], "at least", 0.25),
        Target("rate of the slowest other page, of the first page's", slowest, "at least", 0.9),
        Target(f"rate of the {ENTITY}, of its webhook's", rows[ENTITY]["rate/s"] / rows[FIRST]["rate/s"], "at least", 0.9),
        Target(f"rate of the {FIVE}, of a webhook's", rows[FIVE]["rate/s"] / rows[OF_FIVE]["rate/s"], "at least", 0.9),
        Target(f"{NONE}, one request at a time, p50", rows[NONE]["p50 ms"], "at most", 50.0, "ms"),
        Target(f"{STATISTICS}, one request at a time, p50", rows[STATISTICS]["p50 ms"], "at most", 20.0, "ms"),
    ]
