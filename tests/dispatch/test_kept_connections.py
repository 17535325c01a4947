"""A kept connection gets data, or ends, between two requests. Data that came before a request are not its answer (RFC 9112
section 9.2), and a kept connection that the receiver has closed is no failure of the receiver."""
import ssl
import threading

import pytest

from fakes.scripted import OK, ScriptedReceiver, answer, answer_all
from support.actors import Entity
from support.wait import wait_until

VERSIONS = {"TLS 1.2": ssl.TLSVersion.TLSv1_2, "TLS 1.3": ssl.TLSVersion.TLSv1_3}

STRAY = {  # data on a connection that has answered, while no request is outstanding
    "408, the idle time is over": answer(408, "Connection: close"),
    "a second answer": OK,
    "410": answer(410),
    "429": answer(429, "Retry-After: 3600"),
    "500": answer(500),
    "half an answer": b"HTTP/1.1 2",
    "a late body": b'{"ok": true}',
    "a line end": b"\r\n",
    "an interim answer": b"HTTP/1.1 102 Processing\r\n\r\n",
    "one byte": b"x",
}


@pytest.fixture
def certificate(stack):
    return stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]


@pytest.fixture
def scripted(stack, certificate):
    """Returns a function that starts a receiver, and returns the receiver, a new entity, and the entity's webhook there."""
    running = []

    def start(script, version=None):
        receiver = ScriptedReceiver(certificate, script, version)
        running.append(receiver)
        entity = Entity(stack, receiver)
        return receiver, entity, entity.register()
    yield start
    for receiver in running:
        receiver.close()


def deliver(stack, entity, hook) -> int:
    """Delivers a notification; returns the id of its delivery."""
    id = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(id, "entregada")
    return id


def outcomes(stack, delivery: int) -> list[tuple]:
    """Returns status and error of each attempt."""
    return [(a["estado_http"], a["error"]) for a in stack.attempts(delivery)]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_comes_between_two_requests_answers_neither(stack, scripted, version):
    """Each kind of data has its own receiver, which answers with 500 on any connection but its first."""
    def script(connection, _number, fields):
        connection.read_body(fields)
        connection.send(OK if connection.number == 1 else answer(500))

    cases = {name: scripted(script, VERSIONS[version]) for name in STRAY}
    for name, (receiver, entity, hook) in cases.items():
        deliver(stack, entity, hook)
        receiver.connections[0].send(STRAY[name])
    second = {name: stack.delivery_id(entity.notify(), hook.id) for name, (_, entity, hook) in cases.items()}
    for name, (receiver, entity, hook) in cases.items():
        wait_until(lambda: len(stack.attempts(second[name])) >= 1, what="an attempt")
        first = outcomes(stack, second[name])[0]
        assert first == (500, "El receptor respondió 500: se espera un 2xx"), name
        assert len(receiver.connections[0].requests) == 1, f"{name}: no second request is sent on that connection"
        assert entity.listed(hook)["activo"], name


def test_all_kept_connections_may_have_something_on_them(stack, scripted):
    together, release = 3, threading.Event()

    def script(connection, number, fields):
        connection.read_body(fields)
        if number == 1 and connection.number <= together:
            release.wait(10)
        connection.send(OK)

    receiver, entity, hook = scripted(script)
    ids = [stack.delivery_id(entity.notify(), hook.id) for _ in range(together)]
    receiver.wait(hook.path, together)
    release.set()
    for id in ids:
        stack.wait_delivery(id, "entregada")
    for connection in receiver.connections:
        connection.send(answer(500))
    for _ in range(together + 1):
        assert outcomes(stack, deliver(stack, entity, hook)) == [(200, "")]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_quiet_connection_is_kept(stack, scripted, version):
    """A TLS 1.3 server sends its session tickets after the handshake; the dispatcher must not take them for stray data."""
    receiver, entity, hook = scripted(answer_all(), VERSIONS[version])
    for _ in range(4):
        deliver(stack, entity, hook)
    assert [len(connection.requests) for connection in receiver.connections] == [4]


@pytest.mark.parametrize("records", [[OK + answer(410)], [OK, answer(410)], [OK + OK, answer(410)]],
                         ids=["in the answer's TLS record", "in a further record", "in both"])
def test_an_answer_that_is_longer_than_it_says(stack, scripted, records):
    """The receiver sends more than its Content-Length. The surplus in the answer's own record is discarded with the answer; if more
    comes after it, the connection gets no further request."""
    def script(connection, _number, fields):
        connection.read_body(fields)
        connection.send(*records)

    receiver, entity, hook = scripted(script)
    for _ in range(4):
        assert outcomes(stack, deliver(stack, entity, hook)) == [(200, "")]
    assert entity.listed(hook)["activo"]
    if records[1:]:
        assert [len(connection.requests) for connection in receiver.connections] == [1] * 4


CLOSED = ("close_politely", "close", "reset")


@pytest.mark.parametrize("how", CLOSED)
def test_connections_that_the_receiver_has_closed_cost_no_attempt(stack, scripted, how):
    """The receiver closes seven connections; libcurl itself repeats a request only five times."""
    kept, release = 7, threading.Event()

    def script(connection, number, fields):
        connection.read_body(fields)
        if connection.number <= kept:
            release.wait(10)
        connection.send(OK)

    receiver, entity, hook = scripted(script)
    ids = [stack.delivery_id(entity.notify(), hook.id) for _ in range(kept)]
    receiver.wait(hook.path, kept)
    release.set()
    for id in ids:
        stack.wait_delivery(id, "entregada")
    for connection in receiver.connections[:kept]:
        getattr(connection, how)()
    assert outcomes(stack, deliver(stack, entity, hook)) == [(200, "")]


BODIES = {"a short body": {"evaluacionId": 1, "titulo": "x"}, "60 KB": {"evaluacionId": 1, "titulo": "x" * 60_000}}


@pytest.mark.parametrize("how", CLOSED)
@pytest.mark.parametrize("body", BODIES)
def test_a_kept_connection_that_ends_as_the_request_comes(stack, scripted, how, body):
    """The receiver answers the first request of a connection, and ends the connection at the first bytes of the second."""
    def script(connection, number, fields):
        if number > 1:
            getattr(connection, how)()
            raise ConnectionError("closed")
        connection.read_body(fields)
        connection.send(OK)

    receiver, entity, hook = scripted(script)
    for _ in range(6):
        id = stack.delivery_id(entity.notify(data=BODIES[body]), hook.id)
        stack.wait_delivery(id, "entregada")
        assert outcomes(stack, id) == [(200, "")]
    sent = [fields["webhook-id"] for fields in receiver.requests(hook.path)]
    assert len(set(sent)) == 6 and max(sent.count(id) for id in sent) <= 2, "repeated once, with the same webhook-id"


def test_a_408_on_a_kept_connection_is_of_its_idle_time(stack, scripted):
    """A 408 on a kept connection counts as sent before the request arrived. On a new connection, a 408 is the receiver's answer."""
    def script(connection, number, fields):
        connection.read_body(fields)
        connection.send(OK if number == 1 else answer(408))

    receiver, entity, hook = scripted(script)
    for _ in range(3):
        assert outcomes(stack, deliver(stack, entity, hook)) == [(200, "")]
    receiver.script = answer_all(answer(408))
    id = stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: stack.attempts(id), what="an attempt")
    assert outcomes(stack, id)[0] == (408, "El receptor respondió 408: se espera un 2xx")


def test_a_fresh_connection_that_ends_is_the_receivers_fault(stack, scripted):
    """The receiver is not asked again within the attempt."""
    receiver, entity, hook = scripted(lambda connection, number, fields: False)
    id = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(id, "fallida", 20)
    error = "El receptor cerró la conexión sin responder: revise su servidor"
    assert outcomes(stack, id) == [(None, error)] * 4
    assert len(receiver.requests(hook.path)) == 4
