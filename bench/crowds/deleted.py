"""An entity that has registered and deleted webhooks for a month polls the API: how much does that delay another entity's
requests, and the healthy entities' deliveries?"""
from __future__ import annotations

import contextlib
import http.client
import ssl
import statistics
import threading
import time
from urllib.parse import urlsplit

from bench.crowds.figures import AT_MOST_MORE_MS, Figure, no_more_than
from bench.crowds.stage import Stage, scaled
from bench.report import percentile, progress
from bench.service import EVENT
from support.actors import BASE

DELETED, OTHERS = 400_000, 20
CHUNK = 100_000  # rows of a transaction
POLLERS = 8  # connections of the entity that polls
EVERY = 0.1  # seconds from one request of a connection to its next, unless the answer takes longer
NO_DIFFERENCE = 1.2  # times the baseline


def run(options):
    baseline, beside = [], []
    with Stage(options) as stage:
        healthy = stage.healthy(stage.enroll(OTHERS))
        clean, churned, asking = stage.enroll(3)
        tokens = stage.service.add_tokens([clean, churned, asking])
        churn(stage, churned, scaled(DELETED, options))

        def polls(token: str, into: list[list[float]]):
            """The same polls in every phase: only the number of webhooks that the polling entity has deleted differs."""
            return polling(stage, token, tokens[2], into)

        figures = stage.in_turns(healthy, lambda: polls(tokens[1], beside), lambda: polls(tokens[0], baseline))
    return figures + [get_figure(share, baseline, beside) for share in (0.5, 0.99)], stage.facts


def get_figure(share: float, baseline: list[list[float]], beside: list[list[float]]) -> Figure:
    """The median must hardly change; the p99 may vary, within bounds."""
    alone = [percentile(found, share) for found in baseline]
    goal = no_more_than(0, alone, NO_DIFFERENCE) if share == 0.5 else no_more_than(AT_MOST_MORE_MS, alone)
    return Figure(f"another's GET, p{share * 100:.0f} ms", statistics.median(percentile(found, share) for found in beside),
                  tuple(alone), goal)


def churn(stage: Stage, entity: int, count: int) -> None:
    progress(f"writing {count:,} deleted webhooks")
    for start in range(0, count, CHUNK):
        stage.service.sql(f"""
            INSERT INTO webhooks (entidad_id, plaza, url, eventos, fecha_baja)
            SELECT {entity}, NULL, CONCAT('https://baja.receptor.test/', seq), '{EVENT}', UTC_TIMESTAMP(3)
            FROM seq_{start + 1}_to_{min(start + CHUNK, count)}""")


@contextlib.contextmanager
def polling(stage: Stage, token: str, other: str, into: list[list[float]]):
    """`token` polls over POLLERS connections, `other` over one. Adds to `into` the milliseconds of the answers to `other`."""
    end, found, failures = threading.Event(), [], []
    threads = [threading.Thread(target=ask, args=(stage, token, end, [], failures)) for _ in range(POLLERS)]
    threads.append(threading.Thread(target=ask, args=(stage, other, end, found, failures)))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    into.append(found)


def ask(stage: Stage, token: str, end: threading.Event, found: list[float], failures: list[Exception]) -> None:
    env = stage.service.stack.env
    address = urlsplit(env["BASE_URL"])
    try:
        connection = http.client.HTTPSConnection(address.hostname, address.port, timeout=60,
                                                 context=ssl.create_default_context(cafile=env["CA_CERT"]))
        while not end.is_set():
            began = time.monotonic()
            connection.request("GET", BASE, headers={"Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                raise AssertionError(f"GET {BASE}: {response.status}")
            found.append((time.monotonic() - began) * 1e3)
            end.wait(EVERY - (time.monotonic() - began))
        connection.close()
    except (OSError, http.client.HTTPException, AssertionError) as error:
        failures.append(error)
