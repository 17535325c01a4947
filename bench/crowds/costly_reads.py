"""An entity with 25,000 failed deliveries for each of five webhooks sends requests that search deliveries: how much does
that delay another entity's requests?"""
from __future__ import annotations

import contextlib
import statistics
import time

from bench import filling
from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure, no_more_than
from bench.crowds.polling import Client, polling
from bench.crowds.stage import Stage, scaled
from bench.report import percentile, progress
from support.actors import BASE

WEBHOOKS, DELIVERIES, ATTEMPTS = 5, 25_000, 10
CONNECTIONS = 32  # of the costly entity; the two handler processes together have as many threads
EVERY, OTHER_EVERY = 0.1, 0.02  # seconds between the requests of a connection, of the costly and of the other entity
AT_MOST_MORE_MS = 50
ALL = {"desde": "2020-01-01T00:00:00Z"}
CASES = {  # the requests of the costly entity, to each webhook in turn
    "simular": ("POST", "/reenvios", ALL | {"simular": True}),
    "simular, of all states": ("POST", "/reenvios", ALL | {"simular": True, "estados": ["entregada", "fallida"]}),
    "reenvios beyond the quota": ("POST", "/reenvios", ALL),
    "estadisticas": ("GET", "/estadisticas?ventana=7d", None),
    "entregas that nothing fits": ("GET", "/entregas?estado=entregada", None),
}
ANSWERS = (200, 429)


class Case(Crowd):
    # limits.replay_requests is 0, which means no limit, because the default would refuse the costly entity's requests after 60.
    # limits.replayed is 1. Each replay would send more than one delivery, so the quota refuses it, and none begins.
    SETTINGS = {"limits_replay_requests": "0", "limits_replayed": "1"}

    def __init__(self, stage: Stage):
        super().__init__(stage)
        [self.costly], [asking] = stage.enroll(1, each=WEBHOOKS), stage.enroll(1)
        self.token, self.asking = stage.service.add_tokens([self.costly, asking])
        self.webhooks = [int(id) for id, in stage.service.sql(f"SELECT id FROM webhooks WHERE entidad_id = {self.costly}")]

    def fill(self) -> None:
        """Adds to each webhook of the entity deliveries that exhausted their schedule an hour ago."""
        service, of_it = self.stage.service, f"w.entidad_id = {self.costly}"
        filling.notifications(service, scaled(DELIVERIES, self.stage.options), self.costly, 1)
        filling.deliveries(service, f"'fallida', {ATTEMPTS}, {ATTEMPTS}, n.ocurrida_en, n.terminada_en, 500", of_it)
        filling.attempts(service, ATTEMPTS, 500, of_it)

    def requests(self, name: str) -> list[tuple]:
        method, path, body = CASES[name]
        return [(method, f"{BASE}/{webhook}{path}", body) for webhook in self.webhooks]

    @contextlib.contextmanager
    def crowd(self):
        with self.polls([request for name in CASES for request in self.requests(name)], CONNECTIONS):
            yield

    def polls(self, requests: list[tuple], connections: int):
        return polling(self.stage, Client(self.token, requests, EVERY, connections, ANSWERS),
                       Client(self.asking, [("GET", BASE, None)], OTHER_EVERY))

    def measure(self) -> list[Figure]:
        """Without a dispatcher and other rows: only requests."""
        figures, seconds = [], self.stage.options.seconds
        self.fill()
        for name in CASES:
            alone, beside, answered = [], [], []
            for _ in range(self.stage.options.rounds):
                for into, connections in ((alone, 0), (beside, CONNECTIONS), (alone, 0)):
                    with self.polls(self.requests(name), connections) as (costly, found):
                        time.sleep(seconds)
                    into.append(found)
                    answered += [len(costly) / seconds] if connections else []
            figures += [figure(name, share, alone, beside) for share in (0.5, 0.99)]
            figures.append(Figure(f"{name}, answered a second", statistics.median(answered)))
            progress(f"{name}: another's GET p99 {figures[-2].beside:.1f} ms")
        return figures


def figure(name: str, share: float, alone: list[list[float]], beside: list[list[float]]) -> Figure:
    baselines = [percentile(found, share) for found in alone]
    return Figure(f"{name}, another's GET p{share * 100:.0f} ms", statistics.median(percentile(found, share) for found in beside),
                  tuple(baselines), no_more_than(AT_MOST_MORE_MS, baselines) if share == 0.99 else None)
