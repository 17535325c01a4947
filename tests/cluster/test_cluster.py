"""The kill test on a cluster: two dispatchers on two nodes, while nodes are killed, cut off, frozen and brought back. At the
end all nodes are killed. `./dev cluster test galera`, `./dev cluster test group-replication` and `./dev test --long` run it. The
test prints the seed of its random choices; TEST_SEED sets the seed.
"""
import contextlib
import os
import random
import signal
import time

import pytest

from cluster.servers import LEASE, NODES, ClusterArena, ClusterStack
from support import faults
from support.actors import Entity
from support.arena import Stopwatch
from support.customer import Customer
from support.wait import wait_until

KINDS = os.environ.get("TEST_CLUSTER", "").split()  # none: the test is skipped
FAIL_OVER = 10  # seconds
NOTIFICATIONS = int(os.environ.get("TEST_NOTIFICATIONS") or 2_000)


def kill(stack, node):
    stack.node("kill", node, "-9")
    return lambda: stack.node("start", node)


def cut(stack, node):
    stack.node("cut", node)
    return lambda: stack.node("rejoin", node)


def freeze(stack, node):
    stack.node("freeze", node)
    return lambda: stack.node("thaw", node)


def disturb(arena, node, what, waits: list) -> dict:
    """Does the fault `what` to a node. Waits until every dispatcher has changed to another node and deliveries are recorded
    again, and adds (seconds of this wait, name of the fault, node) to `waits`. Undoes the fault after 20 further deliveries.
    Returns the deliveries that were in flight, or {} if their leases cannot have expired."""
    wait_until(arena.settled, what="the dispatchers to have begun")
    faults.moment(arena)
    taken, seen = Stopwatch(), arena.in_flight()
    with contextlib.ExitStack() as undo:
        undo.enter_context(arena.without(node))
        undo.callback(what(arena.stack, node))
        arena.hang_up(node)
        arena.root.close()  # its session may be on that node
        arena.progress()
        wait_until(lambda: arena.left(node, taken), LEASE, f"the dispatchers to leave {node}", every=0.1)
        away = taken.seconds
        waits.append((away, what.__name__, node))
        arena.flow(20)
    arena.progress()
    return seen if away > LEASE - 5 else {}


def kill_all(arena, waits: list) -> dict:
    """Kills every node at once, with SIGKILL. `./dev cluster KIND` then finds the node that must start first. Adds to `waits`
    the seconds until deliveries are recorded again. Returns the deliveries that were in flight, or {}, as disturb() does."""
    faults.moment(arena)
    pids = [pid for node in NODES for pid in arena.stack.pids(node)]
    seen, taken = arena.in_flight(), Stopwatch()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    arena.root.close()
    wait_until(lambda: health(arena) == 503, FAIL_OVER, "the API to say that it has no database")
    arena.stack.dev("cluster", arena.stack.kind, timeout=300)
    wait_until(lambda: arena.stack.whole() and health(arena) == 200, FAIL_OVER, "the cluster and the API to be whole")
    seen |= arena.in_flight()
    arena.progress()
    waits.append(taken.seconds)
    return seen if taken.seconds > LEASE - 5 else {}


def health(arena) -> int:
    return arena.stack.api("GET", "/apientidades/salud").status


def plan_of(choose: random.Random, waits: list) -> list:
    """Returns (name, fault) in random order: each kind of fault on every node, and three kills of dispatchers."""
    def of_node(what, node):
        return f"{what.__name__}_node", lambda arena: disturb(arena, node, what, waits)

    plan = [of_node(what, node) for what in (kill, cut, freeze) for node in NODES]
    plan += [("kill_dispatcher", faults.kill_dispatcher) for _ in range(3)]
    choose.shuffle(plan)
    return plan


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_come_and_go_and_nothing_is_lost_or_repeated(capsys, kind):
    seed = int(os.environ.get("TEST_SEED") or random.SystemRandom().randrange(10**9))
    with capsys.disabled(), ClusterArena(seed, ClusterStack(kind)) as arena:
        print(f"\n{kind}: TEST_SEED={seed}", flush=True)
        customer = Customer(Entity(arena.stack, arena.receiver))
        with arena.second(database_hosts=arena.stack.hosts_from(1)):
            assert len({node for node, _ in arena.sessions()}) == 2, "the dispatchers are on one node"
            waits: list = []
            arena.start_traffic()
            customer.start()
            run(arena, plan_of(arena.random, waits))
            customer.stop()
            returns: list = []
            run(arena, [("kill_all_nodes", lambda arena: kill_all(arena, returns))])
            arena.stop_traffic()
            rows = arena.finish()
            arena.stack.stop("dispatcher")
        verdict = arena.ledger.judge(rows, arena.receiver.requests())
        print(f"seed {seed}: {arena.ledger.report(verdict)}")
        print("  until every dispatcher was at work on another node: " + ", ".join(f"{what} {node} {s:.1f} s" for s, what, node in waits))
        print(f"  from the end of all nodes until deliveries were recorded again: {returns[0]:.1f} s")
        print(f"  {customer.report()}")
        print(f"  conflicts that each node has counted since its start: {arena.conflicts()}")
        assert verdict.problems == [] and verdict.notifications >= NOTIFICATIONS
        assert arena.value("SELECT COUNT(*) FROM notificaciones_pendientes") == verdict.notifications, "rows that the test did not write"
        assert max(seconds for seconds, *_ in waits) < FAIL_OVER and customer.longest_s < FAIL_OVER


def run(arena, plan) -> None:
    clock = Stopwatch()
    for number, (name, fault) in enumerate(plan, 1):
        while arena.ledger.count < NOTIFICATIONS * number / len(plan):
            arena.flow(10)
        began = time.monotonic()
        done = arena.ledger.fault(name, fault(arena), began)
        print(f"{clock.seconds:6.1f} s  {number}/{len(plan)} {name}: {done.ended - done.began:.1f} s,"
              f" {len(done.in_flight)} in flight, {arena.ledger.count} notifications so far", flush=True)
