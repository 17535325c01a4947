"""Neither this host's public addresses nor the ports of other protocols are dialled."""
import pytest

from support.network import why_not
from support.wait import wait_until
from support.world import OWN, PUBLIC, host_of, open_world

needs_network = pytest.mark.skipif(bool(why_not()), reason=why_not())
NOT_PUBLIC = "No se encontró ninguna dirección pública del receptor: revise la URL y el DNS"


# This test comes first, because `world` stops the stack's dispatcher.
@pytest.mark.parametrize("port", [22, 6379, 10080])
def test_a_webhook_of_before_at_a_port_of_another_protocol_fails_and_says_why(entity, stack, port):
    hook = entity.register()
    host = host_of(hook)
    stack.sql(f"UPDATE webhooks SET url = 'https://{host}:{port}/' WHERE id = {hook.id}")
    delivery = stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: stack.attempts(delivery), what="an attempt")
    first = stack.attempts(delivery)[0]
    assert first["error"] == (f"La URL del webhook usa un puerto que no se admite, el {port}, por ser de otro protocolo: "
                              "cámbiela por una en el 443, u otro")
    assert first["direccion"] is None
    wait_until(lambda: entity.listed(hook)["ultimoError"] == first["error"], what="the listing to say it")


@pytest.fixture(scope="module")
def world(stack):
    with open_world(stack) as opened:
        yield opened


@needs_network
@pytest.mark.parametrize("addresses", [[OWN], [OWN, OWN], [OWN, "127.0.0.1"]])
def test_a_public_address_of_this_host_is_not_dialled(world, addresses):
    entity = world.entity()
    hook = entity.register()
    world.dns.say({host_of(hook): {"a": addresses}})
    delivery = world.stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: world.stack.attempts(delivery), what="an attempt")
    first = world.stack.attempts(delivery)[0]
    assert (first["error"], first["direccion"]) == (NOT_PUBLIC, None)
    assert not world.receiver.requests(hook.path)


@needs_network
def test_a_public_address_beside_an_own_one_is_dialled(world):
    entity = world.entity()
    hook = entity.register()
    world.dns.say({host_of(hook): {"a": [OWN, PUBLIC]}})
    delivery = world.stack.delivery_id(entity.notify(), hook.id)
    world.stack.wait_delivery(delivery, "entregada")
    assert world.stack.attempts(delivery)[0]["direccion"] == PUBLIC


@needs_network
def test_several_addresses_at_a_port_of_another_protocol(world):
    """If a name has several addresses, the dispatcher's own dialler opens the connection; otherwise libcurl does."""
    entity = world.entity()
    hook = entity.register()
    world.dns.say({host_of(hook): {"a": [PUBLIC, "11.0.0.2"]}})
    world.stack.sql(f"UPDATE webhooks SET url = 'https://{host_of(hook)}:3306/' WHERE id = {hook.id}")
    delivery = world.stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: world.stack.attempts(delivery), what="an attempt")
    assert "usa un puerto que no se admite, el 3306," in world.stack.attempts(delivery)[0]["error"]
