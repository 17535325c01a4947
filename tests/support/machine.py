"""A Debian that boots with a real systemd: a copy of an image in systemd-nspawn, with its own network. As a command,
`machine.py --try IMAGE` tells by its exit status and its last line whether such a machine boots on this host.
"""
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.network import enter_network  # noqa: E402
from support.wait import wait_until  # noqa: E402

CGROUPS = Path("/sys/fs/cgroup")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}


class Machine:
    """`folder` becomes a copy of `image`; close() removes it."""

    def __init__(self, image: Path, folder: Path):
        self.folder, self.log = Path(folder), Path(f"{folder}.log")
        subprocess.run(["cp", "-a", "--reflink=auto", image, folder], check=True)
        # The machine has a control group of its own, so that the host's process manager leaves the machine alone. The
        # group is in cgroup v2, even if the host mounts v1, too.
        self._group = (CGROUPS / "unified" if (CGROUPS / "unified").is_dir() else CGROUPS) / f"apie-{os.getpid()}"
        self._nspawn: subprocess.Popen | None = None
        self._outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def boot(self, patience: float = 90) -> "Machine":
        self._group.mkdir(exist_ok=True)
        command = ["systemd-nspawn", "--boot", f"--directory={self.folder}", f"--machine=apie-{os.getpid()}",
                   "--register=no", "--keep-unit", "--private-network", "--console=pipe", "--suppress-sync=yes",
                   "--link-journal=no"]
        inside = 'echo $$ >"$0/cgroup.procs" && exec "$@"'
        with self.log.open("ab") as log:
            self._nspawn = subprocess.Popen(
                ["sh", "-c", inside, self._group, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}, start_new_session=True)
        self._wait_booted(patience)
        return self

    def _wait_booted(self, patience: float) -> None:
        def booted():
            if self._nspawn.poll() is not None:
                raise AssertionError(f"systemd-nspawn ended: {self._last_words()}")
            return self.pid and self.run("systemctl", "is-system-running", check=False).stdout.strip() in (
                "running", "degraded")

        try:
            wait_until(booted, patience, "the machine to boot", every=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error} {self._last_words()}") from None

    def _last_words(self) -> str:
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return " | ".join(lines[-3:])

    @property
    def pid(self) -> int | None:
        """The pid that the machine's systemd has on this host."""
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text().split():
                if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                    return int(child)
        return None

    @property
    def root(self) -> Path:
        """The machine's files as its processes see them, with its mounts."""
        return Path(f"/proc/{self.pid}/root")

    def run(self, *command, check=True, input=None, timeout=120) -> subprocess.CompletedProcess:
        """Runs a command, given word by word, as the machine's root."""
        result = subprocess.run(["nsenter", "-a", "-t", str(self.pid), *map(str, command)], input=input, text=True,
                                stdin=None if input is not None else subprocess.DEVNULL,
                                capture_output=True, timeout=timeout, env=ENVIRONMENT)
        if check and result.returncode:
            raise AssertionError(f"{' '.join(map(str, command))} ended {result.returncode}:\n"
                                 f"{result.stdout}{result.stderr}")
        return result

    def shell(self, text: str, **how) -> str:
        """Runs a bash script, which ends at the first command that fails; returns its output."""
        return self.run("bash", "-ec", text, **how).stdout.strip()

    def fetch(self, *arguments) -> None:
        """Runs apt-get on the machine's files, with this host's network."""
        self.leave_network()
        try:
            (self.folder / "etc/resolv.conf").unlink(missing_ok=True)
            shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")
            result = subprocess.run(["chroot", self.folder, "apt-get", "-q", "-y", *arguments], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, env=ENVIRONMENT)
        finally:
            self.enter_network()
        assert result.returncode == 0, result.stdout[-2000:]

    def enter_network(self) -> None:
        """Moves this thread, with the programs that it starts from now on, into the machine's network (only a loopback)."""
        with open(f"/proc/{self.pid}/ns/net", "rb") as network:
            enter_network(network.fileno())

    def leave_network(self) -> None:
        enter_network(self._outside)

    def reboot(self) -> None:
        """Shuts the machine down cleanly, and boots it. It then has a new network: call enter_network() again."""
        self._nspawn.terminate()
        self._nspawn.wait(120)
        self.boot()

    def close(self) -> None:
        self.leave_network()
        os.close(self._outside)
        if self._nspawn:
            self._end()
        for group in sorted(self._group.rglob("*/"), key=lambda path: -len(path.parts)):
            with contextlib.suppress(OSError):
                group.rmdir()
        with contextlib.suppress(OSError):
            self._group.rmdir()
        subprocess.run(["rm", "-rf", "--one-file-system", self.folder], check=False)

    def _end(self) -> None:
        leader = self.pid
        self._nspawn.terminate()  # at SIGTERM, systemd-nspawn shuts the machine down cleanly
        try:
            self._nspawn.wait(60)
        except subprocess.TimeoutExpired:
            if leader:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(leader, signal.SIGKILL)
            self._nspawn.kill()
            self._nspawn.wait(30)


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[1] != "--try":
        print(__doc__)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="apie-try-", dir="/var/tmp"))
    machine = Machine(Path(sys.argv[2]), folder / "machine")
    try:
        machine.boot()
        machine.enter_network()
        print(machine.run("systemctl", "--version").stdout.splitlines()[0])
        return 0
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        print(" ".join(str(error).split()))
        return 1
    finally:
        machine.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
