"""A private stack for faults: its parts, the traffic through it, and the deliveries in flight at any moment."""
from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import subprocess
import time
from pathlib import Path

from fakes.receiver import Behaviour, Receiver
from support.actors import Entity, Webhook
from support.ledger import DELIVERIES, Ledger
from support.sql import SqlError, SqlSession
from support.stack import Stack, setting
from support.wait import wait_until
from fakes.evaluation_system import Audience, Traffic, Writer

TIMEOUT, LEASE = 2, 12  # seconds: the shortest lease that the time-out allows
IN_FLIGHT_PER_WEBHOOK = 4
SETTINGS = setting(
    delivery_connect_timeout=f"{TIMEOUT}s", delivery_timeout=f"{TIMEOUT}s", delivery_lease=f"{LEASE}s",
    delivery_max_in_flight_per_webhook=str(IN_FLIGHT_PER_WEBHOOK), delivery_retry_jitter="0",
    delivery_retry_schedule=",".join(["300ms"] * 20), delivery_disable_after="0s",
    delivery_allowed_networks="127.0.0.0/8")
EVENT = ["evaluacion.abierta"]
DISPATCHERS = "SELECT id FROM information_schema.processlist WHERE user LIKE '%dispatcher'"
BLOCKED_EVERY = 0.2  # seconds between two queries of innodb_trx in tests/cluster/test_hosts.py: the server caches it for 0.1 s
BLOCKED = "SELECT id FROM information_schema.processlist WHERE user LIKE '%dispatcher' AND state LIKE 'Waiting for table%'"


class Arena:
    def __init__(self, seed: int, stack: Stack | None = None):
        """`stack`: a stack that is not up yet. It has SETTINGS, of which a subclass of Stack may change some: ClusterStack
        has a longer lease."""
        self.random = random.Random(seed)
        self.ledger = Ledger(TIMEOUT)
        self._arrived: set[str] = set()
        self.stack = stack or Stack(SETTINGS)
        self._closing = contextlib.ExitStack()
        with self._closing:
            self._closing.callback(self.stack.down)
            self.stack.up()
            self.receiver = self._closing.enter_context(self._open_receiver(("127.0.0.1", "127.0.0.2")))
            self.root = self.connect()
            self.writer = Writer(self._connect_evaluation, self.ledger)
            self._closing.callback(self.writer.close)
            audiences = [self.audience(hooks=2), self.audience(hooks=1)]
            self.traffic = [self._traffic(audiences) for _ in range(2)]  # two, so that COMMITs come in another order than INSERTs
            self._closing = self._closing.pop_all()

    def _open_receiver(self, addresses) -> Receiver:
        certificate = self.stack.env["RECEIVER_CERT"], self.stack.env["RECEIVER_KEY"]
        return Receiver(*certificate, addresses=addresses, on_request=lambda r: self._arrived.add(r.id))

    def __enter__(self) -> "Arena":
        return self

    def __exit__(self, *_):
        self._closing.close()

    # The database, as its user root.

    def connect(self) -> SqlSession:
        return SqlSession(self.stack.env["DB_SOCKET"], self.stack.env["DB_NAME"], "root", "")

    def _connect_evaluation(self) -> SqlSession:
        password = Path(self.stack.env["SECRETS_DIR"], "evaluacion.password").read_text().strip()
        return SqlSession(self.stack.env["DB_SOCKET"], self.stack.env["DB_NAME"], "evaluacion", password)

    def value(self, text: str) -> int:
        return int(self.root(text)[0][0])

    def in_flight(self, expiring: bool = False) -> dict[int, str]:
        """Returns delivery -> lease of all leased deliveries, a dead dispatcher's included. `expiring`: only leases that have
        expired or will expire within 2 s."""
        query = "SELECT id, arriendo FROM entregas WHERE estado = 'en_curso'"
        query += " AND arriendo_hasta < UTC_TIMESTAMP(3) + INTERVAL 2 SECOND" if expiring else ""
        return {int(id): lease for id, lease in self.root(query)}

    def sessions(self) -> set[int]:
        """The connections of the dispatchers."""
        return {int(row[0]) for row in self.root(DISPATCHERS)}

    def wait_blocked(self) -> None:
        """Waits until a dispatcher waits for a table."""
        wait_until(lambda: self.root(BLOCKED), what="a dispatcher to wait for a table")

    def told(self, message: str) -> int:
        """Returns how often the log of the stack's own dispatcher contains `message`."""
        return self.stack.dev("logs", "dispatcher").stdout.count(message)

    def restart_database(self) -> None:
        self.stack.start("db")
        self.root.close()
        self.root = self.connect()

    # The traffic.

    def _traffic(self, audiences: list[Audience]) -> Traffic:
        writer = Writer(self._connect_evaluation, self.ledger)
        return Traffic(writer, self.ledger, audiences, self.random.random(), lambda: len(self._arrived))

    def start_traffic(self) -> None:
        for traffic in self.traffic:
            traffic.start()

    def stop_traffic(self) -> None:
        for traffic in self.traffic:
            traffic.stop()

    def traffic_alive(self) -> bool:
        return all(traffic.alive() for traffic in self.traffic)

    def refusals(self) -> int:
        """Returns how many of the traffic's transactions an error has ended."""
        return sum(traffic.refusals() for traffic in self.traffic)

    def audience(self, hooks: int) -> Audience:
        """A new entity; its receivers take a little time and sometimes answer 500."""
        entity = Entity(self.stack, self.receiver)
        made = [entity.register(EVENT, secret=self.random.choice(["s3creto ñ", "whsec_" + "MfKQ" * 8])) for _ in range(hooks)]
        for hook in made:
            self.receiver.behave(hook.path, *[self._answer() for _ in range(30_000)], Behaviour())
        return Audience(entity.id, made)

    def _answer(self) -> Behaviour:
        return Behaviour(status=500 if self.random.random() < 0.03 else 200, delay=self.random.uniform(0.01, 0.1))

    def quiet(self) -> Audience:
        """A new entity with one webhook, outside the traffic."""
        entity = Entity(self.stack, self.receiver)
        return Audience(entity.id, [entity.register(EVENT)])

    @contextlib.contextmanager
    def held(self):
        """Keeps a delivery in flight at a receiver that does not answer. Yields the delivery's id, its webhook's id, and a
        function that makes the receiver answer. The webhook has had a delivery before."""
        hook, id = wait_until(self._hold, 60, "a delivery to be in flight")

        def answer():
            self.receiver.release(hook.path)
            wait_until(lambda: self.receiver.in_flight(hook.path) == 0, what="the receiver to answer")

        try:
            yield id, hook.id, answer
        finally:
            self._let_go(hook)

    def _hold(self) -> tuple[Webhook, int] | None:
        """Returns a webhook and its delivery in flight; None if the delivery came so late that its time-out may be near."""
        audience = self.quiet()
        hook = audience.hooks[0]
        self.writer.write(audience)
        delivered = f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id} AND estado = 'entregada'"
        wait_until(lambda: self.value(delivered) == 1, 30, "the first delivery of a webhook")
        self.receiver.behave(hook.path, Behaviour(hold=True))
        self.writer.write(audience)
        with contextlib.suppress(AssertionError):
            wait_until(lambda: self.receiver.in_flight(hook.path) == 1, TIMEOUT / 2)
            for id, in self.root(f"SELECT id FROM entregas WHERE webhook_id = {hook.id} AND estado = 'en_curso'"):
                return hook, int(id)
        self._let_go(hook)
        return None

    def _let_go(self, hook: Webhook) -> None:
        self.receiver.release(hook.path)
        self.receiver.behave(hook.path, Behaviour())

    def flow(self, count: int) -> None:
        """Returns once `count` further deliveries have arrived."""
        goal = len(self._arrived) + count
        wait_until(lambda: self.traffic_alive() and len(self._arrived) >= goal, 60, f"{count} further deliveries", 0.002)

    def progress(self) -> None:
        """Returns once results are being recorded again."""
        done = "SELECT COUNT(*) FROM entregas WHERE estado = 'entregada'"
        before = self.value(done)
        wait_until(lambda: self.traffic_alive() and self.value(done) >= before + 5, 60, "results to be recorded")

    def finish(self) -> list[list[str]]:
        """Returns every delivery, once all are finished."""
        left = ("SELECT (SELECT COUNT(*) FROM notificaciones_pendientes WHERE estado = 'pendiente')"
                " + (SELECT COUNT(*) FROM entregas WHERE estado IN ('pendiente', 'en_curso'))")
        wait_until(lambda: self.value(left) == 0, 120, "the queue to be empty", every=0.2)
        return self.root(DELIVERIES)

    # Dispatchers.

    @property
    def dispatcher(self) -> int:
        return self.stack.pids("dispatcher")[0]

    def kill(self, pid: int) -> dict[int, str]:
        """Kills a dispatcher, waits up to 1 s until the database has noticed its end, and returns in_flight()."""
        before = self.sessions()
        end(pid, signal.SIGKILL)
        with contextlib.suppress(AssertionError):  # the process may have been between two connections
            wait_until(lambda: len(before & self.sessions()) < len(before), 1)
        return self.in_flight()

    @contextlib.contextmanager
    def second(self, **settings):
        """Runs another dispatcher, which dials 127.0.0.2. At the end it drains, unless the test has killed it."""
        arguments, environment = self.stack.command_of("dispatcher")
        environment |= setting(delivery_host_overrides="*.receptor.test=127.0.0.2", **settings)
        before = self.sessions()
        with open(Path(self.stack.folder, "log", "second.log"), "ab") as log:
            process = subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                wait_until(lambda: self.sessions() - before, what="the second dispatcher")
                yield process
            finally:
                process.terminate()
                status = process.wait(30)
        assert status in (0, -signal.SIGKILL), f"the second dispatcher ended with {status}"


def end(pid: int, number: int) -> None:
    """Sends a signal that ends a process, and waits for its end."""
    descriptor = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(descriptor, number)
        assert select.select([descriptor], [], [], 30)[0], f"process {pid} does not end"
    finally:
        os.close(descriptor)


def patiently(session: SqlSession, statement: str) -> None:
    """Runs a statement; ignores an SqlError."""
    with contextlib.suppress(SqlError):
        session(statement)


class Stopwatch:
    def __init__(self):
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start
