"""Proves at-least-once delivery: dispatchers and the database fail while notifications flow, and tests/support/ledger.py
judges what arrived. The test prints the seed of its random choices; TEST_SEED sets the seed. `./dev test --long` runs the long
form.
"""
import os
import random
import time

from support import faults
from support.arena import Arena, Stopwatch

LONG = {
    faults.kill_dispatcher: 50, faults.kill_before_recording: 20, faults.kill_one_of_two: 15, faults.kill_database: 20,
    faults.kill_sessions: 25, faults.locked_row: 12, faults.read_only: 6, faults.freeze: 3, faults.drain: 6,
}
SHORT = dict.fromkeys(LONG, 1)


def test_faults_lose_nothing_and_repeat_only_what_was_in_flight(capsys):
    seed = int(os.environ.get("TEST_SEED") or random.SystemRandom().randrange(10**9))
    print(f"TEST_SEED={seed}")
    if os.environ.get("TEST_LONG"):
        with capsys.disabled():
            run(seed, LONG, notifications=10_000)
    else:
        run(seed, SHORT, notifications=750)


def run(seed: int, counts: dict, notifications: int) -> None:
    plan = [kind for kind, count in counts.items() for _ in range(count)]
    with Arena(seed) as arena:
        arena.random.shuffle(plan)
        clock = Stopwatch()
        arena.start_traffic()
        for number, kind in enumerate(plan, 1):
            while arena.ledger.count < notifications * number / len(plan):
                arena.flow(10)
            began = time.monotonic()
            fault = arena.ledger.fault(kind.__name__, kind(arena), began)
            print(f"{clock.seconds:6.1f} s  {number}/{len(plan)} {fault.kind}: {fault.ended - fault.began:.1f} s,"
                  f" {len(fault.in_flight)} in flight, {arena.ledger.count} notifications so far", flush=True)
        arena.stop_traffic()
        rows = arena.finish()
        arena.stack.stop("dispatcher")
        verdict = arena.ledger.judge(rows, arena.receiver.requests())
        print(f"{clock.seconds:6.1f} s  seed {seed}: {arena.ledger.report(verdict)}", flush=True)
        assert verdict.problems == [] and verdict.notifications >= notifications
        assert arena.value("SELECT COUNT(*) FROM notificaciones_pendientes") == verdict.notifications, "rows that the ledger does not know"
        assert arena.value("SELECT COUNT(*) FROM webhooks WHERE NOT activo") == 0
