"""HAProxy in front of the nodes of a cluster, with the configuration of packaging/examples. The programs know only HAProxy's
address."""
from __future__ import annotations

import contextlib
import csv
import re
import socket
import subprocess
from pathlib import Path

from cluster.servers import NODES, ClusterStack
from support.stack import ROOT, free_port, setting
from support.wait import wait_until

ADDRESS, PROXY = "127.0.0.1", "apientidades"
INSTALLED = r"^ *(chroot|user|group) .*\n"  # lines for root's HAProxy, in its installed folders
CHECKS = r"^ *(option tcp-check|tcp-check |stick).*\n"
NODE_UP = ("UP", "no check")


class Haproxy:
    """One HAProxy process. It stops and starts on the same port."""

    def __init__(self, stack: ClusterStack, name: str, configuration: str):
        self.port, self._folder, self._name = free_port(), Path(stack.folder, "cluster"), name
        self._admin = self._folder / f"{name}.sock"
        text = re.sub(INSTALLED, "", configuration, flags=re.M)
        text = text.replace("/dev/log", "stdout format raw").replace("/run/haproxy/admin.sock", str(self._admin))
        text = text.replace("10.0.0.9:3306", f"{ADDRESS}:{self.port}")
        for number, node in enumerate(NODES, 1):
            text = text.replace(f"10.0.0.{number}:3306", f"{ADDRESS}:{stack.port(node)}")
        (self._folder / f"{name}.cfg").write_text(text)
        self._process: subprocess.Popen | None = None

    def start(self) -> "Haproxy":
        with (self._folder / f"{self._name}.log").open("ab") as log:
            command = ["/usr/sbin/haproxy", "-db", "-f", self._folder / f"{self._name}.cfg"]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._a_node_is_up, 30, f"{self._name} to have a node", every=0.1)
        return self

    def stop(self) -> None:
        """Ends every connection at once."""
        if self._process:
            self._process.terminate()
            self._process.wait(30)
        self._process = None

    def _a_node_is_up(self) -> bool:
        assert self._process.poll() is None, f"haproxy has ended: {(self._folder / f'{self._name}.log').read_text()[-2000:]}"
        with contextlib.suppress(OSError):
            return bool(self.up())
        return False

    def up(self) -> list[str]:
        """The nodes that pass HAProxy's check."""
        return [row["svname"] for row in self._nodes() if row["status"] in NODE_UP]

    def used(self) -> list[str]:
        """The nodes with sessions through HAProxy. A locked node goes on with a statement although its session has ended."""
        return [row["svname"] for row in self._nodes() if row["scur"] != "0"]

    def _nodes(self) -> list[dict]:
        lines = self.command("show stat").removeprefix("# ").splitlines()
        return [row for row in csv.DictReader(lines) if row["svname"] in NODES]

    def set_state(self, node: str, state: str) -> None:
        """`state`: ready, or maint, which ends the sessions on the node."""
        assert self.command(f"set server {PROXY}/{node} state {state}").strip() == ""

    def command(self, text: str) -> str:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(self._admin))
            client.sendall(f"{text}\n".encode())
            return b"".join(iter(lambda: client.recv(65536), b"")).decode()


class HaproxyStack(ClusterStack):
    """The programs start with the nodes' addresses, and go on behind HAProxy."""

    def __init__(self, kind: str):
        super().__init__(kind)
        self.example = (ROOT / f"packaging/examples/haproxy-{kind}.cfg").read_text()
        self._proxies: list[Haproxy] = []

    def up(self) -> "HaproxyStack":
        super().up()
        self._make_check_user()
        self.haproxy = self.proxy("haproxy", self.example)
        self.settings |= setting(database_hosts=self.host_of(self.haproxy))
        for part in ("fcgi", "dispatcher"):
            self.stop(part)
            self.start(part)
        return self

    def down(self) -> None:
        for proxy in self._proxies:
            proxy.stop()
        super().down()

    def _make_check_user(self) -> None:
        """Runs the statements in the example's first lines."""
        session = self.session("db1")
        for statement in re.findall(r"^# +((?:CREATE|GRANT) .*);$", self.example, re.M):
            session(statement.replace("10.0.0.9", ADDRESS))
        session.close()

    def proxy(self, name: str, configuration: str) -> Haproxy:
        proxy = Haproxy(self, name, configuration)
        self._proxies.append(proxy)
        return proxy.start()

    def round_robin(self) -> Haproxy:
        """A HAProxy that gives sessions to every node in turn, as long as its port is open."""
        return self.proxy("round_robin", re.sub(CHECKS, "", self.example, flags=re.M).replace(" backup", ""))

    def lenient(self) -> Haproxy:
        """A HAProxy that leaves sessions on a node that has failed the check."""
        return self.proxy("lenient", self.example.replace(" on-marked-down shutdown-sessions", ""))

    def host_of(self, proxy: Haproxy) -> str:
        return f"{self._name()}:{proxy.port}"

    def _name(self) -> str:
        # MySQL's certificate is for localhost.
        return "localhost" if self.kind == "group-replication" else ADDRESS

    def at(self, node: str) -> dict:
        """The setting with which a program uses a node, past HAProxy."""
        return setting(database_hosts=f"{self._name()}:{self.port(node)}")

    def make_single_primary(self, node: str) -> None:
        """Changes Group Replication's mode from that of the cluster, in which each node is a primary, to MySQL's default."""
        self._ask_group(node, "group_replication_switch_to_single_primary_mode")
        wait_until(lambda: self.haproxy.up() == [node], 60, f"{node} to be the only primary", every=0.1)

    def set_primary(self, node: str) -> None:
        """A planned switch of Group Replication's single primary."""
        self._ask_group(node, "group_replication_set_as_primary")

    def _ask_group(self, node: str, function: str) -> None:
        session = self.local_session(node)
        session(f"SELECT {function}('{session('SELECT @@server_uuid')[0][0]}')")
        session.close()
