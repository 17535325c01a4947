"""Ports that drop connection attempts, like a firewall, because their queues of connections are full.

black_hole.py PORT ADDRESS…
"""
from __future__ import annotations

import socket
import sys
import threading


def fill(address: str, port: int) -> list[socket.socket]:
    """Returns the listening socket, and the connections that fill its queue."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, port))
    server.listen(0)
    sockets = [server]
    for _ in range(3):
        filler = socket.socket(family)
        filler.setblocking(False)
        filler.connect_ex(server.getsockname())
        sockets.append(filler)
    return sockets


def main():
    held = [fill(address, int(sys.argv[1])) for address in sys.argv[2:]]
    print("ready", flush=True)
    threading.Event().wait()
    del held


if __name__ == "__main__":
    main()
