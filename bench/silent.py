"""A port on which the kernel makes connections and no program reads."""
from __future__ import annotations

import socket
from contextlib import contextmanager

# Of the receivers. Not 127.0.0.1, so that the benchmarks can cut them off alone (bench/crowds/faults.py).
ADDRESS = "127.0.0.2"


@contextmanager
def silent_port():
    with socket.socket() as listener:
        listener.bind((ADDRESS, 0))
        listener.listen(4096)
        yield listener.getsockname()[1]
