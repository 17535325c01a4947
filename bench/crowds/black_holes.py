"""Healthy webhooks beside receivers that never answer (black holes, as in bench/isolation.py)."""
from __future__ import annotations

from bench import black_holes, isolation
from bench.crowds.stage import Stage, scaled

WEBHOOKS, ROWS = 100, 10_000  # WEBHOOKS: of both kinds together; ROWS: how many rows each black hole gets


def run(options):
    with Stage(options) as stage, black_holes.ports(*stage.pair) as hole_ports:
        others, holes = isolation.register(stage.service, stage.receiver, hole_ports, WEBHOOKS)
        rows = scaled(ROWS, options) * len(holes)
        healthy = stage.healthy(others, isolation.RATE)
        figures = stage.in_turns(healthy, lambda: isolation.held_by(stage.service, holes, rows), factor=1.2, more=0)
    return figures, stage.facts
