"""A broadcast to receivers that the dispatcher has no connection to, one row for each entity in one commit: how much does it
delay others, and how fast is it? The receivers answer 200 or 500, refuse the connection, or are silent."""
from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time

from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure
from bench.crowds.stage import Stage, scaled
from bench.receiver import Receiver
from bench.silent import silent_port
from support.stack import free_port

ENTITIES, EACH = 2_000, 5
MANY, MORE_MS_BESIDE_MANY = 8_000, 500
ANSWERS = ("200", "500", "refused", "silent")


class Case(Crowd):
    OTHERS, OTHERS_RATE = 100, 20
    MORE_MS = 250

    def __init__(self, stage: Stage, answers: tuple[str, ...] = ANSWERS, entities: int = ENTITIES):
        """Each answer has an equal share of the entities."""
        super().__init__(stage)
        self.ends = "silent" not in answers  # the attempts at silent receivers end only with delivery.timeout
        self.rates: list[float] = []
        share = scaled(entities // len(answers), stage.options)
        for answer in answers:
            into = self.answering if answer == "200" else self.failing
            into += stage.enroll(share, self._port(answer), EACH)
        self.entities = self.answering + self.failing

    def _port(self, answer: str) -> int:
        if answer == "refused":
            return free_port()
        if answer == "silent":
            return self.stage.enter(silent_port())
        return self.stage.enter(Receiver(*self.stage.pair, answer=f"return {answer};")).port

    @contextlib.contextmanager
    def crowd(self):
        service = self.stage.service
        first, last = service.sql(f"SELECT MIN(id), MAX(id) FROM webhooks WHERE entidad_id BETWEEN {self.entities[0]}"
                                  f" AND {self.entities[-1]}")[0]
        after = service.last("notificaciones_pendientes")
        service.write(len(self.entities), self.entities)
        rates, start, tried = [], time.monotonic(), 0

        def goes_on() -> bool:
            """Whether one of the broadcast's deliveries does not exist yet, or has no recorded attempt."""
            nonlocal tried
            if rates:
                return False
            pending = service.sql(f"SELECT EXISTS(SELECT 1 FROM notificaciones_pendientes WHERE estado = 'pendiente' AND aplazada_hasta IS NULL"
                                  f" AND id BETWEEN {after + 1} AND {after + len(self.entities)})") == [["1"]]
            found = service.sql(f"SELECT id FROM entregas FORCE INDEX (PRIMARY) WHERE id > {tried} AND intentos = 0"
                                f" AND webhook_id BETWEEN {first} AND {last} ORDER BY id LIMIT 1")
            if pending or found:
                tried = int(found[0][0]) - 1 if found else tried
                return True
            rates.append(len(self.entities) * EACH / (time.monotonic() - start))
            return False

        yield goes_on if self.ends else None
        self.rates += rates

    def figures(self) -> list[Figure]:
        return [Figure("first attempts of the broadcast/s", statistics.median(self.rates))] if self.rates else []

    def measure(self) -> list[Figure]:
        parts = [Case(self.stage, (answer,)) for answer in ANSWERS] + [Case(self.stage, ("200",), MANY)]
        parts[-1].MORE_MS = MORE_MS_BESIDE_MANY
        names = [f"{answer}, {len(part.entities) * EACH:,} hosts" for answer, part in zip((*ANSWERS, "200"), parts)]
        return [dataclasses.replace(figure, name=f"{figure.name}; {name}")
                for part, name in zip(parts, names) for figure in Crowd.measure(part)]
