"""Healthy webhooks beside receivers that never answer (black holes, as in bench/isolation.py)."""
from __future__ import annotations

import contextlib

from bench import black_holes
from bench.crowds.crowd import Crowd
from bench.crowds.stage import Stage, scaled

HOLES, ROWS = 10, 10_000  # ROWS: how many rows each black hole gets


class Case(Crowd):
    OTHERS, OTHERS_RATE = 90, 200
    FACTOR, MORE_MS = 1.2, 0

    def __init__(self, stage: Stage):
        super().__init__(stage)
        ports = stage.enter(black_holes.ports(*stage.pair))
        self.failing = [entity for number in range(HOLES) for entity in stage.enroll(1, ports[number % len(ports)])]

    @contextlib.contextmanager
    def crowd(self):
        self.stage.service.write(scaled(ROWS, self.stage.options) * len(self.failing), self.failing)
        yield
