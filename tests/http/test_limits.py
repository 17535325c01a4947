"""The limits that nginx enforces: how often an address or a token sends requests, how often a token sends tests,
how many requests an address has at once."""
import contextlib
import itertools
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.actors import BASE
from support.nginx import SNIPPETS, own_nginx
from support.stack import setting
from support.wait import wait_until

TEST = BASE + "/test"
MALFORMED = ["Bearer x", "Bearer apie_" + "x" * 42, "Bearer apie_" + "x" * 44, "Basic dTpw", "apie_" + "x" * 43, ""]


def limited(stack, **limits):
    """For the `with` block, the stack's nginx enforces these limits and no others."""
    return stack.part_with("nginx", **setting(**{f"limits_{name}": str(value) for name, value in limits.items()}))


def refused_after(limit: int, request):
    """Sends requests until one gets a 429; returns that answer. Before that, nginx must accept at least `limit`
    requests, and may accept at most `limit` + 1, plus `limit` for each minute that passes."""
    started = time.monotonic()
    for count in itertools.count():
        response = request()
        if response.status == 429:
            assert limit <= count <= limit + 1 + limit * (time.monotonic() - started) / 60
            return response


def statuses(count, request) -> list[int]:
    return [request().status for _ in range(count)]


def token(number: int) -> str:
    return f"apie_{number:016d}" + "x" * 27


def is_429(response, retry_after: int):
    assert response.status == 429, response
    assert response.message == "Demasiadas peticiones; inténtelo de nuevo más tarde"
    assert response.headers["retry-after"] == str(retry_after)
    assert response.headers["cache-control"] == "no-store" and "strict-transport-security" in response.headers


def test_no_limit_unless_set(entity):
    assert set(statuses(60, lambda: entity.api("GET", BASE))) == {200}


def test_the_greatest_limits_are_accepted_by_nginx(entity, stack):
    most = 1000000
    with limited(stack, requests_per_address=most, concurrent_requests_per_address=most, requests_per_token=most,
                 test_requests_per_token=most):
        assert set(statuses(60, lambda: entity.api("GET", BASE))) == {200}


def test_requests_of_a_token(entity, new_entity, stack):
    other = new_entity()
    with limited(stack, requests_per_token=5):
        is_429(refused_after(5, lambda: entity.api("GET", BASE)), retry_after=13)
        assert stack.client(source="127.0.0.2")("GET", BASE, entity.token).status == 429  # another address does not help
        assert statuses(5, lambda: other.api("GET", BASE + "/eventos")) == [200] * 5
        assert statuses(20, lambda: stack.api("GET", BASE)) == [401] * 20


def test_a_token_that_has_waited_is_served_again(entity, stack):
    with limited(stack, requests_per_token=60):
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: entity.api("GET", BASE), range(100)))
        assert {answer.status for answer in answers[:50]} == {200}
        is_429(next(answer for answer in answers if answer.status != 200), retry_after=1)
        wait_until(lambda: entity.api("GET", BASE).status == 200, what="a request to be accepted again")


def test_every_spelling_of_a_token_is_that_token(entity, stack):
    spellings = [f"Bearer {entity.token}", f"bEARER    {entity.token}", f" \tBearer {entity.token}\t \t"]
    with limited(stack, requests_per_token=3):
        for spelling in spellings:
            assert stack.api("GET", BASE, headers={"Authorization": spelling}).status == 200
        is_429(entity.api("GET", BASE), retry_after=20)


def test_requests_of_an_address_with_and_without_a_token(entity, stack):
    """An address has one limit for all its requests, whatever tokens they carry, valid or not. Another address has its own
    limit."""
    noisy = stack.client(source="127.0.0.3")
    with limited(stack, requests_per_address=12, requests_per_token=1):
        tokens = itertools.chain(MALFORMED, (f"Bearer {token(n)}" for n in itertools.count()))
        is_429(refused_after(12, lambda: noisy("GET", BASE, headers={"Authorization": next(tokens)})), retry_after=63)
        is_429(noisy("GET", BASE, entity.token), retry_after=63)
        assert stack.client(source="127.0.0.4")("GET", BASE, entity.token).status == 200


def test_the_health_check_which_needs_no_token_is_a_request_of_its_address(stack):
    with limited(stack, requests_per_address=4):
        noisy = stack.client(source="127.0.0.5")
        is_429(refused_after(4, lambda: noisy("GET", "/apientidades/salud")), retry_after=16)
        assert stack.client(source="127.0.0.6")("GET", "/apientidades/salud").status == 200


def test_what_nginx_refuses_for_its_form_counts_too(entity, stack):
    """Otherwise a client could send any number of such requests. The redirect of a folder and an unknown path count as well."""
    form = [lambda client: client("POST", BASE, body=b"x" * 65537), lambda client: client("GET", BASE + "//"),
            lambda client: client("GET", "/apientidades/docs"), lambda client: client("GET", "/apientidades"), lambda client: client("GET", "/nada"),
            lambda client: client("TRACE", BASE), lambda client: client("GET", BASE, headers={"X": "a" * 9000}),
            lambda client: client("POST", BASE, body=b"{}")]
    with limited(stack, requests_per_address=1):
        for number, request in enumerate(form):
            client = stack.client(source=f"127.0.0.{20 + number}")
            assert request(client).status in (301, 400, 401, 404, 405, 413, 431)
            is_429(request(client), retry_after=63)


def test_test_events_of_a_token(entity, new_entity, stack):
    other = new_entity()
    for each in (entity, other):
        each.register(["evaluacion.abierta"])
    body = {"evento": "evaluacion.abierta"}
    absolute = (f"POST https://localhost{TEST} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {entity.token}\r\n"
                "Content-Length: 0\r\nConnection: close\r\n\r\n").encode()
    with limited(stack, test_requests_per_token=3):
        assert entity.api("POST", TEST, json_body=body).status == 200
        assert entity.api("POST", TEST + "?x=1", json_body=body).status == 200
        with stack.api.wire(absolute) as wire:
            assert wire.response().status == 415
        is_429(entity.api("POST", TEST, json_body=body), retry_after=20)
        with stack.api.wire(absolute) as wire:
            is_429(wire.response(), retry_after=20)
        assert entity.api("GET", BASE).status == 200
        assert entity.api("DELETE", BASE + "/999999").status == 404
        assert other.api("POST", TEST, json_body=body).status == 200


def test_requests_at_once_of_an_address(entity, stack):
    """A quarter of an address's requests at once may have a body, so that a slow client cannot hold all of nginx's connections.
    Connections without a request do not count."""
    head = (f"POST {BASE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {entity.token}\r\n"
            "Content-Length: 9\r\n\r\n").encode()
    with limited(stack, concurrent_requests_per_address=8):
        idle, slow = [stack.api.wire() for _ in range(10)], [stack.api.wire(head) for _ in range(2)]
        try:
            post = lambda client=stack.api: client("POST", BASE, entity.token, {})
            wait_until(lambda: post().status == 429, what="two slow bodies to count")
            is_429(post(), retry_after=1)
            assert entity.api("GET", BASE).status == 200
            assert post(stack.client(source="127.0.0.2")).status == 400
        finally:
            for wire in slow + idle:
                wire.close()
        wait_until(lambda: post().status == 400, what="the closed connections not to count")


def test_valid_work_goes_on_under_a_flood_which_fills_no_log(entity, stack):
    """500 requests with 500 tokens come from one address; at the same time another address works."""
    error_log = Path(stack.folder, "log/nginx.log")
    before = error_log.stat().st_size
    flood = stack.client(source="127.0.0.9")
    started = time.monotonic()
    with limited(stack, requests_per_address=100, requests_per_token=600), ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(flood, "GET", BASE, token(n)) for n in range(500)]
        good = 0
        while not all(answer.done() for answer in answers) or good < 10:
            assert good > 90 or entity.api("GET", BASE).status == 200
            good += 1
        refused = [answer.result().status for answer in answers].count(429)
        elapsed = time.monotonic() - started
        assert 400 - 1 - 100 * elapsed / 60 <= refused <= 400, "a hundred are accepted, and a hundred more in each minute"
        assert "limiting" not in error_log.read_bytes()[before:].decode()


@pytest.mark.parametrize("key", ["requests_per_address", "concurrent_requests_per_address", "requests_per_token",
                                 "test_requests_per_token", "pending_test_deliveries", "registrations", "replayed"])
def test_an_invalid_limit_is_refused_and_named(stack, key):
    for value in ("-1", "1000001", "many", "5/s", ""):
        result = stack.dev("admin", "config", "check", check=False, **setting(**{f"limits_{key}": value}))
        assert result.returncode == 2 and f"limits.{key}" in result.stderr and "0 to 1000000" in result.stderr


# IPv6 clients. This machine has only one IPv6 address, so the test sends client addresses by the PROXY protocol,
# as a trusted proxy does.

PROXIED = """
    include {snippets}/apientidades-limit-keys.conf;
    include {limits}/apientidades-limit-zones.conf;
    server {{
        listen 127.0.0.1:PORT proxy_protocol;
        set_real_ip_from 127.0.0.1;
        real_ip_header proxy_protocol;
        root FOLDER;
        include {limits}/apientidades-limits.conf;
        location /body {{ proxy_pass http://127.0.0.1:1; }}  # reads the whole body first
    }}"""


def proxied(address: str, request: str) -> bytes:
    return f"PROXY {'TCP6' if ':' in address else 'TCP4'} {address} {address} 1 2\r\n{request}\r\n\r\n".encode()


@pytest.fixture(scope="module")
def status_from(stack, tmp_path_factory):
    """Yields a function that sends a request as if from an address, and returns the status. nginx accepts two requests a minute
    from each address."""
    limits = tmp_path_factory.mktemp("limits")
    stack.dev("admin", "nginx", "limits", "--folder", limits, **setting(limits_requests_per_address="2"))
    with own_nginx(PROXIED.format(snippets=SNIPPETS, limits=limits)) as port:
        def status(address: str) -> int:
            with socket.create_connection(("127.0.0.1", port), 10) as connection:
                connection.sendall(proxied(address, "GET /ok HTTP/1.0"))
                return int(connection.makefile().readline().split()[1])
        yield status


@pytest.mark.parametrize("same, other", [
    (["2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", "2001:db8::a0a:a0a"], "2001:db8:0:1::1"),
    (["2001:db8:a0a:a0a::1", "2001:db8:a0a:a0a::2", "2001:db8:a0a:a0a::a0a"], "2001:db8:a0a:a0b::1"),
    (["192.0.2.1"] * 3, "192.0.2.2"),
])
def test_an_ipv6_client_is_its_64_bit_prefix(status_from, same, other):
    assert [status_from(address) for address in same] == [200, 200, 429]
    assert status_from(other) == 200


def test_the_bodies_of_an_ipv6_client_are_those_of_its_48_bit_prefix(stack, tmp_path):
    """Of four requests at once, one may have a body: of each /64 one, of each /48 four."""
    stack.dev("admin", "nginx", "limits", "--folder", tmp_path, **setting(limits_concurrent_requests_per_address="4"))
    with own_nginx(PROXIED.format(snippets=SNIPPETS, limits=tmp_path)) as port, contextlib.ExitStack() as slow:
        def post(number: int, length: int, site: str = "2001:db8:7") -> socket.socket:
            connection = socket.create_connection(("127.0.0.1", port), 10)
            connection.sendall(proxied(f"{site}:{number}::1", f"POST /body HTTP/1.0\r\nContent-Length: {length}") + b"x")
            return connection

        def status(*request) -> int:
            with post(*request) as connection, connection.makefile() as answer:
                return int(answer.readline().split()[1])

        for number in range(4):
            slow.enter_context(post(number, 9))
        others = itertools.count(4)
        wait_until(lambda: status(next(others), 1) == 429, what="four slow bodies of a /48 to count")
        assert status(0, 1, "2001:db8:8") == 502
