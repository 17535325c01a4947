"""Black holes: receivers that never answer, each kind in another way."""
from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager

from bench.receiver import Receiver
from bench.silent import ADDRESS, silent_port


def deaf_port(stack: ExitStack) -> int:
    """The queue of connections is full: the kernel drops every SYN, as a firewall does."""
    listener = stack.enter_context(socket.socket())
    listener.bind((ADDRESS, 0))
    listener.listen(0)
    port = listener.getsockname()[1]
    for _ in range(2):  # a queue of 0 has room for one connection; a second one waits in vain
        filler = stack.enter_context(socket.socket())
        filler.setblocking(False)
        filler.connect_ex((ADDRESS, port))
    return port


def mute_port(stack: ExitStack, certificate: str, key: str) -> int:
    """The receiver completes TLS, reads the whole request and never answers."""
    behind = f"proxy_pass http://{ADDRESS}:{stack.enter_context(silent_port())}; proxy_read_timeout 1h;"
    return stack.enter_context(Receiver(certificate, key, workers=1, answer=behind)).port


@contextmanager
def ports(certificate: str, key: str):
    """Yields a port of each kind: silent (the TLS handshake stalls), deaf and mute."""
    with ExitStack() as stack:
        yield [stack.enter_context(silent_port()), deaf_port(stack), mute_port(stack, certificate, key)]
