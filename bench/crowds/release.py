"""An entity activates its webhook, for which 100,000 deliveries are held. At the same moment three other entities activate, delete
and deactivate theirs, which have one delivery each. How long do these changes take, and how long do the rows of the others? There
are 10,000 further webhooks with one waiting delivery each, where nothing changes."""
from __future__ import annotations

import contextlib
import statistics
import time

from bench import filling
from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure
from bench.crowds.stage import Stage, scaled
from support.actors import BASE

HELD, WAITING = 100_000, 10_000
EFFECT_WITHIN = 5  # seconds
PATIENCE = 60  # seconds for which the effects are waited for
# What each of the three other entities does, and in which state its delivery is before and after.
CHANGES = [("PATCH", {"activo": True}, "retenida", "entregada"),
           ("DELETE", ..., "pendiente", "cancelada"),
           ("PATCH", {"activo": False}, "pendiente", "retenida")]
VALUES = {"retenida": "'retenida', 0, 0, n.ocurrida_en, NULL, NULL",
          "pendiente": "'pendiente', 1, 1, UTC_TIMESTAMP(3) + INTERVAL 1 DAY, NULL, 503"}


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        [self.large] = stage.enroll(1)
        self.waiting = stage.enroll(scaled(WAITING, stage.options))
        self.backlog = True
        self.effects: list[float] = []  # seconds until the slowest of the three changes took effect
        self.released: list[float] = []  # seconds until the last delivery of the large release was no longer held

    def fill(self) -> None:
        """Uses three new entities each time, because one webhook is deleted."""
        service, held = self.stage.service, scaled(HELD, self.stage.options)
        self.three = self.stage.enroll(len(CHANGES))
        self.answering = [self.large, self.three[0]]
        for count, first, entities in ((held, self.large, 1), (len(self.waiting), self.waiting[0], len(self.waiting)),
                                       (len(self.three), self.three[0], len(self.three))):
            filling.notifications(service, count, first, entities)
        for state, values in VALUES.items():
            of = [entity for entity, (_, _, before, _) in zip(self.three, CHANGES) if before == state]
            of += [self.large] if state == "retenida" else self.waiting
            filling.deliveries(service, values, f"w.entidad_id IN ({', '.join(map(str, of))})")
        service.sql(f"UPDATE webhooks SET activo = FALSE, motivo = 'entidad' WHERE entidad_id IN ({self.large}, {self.three[0]})")

    @contextlib.contextmanager
    def crowd(self):
        entities = [self.large, *self.three]
        tokens = self.stage.service.add_tokens(entities)
        start, effects, released = time.monotonic(), [], []
        for entity, token, (method, body, *_) in zip(entities, tokens, [CHANGES[0], *CHANGES]):
            [[webhook]] = self.stage.service.sql(f"SELECT id FROM webhooks WHERE entidad_id = {entity}")
            answer = self.stage.service.stack.api(method, f"{BASE}/{webhook}", token, json_body=body)
            assert answer.status == 200, answer

        def goes_on() -> bool:
            seconds = time.monotonic() - start
            for into, done in ((effects, self.took_effect), (released, self.nothing_held)):
                if not into and (done() or seconds > PATIENCE):
                    into.append(seconds)
            return not (effects and released)

        yield goes_on
        self.effects += effects
        self.released += released

    def took_effect(self) -> bool:
        found = self.stage.service.sql(f"""
            SELECT e.estado FROM webhooks w JOIN entregas e ON e.webhook_id = w.id
            WHERE w.entidad_id IN ({', '.join(map(str, self.three))}) ORDER BY w.entidad_id""")
        return [state for state, in found] == [after for *_, after in CHANGES]

    def nothing_held(self) -> bool:
        return not self.stage.service.sql(f"""
            SELECT 1 FROM webhooks w JOIN entregas e ON e.webhook_id = w.id AND e.espera = 'retenida'
            WHERE w.entidad_id = {self.large} LIMIT 1""")

    def figures(self) -> list[Figure]:
        return [Figure("seconds until another's change took effect", statistics.median(self.effects),
                       goal=("at most", EFFECT_WITHIN)),
                Figure("seconds until the large release had ended", statistics.median(self.released))]
