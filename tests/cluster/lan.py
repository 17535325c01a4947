"""Machines as network namespaces, each with a cable to one bridge or more. scripts/dev/hosts.sh runs the tests and all
machines inside new namespaces of mounts, networks and processes. So the machines vanish when the tests end, and nothing
outside reaches the machines."""
from __future__ import annotations

import subprocess
from pathlib import Path

from support.network import enter_network

HUB = "hub"  # the namespace with the bridges


def ip(*words) -> str:
    result = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True)
    assert result.returncode == 0, f"{' '.join(result.args)}: {result.stderr.strip()}"
    return result.stdout


def demolish() -> None:
    """Removes every machine and every bridge; programs in them must have ended."""
    for name in ip("netns", "list").split("\n"):
        if name:
            ip("netns", "delete", name.split()[0])


class Lan:
    """A bridge with the network 198.18.NUMBER.0/24, of the range that RFC 2544 reserves for tests."""

    def __init__(self, name: str, number: int):
        self.name, self._number = name, number
        if not Path("/run/netns", HUB).exists():
            ip("netns", "add", HUB)
        ip("-n", HUB, "link", "add", name, "type", "bridge")
        ip("-n", HUB, "link", "set", name, "up")

    def address(self, number: int) -> str:
        return f"198.18.{self._number}.{number}"

    def attach(self, box: "Box", *numbers: int) -> None:
        cable = f"{box.name}-{self.name}"
        ip("-n", HUB, "link", "add", cable, "type", "veth", "peer", "name", self.name, "netns", box.name)
        ip("-n", HUB, "link", "set", cable, "master", self.name, "up")
        for number in numbers:
            ip("-n", box.name, "address", "add", f"{self.address(number)}/24", "dev", self.name)
        ip("-n", box.name, "link", "set", self.name, "up")
        box.cables[self.name] = cable


class Box:
    """A machine: its programs see only its own network."""

    def __init__(self, name: str):
        self.name, self.cables = name, {}  # name of a Lan -> name of the cable's end at that bridge
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")

    def command(self, *words) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.name}", *map(str, words)]

    def enter(self) -> None:
        """Moves the calling thread, with the threads and programs that it starts from then on, into the machine."""
        with Path("/run/netns", self.name).open("rb") as network:
            enter_network(network.fileno())

    # Faults of the machine's cables. No packet tells either end of a connection that the other end is gone.

    def unplug(self, *lans: str) -> None:
        for lan in lans or self.cables:
            ip("-n", HUB, "link", "set", self.cables[lan], "down")

    def plug_in(self, *lans: str) -> None:
        for lan in lans or self.cables:
            ip("-n", HUB, "link", "set", self.cables[lan], "up")

    def drop(self) -> None:
        """Drops packets like a firewall: the links are up, and nothing passes."""
        for cable in self.cables.values():
            ip("-n", HUB, "link", "set", cable, "nomaster")

    def pass_on(self) -> None:
        for lan, cable in self.cables.items():
            ip("-n", HUB, "link", "set", cable, "master", lan)
