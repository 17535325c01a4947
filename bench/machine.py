"""The machine's properties, and the resources that processes use, from /proc."""
from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def now() -> float:
    """Seconds since boot, by the clock in which /proc gives the start times of processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def cores() -> int:
    return len(os.sched_getaffinity(0))


def facts() -> dict:
    """What a reader must know of the machine to judge a figure."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cores": cores(),
        "processor": _match(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()),
        "memory_gib": round(int(_match(r"MemTotal: *(\d+)", Path("/proc/meminfo").read_text())) / 2**20, 1),
        "kernel": platform.release(),
        "load_average": os.getloadavg()[0],
        "nginx": _match(r"nginx/(\S+)", _output("nginx", "-v")),
        "mariadb": _match(r"Ver (\S+)", _output("mariadbd", "--version")),
        "commit": _output("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty").strip(),
    }


def _match(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found.group(1) if found else ""


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(*pids: int) -> float:
    """Processor time of these processes since their start, all threads, in steps of 10 ms."""
    return sum(sum(map(int, _stat(pid)[11:13])) for pid in pids) / TICKS


def started(pid: int) -> float:
    """When a process began, by now()'s clock."""
    return int(_stat(pid)[19]) / TICKS


def busy_seconds() -> float:
    """Processor time of the whole machine."""
    user, nice, system, _idle, _wait, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


def memory_kib(pid: int, field: str = "VmRSS") -> int:
    """VmRSS: resident now; VmHWM: its maximum so far."""
    return int(_match(field + r":\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text()))


def file_system(path: str) -> str:
    """The kind of the file system that holds `path`: durable commits mean nothing on a tmpfs."""
    return _output("stat", "-f", "-c", "%T", path).strip()


class Usage:
    """Processor time of each part (a named list of pids) since this object was made."""

    def __init__(self, **parts: list[int]):
        self._parts = parts
        self._before = {name: cpu_seconds(*pids) for name, pids in parts.items()}
        self._busy = busy_seconds()

    def read(self, **also: float) -> dict[str, float]:
        """Returns processor seconds by part. Adds the values of `also`, which the caller has measured, as further parts, and
        `others`: what the rest of the machine used."""
        used = {name: cpu_seconds(*pids) - self._before[name] for name, pids in self._parts.items()} | also
        return used | {"others": max(0.0, busy_seconds() - self._busy - sum(used.values()))}
