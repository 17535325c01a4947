"""The receivers of examples/ in frameworks. The dispatcher reaches each through an nginx, as in production; odd requests go past the
nginx, to the framework's own HTTP server."""
import importlib.util
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import odd_requests
from support.diagnosis import diagnose, not_good
from support.example_receivers import FRAMEWORKS, SOURCES, require, running, started
from support.wait import wait_until

if "EXAMPLES" not in os.environ:
    pytest.skip("./dev test --examples runs these", allow_module_level=True)

specification = importlib.util.spec_from_file_location("vectores", SOURCES / "vectores/vectores.py")
vectores = importlib.util.module_from_spec(specification)
specification.loader.exec_module(vectores)

LITERAL = {"nombre": "no_hecha"}  # host_overrides gives the address, so there is no lookup to check
# What a framework makes of a notification before its receiver sees it: (framework, what) -> the status.
OWN_WAYS = {
    ("django", "webhook-signature twice"): 401,  # joins the two with a comma, so that they are no signatures
    ("spring", "cuerpo vacío"): 400,  # @RequestBody requires a body
}


@pytest.fixture(scope="module", params=FRAMEWORKS)
def framework(request):
    require(request.param)
    return request.param


@pytest.fixture(scope="module")
def receiver(framework, stack):
    with running(framework, stack, vectores.CORRIENTE) as receiver:
        yield receiver


def genuine(name: str):
    return vectores.Aviso(name, int(time.time()), vectores.CORRIENTE)


def test_its_diagnosis_is_good(receiver, entity):
    """The diagnosis sends a body that changes if it is parsed and written again, and what a receiver must refuse."""
    assert not_good(diagnose(entity, entity.register(secret=vectores.CORRIENTE, port=receiver.port))) == LITERAL


def test_a_repetition_is_answered_2xx_and_processed_once(receiver):
    sent = [genuine(f"msg_repetido_{number}") for number in range(5) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda one: receiver.post(one.cabeceras, one.cuerpo), [*sent, genuine("msg_ultimo")])) == {204}
    expected = sorted({one.identificador for one in sent} | {"msg_ultimo"})
    wait_until(lambda: set(expected) <= set(ids(receiver)), what="the notifications to be processed")
    assert sorted(id for id in ids(receiver) if id in expected) == expected


def ids(receiver) -> list[str]:
    return [id for id, _, _ in receiver.processed()]


def test_a_notification_that_a_proxy_has_written_anew(framework, receiver):
    def status(data: bytes) -> int:
        with receiver.inner.wire(data) as wire:
            return wire.response().status
    answers = {name: status(write(genuine(f"msg_de_un_proxy_{number}")))
               for number, (name, write) in enumerate(odd_requests.GENUINE.items())}
    assert answers == {name: OWN_WAYS.get((framework, name), 204) for name in odd_requests.GENUINE}
    forged = genuine("msg_falso").con_cuerpo("{}")
    assert {status(write(forged)) for write in odd_requests.GENUINE.values()} == {401}
    assert status(odd_requests.without_a_length(genuine("msg_sin_longitud"))) == OWN_WAYS.get((framework, "cuerpo vacío"), 401)


def test_it_judges_every_vector_of_a_whsec_secret_as_expected(framework, stack):
    with running(framework, stack, vectores.WHSEC) as receiver:
        mine = [vector for vector in vectores.vectores(int(time.time()))["vectores"] if vector["secretos"] == [vectores.WHSEC]]
        answers = {vector["nombre"]: receiver.post(vector["cabeceras"], vector["cuerpo"]) for vector in mine}
    taken = {vector["nombre"] for vector in mine if vector["esperado"]["webhook-signature"] == "aceptar"}
    assert answers == {name: 204 if name in taken else OWN_WAYS.get((framework, name), 401) for name in answers}


@pytest.mark.parametrize("secret", [None, "whsec_"])
def test_without_a_secret_it_does_not_start_and_says_so(framework, stack, secret):
    if framework == "laravel":  # the web server starts all the same; the receiver answers 500, and logs why
        with running(framework, stack, secret, refusal=500) as receiver:
            assert "falta RECEPTOR_SECRETO" in receiver.log.read_text()
        return
    with started(framework, stack, {"RECEPTOR_SECRETO": secret}) as (process, _, log):
        assert process.wait(40) != 0
        assert "RECEPTOR_SECRETO" in log.read_text()
