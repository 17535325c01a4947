"""Receivers that misbehave in many ways: each attempt ends in time, frees its slot, leaves nothing behind, and tells the
entity what to correct. All receivers of a kind are tested at once, and must not disturb each other."""
import contextlib
import gzip
import os
import re
import ssl
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from fakes import tcp
from fakes.certificates import ELLIPTIC, followed_by, issue
from fakes.receiver import Behaviour
from support.actors import BASE, Entity
from support.campaign import Campaign
from support.stack import free_port, setting
from support.wait import wait_until

CONNECT_TIME_OUT, TIME_OUT = 3, 4  # seconds: on a busy machine a handshake beside all these may take one
SETTINGS = setting(delivery_connect_timeout=f"{CONNECT_TIME_OUT}s", delivery_timeout=f"{TIME_OUT}s", delivery_lease="30s")
SLACK = 4  # seconds that a busy machine may add; without its time-out, no attempt of these cases would end
ATTEMPTS = 4

# The texts that the entity reads.
TIMED_OUT = f"El receptor no terminó de responder en {TIME_OUT}s: debe responder en cuanto recibe el aviso, y procesarlo después"
NOT_CONNECTED = (f"No se completó la conexión con el receptor (TCP y TLS) en {CONNECT_TIME_OUT}s: compruebe que es accesible desde "
                 "Internet en el puerto de la URL")
UNREACHABLE = "No se pudo conectar con el receptor: compruebe que es accesible desde Internet en el puerto de la URL"
CLOSED = "El receptor cerró la conexión sin responder: revise su servidor"
NOT_HTTP = "La respuesta del receptor no es HTTP/1.1 válido"
LONG_HEADERS = "La respuesta del receptor tiene cabeceras demasiado largas"
WEAK = ("El certificado TLS del receptor usa una clave o una firma demasiado débil: hace falta RSA de 2048 bits o más, o "
        "curva elíptica, y SHA-256 o superior, en toda la cadena")
FOR_CLIENTS = "El certificado TLS del receptor no está emitido para servidores (uso «serverAuth»): pida uno de servidor"
MUTUAL = ("El receptor exige un certificado de cliente (TLS mutuo), que el servicio no presenta: no lo exija en esta URL; "
          "verifique la firma de cada aviso")
NO_TLS = "No se pudo establecer TLS con el receptor: el puerto de la URL debe servir HTTPS con TLS 1.2 o posterior"
UNTRUSTED = ("El certificado TLS del receptor no es de confianza: debe emitirlo una autoridad reconocida, con la cadena "
             "completa")
EXPIRED = "El certificado TLS del receptor ha caducado o aún no es válido"
WRONG_NAME = "El certificado TLS del receptor no corresponde al nombre de la URL"

OK = "HTTP/1.1 200 OK\r\n"
CHUNKED = OK + "Transfer-Encoding: chunked\r\n\r\n"
BOMB = gzip.compress(bytes(20_000_000)).decode("latin-1")  # 20 KB


def raw(*texts, **how):
    return Behaviour(raw=texts, **how)


# Tables of receivers: name -> (what it does, the expected `ultimoError`; "": success; None: not checked).

# Answers without an end: the time-outs or the size limit end them.
ENDLESS = {
    "never answers": (Behaviour(fault="silent"), TIMED_OUT),
    "slow headers": (Behaviour(fault="drip"), TIMED_OUT),
    "slow status line": (raw("HTTP/1.1 200 O", repeat="K", pause=0.1), TIMED_OUT),
    "headers without end": (Behaviour(fault="endless_headers"), LONG_HEADERS),
    "a header without end": (raw(OK + "X: ", repeat="x" * 4096), LONG_HEADERS),
    "a status line without end": (raw("HTTP/1.1 200 ", repeat="x" * 4096), LONG_HEADERS),
    "1xx without end": (raw(repeat="HTTP/1.1 100 Continue\r\n\r\n" * 10), LONG_HEADERS),
    "slow 1xx without end": (raw(repeat="HTTP/1.1 102 Processing\r\n\r\n", pause=0.1), TIMED_OUT),
    "half a header, and silence": (raw(OK + "Content-Le", stay=True), TIMED_OUT),
    # The headers are complete, so the answer counts, whatever the body is.
    "a slow body": (raw(OK + "Content-Length: 1000000\r\n\r\n", repeat="x", pause=0.1), ""),
    "a body without end": (Behaviour(fault="endless_body"), ""),
    "chunks without end": (raw(CHUNKED, repeat="1000\r\n" + "x" * 4096 + "\r\n"), ""),
    "trailers without end": (raw(CHUNKED + "0\r\n", repeat="X: y\r\n"), ""),
    "a body that stops": (raw(OK + "Content-Length: 1000\r\n\r\nabc", stay=True), ""),
}

# Receivers that break off, speak another protocol, or send a faulty or hostile answer.
BROKEN = {
    "closes": (Behaviour(fault="hang_up"), CLOSED),
    "resets": (Behaviour(fault="reset"), CLOSED),
    "resets before it has read": (Behaviour(fault="hang_up_early"), CLOSED),
    "half of the headers": (Behaviour(fault="half_headers"), None),
    "not HTTP": (Behaviour(fault="garbage"), NOT_HTTP),
    "HTTP/0.9": (raw("gracias"), NOT_HTTP),
    "a status that is no number": (raw("HTTP/1.1 2OO OK\r\n\r\n"), NOT_HTTP),
    "a version that is no number": (raw("HTTP/x.y 500 No\r\nContent-Length: 0\r\n\r\n"), NOT_HTTP),
    "no version": (raw("HTTP/ 500 No\r\nContent-Length: 0\r\n\r\n"), NOT_HTTP),
    "a status line that is a field": (raw("HTTP/1.1 200: x\r\nContent-Length: 0\r\n\r\n"), NOT_HTTP),
    "a status of four digits": (raw("HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"), NOT_HTTP),
    "a status of two digits": (raw("HTTP/1.1 20\r\n\r\n"), NOT_HTTP),
    "switches protocols": (raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"), CLOSED),
    "a zero byte in a header": (raw(OK + "X: a\0b\r\nContent-Length: 0\r\n\r\n"), NOT_HTTP),
    "a negative length": (raw(OK + "Content-Length: -5\r\n\r\nabc"), NOT_HTTP),
    "a length that is no number": (raw(OK + "Content-Length: abc\r\n\r\nabc"), NOT_HTTP),
    "a length beyond all numbers": (raw(OK + "Content-Length: " + "9" * 40 + "\r\n\r\nabc"), None),
    "two lengths": (raw(OK + "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"), None),
    "a length and chunks": (raw(OK + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), ""),
    "too much": (raw(OK + "Content-Length: 3\r\n\r\nabcdef"), ""),
    "too little": (raw(OK + "Content-Length: 1000\r\n\r\nabc"), ""),
    "a chunk's size that is no number": (raw(CHUNKED + "zz\r\nabc\r\n"), ""),
    "a chunk's size beyond all numbers": (raw(CHUNKED + "F" * 20 + "\r\nabc\r\n"), ""),
    "a compressed bomb": (raw(f"{OK}Content-Encoding: gzip\r\nContent-Length: {len(BOMB)}\r\n\r\n", BOMB), ""),
    "another answer after the first": (raw(OK + "Content-Length: 0\r\n\r\n" + "HTTP/1.1 500 No\r\n\r\n"), ""),
}


REDIRECTS = (301, 302, 303, 307, 308)
NO_REDIRECTS = (300, 304, 305)  # though they are 3xx and may have a Location


def redirect(status, url):
    """Redirects to the same host, so that libcurl could follow without looking up a name."""
    return Behaviour(status=status, headers={"Location": url + "/trampa"})


@pytest.fixture(scope="module")
def outcomes(stack, receiver):
    """name -> (the webhook in the listing, [state, number of attempts] of its first delivery, that delivery's attempts, [state,
    number of attempts] of a second delivery, sent after the receiver was corrected)."""
    cases = [*ENDLESS, *BROKEN, *REDIRECTS, *NO_REDIRECTS]
    campaign = Campaign(stack, receiver, dict.fromkeys(cases, receiver.port))
    for name, (_, hook, _) in campaign.hooks.items():
        receiver.behave(hook.path, redirect(name, hook.url) if isinstance(name, int) else {**ENDLESS, **BROKEN}[name][0])
    with stack.dispatcher_with(**SETTINGS):
        campaign.notify()
        listed = campaign.listed()
        ended, attempts = campaign.wait_ended(), campaign.attempts()
        for _, hook, _ in campaign.hooks.values():
            receiver.behave(hook.path, Behaviour())
        campaign.notify()
        mended = campaign.wait_ended(2)
    return {name: (listed[name], *ended[name], attempts[name], mended[name][1]) for name in cases}


@pytest.mark.parametrize("name", [*ENDLESS, *BROKEN])
def test_an_attempt_ends_in_time_with_the_right_error(outcomes, name):
    listed, (state, count), attempts, mended = outcomes[name]
    error, expected = listed["ultimoError"], {**ENDLESS, **BROKEN}[name][1]
    if expected is not None:
        assert error == expected
    assert listed["ultimoEstado"] == (None if error else 200)
    assert state == ("fallida" if error else "entregada")
    assert len(attempts) == int(count) == (ATTEMPTS if error else 1)
    assert {(a.error, a.status) for a in attempts} == {(error, listed["ultimoEstado"])}, "the same each time"
    assert max(a.duration_ms for a in attempts) / 1000 < TIME_OUT + SLACK
    assert mended == ["entregada", "1"]


@pytest.mark.parametrize("status", [*REDIRECTS, *NO_REDIRECTS])
def test_a_redirect_is_never_followed(outcomes, receiver, status):
    listed, _, attempts, _ = outcomes[status]
    error = f"El receptor respondió {status}"
    error += (" (redirección): no se siguen redirecciones; registre la URL definitiva" if status in REDIRECTS
              else ": se espera un 2xx")
    assert (listed["ultimoError"], listed["ultimoEstado"]) == (error, status)
    assert [a.status for a in attempts] == [status] * ATTEMPTS
    assert [r.path for r in receiver.requests() if r.path.endswith("/trampa")] == []


# Failures before HTTP.

BEFORE_HTTP = {
    "a closed port": UNREACHABLE,
    "a black hole": NOT_CONNECTED,
    "a handshake that stalls": NOT_CONNECTED,
    "a handshake that stalls in a record": NOT_CONNECTED,
    "a handshake without end": NO_TLS,
    "no TLS": NO_TLS,
    "hangs up": NO_TLS,
    "TLS 1.0": NO_TLS,
    "TLS 1.1": NO_TLS,
    "DHE alone": NO_TLS,
    "eleven certificates": NO_TLS,
    "a certificate with a curve of its own": NO_TLS,
    "a certificate of ours is wanted under TLS 1.2": MUTUAL,
    "a certificate of ours is wanted under TLS 1.3": MUTUAL,
    "RSA of 1024 bits": WEAK,
    "signed with SHA-1": WEAK,
    "for clients alone": FOR_CLIENTS,
    "expired": EXPIRED,
    "not yet valid": EXPIRED,
    "self-signed": UNTRUSTED,
    "another name": WRONG_NAME,
    "a name that only looks alike": WRONG_NAME,
}


@pytest.fixture(scope="module")
def connections(stack, untrusted_receiver, receiver, tmp_path_factory):
    """name -> (the webhook in the listing, its attempts)."""
    folder = tmp_path_factory.mktemp("certificates")
    ca = stack.env["CA_CERT"]
    authority = ca, str(Path(ca).with_name("ca.key"))
    valid = stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]
    expired = issue(folder, authority, "expired", "*.receptor.test", end="20200201000000Z")
    early = issue(folder, authority, "early", "*.receptor.test", start="20480101000000Z")
    other = issue(folder, authority, "other", "otro.example.com")
    alike = issue(folder, authority, "alike", "*.sub.receptor.test")
    rsa = issue(folder, authority, "rsa", "*.receptor.test", key=("rsa:2048",))
    own_curve = issue(folder, authority, "own_curve", "*.receptor.test", key=(*ELLIPTIC, "-pkeyopt", "ec_param_enc:explicit"))
    short = issue(folder, authority, "short", "*.receptor.test", key=("rsa:1024",))
    sha1 = issue(folder, authority, "sha1", "*.receptor.test", digest="sha1")
    client = issue(folder, authority, "client", "*.receptor.test", usage="clientAuth")
    with contextlib.ExitStack() as servers:
        serve = servers.enter_context
        ports = {
            "a closed port": free_port(),
            "a black hole": serve(tcp.black_hole()),
            "a handshake that stalls": serve(tcp.tcp_server(tcp.say_nothing)),
            "a handshake that stalls in a record": serve(tcp.tcp_server(tcp.begin_a_record)),
            "a handshake without end": serve(tcp.tcp_server(tcp.greet_without_end)),
            "no TLS": serve(tcp.tcp_server(tcp.speak_in_clear)),
            "hangs up": serve(tcp.tcp_server(tcp.hang_up)),
            "TLS 1.0": serve(tcp.https_server(valid, tcp.only(ssl.TLSVersion.TLSv1))),
            "TLS 1.1": serve(tcp.https_server(valid, tcp.only(ssl.TLSVersion.TLSv1_1))),
            "DHE alone": serve(tcp.https_server(rsa, tcp.only_dhe(folder))),
            "eleven certificates": serve(tcp.https_server(followed_by(folder, valid, *[other] * 10))),
            "a certificate with a curve of its own": serve(tcp.https_server(followed_by(folder, valid, own_curve))),
            "a certificate of ours is wanted under TLS 1.2":
                serve(tcp.https_server(valid, tcp.ask_for_a_certificate(ca, ssl.TLSVersion.TLSv1_2))),
            "a certificate of ours is wanted under TLS 1.3":
                serve(tcp.https_server(valid, tcp.ask_for_a_certificate(ca, ssl.TLSVersion.TLSv1_3))),
            "RSA of 1024 bits": serve(tcp.https_server(short, tcp.at_any_level)),
            "signed with SHA-1": serve(tcp.https_server(sha1, tcp.at_any_level)),
            "for clients alone": serve(tcp.https_server(client)),
            "expired": serve(tcp.https_server(expired)),
            "not yet valid": serve(tcp.https_server(early)),
            "self-signed": untrusted_receiver.port,
            "another name": serve(tcp.https_server(other)),
            "a name that only looks alike": serve(tcp.https_server(alike)),
        }
        campaign = Campaign(stack, receiver, ports)
        serve(stack.dispatcher_with(**SETTINGS))
        campaign.notify()
        listed = campaign.listed()
        campaign.wait_ended()
    attempts = campaign.attempts()
    return {name: (listed[name], attempts[name]) for name in ports}


@pytest.mark.parametrize("name", BEFORE_HTTP)
def test_no_connection_says_what_to_mend(connections, name):
    listed, attempts = connections[name]
    assert (listed["ultimoEstado"], listed["ultimoError"]) == (None, BEFORE_HTTP[name])
    limit = CONNECT_TIME_OUT if BEFORE_HTTP[name] == NOT_CONNECTED else TIME_OUT
    assert max(a.duration_ms for a in attempts) / 1000 < limit + SLACK
    assert len(attempts) == ATTEMPTS and {a.error for a in attempts} == {listed["ultimoError"]}


# Retry-After, in all its forms.

def rfc850(when):
    return time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(when))


RETRY_AFTER = {  # name -> (the header, the fewest and the most seconds until the next attempt)
    "seconds": (lambda: "60", 20, 60),
    "a date": (lambda: formatdate(time.time() + 60, usegmt=True), 20, 61),
    "a date as in RFC 850": (lambda: rfc850(time.time() + 60), 20, 61),
    "a date as C writes it": (lambda: time.asctime(time.gmtime(time.time() + 60)), 20, 61),
    "a century": (lambda: formatdate(time.time() + 3e9, usegmt=True), 86300, 86400),
    "beyond all numbers": (lambda: "9" * 40, 86300, 86400),
    "more than a day": (lambda: "100000", 86300, 86400),
    "negative": (lambda: "-60", -60, 1),
    "the past": (lambda: formatdate(0, usegmt=True), -60, 1),
    "garbage": (lambda: "mañana".encode().decode("latin-1"), -60, 1),
    "a fraction, rounded up": (lambda: "59.001", 20, 60),
    "a fraction of nothing": (lambda: "60.0", 20, 60),
    "a point without a fraction": (lambda: "60.", -60, 1),
    "a month that is none": (lambda: "Fri, 30 Fbr 2090 10:00:00 GMT", -60, 1),
    "a day that the month lacks": (lambda: "Fri, 31 Feb 2090 10:00:00 GMT", 86300, 86400),  # libcurl reads 3 March
    "empty": (lambda: "", -60, 1),
}


@pytest.fixture(scope="module")
def waits(stack, receiver):
    """name -> the seconds until the second attempt, read just after the first; at most 0 if the second has begun."""
    campaign = Campaign(stack, receiver, dict.fromkeys(RETRY_AFTER, receiver.port))
    for name, (header, _, _) in RETRY_AFTER.items():
        head = "HTTP/1.1 503 Wait\r\nContent-Length: 0\r\nRetry-After: " + header() + "\r\n\r\n"
        receiver.behave(campaign.hooks[name][1].path, raw(head), Behaviour())
    campaign.notify()
    campaign.listed()
    rows = campaign.rows("COALESCE(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), e.proximo_intento), 0)")
    return {name: int(rows[name][0][0]) for name in RETRY_AFTER}


@pytest.mark.parametrize("name", RETRY_AFTER)
def test_retry_after(waits, name):
    _, least, most = RETRY_AFTER[name]
    assert least <= waits[name] <= most


def test_nine_failures_do_not_deactivate_and_the_tenth_does(stack, receiver):
    entity = Entity(stack, receiver)
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    with stack.dispatcher_with(**setting(delivery_disable_after="1s")):
        for _ in range(2):
            stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "fallida")
        assert entity.listed(hook)["activo"] is True, "eight failures, in more than a second"
        stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "retenida")
    assert entity.listed(hook)["activo"] is False and len(receiver.requests(hook.path)) == 10


# Resources that must not remain in use.

QUICK = ("closes", "resets", "half of the headers", "not HTTP", "HTTP/0.9", "switches protocols", "headers without end",
         "a header without end", "1xx without end", "a body without end", "chunks without end", "too much", "too little",
         "a negative length", "a chunk's size beyond all numbers")
REPEATS = 50 if os.environ.get("TEST_LONG") else 20


def resources(stack):
    """Returns the dispatcher's number of descriptors, of threads and of resident KiB."""
    process = Path("/proc", str(stack.pids("dispatcher")[0]))
    rss = int(re.search(r"VmRSS:\s+(\d+)", (process / "status").read_text())[1])
    return len(os.listdir(process / "fd")), len(os.listdir(process / "task")), rss


@pytest.fixture
def no_retries(stack):
    with stack.dispatcher_with(**setting(delivery_retry_schedule="1h")):
        yield


def test_many_times_all_of_them_leave_nothing_behind(stack, receiver, no_retries):
    campaign = Campaign(stack, receiver, dict.fromkeys(QUICK, receiver.port))
    for name, (_, hook, _) in campaign.hooks.items():
        receiver.behave(hook.path, {**ENDLESS, **BROKEN}[name][0])

    def repeat(times, in_all):
        campaign.notify(times)

        def tried():
            found = campaign.rows("e.intentos").values()
            return all(len(rows) == in_all and ["0"] not in rows for rows in found)
        wait_until(tried, 90, "an attempt of each", every=0.2)

    good = Entity(stack, receiver)
    well = good.register()

    def at_rest():
        """Returns resources() after one more delivery: a new connection makes libcurl close the connections that receivers have
        ended."""
        stack.wait_delivery(stack.delivery_id(good.notify(), well.id), "entregada")
        return resources(stack)

    repeat(5, 5)
    before = at_rest()
    repeat(REPEATS, 5 + REPEATS)
    after = wait_until(lambda: (now := at_rest())[0] <= before[0] + 2 and now, 20, "the descriptors to be closed", every=0.3)
    assert after[1] == before[1], "threads"
    assert after[2] < before[2] + 8192, "KiB"
    for entity, hook, _ in campaign.hooks.values():
        assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
