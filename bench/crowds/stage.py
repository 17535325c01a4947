"""What the cases of bench/crowds share: a separate stack, a receiver, thousands of entities, and alternating phases."""
from __future__ import annotations

import argparse
import itertools
import statistics
from contextlib import ExitStack, nullcontext, suppress

from bench.beside import Healthy, Others
from bench.crowds.figures import AT_MOST_MORE_MS, Figure, no_more_than
from bench.receiver import Receiver
from bench.report import number, progress
from bench.service import Service, webhook_url
from support.wait import wait_until

RATE = 100  # rows a second for all healthy entities together
PATIENCE = 20  # seconds that rows may still take after the last one is written


def scaled(count: int, options: argparse.Namespace) -> int:
    """`count` times --size, which is in percent; at least 1."""
    return max(1, count * options.size // 100)


def within(condition, timeout: float = PATIENCE, every: float = 0.2) -> None:
    """Waits until the condition holds, but at most `timeout` seconds. It does not fail: the caller measures the result."""
    with suppress(AssertionError):
        wait_until(condition, timeout, every=every)


class Stage:
    """A service with a stopped dispatcher, and a receiver that answers at once."""

    def __init__(self, options: argparse.Namespace, log: bool = True, **settings: str):
        self.options, self._log = options, log
        self.service = Service(**settings)
        self._hosts = itertools.count(1)

    def __enter__(self) -> "Stage":
        with ExitStack() as entered:
            entered.enter_context(self.service)
            self.receiver = entered.enter_context(Receiver(*self.pair, log=self._log))
            self.facts = self.service.facts()
            self.service.stop_dispatcher()
            self._entered = entered.pop_all()
        return self

    def __exit__(self, *error) -> None:
        self._entered.__exit__(*error)

    @property
    def pair(self) -> tuple[str, str]:
        """Certificate and key of a receiver that the dispatcher trusts."""
        return self.service.stack.env["RECEIVER_CERT"], self.service.stack.env["RECEIVER_KEY"]

    def enroll(self, count: int, port: int | None = None, each: int = 1) -> list[int]:
        """Adds `count` entities. Each has `each` webhooks, every one at its own host. Returns the entities' ids."""
        return self.service.enroll([[webhook_url(next(self._hosts), port or self.receiver.port) for _ in range(each)]
                                    for _ in range(count)])

    def delivered(self, entities: list[int], condition: str = "TRUE") -> int:
        return self.service.count("entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id",
                                  f"e.estado = 'entregada' AND n.entidad_id IN ({', '.join(map(str, entities))})"
                                  f" AND {condition}")

    def healthy(self, entities: list[int], rate: float = RATE) -> Healthy:
        return Healthy(self.service, self.receiver, entities, rate, self.options.seconds, PATIENCE)

    def in_turns(self, healthy: Healthy, others: Others, baseline: Others = nullcontext, factor: float = 1,
                 more: float = AT_MOST_MORE_MS, **settings: str) -> list[Figure]:
        """Measures how long the rows of the healthy entities take to arrive, three times per round: with the baseline, with the
        others, and with the baseline again."""
        alone, beside = [], []
        for _ in range(self.options.rounds):
            for into, what in ((alone, baseline), (beside, others), (alone, baseline)):
                into.append(healthy.flow(what, **settings))
                progress(f"{'beside it' if into is beside else 'baseline'}: p99 {number(into[-1][0]['p99 ms'])} ms, "
                         f"{into[-1][1]:,} rows did not arrive")

        def figure(column: str, judged: bool = False) -> Figure:
            baselines = [found[column] for found, _ in alone]
            return Figure(column, statistics.median(found[column] for found, _ in beside), tuple(baselines),
                          no_more_than(more, baselines, factor) if judged else None)

        return [figure("p50 ms"), figure("p99 ms", judged=True),
                Figure("rows that did not arrive", sum(missing for _, missing in beside),
                       tuple(missing for _, missing in alone), ("at most", 0))]
