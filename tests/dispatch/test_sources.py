"""delivery.source_addresses: POSTs come from the addresses that are published to entities."""
import json
import subprocess
from pathlib import Path

import pytest

from support.network import why_not
from support.stack import setting
from support.wait import wait_until
from support.world import PUBLIC, PUBLIC_V6, HAS_V6, OTHER_PUBLIC, host_of, open_world

ORIGINS = "/apientidades/origenes.json"


def sources(value: str) -> dict:
    return setting(delivery_source_addresses=value)


def test_one_address_is_dialled_from_the_first_source(entity, receiver, stack):
    with stack.dispatcher_with(**sources("127.0.0.0/8, 127.0.0.7, 127.0.0.8")):
        hook = entity.register()
        for _ in range(3):
            stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
        assert {request.peer_address for request in receiver.requests(hook.path)} == {"127.0.0.7"}


def test_a_source_network_is_not_bound(entity, receiver, stack):
    with stack.dispatcher_with(**sources("127.0.0.7/32")):
        hook = entity.register()
        stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
        assert {request.peer_address for request in receiver.requests(hook.path)} == {"127.0.0.1"}


def test_a_family_that_is_not_named_is_not_used(entity, receiver, stack):
    with stack.dispatcher_with(**sources("2001:db8::/48")):
        hook = entity.register()
        delivery = stack.delivery_id(entity.notify(), hook.id)
        wait_until(lambda: stack.attempts(delivery), what="an attempt")
        assert stack.attempts(delivery)[0]["error"].startswith("No se pudo conectar con el receptor")
        assert not receiver.requests(hook.path)


@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize("answer, source", [
    ({"a": [OTHER_PUBLIC, PUBLIC]}, "11.0.3.1"), ({"a": [PUBLIC]}, "11.0.3.1"),
    pytest.param({"aaaa": [PUBLIC_V6]}, "2600::2", marks=pytest.mark.skipif(not HAS_V6, reason="no IPv6 here"))])
def test_both_ways_of_dialling(stack, answer, source):
    """The dialler connects to a name with several addresses, libcurl to a name with a single address."""
    with open_world(stack, **sources("11.0.3.1, 2600::2" if HAS_V6 else "11.0.3.1")) as world:
        entity = world.entity()
        hook = entity.register()
        world.dns.say({host_of(hook): answer})
        world.stack.wait_delivery(world.stack.delivery_id(entity.notify(), hook.id), "entregada")
        assert [request["peer_address"] for request in world.receiver.requests(hook.path)] == [source]


@pytest.mark.parametrize("value", ["11.9.9.9", "127.0.0.1, 2001:db8:9::9"])
def test_an_address_that_this_host_has_not_yet_ends_the_start_with_one_line(stack, value):
    """The exit status is 1, not 2. After status 1, systemd starts the dispatcher again: the host may get the address later."""
    arguments, environment = stack.command_of("dispatcher")
    ended = subprocess.run(arguments, env=environment | sources(value), capture_output=True, text=True, timeout=30)
    assert ended.returncode == 1
    assert "delivery.source_addresses" in ended.stderr and value.split()[-1] in ended.stderr and ended.stderr.count("\n") == 1


def test_source_addresses_are_served_without_a_token(stack):
    written = Path(stack.folder, "nginx", "apientidades-origenes.json")
    before = written.read_text()

    def served():
        answer = stack.api("GET", ORIGINS)
        assert answer.status == 200 and answer.headers["content-type"] == "application/json; charset=utf-8"
        return json.loads(answer.text)

    assert served() == {"origenes": []}
    try:
        told = stack.dev("admin", "nginx", "origins", "--json", **sources("203.0.113.7,2001:db8:7::7, 198.51.100.0/28"))
        assert json.loads(told.stdout) == {"ficheros": [str(written)]}
        assert served() == {"origenes": ["203.0.113.7/32", "2001:db8:7::7/128", "198.51.100.0/28"]}
        assert written.stat().st_mode & 0o777 == 0o644
    finally:
        written.write_text(before)
    assert stack.api("POST", ORIGINS).status == 405
    assert stack.api("GET", ORIGINS + "/").status == 404
