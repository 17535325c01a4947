"""Names with several addresses, some of them silent: an attempt dials the next address while the previous one is silent
(RFC 8305). delivery.connect_timeout includes the lookup."""
import pytest

from support.network import why_not
from support.stack import setting
from support.wait import wait_until
from support.world import HAS_V6, KEEPING, PUBLIC, PUBLIC_V6, REFUSING, SILENT, SILENT_V6, UNROUTED, host_of, open_world

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

CONNECT_TIMEOUT = 4  # seconds: on a busy machine a TLS handshake may take one
SETTINGS = setting(delivery_connect_timeout=f"{CONNECT_TIMEOUT}s", delivery_timeout="8s", delivery_lease="30s")
TIMED_OUT = (f"No se completó la conexión con el receptor (TCP y TLS) en {CONNECT_TIMEOUT}s: compruebe que es accesible desde Internet en el "
             "puerto de la URL")
UNREACHABLE = "No se pudo conectar con el receptor: compruebe que es accesible desde Internet en el puerto de la URL"
NOT_PUBLIC = "No se encontró ninguna dirección pública del receptor: revise la URL y el DNS"

ANSWERS = {  # the addresses that DNS returns, in this order, and the attempt's error: empty if the attempt succeeds
    "silent, good": ({"a": [SILENT[0], PUBLIC]}, ""),
    "two silent, good": ({"a": [*SILENT[:2], PUBLIC]}, ""),
    "five silent, good: each has its turn in time": ({"a": [*SILENT, PUBLIC]}, ""),
    "refused, good": ({"a": [REFUSING, PUBLIC]}, ""),
    "no route, good": ({"a": [UNROUTED, PUBLIC]}, ""),
    "silent, refused, good": ({"a": [SILENT[0], REFUSING, PUBLIC]}, ""),
    "silent, no route, good": ({"a": [SILENT[0], UNROUTED, PUBLIC]}, ""),
    "silent, private, good": ({"a": [SILENT[0], "127.0.0.1", PUBLIC]}, ""),
    "good, silent": ({"a": [PUBLIC, SILENT[0]]}, ""),
    "all silent": ({"a": list(SILENT[:3])}, TIMED_OUT),
    "silent and refused": ({"a": [SILENT[0], REFUSING]}, TIMED_OUT),
    "all refused": ({"a": [REFUSING, UNROUTED]}, UNREACHABLE),
    "all private": ({"a": ["127.0.0.1", "10.0.0.1"]}, NOT_PUBLIC),
}
if HAS_V6:
    ANSWERS |= {
        "two AAAA, the first silent": ({"aaaa": [SILENT_V6, PUBLIC_V6]}, ""),
        "silent AAAA, good A": ({"aaaa": [SILENT_V6], "a": [PUBLIC]}, ""),
        "silent AAAA, silent A, good A": ({"aaaa": [SILENT_V6], "a": [SILENT[0], PUBLIC]}, ""),
        "twenty AAAA without a route, good A": ({"aaaa": [f"2600:1::{n}" for n in range(1, 21)], "a": [PUBLIC]}, ""),
    }


@pytest.fixture(scope="module")
def world(stack):
    with open_world(stack, **SETTINGS) as opened:
        holes = opened.network.start_black_hole(443, *SILENT, *[SILENT_V6] * HAS_V6)
        yield opened
        holes.terminate()


@pytest.mark.parametrize("name", ANSWERS)
def test_the_next_address_begins_while_the_one_before_is_silent(world, name):
    answer, error = ANSWERS[name]
    entity = world.entity()
    hook = entity.register()
    world.dns.say({host_of(hook): answer})
    delivery = world.stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: world.stack.attempts(delivery), what="an attempt")
    first = world.stack.attempts(delivery)[0]
    assert (first["error"], first["estado_http"]) == (error, None if error else 200)
    assert first["duracion_ms"] <= CONNECT_TIMEOUT * 1000 + 2000
    if not error:
        assert first["direccion"] in (PUBLIC, PUBLIC_V6)


def test_a_kept_connection_that_ended_is_dialled_again(world):
    """The attempt that finds the connection closed dials the addresses of the host."""
    certificate = world.stack.env["RECEIVER_CERT"], world.stack.env["RECEIVER_KEY"]
    entity = world.entity()
    hook = entity.register()
    world.dns.say({host_of(hook): {"a": [SILENT[0], KEEPING]}})
    first = world.network.start_receiver(*certificate, 443, KEEPING, close=False)
    for _ in range(2):
        world.stack.wait_delivery(world.stack.delivery_id(entity.notify(), hook.id), "entregada")
    assert len({request["connection"] for request in first.requests()}) == 1, "the connection is kept"
    first.stop()
    second = world.network.start_receiver(*certificate, 443, KEEPING, close=False)
    delivery = world.stack.delivery_id(entity.notify(), hook.id)
    world.stack.wait_delivery(delivery, "entregada")
    assert [a["error"] for a in world.stack.attempts(delivery)] == [""]
    assert len(second.requests()) == 1
