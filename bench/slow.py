"""A receiver that answers 200 after a delay."""
from __future__ import annotations

from contextlib import contextmanager

from bench.receiver import Receiver
from bench.silent import ADDRESS, silent_port


@contextmanager
def slow_receiver(certificate: str, key: str, seconds: float):
    """nginx passes each request to a port that does not answer, and itself answers 200 after `seconds`."""
    patience = f"{round(seconds * 1000)}ms"
    with silent_port() as port:
        answer = (f"proxy_pass http://{ADDRESS}:{port}; proxy_connect_timeout {patience}; proxy_read_timeout {patience};"
                  " error_page 504 =200 /answered; location = /answered { return 200; }")
        with Receiver(certificate, key, answer=answer) as receiver:
            yield receiver
