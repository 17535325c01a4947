"""Measures the entities' requests through TLS, by endpoint. The control of the reads is a FastCGI program that says
hello behind the same nginx; the control of the writes is the database's own durable commits. Also measures the memory
of a handler process."""
from __future__ import annotations

import json
import statistics
import subprocess
import time
from pathlib import Path

from bench import load, machine
from bench.control import PROGRAM
from bench.hello import Hello
from bench.report import Report, Target, number, progress
from bench.service import EVENT, Service, sequence

DEFAULTS = {"rounds": 5, "seconds": 3, "requests": 1_000_000}
IDLE_SECONDS = 50  # enough for a handler process to give back the memory that it does not need
READERS = 100  # entities with five webhooks each
HELLO, COMMIT = "hello (control)", "commit (control)"
LIST = "GET /webhooks"
READS = {"list": LIST, "events": "GET /webhooks/eventos", "no_token": "401, no token",
         "wrong_token": "401, wrong token"}
WRITES = {"test": "POST /webhooks/test", "register": "POST /webhooks, DELETE"}


def run(options) -> Report:
    with Service() as service:
        threads = int(service.setting("api.threads"))
        bench = Bench(service, threads * len(service.stack.pids("fcgi")), options.seconds)
        report = Report("api", f"requests over {bench.connections} kept connections, {options.rounds} rounds of "
                               f"{options.seconds} s each", facts=service.facts())
        fresh = bench.resident()
        bench.prepare()
        with Hello(service.stack, threads) as hello:
            found = [bench.round(hello, number, options.rounds) for number in range(1, options.rounds + 1)]
        report.rows = [row(name, [one[name] for one in found], [one[control_of(name)] for one in found])
                       for name in found[0]]
        report.facts["rounds"] = found
        judge(report, fresh, bench.endure(options.requests))
    return report


class Bench:
    def __init__(self, service: Service, connections: int, seconds: int):
        self.service, self.connections, self.seconds = service, connections, seconds
        self._readers = Path(service.stack.folder, "readers.tokens")
        self._writers = Path(service.stack.folder, "writers.tokens")

    def prepare(self) -> None:
        self.service.stop_dispatcher()
        tokens = self.service.add_entities(READERS + self.connections)
        self._readers.write_text("\n".join(tokens[:READERS]) + "\n")
        self._writers.write_text("\n".join(tokens[READERS:]) + "\n")
        self.service.sql(f"""
            INSERT INTO webhooks (entidad_id, plaza, url, eventos)
            SELECT 1 + (seq - 1) DIV 5, 1 + (seq - 1) MOD 5, CONCAT('https://h', seq, '.receptor.test/notificaciones'),
                   '{EVENT},resultados.provisionales,resultados.definitivos,documento.disponible'
            FROM {sequence(1, 5 * READERS)};
            INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_estado)
            SELECT id, UTC_TIMESTAMP(3), 200 FROM webhooks;
            CREATE TABLE bench_commits (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, texto VARCHAR(200) NOT NULL)""")

    def round(self, hello: Hello, number: int, rounds: int) -> dict[str, dict]:
        progress(f"round {number} of {rounds}: reads")
        pids = {"nginx": self.service.stack.pids("nginx"), "database": [self.service.database()],
                "handlers": self.service.stack.pids("fcgi") + hello.pids()}
        found = {HELLO: self._load("list", pids, hello.url)}
        found |= {name: self._load(kind, pids) for kind, name in READS.items()}
        progress(f"round {number} of {rounds}: writes")
        found |= {COMMIT: self._commits()}
        found |= {name: self._load(kind, pids) for kind, name in WRITES.items()}
        self._forget()
        return found

    def _load(self, kind: str, pids: dict[str, list[int]], url: str | None = None) -> dict:
        tokens = self._writers if kind == "register" else self._readers
        return load.run(kind, url or self.service.stack.env["BASE_URL"], tokens, self.connections, self.seconds, pids)

    def _commits(self) -> dict:
        env = self.service.stack.env
        usage = machine.Usage(database=[self.service.database()])
        output = subprocess.run(
            [PROGRAM.parent / "bench_commits", "--socket", env["DB_SOCKET"], "--database", env["DB_NAME"],
             "--user", "root", "--connections", str(self.connections), "--seconds", str(self.seconds)],
            stdout=subprocess.PIPE, text=True, check=True, start_new_session=True).stdout
        found, used = json.loads(output), usage.read()
        return found | {"others_seconds": used["others"],
                        "us": {"database": used["database"] / found["requests"] * 1e6}}

    def _forget(self) -> None:
        """Removes what the writes left, so that the next round begins like this one."""
        self.service.sql(f"""
            SET FOREIGN_KEY_CHECKS = 0; TRUNCATE entregas; TRUNCATE notificaciones_pendientes; TRUNCATE pruebas_por_borrar;
            TRUNCATE bench_commits;
            SET FOREIGN_KEY_CHECKS = 1; DELETE FROM webhooks WHERE entidad_id > {READERS}""")

    def resident(self) -> float:
        """Resident memory of the largest handler process, in MiB."""
        return max(machine.memory_kib(pid) for pid in self.service.stack.pids("fcgi")) / 1024

    def endure(self, requests: int) -> list[tuple[int, float]]:
        """Sends GET /webhooks at least `requests` times. Returns a sample taken after a tenth of the requests and another
        taken at the end. A sample is the number of answers so far, and resident() after IDLE_SECONDS."""
        done, samples = 0, []
        while done < requests:
            done += self._load("list", {})["requests"]
            if done >= requests or done >= requests / 10 and not samples:
                progress(f"{done:,} of {requests:,} requests; idle for {IDLE_SECONDS} s")
                time.sleep(IDLE_SECONDS)
                samples.append((done, self.resident()))
            progress(f"{done:,} of {requests:,} requests, {number(self.resident())} MiB resident")
        return samples


def control_of(name: str) -> str:
    return COMMIT if name == COMMIT or name in WRITES.values() else HELLO


def row(name: str, found: list[dict], controls: list[dict]) -> dict:
    """Medians over the rounds; each ratio compares two values of the same round."""
    def median(value) -> float:
        return statistics.median(map(value, found))

    rates = [rate(one) for one in found]
    cells = {"request": name, "rate/s": statistics.median(rates),
             "of control": statistics.median(a / rate(b) for a, b in zip(rates, controls)),
             "cpu of control": None if control_of(name) == COMMIT else
             statistics.median(cost(b) / cost(a) for a, b in zip(found, controls)),
             "p50 ms": median(lambda one: one["p50_ms"]), "p99 ms": median(lambda one: one["p99_ms"])}
    for part in ("wrk", "nginx", "handlers", "database"):
        cells[f"{part} µs"] = median(lambda one: one["us"][part]) if part in found[0]["us"] else None
    return cells | {"others s": median(lambda one: one["others_seconds"]), "rates": " ".join(map(number, rates))}


def rate(found: dict) -> float:
    return found["requests"] / found["seconds"]


def cost(found: dict) -> float:
    """µs of processor time for each request, all parts together."""
    return sum(found["us"].values())


def judge(report: Report, fresh: float, samples: list[tuple[int, float]]) -> None:
    listing = next(row for row in report.rows if row["request"] == LIST)
    total, last = samples[-1]
    settled = next(resident for done, resident in samples if done >= total / 10)  # every thread has served a request
    report.facts["resident_mib"] = {"fresh": fresh, "after": samples}
    report.targets = [
        Target(f"{LIST}, five webhooks, of the control's rate", listing["of control"], "at least", 0.5),
        Target(f"resident, idle after {total:,} requests", last, "at most", 20.0, "MiB"),
        Target("resident, growth over the last nine tenths of them", last - settled, "at most", 1.0, "MiB"),
    ]
    report.notes = [
        f"a handler process had {number(fresh)} MiB when it was fresh, {number(settled)} after a tenth of the requests",
        "µs: processor time for each request; others s: processor time of everything else on the machine",
    ]
