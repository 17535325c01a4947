"""An operator's forgotten transaction locks rows of some webhooks while notifications for them arrive."""
from __future__ import annotations

import contextlib

from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure, all_of
from bench.crowds.stage import PATIENCE, Stage, scaled, within
from bench.flow import Flow
from support.locks import in_background
from support.sql import SqlError, SqlSession

WEBHOOKS, RATE = 30, 30
TABLES = ("webhooks WHERE id", "webhook_ejecuciones WHERE webhook_id")


class Case(Crowd):
    def __init__(self, stage: Stage):
        super().__init__(stage)
        self.answering = stage.enroll(scaled(WEBHOOKS, stage.options))
        self.written: list[int] = []
        self.delivered: list[int] = []

    @contextlib.contextmanager
    def baseline(self):
        """Writes notifications for the webhooks that crowd() locks, in the phases without locks, too: only the locks differ."""
        flow = Flow(self.stage.service, RATE, self.answering, self.stage.options.seconds)
        running = in_background(flow.run)
        yield
        running.result()
        self.written.append(len(flow.written))

    @contextlib.contextmanager
    def crowd(self):
        count = len(self.answering)
        self.stage.service.write(count, self.answering)  # so that there is something to lock in every table
        within(lambda: self.stage.delivered(self.answering) >= count, every=0.05)
        with lock(self.stage, self.answering), self.baseline():
            yield
        within(lambda: self.stage.delivered(self.answering) >= self.written[-1] + count, 3 * PATIENCE)
        self.delivered.append(self.stage.delivered(self.answering) - count)

    def figures(self) -> list[Figure]:
        locked = sum(self.written[1::3])  # of each round's three phases, the one in the middle
        return [all_of("rows delivered after the lock ends", sum(self.delivered), locked)]


@contextlib.contextmanager
def lock(stage: Stage, entities: list[int]):
    """Locks one row for each webhook. Alternately, that is the row in `webhooks`, which fan-out reads, and the row in
    `webhook_ejecuciones`, which is updated when a result is recorded. Each webhook has its own statement,
    because one statement for all would scan the table and also lock the rows of other entities."""
    env = stage.service.stack.env
    operator = SqlSession(env["DB_SOCKET"], env["DB_NAME"], "root", "")
    try:
        operator("START TRANSACTION")
        webhooks = f"SELECT id FROM webhooks WHERE entidad_id BETWEEN {entities[0]} AND {entities[-1]}"
        for number, [webhook] in enumerate(stage.service.sql(webhooks)):
            operator(f"SELECT 1 FROM {TABLES[number % 2]} = {webhook} FOR UPDATE")
        yield
        with contextlib.suppress(SqlError):  # a restarted database has ended the session
            operator("ROLLBACK")
    finally:
        operator.close()
