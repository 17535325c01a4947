"""The ledger of what was written, what arrived and what was in flight at each fault. The verdict requires that everything
arrived, and no more often than faults explain. A notification counts as written if its COMMIT was acknowledged, or if its row
was found later."""
from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from fakes import verify
from fakes.receiver import Request
from support.actors import Webhook

DELIVERIES = """
SELECT e.id, e.notificacion_id, e.webhook_id, e.estado, e.terminada_en IS NOT NULL,
  e.arriendo IS NULL AND e.arriendo_hasta IS NULL, e.intentos, e.paso, COUNT(i.numero), COALESCE(MAX(i.numero), 0),
  COALESCE(SUM(i.error <> ''), 0), COALESCE(SUM(i.error <> '' AND i.tipo <> 'programado'), 0),
  COALESCE(SUM(i.error = '' AND i.estado_http = 200), 0)
FROM entregas e LEFT JOIN intentos_entrega i ON i.entrega_id = e.id GROUP BY e.id"""


@dataclass(frozen=True)
class Delivery:
    """A row of DELIVERIES."""

    id: int
    notification: int
    webhook: int
    state: str
    ended: int
    free: int  # 1: without a lease
    attempts: int
    step: int
    evidence: int  # rows of intentos_entrega
    last_number: int
    failures: int
    early_failures: int  # failures of attempts ahead of the schedule
    successes: int

    @classmethod
    def of_row(cls, row: list[str]) -> "Delivery":
        return cls(*(value if column == 3 else int(value) for column, value in enumerate(row)))


@dataclass
class Fault:
    """`in_flight`: deliveries that were in flight at the fault, which may have lost their outcome. For each of them, the fault
    explains one repeated request."""

    kind: str
    in_flight: frozenset[int]
    began: float  # time.monotonic()
    ended: float
    repeats: int = 0

    def met(self, requests: list[Request], timeout: float) -> bool:
        """Whether one of the requests may have been open during the fault. If none was, the fault explains no lost result."""
        return any(self.began - timeout < r.monotonic_ns / 1e9 < self.ended for r in requests)


@dataclass
class Verdict:
    problems: list[str] = field(default_factory=list)
    notifications: int = 0
    deliveries: int = 0
    requests: int = 0
    failures: int = 0  # attempts on record that failed
    repeats: int = 0  # requests beyond the attempts on record

    def require(self, condition, problem: str) -> None:
        if not condition:
            self.problems.append(problem)


class Ledger:
    """Any thread may use written(), count and expected; one thread uses the rest."""

    def __init__(self, timeout: float):
        self.timeout = timeout  # delivery.timeout, seconds
        self.faults: list[Fault] = []
        self._lock = threading.Lock()
        self._ids: dict[int, int] = {}  # number (`evaluacionId` of the data) -> notification
        self._expected: dict[tuple[int, int], Webhook] = {}  # (notification, webhook id) -> the webhook
        self._leases: set[tuple[int, str]] = set()  # each (delivery, lease) that an earlier fault may have lost

    def written(self, number: int, notification: int, hooks: list[Webhook]) -> None:
        with self._lock:
            self._ids[number] = notification
            self._expected.update({(notification, hook.id): hook for hook in hooks})

    @property
    def count(self) -> int:
        """Number of notifications written so far."""
        with self._lock:
            return len(self._ids)

    @property
    def expected(self) -> int:
        """Number of deliveries that the notifications written so far must have."""
        with self._lock:
            return len(self._expected)

    def fault(self, kind: str, in_flight: dict[int, str], began: float) -> Fault:
        """Adds a fault that has just ended. `in_flight`: delivery -> lease. A lease in flight at several faults counts
        only for the first of them, because its outcome can be lost only once."""
        leases = set(in_flight.items()) - self._leases
        self._leases |= leases
        self.faults.append(Fault(kind, frozenset(delivery for delivery, _ in leases), began, time.monotonic()))
        return self.faults[-1]

    def judge(self, rows: list[list[str]], requests: list[Request]) -> Verdict:
        """`rows`: the result of DELIVERIES; `requests`: everything that arrived."""
        verdict = Verdict(notifications=self.count, deliveries=self.expected, requests=len(requests))
        deliveries = {(d.notification, d.webhook): d for d in map(Delivery.of_row, rows)}
        arrived = self._by_delivery(requests, verdict)
        for pair in self._expected.keys() | deliveries.keys():
            if pair not in self._expected:
                verdict.problems.append(f"{pair}: a delivery of a notification that was not written")
            elif pair not in deliveries:
                verdict.problems.append(f"{pair}: no delivery")
            else:
                judge_row(deliveries[pair], verdict)
                self._judge_repeats(deliveries[pair], arrived[pair], verdict)
        for pair in self._expected:
            judge_requests(pair, arrived[pair], self._expected[pair].secret, verdict)
        shared = [id for id, count in Counter(id for found in arrived.values() for id in {r.id for r in found}).items()
                  if count > 1]
        verdict.require(not shared, f"a webhook-id of several deliveries: {shared[:5]}")
        return verdict

    def _by_delivery(self, requests, verdict) -> dict[tuple[int, int], list[Request]]:
        hooks = {hook.path: hook.id for hook in self._expected.values()}
        found = defaultdict(list)
        for request in requests:
            number = request.json()["data"]["evaluacionId"]
            pair = (self._ids.get(number), hooks.get(request.path))
            found[pair].append(request)
            verdict.require(pair in self._expected, f"unexpected: number {number} at {request.path}")
        return found

    def _judge_repeats(self, delivery: Delivery, requests: list[Request], verdict: Verdict) -> None:
        verdict.failures += delivery.failures
        unknown = len(requests) - delivery.attempts  # results that were not recorded
        if unknown <= 0:
            return
        verdict.repeats += unknown
        causes = [f for f in self.faults if delivery.id in f.in_flight and f.met(requests, self.timeout)]
        for fault in causes[:unknown]:
            fault.repeats += 1
        verdict.require(unknown <= len(causes), f"delivery {delivery.id}: {len(requests)} requests for"
                        f" {delivery.attempts} attempts on record, in flight at {len(causes)} faults")
        gaps = [(b.monotonic_ns - a.monotonic_ns) / 1e9 for a, b in zip(requests, requests[1:])]
        if gaps and not delivery.failures:
            verdict.require(min(gaps) > 0.9 * self.timeout, f"delivery {delivery.id}: sent again after {min(gaps):.1f} s,"
                            " while the first attempt may still have been in flight")

    def report(self, verdict: Verdict) -> str:
        lines = [f"{verdict.notifications} notifications, {verdict.deliveries} deliveries, {verdict.requests} requests,"
                 f" {verdict.failures} attempts failed, {verdict.repeats} repeats, {len(verdict.problems)} problems"]
        for kind in dict.fromkeys(fault.kind for fault in self.faults):
            of_kind = [fault for fault in self.faults if fault.kind == kind]
            lines.append(f"  {kind}: {len(of_kind)} faults, {sum(len(f.in_flight) for f in of_kind)} in flight,"
                         f" {sum(f.repeats for f in of_kind)} repeated")
        return "\n".join(lines + [f"  {problem}" for problem in verdict.problems[:20]])


def judge_row(delivery: Delivery, verdict: Verdict) -> None:
    """Checks that the delivery ended as `entregada`, without a lease, and that its row agrees with its evidence."""
    name = f"delivery {delivery.id}"
    verdict.require(delivery.state == "entregada" and delivery.ended, f"{name} is {delivery.state}")
    verdict.require(delivery.free, f"{name} is still leased")
    verdict.require(delivery.attempts == delivery.evidence == delivery.last_number,
                    f"{name}: {delivery.attempts} attempts, {delivery.evidence} on record, the last {delivery.last_number}")
    verdict.require(delivery.successes == 1, f"{name}: {delivery.successes} attempts succeeded on record")
    spent = delivery.failures - delivery.early_failures
    verdict.require(delivery.step == spent, f"{name}: step {delivery.step} after {spent} failures of the schedule")


def judge_requests(pair, requests: list[Request], secret: str | None, verdict: Verdict) -> None:
    """Checks that a delivery has requests, all with the same message, and each with valid signatures."""
    verdict.require(requests, f"{pair}: lost")
    verdict.require(len({r.id for r in requests}) <= 1, f"{pair}: several webhook-ids {[r.id for r in requests]}")
    verdict.require(len({r.body for r in requests}) <= 1, f"{pair}: several bodies")
    for request in requests:
        for problem in verify.problems(request.headers, request.body, secret, request.wall_ns / 1e9):
            verdict.problems.append(f"{pair}: {problem}")
