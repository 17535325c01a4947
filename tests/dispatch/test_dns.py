"""DNS that fails, stalls, lies and changes. The dispatcher's only network is a loopback, and its only DNS server is the
test's. The receiver has addresses that the dispatcher must take for public. The receiver's address 127.0.0.1 is a trap: only
webhooks at abierto.receptor.test may reach it."""
import os
import time

import pytest

from support.actors import BASE
from support.campaign import Campaign
from support.frozen import frozen
from support.network import why_not
from support.stack import EVENTS, setting
from support.wait import wait_until
from support.world import DENIED, HAS_V6, MOVING, OTHER_PUBLIC, PUBLIC, PUBLIC_V6, SILENT, UNROUTED, UNROUTED_V6, host_of, open_world

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

A, AAAA = 1, 28
# A look-up may take three quarters of the time for the connection, and the rest must do for a TLS handshake on a busy machine.
SETTINGS = setting(delivery_connect_timeout="2s", delivery_timeout="4s", delivery_lease="30s")
ATTEMPTS = 4  # of a delivery, by the stack's delivery.retry_schedule

NOT_PUBLIC = "No se encontró ninguna dirección pública del receptor: revise la URL y el DNS"
UNREACHABLE = ("No se pudo conectar con el receptor: compruebe que es accesible desde Internet en el puerto de la URL")

ANSWERS = {  # what DNS answers for the receiver's name, and the error that the entity reads: empty if the delivery arrives
    "a plain answer": ({"a": [PUBLIC]}, ""),
    "an alias": ({"cname": "elsewhere.example.com", "a": [PUBLIC]}, ""),
    "many addresses": ({"a": [OTHER_PUBLIC, PUBLIC]}, ""),
    "a hundred addresses": ({"a": [f"11.0.1.{n}" for n in range(100)] + [PUBLIC], "fault": "truncated"}, ""),
    "a thousand addresses": ({"a": [f"11.0.{n // 250}.{n % 250}" for n in range(1000)] + [PUBLIC], "fault": "truncated"}, NOT_PUBLIC),
    "truncated, whole over TCP": ({"a": [PUBLIC], "fault": "truncated"}, ""),
    "AAAA is never answered": ({"a": [PUBLIC], "fault": "stall_aaaa"}, ""),
    "public and private": ({"a": ["127.0.0.1", PUBLIC]}, ""),
    "the public one cannot be reached": ({"a": ["127.0.0.1", UNROUTED]}, UNREACHABLE),
    "NXDOMAIN": (None, NOT_PUBLIC),
    "no address": ({}, NOT_PUBLIC),
    "SERVFAIL": ({"fault": "servfail"}, NOT_PUBLIC),
    "REFUSED": ({"fault": "refused"}, NOT_PUBLIC),
    "a stall": ({"fault": "stall"}, NOT_PUBLIC),
    "truncated, and a stall over TCP": ({"a": [PUBLIC], "fault": "truncated_stall"}, NOT_PUBLIC),
    "truncated, and TCP is closed": ({"a": [PUBLIC], "fault": "truncated_close"}, NOT_PUBLIC),
    "EDNS is not answered": ({"a": [PUBLIC], "fault": "drops_edns"}, ""),
    "EDNS is an error": ({"a": [PUBLIC], "fault": "formerr_edns"}, ""),
    "garbage": ({"a": [PUBLIC], "fault": "garbage"}, NOT_PUBLIC),
    "noise": ({"a": [PUBLIC], "fault": "noise"}, NOT_PUBLIC),
    "a record cut short": ({"a": [PUBLIC], "fault": "cut"}, NOT_PUBLIC),
    "another id": ({"a": [PUBLIC], "fault": "wrong_id"}, NOT_PUBLIC),
    "another name": ({"a": [PUBLIC], "fault": "wrong_name"}, NOT_PUBLIC),
    "a name that points to itself": ({"a": [PUBLIC], "fault": "loop"}, NOT_PUBLIC),
    "an alias of localhost": ({"cname": "localhost"}, NOT_PUBLIC),
    "an alias of localhost, with its address": ({"cname": "localhost", "a": ["127.0.0.1"]}, NOT_PUBLIC),
    "an alias of a private name": ({"cname": "db.corp.internal", "a": ["10.1.2.3"]}, NOT_PUBLIC),
    "loopback": ({"a": ["127.0.0.1"]}, NOT_PUBLIC),
    "this host": ({"a": ["0.0.0.0"]}, NOT_PUBLIC),
    "a denied network": ({"a": [DENIED]}, NOT_PUBLIC),
    "a denied network and another": ({"a": [DENIED, PUBLIC]}, ""),
    "the cloud's metadata": ({"a": ["169.254.169.254"]}, NOT_PUBLIC),
    "private": ({"a": ["192.168.1.1"]}, NOT_PUBLIC),
    "loopback in IPv6": ({"aaaa": ["::1"]}, NOT_PUBLIC),
    "loopback in disguise": ({"aaaa": ["::ffff:127.0.0.1"]}, NOT_PUBLIC),
    "loopback in NAT64": ({"aaaa": ["64:ff9b::7f00:1"]}, NOT_PUBLIC),
    "several private ones": ({"a": ["10.0.0.1", "127.0.0.1"], "aaaa": ["fd00::1", "::1"]}, NOT_PUBLIC),
}
if HAS_V6:
    ANSWERS["IPv6 alone"] = ({"aaaa": [PUBLIC_V6]}, "")


@pytest.fixture(scope="module")
def world(stack):
    with open_world(stack, **SETTINGS) as opened:
        yield opened


def outcome(world, entity, hook):
    """Returns the webhook's entry in the listing, once the entry shows an attempt."""
    return wait_until(lambda: (w := entity.listed(hook))["ultimaEjecucion"] and w, what="an attempt in the listing")


@pytest.fixture(scope="module")
def outcomes(world):
    """name -> (webhook, its entry in the listing, its attempts)."""
    campaign = Campaign(world.stack, world.receiver, dict.fromkeys(ANSWERS, 443))
    world.dns.say({host_of(hook): ANSWERS[name][0] for name, (_, hook, _) in campaign.hooks.items()
                   if ANSWERS[name][0] is not None})
    threads = world.threads()
    campaign.notify()
    listed = campaign.listed()
    assert world.threads() == threads, "no lookup has a thread"
    attempts = campaign.attempts()
    return {name: (campaign.hooks[name][1], listed[name], attempts[name]) for name in ANSWERS}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(world, outcomes, name):
    hook, listed, attempts = outcomes[name]
    error = ANSWERS[name][1]
    assert (listed["ultimoError"], listed["ultimoEstado"]) == (error, None if error else 200)
    requests = world.receiver.requests(hook.path)
    assert {r["local_address"] for r in requests} <= {PUBLIC, PUBLIC_V6}, "never the trap"
    assert bool(requests) == (not error)
    assert attempts[0].duration_ms <= 4000, "delivery.connect_timeout is 2 s here, lookup included"


@pytest.mark.skipif(not os.environ.get("TEST_LONG"), reason="takes a minute; --long")
def test_a_connection_that_is_always_busy_follows_a_change_of_its_name_all_the_same(world):
    receiver = world.network.start_receiver(world.stack.env["RECEIVER_CERT"], world.stack.env["RECEIVER_KEY"], 443, *MOVING, close=False)
    entity = world.entity()
    hook = entity.register(["evaluacion.abierta"])
    world.dns.say({host_of(hook): {"a": [MOVING[0]], "ttl": 1, "then": {"a": [MOVING[1]], "ttl": 1}}})
    entity.notify()
    first = receiver.wait(hook.path)[0]

    def moved():
        entity.notify()
        return receiver.requests(hook.path)[-1]["local_address"] == MOVING[1]

    wait_until(moved, 90, "the connection to be made anew", every=0.2)
    assert first["local_address"] == MOVING[0]
    before = [r for r in receiver.requests(hook.path) if r["local_address"] == MOVING[0]]
    assert len({r["connection"] for r in before}) == 1 < len(before), "it was kept, and busy"


def test_an_internal_network_is_open_for_the_names_that_match_its_pattern_alone(world):
    """delivery.allowed_networks has 127.0.0.1/32 with the pattern abierto.receptor.test, and 127.0.0.0/8 without a pattern. A
    network without a pattern is open only for the names of delivery.host_overrides, and that setting is empty here."""
    for name, error in (("abierto.receptor.test", ""), ("cerrado.receptor.test", NOT_PUBLIC)):
        entity = world.entity()
        response = entity.api("POST", BASE, json_body={"url": f"https://{name}/{name}", "eventos": ["evaluacion.abierta"]})
        assert response.status == 201, response
        world.dns.say({name: {"a": ["127.0.0.1"]}})
        entity.notify()
        listed = wait_until(lambda: (w := entity.api("GET", BASE).json()[0])["ultimaEjecucion"] and w, what="an attempt")
        assert listed["ultimoError"] == error, name
        assert [r["local_address"] for r in world.receiver.requests(f"/{name}")] == ([] if error else ["127.0.0.1"])


def test_an_internal_port_is_the_same_open_and_closed(world):
    entity = world.entity()
    hooks = [entity.register(), entity.register(port=2)]
    world.dns.say({host_of(hook): {"a": ["127.0.0.1"]} for hook in hooks})
    entity.notify()
    told = [outcome(world, entity, hook) for hook in hooks]
    assert {t["ultimoError"] for t in told} == {NOT_PUBLIC}
    assert [t["ultimoEstado"] for t in told] == [None, None]


def test_a_flip_to_a_private_address_is_not_followed(world):
    entity = world.entity()
    hook = entity.register()
    world.dns.say({host_of(hook): {"a": [PUBLIC], "ttl": 1, "then": {"a": ["127.0.0.1"], "ttl": 1}}})
    world.stack.wait_delivery(world.stack.delivery_id(entity.notify(), hook.id), "entregada")

    def refused():  # true once the first DNS answer has expired
        entity.notify()
        return entity.listed(hook)["ultimoError"] == NOT_PUBLIC

    wait_until(refused, what="the refusal", every=0.2)
    assert {r["local_address"] for r in world.receiver.requests(hook.path)} == {PUBLIC}


def test_a_name_is_looked_up_once_while_its_answer_lives(world):
    entity = world.entity()
    hook = entity.register()
    world.dns.say({host_of(hook): {"a": [PUBLIC], "ttl": 300}})
    for count in range(1, 11):
        entity.notify()
        world.receiver.wait(hook.path, count)
    assert sorted(world.dns.questions(host_of(hook))) == [A, AAAA]


def test_a_failed_lookup_is_not_remembered(world):
    entity = world.entity()
    hook = entity.register()
    answers = {"a": [PUBLIC]}
    for _ in range(3):  # the tries of a lookup
        answers = {"fault": "servfail", "then": answers}
    world.dns.say({host_of(hook): answers})
    delivery = world.stack.delivery_id(entity.notify(), hook.id)
    world.stack.wait_delivery(delivery, "entregada")
    assert [a["error"] for a in world.stack.attempts(delivery)] == [NOT_PUBLIC, ""]


def test_a_name_that_does_not_exist_yet_is_not_remembered(world):
    """The zone says for how long the NXDOMAIN may be cached, and c-ares 1.34 would cache it for up to an hour."""
    entity = world.entity()
    hook = entity.register()
    world.dns.say({})
    delivery = world.stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: entity.listed(hook)["ultimoError"] == NOT_PUBLIC, what="a failed lookup")
    world.dns.say({host_of(hook): {"a": [PUBLIC]}})
    world.stack.wait_delivery(delivery, "entregada")


def test_a_server_that_was_slow_is_not_waited_for_longer(world):
    """c-ares 1.34 would wait five times as long as the server has taken recently: longer than a lookup may take."""
    entity = world.entity()
    slow = [entity.register([event]) for event in EVENTS[:4]]
    stalled = entity.register([EVENTS[4]])
    world.dns.say({host_of(hook): {"a": [PUBLIC], "fault": "slow"} for hook in slow} | {host_of(stalled): {"fault": "stall"}})
    world.network.use_dns("127.0.0.1")  # makes c-ares forget what it knew of the server
    for hook, event in zip(slow, EVENTS):
        world.stack.wait_delivery(world.stack.delivery_id(entity.notify(event), hook.id), "entregada")
    delivery = world.stack.delivery_id(entity.notify(EVENTS[4]), stalled.id)
    wait_until(lambda: entity.listed(stalled)["ultimoError"] == NOT_PUBLIC, what="a failed lookup")
    assert world.stack.attempts(delivery)[0]["duracion_ms"] <= 4000, "delivery.connect_timeout is 2 s here"


def test_a_lookup_or_a_dial_during_which_the_dispatcher_was_stopped_charges_nobody(world):
    entity = world.entity()
    stalled, dialled = entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.cerrada"])
    world.dns.say({host_of(stalled): {"fault": "stall"}, host_of(dialled): {"a": SILENT[:2]}})
    black_hole = world.network.start_black_hole(443, *SILENT[:2])
    deliveries = [world.stack.delivery_id(entity.notify("evaluacion.cerrada"), dialled.id)]
    wait_until(lambda: world.dns.questions(host_of(dialled)), what="a dial to begin")
    deliveries.append(world.stack.delivery_id(entity.notify(), stalled.id))
    wait_until(lambda: world.dns.questions(host_of(stalled)), what="a lookup to begin")
    with frozen(world.dispatcher.pid):
        until = time.monotonic() + 4.5
        wait_until(lambda: time.monotonic() > until, what="the time-outs to pass")
    for delivery in deliveries:
        wait_until(lambda: world.stack.attempts(delivery), what="an attempt that is counted")
        assert world.stack.attempts(delivery)[0]["duracion_ms"] <= 4000, "not the one that was in flight"
    black_hole.terminate()
    black_hole.wait()


def test_webhooks_of_a_host_share_a_lookup_that_delays_no_other(world):
    entity, other = world.entity(), world.entity()
    stalled, quick = other.register(["evaluacion.cerrada"]), other.register(["evaluacion.abierta"])
    host = host_of(stalled)
    for number in range(4):
        body = {"url": f"https://{host}/{number}", "eventos": ["evaluacion.abierta"]}
        assert entity.api("POST", BASE, json_body=body).status == 201
    world.dns.say({host: {"fault": "stall"}, host_of(quick): {"a": [PUBLIC]}})
    entity.notify()
    wait_until(lambda: world.dns.questions(host), what="the lookup to begin")
    other.notify()
    arrived = world.receiver.wait(quick.path)[0]["wall_ns"] / 1e6
    wait_until(lambda: all(w["ultimoError"] == NOT_PUBLIC for w in entity.api("GET", BASE).json()), what="the errors")
    # The attempts of the four webhooks share a lookup, and so do their retries.
    tries = len(world.dns.questions(host))
    assert tries <= 3 * 2 * ATTEMPTS, "three tries of two types for each attempt of a webhook"
    end = world.stack.value(f"""SELECT MIN(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', i.inicio) / 1000 + i.duracion_ms)
        FROM intentos_entrega i JOIN entregas e ON e.id = i.entrega_id JOIN webhooks w ON w.id = e.webhook_id
        WHERE w.entidad_id = {entity.id}""")
    assert arrived < float(end), "the lookup has not ended yet"


def test_a_changed_resolv_conf_is_noticed(world):
    entity = world.entity()
    hook = entity.register()
    world.dns.say({host_of(hook): {"a": [PUBLIC]}})
    world.network.use_dns("127.0.0.53")  # no server listens there
    try:
        delivery = world.stack.delivery_id(entity.notify(), hook.id)
        wait_until(lambda: entity.listed(hook)["ultimoError"] == NOT_PUBLIC, what="a failed lookup")
    finally:
        world.network.use_dns("127.0.0.53", "127.0.0.1")
    world.stack.wait_delivery(delivery, "entregada")


def test_lookups_leave_nothing_behind(world):
    """No thread and no socket remains. A resolver with a pool of threads would keep one thread for each stalled lookup."""
    entity = world.entity()
    hooks = [entity.register([event]) for event in EVENTS[:5]]
    before = world.threads(), world.descriptors()
    world.dns.say({host_of(hook): {"fault": fault} for hook, fault in
                   zip(hooks, ("stall", "truncated_stall", "garbage", "servfail", "stall_aaaa"))})
    deliveries = [world.stack.delivery_id(entity.notify(event), hook.id) for hook, event in zip(hooks, EVENTS)
                  for _ in range(4)]
    assert world.threads() == before[0]
    for delivery in deliveries:
        world.stack.wait_delivery(delivery, "fallida", 90)
    wait_until(lambda: world.descriptors() <= before[1], what="the sockets to be closed")
    assert world.threads() == before[0]


@pytest.mark.skipif(not HAS_V6, reason="no IPv6 here")
def test_a_server_without_edns_costs_no_family(world):
    """c-ares asks for A and for AAAA with EDNS, and the server answers both questions with FORMERR. c-ares 1.18 takes the second
    FORMERR as final, so the dispatcher would get no address of that family. Each `alone` has an address that can be reached
    in one family only, once in A and once in AAAA, so a lost family is noticed whichever it is."""
    for alone in ({"a": [PUBLIC], "aaaa": [UNROUTED_V6]}, {"a": [UNROUTED], "aaaa": [PUBLIC_V6]}):
        entity = world.entity()
        hook = entity.register()
        world.dns.say({host_of(hook): alone | {"fault": "formerr_edns"}})
        delivery = world.stack.delivery_id(entity.notify(), hook.id)
        world.stack.wait_delivery(delivery, "entregada")
        assert [a["error"] for a in world.stack.attempts(delivery)] == [""]


def test_a_long_answer_needs_no_tcp(world):
    """60 addresses take 1,000 bytes, which EDNS allows. On a busy machine c-ares may try a second time, without EDNS, and may
    then need TCP."""
    entity = world.entity()
    hooks = [(entity.register([event]), event) for event in EVENTS[:5]]
    world.network.use_dns("127.0.0.53", "127.0.0.1")
    many = {"a": [PUBLIC] + [f"11.0.1.{n}" for n in range(59)], "fault": "large"}
    world.dns.say({host_of(hook): many for hook, _ in hooks})
    for hook, event in hooks:
        world.stack.wait_delivery(world.stack.delivery_id(entity.notify(event), hook.id), "entregada")
    for hook, _ in hooks:
        ways = [way for _, way in world.dns.questions_and_ways(host_of(hook))]
        assert "tcp" not in ways[:(ways + ["plain"]).index("plain")], ways


@pytest.mark.parametrize("tcp", ["closed", "refused"])
def test_a_name_that_needs_tcp_costs_the_others_nothing(world, tcp):
    """Eight other names are looked up at the same time; the DNS server answers these slowly."""
    if tcp == "refused":
        world.network.use_dns("127.0.0.2")
        names = world.network.start_dns("--address", "127.0.0.2", "--udp")
    else:
        world.network.use_dns("127.0.0.1")
        names = world.dns
    try:
        entity, others = world.entity(), [world.entity() for _ in range(2)]
        needy = entity.register()
        hooks = [(other, other.register([event]), event) for other in others for event in EVENTS[:4]]
        names.say({host_of(hook): {"a": [PUBLIC], "fault": "slow"} for _, hook, _ in hooks} |
                  {host_of(needy): {"a": [PUBLIC], "fault": "truncated_close"}})
        for other, _, event in hooks:
            other.notify(event)
        wait_until(lambda: all(names.questions(host_of(hook)) for _, hook, _ in hooks), what="the questions", every=0.01)
        entity.notify()
        for other, hook, _ in hooks:
            world.receiver.wait(hook.path)
            assert entity.listed(needy)["ultimoError"] in ("", NOT_PUBLIC)
            wait_until(lambda: other.listed(hook)["ultimaEjecucion"], what="a result")
            assert (other.listed(hook)["ultimoEstado"], other.listed(hook)["ultimoError"]) == (200, "")
            delivery = world.stack.value(f"SELECT id FROM entregas WHERE webhook_id = {hook.id}")
            assert [a["error"] for a in world.stack.attempts(int(delivery))] == [""]
        wait_until(lambda: entity.listed(needy)["ultimoError"] == NOT_PUBLIC, what="the name that needs TCP to fail")
    finally:
        world.network.use_dns("127.0.0.1")
