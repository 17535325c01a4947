"""Processes that do not run for a while, as in a frozen cgroup or on a paused machine."""
import contextlib
import os
import signal
from pathlib import Path

from support.wait import wait_until


def freeze(pid: int) -> None:
    """Stops all threads. SIGSTOP only asks for it: a thread that waits in accept() may still take a connection before it stops."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: set(thread_states(pid)) == {"T"}, what=f"the threads of {pid} to stop")


def thaw(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def frozen(*pids: int):
    try:
        for pid in pids:
            freeze(pid)
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                thaw(pid)


def thread_states(pid: int):
    """Yields the state letter of every thread (proc_pid_stat(5)). The name, the field before it, ends with the last `)`."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            yield stat.read_text().rpartition(")")[2].split()[0]
