"""The kinds of fault. Each function that returns a dict causes one fault in an Arena with traffic. The keys of the dict are the
deliveries that may be sent again because the fault may lose their outcome; the values are their leases. A fault that loses no
outcome by itself returns {}, unless it lasted so long that leases may have expired.
"""
from __future__ import annotations

import time

from support.arena import LEASE, TIMEOUT, Arena, Stopwatch, patiently
from support.frozen import frozen, thaw
from support.sql import SqlSession
from support.wait import wait_until

PATIENCE = LEASE - TIMEOUT - 3  # seconds: if the database is away for less, no lease expires


def moment(arena: Arena) -> None:
    """Waits for a random moment with deliveries in flight."""
    arena.flow(arena.random.randint(1, 30))
    time.sleep(arena.random.uniform(0, 0.05))


def kill_dispatcher(arena: Arena) -> dict:
    moment(arena)
    lost = arena.kill(arena.dispatcher)
    arena.stack.start("dispatcher")
    return lost


def kill_before_recording(arena: Arena) -> dict:
    """Kills the dispatcher after the receiver's 200 and before the result is recorded, which a lock on the row delays."""
    with arena.held() as (id, _, answer):
        other = arena.connect()
        other("START TRANSACTION")
        lock(other, "entregas", id)
        answer()
        lost = arena.kill(arena.dispatcher)
        other.close()
    assert id in lost, "answered, but not recorded"
    arena.stack.start("dispatcher")
    return lost


def kill_one_of_two(arena: Arena) -> dict:
    with arena.second() as other:
        moment(arena)
        if arena.random.random() < 0.5:
            return arena.kill(other.pid)
        lost = arena.kill(arena.dispatcher)
        arena.flow(5)  # the other dispatcher goes on
    arena.stack.start("dispatcher")
    return lost


def kill_database(arena: Arena) -> dict:
    moment(arena)
    seen = arena.in_flight()
    taken = Stopwatch()
    arena.stack.stop("db", "-9")
    arena.restart_database()
    seen |= arena.in_flight()
    arena.progress()
    return seen if taken.seconds > PATIENCE else {}


def kill_sessions(arena: Arena) -> dict:
    for _ in range(3):
        moment(arena)
        for session in arena.sessions():
            patiently(arena.root, f"KILL CONNECTION {session}")  # that session may have ended by itself
    arena.progress()
    return {}


def locked_row(arena: Arena) -> dict:
    """Locks the row of one delivery. The results of other deliveries are recorded at once, its own result after the lock."""
    with arena.held() as (id, _, answer):
        other = arena.connect()
        other("START TRANSACTION")
        lock(other, "entregas", id)
        taken, seen = Stopwatch(), arena.in_flight()
        told = arena.told("a row is locked by another session")
        answer()
        wait_until(lambda: arena.told("a row is locked by another session") > told, what="the dispatcher to meet the locked row")
        arena.progress()
        seen |= arena.in_flight()
        other.close()
    arena.progress()
    return seen if taken.seconds > PATIENCE else {}


def read_only(arena: Arena) -> dict:
    moment(arena)
    taken, seen = Stopwatch(), arena.in_flight()
    arena.root("SET GLOBAL read_only = 1")
    try:
        enough = arena.refusals() + arena.random.randint(2, 15)  # that many refusals take a fraction of a second
        wait_until(lambda: arena.refusals() >= enough or taken.seconds > PATIENCE / 2, what="writes to be refused")
        seen |= arena.in_flight()
    finally:
        arena.root("SET GLOBAL read_only = 0")
    arena.progress()
    return seen if taken.seconds > PATIENCE else {}


def freeze(arena: Arena) -> dict:
    """SIGSTOP for longer than the lease while another dispatcher works, then SIGCONT: the stale owner wakes up."""
    moment(arena)
    pid = arena.dispatcher
    with frozen(pid):
        seen = arena.in_flight()
        owned = f"arriendo IN ({', '.join(seen.values()) or 0})"
        held = f"SELECT COUNT(*) FROM entregas WHERE {owned} AND arriendo_hasta > UTC_TIMESTAMP(3)"
        with arena.second():
            wait_until(lambda: arena.value(held) == 0, 2 * LEASE, "the leases to expire", every=0.2)
            # The stopped dispatcher's locks can make leases of the second dispatcher expire.
            seen |= arena.in_flight(expiring=True)
            thaw(pid)
            arena.progress()
    return seen


def drain(arena: Arena) -> dict:
    """SIGTERM and a new start: no outcome is left unknown."""
    moment(arena)
    arena.stack.stop("dispatcher")
    arena.stack.start("dispatcher")
    return {}


def lock(session: SqlSession, table: str, key: int) -> None:
    column = "id" if table == "entregas" else "webhook_id"
    session(f"SELECT 1 FROM {table} WHERE {column} = {key} FOR UPDATE")
