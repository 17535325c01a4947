"""Tests the fake receiver itself: other tests must be able to rely on its faults."""
import http.client
import socket
import ssl

import pytest

from fakes.receiver import Behaviour, Receiver, self_signed


@pytest.fixture(scope="module")
def receiver(tmp_path_factory):
    with Receiver(*self_signed(tmp_path_factory.mktemp("tls"), "localhost")) as running:
        yield running


def connect(receiver):
    context = ssl._create_unverified_context()
    return http.client.HTTPSConnection("localhost", receiver.port, context=context, timeout=3)


def post(receiver, path, body=b'{"a":1}'):
    connection = connect(receiver)
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.content = response.read()
    return response


def raw(receiver, data):
    plain = socket.create_connection(("localhost", receiver.port), timeout=3)
    tls = ssl._create_unverified_context().wrap_socket(plain, server_hostname="localhost")
    tls.sendall(data)
    return tls


def test_records_the_request_and_keeps_the_connection(receiver):
    connection = connect(receiver)
    for body in (b"one", b"two"):
        connection.request("POST", "/keep", body)
        connection.getresponse().read()
    first, second = receiver.wait("/keep", 2)
    assert (first.body, second.body) == (b"one", b"two")
    assert first.connection == second.connection
    assert first.sni == "localhost"
    assert second.monotonic_ns > first.monotonic_ns


def test_plan_of_behaviours(receiver):
    receiver.behave("/plan", Behaviour(status=503, headers={"Retry-After": "7"}), Behaviour(status=204))
    first, second, third = (post(receiver, "/plan") for _ in range(3))
    assert (first.status, first.getheader("Retry-After")) == (503, "7")
    assert (second.status, third.status) == (204, 204)


@pytest.mark.parametrize("fault", ["hang_up_early", "hang_up", "garbage"])
def test_faults_that_give_no_response(receiver, fault):
    receiver.behave("/" + fault, Behaviour(fault=fault))
    with pytest.raises((http.client.HTTPException, OSError)):
        post(receiver, "/" + fault)
    assert (receiver.wait("/" + fault)[0].body is None) == (fault == "hang_up_early")


def test_half_headers(receiver):
    receiver.behave("/half_headers", Behaviour(fault="half_headers"))
    with raw(receiver, b"POST /half_headers HTTP/1.1\r\n\r\n") as tls:
        answer = b"".join(iter(lambda: tls.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 200 ") and b"\r\n\r\n" not in answer


def test_half_body(receiver):
    receiver.behave("/half", Behaviour(body="0123456789", fault="half_body"))
    with pytest.raises(http.client.IncompleteRead):
        post(receiver, "/half")


def test_silent(receiver):
    receiver.behave("/silent", Behaviour(fault="silent"))
    connection = connect(receiver)
    connection.timeout = 0.3
    connection.request("POST", "/silent", b"x")
    with pytest.raises(TimeoutError):
        connection.getresponse()


@pytest.mark.parametrize("fault", ["endless_body", "endless_headers", "drip"])
def test_endless(receiver, fault):
    receiver.behave("/" + fault, Behaviour(fault=fault))
    connection = connect(receiver)
    connection.request("POST", "/" + fault, b"x")
    received = 0
    while received < (40 if fault == "drip" else 1_000_000):
        received += len(connection.sock.recv(65536))
    connection.close()


def test_early_answer(receiver):
    receiver.behave("/early", Behaviour(status=413, fault="early"))
    with raw(receiver, b"POST /early HTTP/1.1\r\nContent-Length: 100000\r\n\r\n") as tls:
        assert tls.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_hold_release_and_peak(receiver):
    receiver.behave("/hold", Behaviour(hold=True))
    connections = [connect(receiver) for _ in range(3)]
    for connection in connections:
        connection.request("POST", "/hold", b"x")
    receiver.wait("/hold", 3)
    assert receiver.in_flight("/hold") == receiver.peak_in_flight("/hold") == 3
    receiver.release("/hold")
    assert [c.getresponse().status for c in connections] == [200] * 3


def test_switched_over_http(receiver):
    connection = connect(receiver)
    connection.request("PUT", "/_behaviour", '{"path": "/remote", "behaviours": [{"status": 418}]}')
    assert connection.getresponse().read() == b"{}"
    assert post(receiver, "/remote").status == 418
    connection.request("GET", "/_requests")
    assert b'"/remote"' in connection.getresponse().read()
