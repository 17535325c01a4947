"""Slow or idle clients cost the others nothing, and are disconnected after a time."""
import contextlib
import json
import re
import socket
import threading
import time

from support.actors import BASE
from support.nginx import own_nginx, site_of
from support.sql import numbers
from support.wait import wait_until
from support.wire import Wire


def head(token: str, method: str = "GET", *headers: str, path: str = BASE) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}", *headers, "", ""]
    return "\r\n".join(lines).encode()


def is_closed(connection) -> bool:
    """Whether the server has closed the connection without sending a byte."""
    connection.settimeout(0.02)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def is_established(connection) -> bool:
    """Whether the kernel counts the connection as established. The test must not read from the connection to find out, because
    reading would empty the receive buffer, and the server could send more."""
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1


def answers_that_arrived(wire) -> int:
    count = 0
    with contextlib.suppress(EOFError):  # the last answer is cut short
        while wire.response():
            count += 1
    return count


def serves(entity, seconds: float = 5) -> bool:
    started = time.monotonic()
    return entity.api("GET", BASE).status == 200 and time.monotonic() - started < seconds


@contextlib.contextmanager
def dribbling(connections, stop: threading.Event):
    """Twice a second, sends one more byte of an endless header on each connection."""
    def run():
        while not stop.wait(0.5):
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.sendall(b"a")
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_idle_connections_by_the_hundred(entity, stack):
    with contextlib.ExitStack() as opened:
        silent = [opened.enter_context(socket.create_connection((stack.api.host, stack.api.port))) for _ in range(200)]
        shaken = [opened.enter_context(stack.api.wire()) for _ in range(100)]
        kept = [opened.enter_context(stack.api.wire(head(entity.token))) for _ in range(100)]
        assert {wire.response().status for wire in kept} == {200}
        assert all(serves(entity) for _ in range(20))
        for wire in kept[:10]:
            wire.send(head(entity.token))
            assert wire.response().status == 200
        assert not any(is_closed(wire.socket) for wire in kept[:5]), "an idle connection may be used again"
        assert len(silent) + len(shaken) == 300


def test_slow_headers_slow_bodies_and_slow_readers_are_given_up(entity, stack):
    """nginx waits 10 s for the whole head, for the next byte of a body, or for a client to read a byte. Other clients are
    served all the time."""
    url = "https://example.com/" + "a" * 1900
    for _ in range(5):
        body = {"url": url, "eventos": ["evaluacion.abierta"]}
        assert entity.api("POST", BASE, json_body=body).status == 201
    started = time.monotonic()
    with contextlib.ExitStack() as opened:
        wires = lambda count, data: [opened.enter_context(stack.api.wire(data)) for _ in range(count)]
        silent = [opened.enter_context(socket.create_connection((stack.api.host, stack.api.port))) for _ in range(10)]
        headers = wires(20, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        bodies = wires(20, head(entity.token, "POST", "Content-Length: 100", "Content-Type: application/json") + b"{")
        reader = opened.enter_context(stack.api.wire())
        reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # room for a few answers, each a TLS record of 10 KB
        reader.send(head(entity.token) * 1500)  # 15 MB of answers, which the test reads only after nginx has given up
        waiting = [wire.socket for wire in headers + bodies] + silent
        with dribbling([wire.socket for wire in headers], threading.Event()):
            closed = set()
            while len(closed) < len(waiting):
                assert serves(entity)
                closed |= {c.fileno() for c in waiting if c.fileno() not in closed and is_closed(c)}
                assert time.monotonic() - started > 5 or not closed, "no client is given up at once"
                assert time.monotonic() - started < 40, f"{len(waiting) - len(closed)} are still connected"
        wait_until(lambda: not is_established(reader.socket), 30, "the slow reader to be given up")
        assert 0 < answers_that_arrived(reader) < 1500


def slow_reader(stack, port: int, data: bytes) -> Wire:
    """Returns a client with a receive buffer of 8 KiB: Linux doubles SO_RCVBUF."""
    wire = Wire.__new__(Wire)
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(60)
    plain.connect((stack.api.host, port))
    wire.socket, wire._buffer = stack.api.tls.wrap_socket(plain, server_hostname=stack.api.host), b""
    wire.send(data)
    return wire


def with_the_longest_answers(entity, stack) -> list[str]:
    """Returns two paths. The first shows a delivery with the longest data and 100 attempts, the second a full page of
    deliveries. Every error has the greatest length."""
    hook, long = entity.register(), "REPEAT('\U0001F600', 500)"
    start = '{"evaluacionId": 1, "titulo": "'
    id = entity.notify("evaluacion.abierta", start + '\\"' * ((65536 - len(start) - 2) // 2) + '"}')
    stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada")
    stack.sql(f"""INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en)
        SELECT {entity.id}, 'evaluacion.abierta', datos, estado, terminada_en
        FROM notificaciones_pendientes, {numbers(100)} WHERE id = {id}""")
    stack.sql(f"""INSERT INTO entregas (notificacion_id, webhook_id, estado, intentos, proximo_intento, creada_en, terminada_en, ultimo_error)
        SELECT id, {hook.id}, 'fallida', 100, terminada_en, terminada_en, terminada_en, {long}
        FROM notificaciones_pendientes WHERE entidad_id = {entity.id} AND id > {id}""")
    delivery = stack.value(f"SELECT MAX(id) FROM entregas WHERE webhook_id = {hook.id}")
    stack.sql(f"""INSERT INTO intentos_entrega (entrega_id, numero, inicio, duracion_ms, direccion, estado_http, error, firmas)
        SELECT {delivery}, seq, UTC_TIMESTAMP(3), 15000, '2620:fe:1111:2222:3333:4444:5555:6666', 500, {long}, 2 FROM {numbers(100)}""")
    return [f"{BASE}/{hook.id}/entregas/{delivery}", f"{BASE}/{hook.id}/entregas?limite=100"]


def test_slow_readers_hold_no_thread_and_get_whole_answers(entity, stack):
    paths = with_the_longest_answers(entity, stack)
    sizes = [len(entity.api("GET", path).text.encode()) for path in paths]
    assert sizes[0] > 340_000 and sizes[1] > 220_000, sizes
    # On loopback, with packets of 64 KiB, a connection would buffer a whole answer. With sndbuf it buffers some tens of KiB, as
    # on the internet.
    site = site_of(stack).replace(" ssl;", " ssl sndbuf=16k;")
    assert "sndbuf" in site
    site, changed = re.subn(r"^send_timeout +10s;", "send_timeout 120s;", site, flags=re.M)
    assert changed == 1, "the last reader waits for all the others"
    with own_nginx(site) as port, contextlib.ExitStack() as opened:
        readers = [(size, opened.enter_context(slow_reader(stack, port, head(entity.token, path=path))))
                   for _ in range(40) for path, size in zip(paths, sizes)]
        for _ in range(10):
            assert serves(entity, 5), "no thread waits for a slow reader"
        for size, reader in readers:
            answer = reader.response()
            assert answer.status == 200 and len(answer.text.encode()) == size
            json.loads(answer.text)
