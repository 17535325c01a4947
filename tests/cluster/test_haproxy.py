"""A cluster behind one address: HAProxy, as docs/scaling.md recommends it, and as round robin. `./dev cluster test galera`,
`./dev cluster test group-replication` and `./dev test --long` run these tests. Traffic runs through all of them; the last test
judges it."""
import contextlib
import os
import time
from collections import Counter

import pytest

from cluster.haproxy import HaproxyStack
from cluster.servers import NODES, ClusterArena
from support.actors import BASE, Entity
from support.stack import setting
from support.wait import wait_until

KINDS = os.environ.get("TEST_CLUSTER", "").split()  # none: the tests are skipped
BACK = 60  # seconds until all sessions must be on the nodes that HAProxy chooses


@pytest.fixture(scope="module", params=KINDS)
def arena(request):
    with ClusterArena(1, HaproxyStack(request.param)) as running:
        if running.stack.kind == "group-replication":
            running.stack.make_single_primary("db1")
        wait_until(lambda: running.stack.haproxy.used() == ["db1"], BACK, "the programs to be on db1")
        running.start_traffic()
        running.flow(20)
        yield running


@contextlib.contextmanager
def backup_lock(arena, node: str):
    """Locks a node as a backup does: it applies nothing that other nodes commit. The test itself uses other nodes."""
    arena.away.add(node)
    arena.hang_up(node)
    arena.root.close()
    session = arena.stack.local_session(node)
    session("FLUSH TABLES WITH READ LOCK")
    try:
        yield
    finally:
        session.close()
        arena.away.discard(node)


def ask(arena, token: str, times: int) -> Counter:
    return Counter(arena.stack.api("GET", BASE, token).status for _ in range(times))


def token_id(arena, entity: Entity) -> int:
    return arena.stack.admin("token", "list", "--entity", entity.id)[0]["id"]


def revoke(arena, node: str, token: int) -> None:
    """Revokes a token on a node, past HAProxy."""
    arena.stack.dev("admin", "token", "revoke", token, **arena.stack.at(node))


def switch(arena, node: str) -> None:
    """A planned switch, as docs/scaling.md says."""
    if arena.stack.kind == "galera":
        for other in arena.stack.haproxy.up():
            if other != node:
                arena.stack.haproxy.set_state(other, "maint")
    else:
        arena.stack.set_primary(node)


def end_switch(arena) -> None:
    for node in NODES if arena.stack.kind == "galera" else ():
        arena.stack.haproxy.set_state(node, "ready")


def test_a_token_revoked_after_a_planned_switch_is_refused_at_once(arena, capsys):
    """The node that was left applies nothing more: a session that stayed there would accept the token for ever."""
    entity, other = Entity(arena.stack, arena.receiver), Entity(arena.stack, arena.receiver)
    id = token_id(arena, entity)
    assert ask(arena, entity.token, 10) == {200: 10}
    began = time.monotonic()
    switch(arena, "db2")
    with backup_lock(arena, "db1"):
        revoke(arena, "db2", id)
        answers = ask(arena, entity.token, 30)
        wait_until(lambda: ask(arena, other.token, 1) == {200: 1}, BACK, "the API to work on db2")
        took = time.monotonic() - began
        later = ask(arena, entity.token, 30)
        wait_until(lambda: arena.stack.haproxy.used() == ["db2"], BACK, "the programs to be on db2")
        arena.progress()
    end_switch(arena)
    with capsys.disabled():
        print(f"\n{arena.stack.kind}: after the switch {dict(answers)}, later {dict(later)}; the API worked after {took:.1f} s")
    assert answers[200] == 0 and set(answers) <= {401, 503}
    assert later == {401: 30}


def test_sessions_stay_where_they_are_when_an_earlier_node_returns(arena):
    wait_until(lambda: "db2" in arena.stack.haproxy.up(), BACK, "db2 to be up")
    if arena.stack.kind == "galera":
        wait_until(lambda: len(arena.stack.haproxy.up()) == 3, BACK, "all nodes to be up")
    else:
        assert arena.stack.haproxy.up() == ["db2"]
    arena.stack.stop("fcgi")
    arena.stack.start("fcgi")
    arena.flow(20)
    assert arena.stack.haproxy.used() == ["db2"]


def test_everything_resumes_when_haproxy_has_been_away(arena, capsys):
    entity = Entity(arena.stack, arena.receiver)
    arena.stack.haproxy.stop()
    wait_until(lambda: ask(arena, entity.token, 1) == {503: 1}, BACK, "the API to have no database")
    assert arena.stack.api("GET", "/apientidades/salud").status == 503
    arena.stack.haproxy.start()
    started = time.monotonic()
    wait_until(lambda: ask(arena, entity.token, 1) == {200: 1}, BACK, "the API to work")
    answered = time.monotonic() - started
    wait_until(lambda: arena.stack.api("GET", "/apientidades/salud").status == 200, BACK, "the API to be healthy")
    arena.progress()
    recorded = time.monotonic() - started
    arena.flow(20)
    with capsys.disabled():
        print(f"\n{arena.stack.kind}: after HAProxy's start the API answered in {answered:.1f} s, results were recorded in {recorded:.1f} s")


def test_a_session_left_on_a_former_primary_accepts_no_revoked_token(arena, capsys):
    """HAProxy leaves the API's sessions where they are: the API itself must notice."""
    if arena.stack.kind != "group-replication":
        pytest.skip("no node has a role")
    proxy, entity, other = arena.stack.lenient(), Entity(arena.stack, arena.receiver), Entity(arena.stack, arena.receiver)
    id = token_id(arena, entity)
    with arena.stack.part_with("fcgi", **setting(database_hosts=arena.stack.host_of(proxy))):
        assert ask(arena, entity.token, 10) == {200: 10}
        assert proxy.used() == ["db2"]
        switch(arena, "db3")
        with backup_lock(arena, "db2"):
            revoke(arena, "db3", id)
            answers = ask(arena, entity.token, 30)
            wait_until(lambda: ask(arena, other.token, 1) == {200: 1}, BACK, "the API to work on db3")
            later = ask(arena, entity.token, 30)
    with capsys.disabled():
        print(f"\nHAProxy leaves sessions on the former primary: {dict(answers)}, later {dict(later)}")
    assert answers[200] == 0 and set(answers) <= {401, 503}
    assert later == {401: 30}


def test_round_robin_accepts_no_revoked_token_beside_a_backup(arena, capsys):
    """Every session of the API is on the node that a backup then locks."""
    if arena.stack.kind != "galera":
        pytest.skip("with a single primary, only one node takes sessions")
    proxy, entity = arena.stack.round_robin(), Entity(arena.stack, arena.receiver)
    id = token_id(arena, entity)
    for node in ("db1", "db2"):
        proxy.set_state(node, "maint")
    with arena.stack.part_with("fcgi", **setting(database_hosts=arena.stack.host_of(proxy))):
        assert ask(arena, entity.token, 10) == {200: 10}
        assert proxy.used() == ["db3"]
        for node in ("db1", "db2"):
            proxy.set_state(node, "ready")
        with backup_lock(arena, "db3"):
            revoke(arena, "db1", id)
            answers = ask(arena, entity.token, 20)
    with capsys.disabled():
        print(f"\nround robin, one node locked by a backup: {dict(answers)}")
    assert answers[200] == 0 and set(answers) <= {401, 503}


def test_nothing_was_lost_or_repeated_behind_haproxy(arena, capsys):
    arena.stop_traffic()
    rows = arena.finish()
    arena.stack.stop("dispatcher")
    verdict = arena.ledger.judge(rows, arena.receiver.requests())
    with capsys.disabled():
        print(f"\n{arena.stack.kind}: {arena.ledger.report(verdict)}")
    assert verdict.problems == []
