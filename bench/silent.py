"""A port on which the kernel makes connections and no program reads."""
from __future__ import annotations

import socket
from contextlib import contextmanager


@contextmanager
def silent_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(4096)
        yield listener.getsockname()[1]
