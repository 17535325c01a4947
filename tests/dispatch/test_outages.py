"""Outages: a dispatcher with its cable cut, or with dead name servers; and receivers that fail together, which must not pass
for an outage."""
import json
import os
import threading

import pytest

from support.actors import BASE, DATA, Entity
from support.network import Network, why_not
from support.stack import EVENTS, setting
from support.wait import wait_until

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

HERE, RECEIVER = "11.0.0.100", "11.0.0.1"
DOOMED = "11.0.0.2"  # a receiver's address until a test deletes it; from then on nothing answers there
ENTITIES, WEBHOOKS = 20, 5
HOSTS = ENTITIES * WEBHOOKS
RATE = 200  # rows a second
SETTINGS = setting(delivery_host_overrides="", delivery_allowed_networks="", delivery_timeout="10s", delivery_lease="40s",
                   delivery_max_in_flight="64", delivery_probe_interval="0s")
FIVE = {event: json.dumps(DATA[event]) for event in EVENTS[:WEBHOOKS]}
NAME = "red{}x{}.receptor.test"


class World:
    """Replaces the stack's dispatcher by a dispatcher in the network `near`. A cable leads to the network `far`, where the
    receiver is."""

    def __init__(self, stack, schedule: str, connect_timeout: str):
        self.stack = stack
        self.near, self.far = Network(), Network()
        self.near.connect(self.far, f"{HERE}/24", f"{RECEIVER}/24", f"{DOOMED}/24")
        self.dns = self.near.start_dns()
        self.receiver = self.far.start_receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"], 443, RECEIVER, DOOMED, close=False)
        arguments, environment = stack.command_of("dispatcher")
        stack.stop("dispatcher")
        self.log = self.near.folder / "dispatcher.log"
        with self.log.open("wb") as log:
            self.dispatcher = self.near.start(arguments, env=environment | SETTINGS | setting(
                delivery_retry_schedule=schedule, delivery_connect_timeout=connect_timeout), stdout=log, stderr=log)

    def close(self):
        self.dispatcher.terminate()
        status = self.dispatcher.wait(30)
        self.near.close()
        self.far.close()
        self.stack.start("dispatcher")
        assert status == 0

    def register(self, entity, host: str, events) -> int:
        response = entity.api("POST", BASE, json_body={"url": f"https://{host}/{host}", "eventos": list(events)})
        assert response.status == 201, response
        return response.json()["id"]

    def say(self, hosts, **answer):
        self.dns.say({host: {"ttl": 1, **answer} for host in hosts})

    def deny(self, hosts):
        """Answers for each host that its name does not exist."""
        self.dns.say(dict.fromkeys(hosts))

    def outages(self) -> list[str]:
        return [one["tipo"] for one in self.stack.admin("queue", "status")["cortes"]]


@pytest.fixture
def world(stack, receiver, schedule, connect_timeout):
    answer_at_refused_addresses(stack, receiver)
    running = World(stack, schedule, connect_timeout)
    try:
        yield running
    finally:
        running.close()


def answer_at_refused_addresses(stack, receiver):
    """Makes receivers answer at loopback addresses, which the World's dispatcher refuses to dial. To check its link, that
    dispatcher contacts hosts that have answered before. It must leave these hosts out."""
    entities = [Entity(stack, receiver) for _ in range(ENTITIES)]
    hooks = [entity.register().id for entity in entities]
    for entity in entities:
        entity.notify()
    wait_until(lambda: all(stack.count_deliveries(hook, "entregada") for hook in hooks), 20, "the receivers to answer")


class Crowd:
    """Entities with five webhooks each. Every webhook has its own host; the five webhooks of an entity have different
    events."""

    def __init__(self, world: World, address: str, number: int):
        self.world, self.stack = world, world.stack
        self.entities = [Entity(world.stack, world.receiver) for _ in range(ENTITIES)]
        self.hosts = [NAME.format(number, place) for place in range(HOSTS)]
        world.say(self.hosts, a=[address])
        self.webhooks = [world.register(entity, self.hosts[place * WEBHOOKS + turn], [EVENTS[turn]])
                         for place, entity in enumerate(self.entities) for turn in range(WEBHOOKS)]

    def write(self, rounds: int = 1) -> None:
        """Writes one row for each webhook, `rounds` times."""
        rows = [f"({entity.id}, '{event}', '{data}')" for entity in self.entities for event, data in FIVE.items()] * rounds
        self.stack.sql("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES " + ", ".join(rows))

    def where(self) -> str:
        return f"webhook_id IN ({', '.join(map(str, self.webhooks))})"

    def count(self, condition: str) -> int:
        return int(self.stack.value(f"SELECT COUNT(*) FROM entregas WHERE {self.where()} AND {condition}"))

    def failures(self) -> list[list[str]]:
        return self.stack.sql(f"""SELECT e.paso, i.tipo, MIN(i.inicio), MAX(i.duracion_ms), i.error, COUNT(*) FROM entregas e
            JOIN intentos_entrega i ON i.entrega_id = e.id
            WHERE e.{self.where()} AND (e.paso > 0 OR i.error <> '') GROUP BY e.paso, i.tipo, i.error""")


class Writer:
    """Writes up to RATE rows a second, in a thread, until the `with` block ends."""

    def __init__(self, crowd: Crowd):
        self.crowd, self.rows, self._stop = crowd, 0, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        while not self._stop.wait(HOSTS / RATE):
            self.crowd.write()
            self.rows += HOSTS


# No connection may take that long on a busy machine: that would be a failed attempt.
@pytest.mark.parametrize("schedule, connect_timeout", [("1h,2h", "4s")])
def test_an_outage_costs_no_delivery_a_retry_step(world):
    crowd = Crowd(world, RECEIVER, 0)
    crowd.write()
    wait_until(lambda: crowd.count("estado = 'entregada'") == HOSTS, 30, "every receiver to have answered once")
    seen = []
    for kind, words, cut, mend in (
            ("red", "no tiene conexión a Internet", lambda: world.far.ip("link", "set", "cable", "down"),
             lambda: world.far.ip("link", "set", "cable", "up")),
            ("red", "no tiene conexión a Internet", lambda: world.near.ip("route", "add", "prohibit", RECEIVER),
             lambda: world.near.ip("route", "delete", "prohibit", RECEIVER)),
            ("dns", "no puede resolver nombres", lambda: world.deny(crowd.hosts), lambda: world.say(crowd.hosts, a=[RECEIVER])),
            *[("dns", "no puede resolver nombres", world.dns.freeze, world.dns.thaw)] * bool(os.environ.get("TEST_LONG"))):
        seen.append(kind)
        with Writer(crowd) as writer:
            wait_until(lambda: writer.rows >= 2 * HOSTS, 30, "rows to flow")
            cut()
            wait_until(lambda: kind in world.outages(), 60, f"an outage ({kind}) to be recognised")
            wait_until(lambda: crowd.count(f"estado = 'pendiente' AND ultimo_error LIKE '%{words}%'") > 0, 20, "the reason")
            mend()
        all_rows = lambda: int(world.stack.value("SELECT COUNT(*) FROM notificaciones_pendientes n WHERE entidad_id IN"
                                                 f" ({', '.join(str(e.id) for e in crowd.entities)})"))
        wait_until(lambda: crowd.count("estado = 'entregada'") == all_rows(), 120, "all to arrive")
        wait_until(lambda: not world.outages(), 30, "the outage to end")
        assert crowd.failures() == [], "no delivery has spent a step, nor counts a failed attempt"
        assert world.stack.value(f"SELECT COUNT(*) FROM webhook_ejecuciones WHERE {crowd.where()} AND (fallos > 0 OR ultimo_error <> '')") == "0"
        assert world.stack.value(f"SELECT COUNT(*) FROM webhooks WHERE id IN ({', '.join(map(str, crowd.webhooks))}) AND NOT activo") == "0"
    log = world.log.read_text()
    assert log.count("outage of our own: ") == log.count("outage of our own is over") == len(seen)
    ended = world.stack.sql(f"SELECT tipo, entregas > 0, hasta > desde FROM cortes_envio ORDER BY id DESC LIMIT {len(seen)}")
    assert sorted(ended) == [[kind, "1", "1"] for kind in sorted(seen)]


@pytest.mark.parametrize("schedule, connect_timeout", [("1s,1s", "2s")])
def test_black_hole_receivers_are_not_taken_for_an_outage(world):
    """The black holes have answered before, so the dispatcher may contact them, too, to check whether there is an outage."""
    others = [Entity(world.stack, world.receiver) for _ in range(6)]
    hosts = [f"bueno{number}.receptor.test" for number in range(6)]
    world.say(hosts, a=[RECEIVER])
    good = [world.register(entity, host, EVENTS) for entity, host in zip(others, hosts)]
    for entity in others:
        entity.notify()
    wait_until(lambda: all(world.stack.count_deliveries(hook, "entregada") == 1 for hook in good), 20, "the good ones to answer")
    crowd = Crowd(world, DOOMED, 1)
    crowd.write()
    wait_until(lambda: crowd.count("estado = 'entregada'") == HOSTS, 30, "the bad ones to have answered once")
    world.far.ip("address", "delete", f"{DOOMED}/24", "dev", "cable")
    crowd.write()
    late = Entity(world.stack, world.receiver)
    world.say(["tarde.receptor.test"], a=[RECEIVER])
    hook = world.register(late, "tarde.receptor.test", EVENTS)
    late.notify()
    wait_until(lambda: world.stack.count_deliveries(hook, "entregada") == 1, 15, "another entity's row")
    wait_until(lambda: crowd.count("estado = 'fallida' AND paso = 3") == HOSTS, 180, "the black holes' deliveries to end")
    assert "outage of our own" not in world.log.read_text()
