"""What a diagnosis finds out about names and addresses. A diagnosis dials no address that deliveries refuse, such as an
internal one. It shows neither internal addresses nor addresses in delivery.allowed_networks."""
import json

import pytest

from support.diagnosis import REQUESTS, SENT, diagnose, not_good
from support.network import why_not
from support.stack import setting
from support.world import PUBLIC, REFUSING, SILENT, UNROUTED, host_of, open_world

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

ACCEPTS_ALL = {"firma_incorrecta": "mal", "sin_firma": "mal", "fecha_antigua": "aviso"}  # the findings for a receiver that accepts everything
TLS = ["tls", "certificado", "nombre_certificado"]


def nothing_after(*checks: str) -> dict:
    return dict.fromkeys([*checks, *TLS, *REQUESTS], "no_hecha")


ANSWERS = {
    "a public one": ({"a": [PUBLIC]}, ACCEPTS_ALL),
    "no such name": (None, nothing_after("direcciones", "conexion") | {"nombre": "mal"}),
    "a server that fails": ({"fault": "servfail"}, nothing_after("direcciones", "conexion") | {"nombre": "mal"}),
    "a server that stalls": ({"fault": "stall"}, nothing_after("direcciones", "conexion") | {"nombre": "mal"}),
    "a private one": ({"a": ["10.1.2.3"]}, nothing_after("direcciones", "conexion") | {"nombre": "mal"}),
    "loopback, where there is a receiver": ({"a": ["127.0.0.1"]}, nothing_after("direcciones", "conexion") | {"nombre": "mal"}),
    "the cloud's metadata": ({"a": ["169.254.169.254"]}, nothing_after("direcciones", "conexion") | {"nombre": "mal"}),
    "private and public": ({"a": ["127.0.0.1", PUBLIC]}, ACCEPTS_ALL | {"direcciones": "aviso"}),
    "silent and good": ({"a": [SILENT[0], PUBLIC]}, ACCEPTS_ALL | {"conexion": "aviso"}),
    "refusing and good": ({"a": [REFUSING, PUBLIC]}, ACCEPTS_ALL | {"conexion": "aviso"}),
    "silent": ({"a": list(SILENT[:3])}, nothing_after() | {"conexion": "mal"}),
    "refusing": ({"a": [REFUSING]}, nothing_after() | {"conexion": "mal"}),
    "no route": ({"a": [UNROUTED]}, nothing_after() | {"conexion": "mal"}),
}


@pytest.fixture(scope="module")
def world(stack):
    patient = setting(delivery_connect_timeout="4s", delivery_timeout="12s", delivery_lease="30s")  # a third of the time-out is slow
    with open_world(stack, **patient) as opened:
        holes = opened.network.start_black_hole(443, *SILENT)
        yield opened
        holes.terminate()


@pytest.mark.parametrize("name", ANSWERS)
def test_a_diagnosis_of_a_name_shows_no_internal_address(world, name):
    answer, expected = ANSWERS[name]
    entity = world.entity()
    hook = entity.register(port=443)
    if answer is not None:
        world.dns.say({host_of(hook): answer})
    found = diagnose(entity, hook)
    assert not_good(found) == expected, found
    text = json.dumps(found)
    assert not [address for address in ("10.1.2.3", "127.0.0.1", "169.254", "11.0.") if address in text], "an internal address, or one in allowed_networks"
    requests = world.receiver.requests(hook.path)
    assert {one["local_address"] for one in requests} <= {PUBLIC} and len(requests) == (SENT if expected.get("autentica") is None else 0)
