"""A stack on a database cluster, and an arena for faults of the nodes. Each node is a part of the stack: db1, db2, db3."""
from __future__ import annotations

import contextlib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.arena import DISPATCHERS, SETTINGS, Arena, Stopwatch
from support.sql import GONE, SqlError, SqlSession
from support.stack import Stack, setting
from support.wait import wait_until

NODES = ("db1", "db2", "db3")
LEASE = 30  # seconds: normally a fail-over, or the return of a node, takes less time than a lease
RETURN = 120  # seconds within which a node is part of the cluster again after a fault
NOT_READY = (1047, 3796, 3797)  # error codes of a node that is outside its cluster's majority


@dataclass(frozen=True)
class Engine:
    """Statements for a node. `state` returns a row: whether the node accepts work, and how many nodes it sees."""

    causal: str
    state: str
    conflicts: str  # how many transactions the node has refused at COMMIT, or ended in favour of another, since its start


ENGINES = {
    "galera": Engine(
        causal="SET SESSION wsrep_sync_wait = 1",
        state="SELECT SUM(variable_name = 'wsrep_ready' AND variable_value = 'ON' OR variable_name = 'wsrep_local_state' AND"
              " variable_value = '4') = 2, SUM(IF(variable_name = 'wsrep_cluster_size', variable_value, 0))"
              " FROM information_schema.global_status",
        conflicts="SELECT SUM(variable_value) FROM information_schema.global_status"
                  " WHERE variable_name IN ('wsrep_local_cert_failures', 'wsrep_local_bf_aborts')"),
    "group-replication": Engine(
        causal="SET SESSION group_replication_consistency = 'BEFORE'",
        state="SELECT SUM(member_id = @@server_uuid AND member_state = 'ONLINE') AND NOT @@super_read_only,"
              " SUM(member_state = 'ONLINE') FROM performance_schema.replication_group_members",
        conflicts="SELECT count_conflicts_detected FROM performance_schema.replication_group_member_stats"
                  " WHERE member_id = @@server_uuid"),
}


class ClusterStack(Stack):
    def __init__(self, kind: str, settings: dict | None = None):
        # Each dispatcher has a session that reads the queue for its metrics: once at the start, then at this interval. The
        # interval is so long that the session stays idle during a test: ClusterArena.left() cannot tell a query for metrics
        # from the work on deliveries.
        super().__init__(settings or SETTINGS | setting(delivery_lease=f"{LEASE}s", metrics_queue_interval="1h"))
        self.kind, self.engine = kind, ENGINES[kind]
        self._dispatcher: dict = {}  # settings of the dispatcher alone

    def up(self) -> "ClusterStack":
        try:
            self.dev("cluster", self.kind, timeout=1800)
            self.attach()
        except BaseException:
            self.down()
            raise
        return self

    def spread(self) -> "ClusterStack":
        """Makes the dispatcher use another node than the API, so that each program sees the other's work through the cluster."""
        self._dispatcher = setting(database_hosts=self.hosts_from(1))
        self.stop("dispatcher")
        self.start("dispatcher")
        return self

    def start(self, part: str, **settings) -> None:
        super().start(part, **(self._dispatcher if part == "dispatcher" else {}) | settings)

    def _ask_root(self, text: str) -> list[list[str]]:
        self._root = self._root or self.session("db1")
        return self._root(text.strip().rstrip(";"))

    def node(self, verb: str, node: str, *options) -> None:
        self.dev("cluster", verb, node, *options, timeout=200)

    def session(self, node: str, user: str = "root", password: str = "") -> SqlSession:
        """A session with reads that see everything committed on any node."""
        session = self.local_session(node, user, password)
        session(self.engine.causal)
        return session

    def local_session(self, node: str, user: str = "root", password: str = "") -> SqlSession:
        """A session with reads that never wait for other nodes' commits, so also for a node that is locked."""
        return SqlSession(self.socket(node), self.env["DB_NAME"], user, password)

    def port(self, node: str) -> int:
        """The port on which the node takes SQL."""
        return int(Path(self.folder, "cluster", f"{node}.ports").read_text().split()[0])

    def socket(self, node: str) -> str:
        return str(Path(self.env["DB_SOCKET"]).with_name(f"{node}.sock"))

    def ready(self, node: str) -> bool:
        """Whether the node accepts work; False for a node that does not answer."""
        return self._state(node)[0] == "1"

    def whole(self) -> bool:
        """Whether each node accepts work and sees all others. It is not enough to ask the node that had a fault: after a freeze,
        a node needs some seconds to learn that the others have excluded it."""
        return all(self._state(node) == ["1", str(len(NODES))] for node in NODES)

    def _state(self, node: str) -> list[str]:
        query = ["mariadb", "--no-defaults", "--connect-timeout=2", f"--socket={self.socket(node)}", "--user=root", "-NB", "-e",
                 self.engine.state]
        with contextlib.suppress(subprocess.TimeoutExpired):
            return subprocess.run(query, capture_output=True, text=True, timeout=5).stdout.split() or ["0", "0"]
        return ["0", "0"]

    def hosts_from(self, number: int) -> str:
        """Returns database.hosts, rotated to begin with the host at index `number`."""
        hosts = next(one["valor"] for one in self.admin("config", "show") if one["clave"] == "database.hosts").split(",")
        hosts = [host.strip() for host in hosts]
        return ",".join(hosts[number:] + hosts[:number])


class Root:
    """A session of root on some node that works, for reading: if the node fails, the statement is repeated on another."""

    def __init__(self, open_session):
        self._open_session, self._session = open_session, None

    def __call__(self, statement: str) -> list[list[str]]:
        for _ in range(20):
            try:
                self._session = self._session or self._open_session()
                return self._session(statement)
            except (SqlError, OSError) as error:
                if isinstance(error, SqlError) and error.code not in (*GONE, *NOT_READY):
                    raise
                self.close()
        raise AssertionError("no node answers")

    def close(self) -> None:
        if self._session:
            self._session.close()
        self._session = None


class ClusterArena(Arena):
    def __init__(self, seed: int, stack: ClusterStack):
        self.away: set[str] = set()  # the nodes that have a fault at the moment
        self._turn = 0
        self._writers: list[tuple[str, SqlSession]] = []
        super().__init__(seed, stack)
        self._closing.callback(self.root.close)

    def connect(self) -> Root:
        return Root(lambda: self.stack.session(self.working()))

    def working(self) -> str:
        """Returns the first node that works; waits for one if necessary."""
        return wait_until(lambda: next((n for n in NODES if n not in self.away and self.stack.ready(n)), None), 60, "a node")

    def _connect_evaluation(self) -> SqlSession:
        """Opens each session on the next node in turn that works. OSError if none does."""
        password = Path(self.stack.env["SECRETS_DIR"], "evaluacion.password").read_text().strip()
        self._turn += 1
        nodes = NODES[self._turn % 3:] + NODES[:self._turn % 3]
        node = next((n for n in nodes if n not in self.away and self.stack.ready(n)), None)
        if node is None:
            raise OSError("no node answers")
        session = self.stack.session(node, "evaluacion", password)
        self._writers.append((node, session))
        return session

    def hang_up(self, node: str) -> None:
        """Ends the writers' sessions on a node that may never answer: the writers must look up the outcomes of their transactions
        on another node."""
        for _, session in [one for one in self._writers if one[0] == node]:
            session.abandon()
        self._writers = [one for one in self._writers if one[0] != node]

    def sessions(self) -> set:
        """The connections of the dispatchers, on every node that answers."""
        found = set()
        for node in NODES:
            with contextlib.suppress(SqlError, OSError):
                if node in self.away or not self.stack.ready(node):
                    continue
                session = self.stack.session(node)
                found |= {(node, int(row[0])) for row in session(DISPATCHERS)}
                session.close()
        return found

    def left(self, node: str, since: Stopwatch) -> bool:
        """Whether no dispatcher uses the node any more. True: in the time since `since` was started, and in the 0.3 s
        before that, no dispatcher has sent anything to the node over a connection that is still open."""
        sent = [re.search(r"lastsnd:(\d+)", line) for line in self._connections(node)]
        # ss prints no lastsnd in the millisecond of the sending
        return all(ago is not None and int(ago[1]) / 1e3 > since.seconds + 0.3 for ago in sent)

    def settled(self) -> bool:
        """Whether each dispatcher is at least 2 s old. By that age, its session for metrics has read the queue, as it does at
        the start, and is idle."""
        pids = {re.search(r"pid=(\d+)", line)[1] for node in NODES for line in self._connections(node)}
        ages = subprocess.run(["ps", "-o", "etimes=", "-p", ",".join(pids)], capture_output=True, text=True).stdout.split()
        return 0 < len(pids) == len(ages) and all(int(age) >= 2 for age in ages)

    def _connections(self, node: str) -> list[str]:
        """The dispatchers' connections to the node, as ss shows them."""
        port = f"dport = :{self.stack.port(node)}"
        found = subprocess.run(["ss", "-HOtnpi", "state", "established", port], capture_output=True, text=True, check=True)
        return [line for line in found.stdout.splitlines() if "apientidades-di" in line]

    def conflicts(self) -> list[int]:
        """Returns the number of conflicts on each node; a restart of the node resets it."""
        found = []
        for node in NODES:
            session = self.stack.session(node)
            found.append(int(session(self.stack.engine.conflicts)[0][0]))
            session.close()
        return found

    @contextlib.contextmanager
    def without(self, node: str):
        """Marks the node as `away` for a block. At the block's end, waits until every node is part of the cluster again."""
        self.away.add(node)
        try:
            yield
        finally:
            wait_until(self.stack.whole, RETURN, f"{node} to be part of the cluster", every=0.3)
            self.away.discard(node)
