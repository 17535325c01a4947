"""Two application hosts behind a front nginx, each with a FastCGI pool and a dispatcher. In each test one host is cut off, from
everything or from the database alone, and returns; or it loses its power.
`./dev cluster test hosts` and `./dev test --long` run it, each host in its own network namespace (scripts/dev/hosts.sh). The test
prints the seed of its random choices; TEST_SEED sets the seed.
"""
import contextlib
import os
import random
import threading
import time

import pytest

from cluster.hosts import BOUND, HostsArena
from support import faults
from support.actors import BASE, Entity
from support.arena import BLOCKED_EVERY, LEASE, Stopwatch
from support.visitor import AWAY, Visitor, judge
from support.wait import join, wait_until

pytestmark = pytest.mark.skipif(not os.environ.get("TEST_HOSTS"), reason="needs ./dev cluster test hosts")

CUT = LEASE + 28  # seconds: longer than the lease and every time-out that a request meets
RETURN = 45  # seconds; a dispatcher waits 30 s for the answer to a statement, and up to 5 s more before it tries again
IDLE_TRANSACTION = 4  # seconds after which the database ends an idle transaction


def unplugged(arena, visitors):
    box = arena.hosts["b"].box
    return cut_off(arena, visitors, arena.hosts["b"], box.unplug, box.plug_in)


def dropped(arena, visitors):
    box = arena.hosts["a"].box
    return cut_off(arena, visitors, arena.hosts["a"], box.drop, box.pass_on)


def without_database(arena, visitors):
    return cut_from_database(arena, visitors, arena.hosts["b"])


def powered_off(arena, visitors):
    return power_off(arena, visitors, arena.hosts["b"])


@pytest.mark.parametrize("fault", [unplugged, dropped, without_database, powered_off])
def test_requests_and_deliveries_go_on(fault, capsys):
    seed = int(os.environ.get("TEST_SEED") or random.SystemRandom().randrange(10**9))
    with capsys.disabled(), HostsArena(seed) as arena:
        print(f"\n{fault.__name__}: TEST_SEED={seed}", flush=True)
        visitors = [Visitor(Entity(arena.stack, arena.receiver)) for _ in range(4)]
        arena.start_traffic()
        for visitor in visitors:
            visitor.start()
        for host in arena.hosts.values():
            arena.wait_at_work(host, 30)
        began = time.monotonic()
        seen, told = fault(arena, visitors)
        arena.ledger.fault(fault.__name__, seen, began)
        for visitor in visitors:
            visitor.stop()
        arena.stop_traffic()
        verdict = arena.ledger.judge(arena.finish(), arena.receiver.requests())
        asked = [one for visitor in visitors for one in visitor.asked]
        print(f"  {told}\n  {arena.ledger.report(verdict)}\n  {len(asked)} API requests,"
              f" {sum(one.refused for one in asked)} refused, the longest {max(one.seconds for one in asked):.1f} s", flush=True)
        assert verdict.problems == []
        assert judge(visitors, arena.root("SELECT url, COUNT(*) FROM webhooks GROUP BY url")) == []
        assert max(one.seconds for one in asked) < BOUND


def cut_off(arena, visitors, host, cut, restore):
    """Cuts the host off for CUT seconds. A request that the host is serving at the moment of the cut gets an error within BOUND
    seconds; no later request gets an error."""
    in_course = InCourse(arena, host)
    faults.moment(arena)
    in_course.begin()
    seen = arena.in_flight()
    cut()
    cut_at = time.monotonic()
    seen |= arena.in_flight()  # also what the host claimed just before the cut
    in_course.go_on()
    taken = Stopwatch()
    arena.progress()
    going_on = taken.seconds
    wait_until(lambda: taken.seconds > CUT and all(v.alive() for v in visitors) and arena.traffic_alive(), CUT + 5, "the cut to last", every=0.1)
    seen |= arena.in_flight(expiring=True)
    restore()
    back = arena.wait_at_work(host, RETURN)
    in_course.check()
    require_only_those_in_course(visitors, cut_at)
    return seen, f"the other host went on after {going_on:.1f} s; this one was at work {back:.1f} s after its return"


def require_only_those_in_course(visitors, cut_at: float) -> None:
    others = [one for visitor in visitors for one in visitor.refusals() if not one.in_course(cut_at)]
    assert others == [], f"refused, though not in progress at the cut ({cut_at}): {others}"


class Held:
    """A registration that waits, in one of the two pools, for the row of its entity, which the session `lock` has locked."""

    def __init__(self, arena: HostsArena, entity: Entity, number: int):
        self._entity, self._seconds = entity, Stopwatch()
        self.url = f"https://en-curso-{entity.id}-{number}.receptor.test/"
        self.status, self.seconds = 0, 0.0
        self.lock = arena.connect()
        self.lock("START TRANSACTION")
        self.lock(f"SELECT 1 FROM entidades WHERE id = {entity.id} FOR UPDATE")
        self._thread = threading.Thread(target=self._post, daemon=True)
        self._thread.start()

    def _post(self) -> None:
        self.status = self._entity.api("POST", BASE, json_body={"url": self.url, "eventos": ["incidencia.cerrada"]}).status
        self.seconds = self._seconds.seconds

    def join(self) -> None:
        join(self._thread, BOUND)


BLOCKED = ("SELECT p.host FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id"
           " WHERE p.user = 'apientidades_api' AND t.trx_state = 'LOCK WAIT'")
HELD, TRIES = 4, 5  # each try may register one webhook for each entity; an entity may have five webhooks
SPREAD_IN = 2  # seconds; the cut must come within the 5 s for which the API waits for a row


class InCourse:
    """Registrations in the middle of their transactions, in both pools, while a host is cut off."""

    def __init__(self, arena: HostsArena, host):
        self._arena, self._place = arena, f"{host.database_address}:"
        self._entities = [Entity(arena.stack, arena.receiver) for _ in range(HELD)]

    def begin(self) -> None:
        spread = any(self._spread(number) for number in range(TRIES))
        assert spread, f"in {TRIES} tries, {HELD} requests at once never reached both hosts"

    def _spread(self, number: int) -> bool:
        """Begins HELD registrations. Returns True if some of them wait at each host; otherwise ends them all and returns
        False."""
        self._held = [Held(self._arena, entity, number) for entity in self._entities]
        with contextlib.suppress(AssertionError):
            places = wait_until(lambda: len(found := self._arena.root(BLOCKED)) == HELD and found, SPREAD_IN, every=BLOCKED_EVERY)
            self.there = sum(place.startswith(self._place) for place, in places)
            if 0 < self.there < HELD:
                return True
        self.go_on()
        for one in self._held:
            one.join()
        return False

    def go_on(self) -> None:
        for one in self._held:
            one.lock.close()

    def check(self) -> None:
        """Each request at the host that was cut off got a 504 in time and registered nothing; each other request
        registered one webhook."""
        for one in self._held:
            one.join()
        statuses = sorted(one.status for one in self._held)
        assert statuses == [201] * (HELD - self.there) + [504] * self.there, statuses
        assert max(one.seconds for one in self._held) < BOUND
        for one in self._held:
            count = self._arena.value(f"SELECT COUNT(*) FROM webhooks WHERE url = '{one.url}'")
            assert count == (one.status == 201), f"{one.url}: {one.status}, and {count} in the table"


def cut_from_database(arena, visitors, host):
    """Cuts the host off from the database: its pool refuses requests within BOUND seconds, and serves again by itself after the
    cut."""
    faults.moment(arena)
    seen = arena.in_flight()
    host.box.unplug("data")
    cut_at, taken = time.monotonic(), Stopwatch()
    seen |= arena.in_flight()  # also what the host claimed just before the cut
    health = {}

    def asked_long_enough():
        for visitor in visitors:
            visitor.alive()
        one = Stopwatch()
        status = arena.stack.api("GET", "/apientidades/salud").status
        health[status] = max(health.get(status, 0), one.seconds)
        return taken.seconds > CUT / 2 and arena.traffic_alive()

    wait_until(asked_long_enough, CUT, "the cut to last", every=0.2)
    assert set(health) == {200, 503}, health
    seen |= arena.in_flight(expiring=True)
    restored_at = time.monotonic()
    host.box.plug_in("data")
    arena.wait_at_work(host, RETURN)
    wait_until(lambda: all(not v.refusals(time.monotonic() - 5) for v in visitors), BOUND + 5, "the refusals to end", every=0.2)
    refused = [one for v in visitors for one in v.refusals(cut_at)]
    assert refused, "a host without a database refused nothing"
    assert all(one.status in AWAY for one in refused), refused
    last = max(one.began + one.seconds for one in refused)
    return seen, (f"health answered {', '.join(f'{status} in {s:.1f} s' for status, s in sorted(health.items()))} at most;"
                  f" refusals took up to {max(one.seconds for one in refused):.1f} s, the last {last - restored_at:.1f} s after its return")


def power_off(arena, visitors, host):
    """The host vanishes within a transaction that has locked rows: the database frees the rows, and the other host goes on."""
    id, seen, cut_at = wait_until(lambda: gone_while_recording(arena, host), 120, "a host to vanish while it records")
    taken = Stopwatch()
    host.power_off()
    delivered = f"SELECT COUNT(*) FROM entregas WHERE id = {id} AND estado = 'entregada'"
    wait_until(lambda: arena.traffic_alive() and arena.value(delivered), LEASE + IDLE_TRANSACTION + 5, "another host to take over", every=0.1)
    taken_over = taken.seconds
    arena.progress()
    time_out = time.monotonic() + BOUND
    wait_until(lambda: time.monotonic() > time_out and all(v.alive() for v in visitors), BOUND + 5, "requests to be answered", every=0.2)
    require_only_those_in_course(visitors, cut_at)
    return seen, f"the delivery that it had locked was delivered by the other host after {taken_over:.1f} s"


def gone_while_recording(arena, host):
    """Cuts the host off while it records a result. Returns the delivery that it keeps locked, what was in flight at the cut, and
    the time of the cut. If the host does not keep the delivery locked, connects the host again and returns None."""
    with arena.held_by(host) as (id, _, answer):
        other = arena.connect()
        # The host locks the delivery, and waits within its transaction to write the attempt.
        other("LOCK TABLES intentos_entrega READ")
        answer()
        with contextlib.suppress(AssertionError):
            arena.wait_blocked()
        host.box.unplug()
        cut_at, seen = time.monotonic(), arena.in_flight()
        other("UNLOCK TABLES")
        other.close()
        if id in seen and is_locked(arena, id):
            return id, seen, cut_at
        host.box.plug_in()
        return None


def is_locked(arena, id: int) -> bool:
    rows = f"SELECT COUNT(*) FROM entregas WHERE id = {id}"
    return arena.value(rows) > arena.value(f"{rows} FOR UPDATE SKIP LOCKED")
