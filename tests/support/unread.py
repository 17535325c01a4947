"""A standard error and a service manager that take nothing: both are full, and nothing reads them."""
import contextlib
import os
import socket
import tempfile
from typing import Iterator, NamedTuple


class Unread(NamedTuple):
    log: int  # the pipe's end for the program
    reader: int  # its other end, non-blocking
    notify_socket: str


def fill(put) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            put()


@contextlib.contextmanager
def unread() -> Iterator[Unread]:
    with contextlib.ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="apie-"))
        reader, log = os.pipe()
        closing.callback(os.close, reader)
        closing.callback(os.close, log)
        for end in (reader, log):
            os.set_blocking(end, False)
        fill(lambda: os.write(log, b"x" * 4096))
        fill(lambda: os.write(log, b"x"))
        os.set_blocking(log, True)
        manager, other = (closing.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) for _ in range(2))
        manager.bind(f"{folder}/notify")
        other.setblocking(False)
        fill(lambda: other.sendto(b"x", f"{folder}/notify"))
        yield Unread(log, reader, f"{folder}/notify")


def read_all(reader: int) -> bytes:
    parts = []
    fill(lambda: parts.append(os.read(reader, 65536)))
    return b"".join(parts)
