"""A separate network for a few processes (Linux namespaces, as root): a loopback, to which any address can be added, and
an /etc/resolv.conf that names the test's DNS server. Packets leave such a network only by a cable to another network."""
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from support.wait import wait_until

FAKES = Path(__file__).resolve().parents[1] / "fakes"
CLONE_NEWNET = 0x40000000
SETUP = """
set -e
ip link set lo up
for address in $2; do ip address add "$address" dev lo; done
mount --bind "$1" /etc/resolv.conf
echo ready
exec cat
"""


def why_not() -> str:
    """Returns why no namespace can be made here, or an empty text if namespaces can be made."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    if not shutil.which("ip"):
        return "the program ip (iproute2) is missing"
    trial = subprocess.run(["unshare", "-mn", "sh", "-c", "ip link set lo up && mount --bind /etc/hosts /etc/resolv.conf"],
                           capture_output=True, text=True)
    return "" if trial.returncode == 0 else f"namespaces are not permitted here: {trial.stderr.strip()}"


def enter_network(descriptor: int) -> None:
    """Moves this thread into the network namespace. Sockets, programs and threads that the thread makes from now on are in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Network:
    """`addresses` are added to the loopback. close() ends everything that start() has started."""

    def __init__(self, addresses=()):
        self._stack = contextlib.ExitStack()
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="apie-net-")))
        self.resolv_conf = self.folder / "resolv.conf"
        self.use_dns("127.0.0.1")
        self._holder = subprocess.Popen(
            ["unshare", "-mn", "sh", "-c", SETUP, "sh", self.resolv_conf, " ".join(addresses)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._stack.callback(self._release)
        assert self._holder.stdout.readline() == "ready\n"

    def use_dns(self, *servers: str) -> None:
        """Overwrites resolv.conf in place. If a new file replaced it, the network's /etc/resolv.conf would still be the old
        file, because a bind mount shows the file itself, not its path."""
        self.resolv_conf.write_text("".join(f"nameserver {server}\n" for server in servers))

    def _command(self, arguments) -> list[str]:
        return ["nsenter", "-t", str(self._holder.pid), "-m", "-n", "--root", "--", *map(str, arguments)]

    def connect(self, other: "Network", own: str, *theirs: str) -> None:
        """Lays a cable (a veth pair) to another network. This end gets the address `own`, and the other end gets the addresses
        `theirs`. Each address has its prefix length."""
        self.ip("link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", other._holder.pid)
        for network, addresses in ((self, [own]), (other, theirs)):
            for address in addresses:
                network.ip("address", "add", address, "dev", "cable")
            network.ip("link", "set", "cable", "up")

    def ip(self, *words) -> None:
        subprocess.run(self._command(["ip", *words]), check=True)

    def start(self, arguments, **how) -> subprocess.Popen:
        command = self._command(arguments)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **how)
        self._stack.callback(end, process)
        return process

    def close(self) -> None:
        self._stack.close()

    def _release(self):
        self._holder.stdin.close()
        self._holder.stdout.close()
        self._holder.wait()

    # Servers in the network.

    def start_dns(self, *options: str) -> "Dns":
        return Dns(self, *options)

    def start_black_hole(self, port: int, *addresses: str) -> subprocess.Popen:
        """Makes the port drop connection attempts at these addresses, until the returned process ends."""
        process = self.start([sys.executable, FAKES / "black_hole.py", port, *addresses], stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"
        return process

    def start_receiver(self, cert, key, port, *addresses, close=True) -> "RemoteReceiver":
        return RemoteReceiver(self, cert, key, port, addresses, close)


def end(process):
    process.send_signal(signal.SIGCONT)  # a stopped process would not react to SIGTERM
    process.terminate()
    process.wait(30)


class Dns:
    """Runs fakes/dns.py, which listens at 127.0.0.1:53 unless `options` say otherwise."""

    def __init__(self, network: Network, *options: str):
        folder = Path(tempfile.mkdtemp(dir=network.folder))
        self._zone, self._log, self._names = folder / "zone.json", folder / "questions", {}
        self._log.touch()
        self.say({})
        self._process = network.start([sys.executable, FAKES / "dns.py", self._zone, self._log, *options],
                                      stdout=subprocess.PIPE)
        assert self._process.stdout.readline() == b"ready\n"

    def freeze(self) -> None:
        """Stops answering any question."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def say(self, names: dict) -> None:
        """Sets the answers for these names; answers for other names stay."""
        self._names |= names
        new = self._zone.with_suffix(".new")
        new.write_text(json.dumps(self._names))
        new.replace(self._zone)

    def questions(self, name: str) -> list[int]:
        """Returns the types of all questions for the name, in order."""
        return [kind for kind, _ in self.questions_and_ways(name)]

    def questions_and_ways(self, name: str) -> list[tuple[int, str]]:
        """As questions(), but returns with each type how the question came: `tcp`, `edns` (UDP with EDNS) or `plain` (UDP
        without EDNS)."""
        asked = (line.split() for line in self._log.read_text().splitlines())
        return [(int(kind), way) for question, kind, way in asked if question == name]


class RemoteReceiver:
    """Runs fakes/receiver.py. With `close`, the receiver closes the connection after every response."""

    def __init__(self, network: Network, cert, key, port, addresses, close):
        self.port, self._log = port, network.folder / f"requests-{addresses[0]}-{port}"
        options = [option for address in addresses for option in ("--address", address)]
        with self._log.open("w") as log:
            self._process = network.start([sys.executable, FAKES / "receiver.py", "--cert", cert, "--key", key, "--port", port,
                                     *["--close"] * close, *options], stdout=log, stderr=subprocess.PIPE)
        assert b"listening" in self._process.stderr.readline()

    def stop(self) -> None:
        """Ends the receiver, which closes its connections."""
        self._process.terminate()
        self._process.wait(30)

    def requests(self, path: str | None = None) -> list[dict]:
        lines = self._log.read_text().splitlines(keepends=True)
        found = (json.loads(line) for line in lines if line.endswith("\n"))
        return [request for request in found if path is None or request["path"] == path]

    def wait(self, path: str, count: int = 1, timeout: float = 30) -> list[dict]:
        wait_until(lambda: len(self.requests(path)) >= count, timeout, f"{count} requests at {path}")
        return self.requests(path)
