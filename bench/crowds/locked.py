"""An operator's forgotten transaction locks rows of some webhooks while notifications for them arrive."""
from __future__ import annotations

import contextlib

from bench.crowds.figures import all_of
from bench.crowds.stage import PATIENCE, Stage, scaled, within
from bench.flow import Flow
from support.locks import in_background
from support.sql import SqlSession

WEBHOOKS, RATE, OTHERS = 30, 30, 20
TABLES = ("webhooks WHERE id", "webhook_ejecuciones WHERE webhook_id")


def run(options):
    delivered, written = [], []
    with Stage(options) as stage:
        healthy = stage.healthy(stage.enroll(OTHERS))
        entities = stage.enroll(scaled(WEBHOOKS, options))

        @contextlib.contextmanager
        def rows():
            """Writes notifications for the webhooks that crowd() locks, in the phases without locks, too: only the locks differ."""
            flow = Flow(stage.service, RATE, entities, options.seconds)
            running = in_background(flow.run)
            yield
            running.result()
            written.append(len(flow.written))

        @contextlib.contextmanager
        def crowd():
            stage.service.write(len(entities), entities)  # so that there is something to lock in every table
            within(lambda: stage.delivered(entities) >= len(entities), every=0.05)
            with lock(stage, entities), rows():
                yield
            within(lambda: stage.delivered(entities) >= written[-1] + len(entities), 3 * PATIENCE)
            delivered.append(stage.delivered(entities) - len(entities))

        figures = stage.in_turns(healthy, crowd, rows)
    locked = sum(written[1::3])  # of each round's three phases, the one in the middle
    return figures + [all_of("rows delivered after the lock ends", sum(delivered), locked)], stage.facts


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
        operator("ROLLBACK")
    finally:
        operator.close()
