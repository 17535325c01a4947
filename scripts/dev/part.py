"""Starts and ends the processes of one part of the stack, and identifies them later.

A part is recorded as lines `PID START_TIME`; a process is signalled only while both still match, so a reused pid is
never hit. Each process leads a session of its own, by which its children (nginx's workers) are found, even after their
leader has died. Linux 5.3 and Python 3.9 or later.
"""

import argparse
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

# Variables that a service manager may have set for us must not reach what we start.
SERVICE_MANAGER = {"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "JOURNAL_STREAM", "CREDENTIALS_DIRECTORY"}


def stat_fields(pid):
    """Fields of /proc/PID/stat from the state on; None if there is no such process or it is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields


def start_time(pid):
    fields = stat_fields(pid)
    return fields[19] if fields else None


def recorded(path):
    try:
        with open(path, encoding="ascii") as file:
            return [(int(pid), start) for pid, start in (line.split() for line in file)]
    except FileNotFoundError:
        return []


def leaders(path):
    return [pid for pid, start in recorded(path) if start_time(pid) == start]


def members(path):
    """The living leaders, then every other living process of the recorded sessions, also of a session with a dead leader."""
    found = leaders(path)
    sessions = {pid for pid, start in recorded(path) if start_time(pid) in (None, start)}
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = stat_fields(name)
        if fields and int(fields[3]) in sessions and int(name) not in found:
            found.append(int(name))
    return found


def send(pid, number, path):
    """Signals a member by its pidfd. The pid is checked once the pidfd is open, so the pidfd cannot be that of another
    process."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if pid in members(path):
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(descriptor)


def wait_gone(path, seconds):
    deadline = time.monotonic() + seconds
    while members(path):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def stop(options):
    if not options.kill:
        for pid in leaders(options.pids):
            send(pid, signal.SIGTERM, options.pids)
        if wait_gone(options.pids, options.wait):
            return 0
        if not options.then_kill:
            return 1
    for pid in members(options.pids):
        send(pid, signal.SIGKILL, options.pids)
    return 0 if wait_gone(options.pids, 10) else 1


def listening_socket(path):
    """The FastCGI convention: the programs inherit the listening socket as descriptor 0."""
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chmod(path, 0o660)
    listener.listen(4096)
    return listener


def notification_socket():
    """The socket on which the programs send READY=1 as to systemd; the kernel vouches for the sender's pid."""
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind("")  # Linux picks an abstract name
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return receiver, "@" + receiver.getsockname()[1:].decode("ascii")


def sender_if_ready(receiver):
    message, ancillary, _, _ = receiver.recvmsg(4096, socket.CMSG_SPACE(12))
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS) and b"READY=1" in message.split(b"\n"):
            return struct.unpack("3i", data[:12])[0]
    return None


def wait_ready(processes, receiver, seconds):
    """Returns an empty text if every process has sent READY=1, otherwise the problem."""
    waiting = {process.pid for process in processes}
    deadline = time.monotonic() + seconds
    while waiting:
        if select.select([receiver], [], [], 0.02)[0]:
            waiting.discard(sender_if_ready(receiver))
            continue
        for process in processes:
            if process.poll() is not None:
                return f"ended at once with status {process.returncode}"
        if time.monotonic() > deadline:
            return f"not ready within {seconds} s"
    return ""


def start(options):
    environment = {name: value for name, value in os.environ.items() if name not in SERVICE_MANAGER}
    standard_input = listening_socket(options.listen) if options.listen else subprocess.DEVNULL
    if options.ready:
        receiver, environment["NOTIFY_SOCKET"] = notification_socket()
    processes = []
    with open(options.log, "ab") as log, open(options.pids, "w", encoding="ascii") as record:
        for _ in range(options.count):
            process = subprocess.Popen(options.command, stdin=standard_input, stdout=log, stderr=log, env=environment,
                                       start_new_session=True)
            processes.append(process)
            print(process.pid, start_time(process.pid), file=record, flush=True)
    trouble = wait_ready(processes, receiver, options.ready) if options.ready else ""
    if trouble:
        print(trouble)
        options.kill, options.wait, options.then_kill = False, 5, True
        for process in processes:
            process.poll()
        stop(options)
    return 1 if trouble else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("start", "stop", "pids", "alive"):
        verbs.add_parser(verb).add_argument("pids", help="the record of the part's processes")
    starter, stopper = verbs.choices["start"], verbs.choices["stop"]
    starter.add_argument("--log", required=True)
    starter.add_argument("--count", type=int, default=1)
    starter.add_argument("--listen", metavar="SOCKET", help="make this unix socket the processes' descriptor 0")
    starter.add_argument("--ready", type=float, metavar="SECONDS", help="wait for READY=1 from each")
    starter.add_argument("command", nargs="+")
    stopper.add_argument("--kill", action="store_true", help="SIGKILL at once")
    stopper.add_argument("--wait", type=float, default=60, metavar="SECONDS", help="how long to wait after SIGTERM")
    stopper.add_argument("--then-kill", action="store_true", help="SIGKILL what remains then")
    options = parser.parse_args()

    if options.verb == "start":
        return start(options)
    if options.verb == "stop":
        return stop(options)
    if options.verb == "pids":
        for pid in members(options.pids):
            print(pid)
        return 0
    known = recorded(options.pids)
    return 0 if known and len(leaders(options.pids)) == len(known) else 1


if __name__ == "__main__":
    sys.exit(main())
