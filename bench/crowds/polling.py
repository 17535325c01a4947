"""Clients of the API that ask again and again over kept connections."""
from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import ssl
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from bench.crowds.stage import Stage


@dataclass(frozen=True)
class Client:
    """Sends its requests (method, path, body) in turn. On each connection a request begins `every` seconds after the one before, or
    later if that one's answer takes longer."""
    token: str
    requests: list[tuple]
    every: float
    connections: int = 1
    answers: tuple[int, ...] = (200,)
    source: str | None = None  # the address that it asks from


@contextlib.contextmanager
def polling(stage: Stage, *clients: Client):
    """Yields a list for each client, to which the milliseconds of its answers are added until the context ends. At the end, raises the
    first failure that no fault excuses."""
    end, failures = threading.Event(), []
    found = [[] for _ in clients]
    threads = [threading.Thread(target=ask_until, args=(end, stage, client, into, failures))
               for client, into in zip(clients, found) for _ in range(client.connections)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        end.set()
        for thread in threads:
            thread.join()
    for moment, error in failures:
        if not stage.excused(moment):
            raise error


def ask_until(end: threading.Event, stage: Stage, client: Client, found: list[float], failures: list) -> None:
    while not end.is_set():
        try:
            ask(end, stage, client, found)
        except (OSError, http.client.HTTPException, AssertionError) as error:
            failures.append((time.time(), error))
            end.wait(client.every)


def ask(end: threading.Event, stage: Stage, client: Client, found: list[float]) -> None:
    env = stage.service.stack.env
    address = urlsplit(env["BASE_URL"])
    headers = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
    with contextlib.closing(http.client.HTTPSConnection(
            address.hostname, address.port, timeout=60, context=ssl.create_default_context(cafile=env["CA_CERT"]),
            source_address=(client.source, 0) if client.source else None)) as connection:
        for method, path, body in itertools.cycle(client.requests):
            if end.is_set():
                return
            began = time.monotonic()
            connection.request(method, path, json.dumps(body) if body else None, headers)
            response = connection.getresponse()
            response.read()
            if response.status not in client.answers:
                raise AssertionError(f"{method} {path}: {response.status}")
            found.append((time.monotonic() - began) * 1e3)
            end.wait(client.every - (time.monotonic() - began))
