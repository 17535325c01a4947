"""Notifications of the largest allowed size: their effect on other entities, and on the dispatcher's memory."""
from __future__ import annotations

import contextlib
import statistics

from bench import machine
from bench.crowds.figures import Figure, all_of, no_more_than
from bench.crowds.stage import Stage, scaled, within
from bench.service import EVENT

ENTITIES, ROWS, OTHERS = 64, 3_200, 20
HEAD, TAIL = '{"evaluacionId": 1, "titulo": "', '"}'
TITLE = 65_536 - len(HEAD) - len(TAIL)
AT_MOST_MORE_MIB = 32


def run(options):
    highest, alone, delivered = [], [], []
    with Stage(options) as stage:
        healthy = stage.healthy(stage.enroll(OTHERS))
        entities, rows = stage.enroll(scaled(ENTITIES, options)), scaled(ROWS, options)

        @contextlib.contextmanager
        def crowd():
            stage.service.sql(f"""
                INSERT INTO notificaciones_pendientes (entidad_id, evento, datos)
                SELECT {entities[0]} + seq MOD {len(entities)}, '{EVENT}',
                       CONCAT('{HEAD}', REPEAT('a', {TITLE}), '{TAIL}')
                FROM seq_1_to_{rows}""")
            with memory(stage, highest):
                yield
                within(lambda: stage.delivered(entities) >= rows)
            delivered.append(stage.delivered(entities))

        figures = stage.in_turns(healthy, crowd, lambda: memory(stage, alone))
    return figures + [
        Figure("highest resident MiB", statistics.median(highest), tuple(alone), no_more_than(AT_MOST_MORE_MIB, alone)),
        all_of("large rows delivered", min(delivered), rows)], stage.facts


@contextlib.contextmanager
def memory(stage: Stage, into: list[float]):
    """When the block ends, appends to `into` the dispatcher's peak resident MiB."""
    yield
    into.append(machine.memory_kib(stage.service.dispatcher(), "VmHWM") / 1024)
