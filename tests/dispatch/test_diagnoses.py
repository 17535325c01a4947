"""Diagnoses of real receivers: the requests, and the findings from their answers."""
import contextlib
import json
import os
import signal
import ssl
import time
from pathlib import Path

import pytest

from fakes import tcp, verify
from fakes.certificates import issue
from fakes.receiver import Behaviour, Receiver
from fakes.scripted import OK, ScriptedReceiver, answer
from support.actors import BASE, Entity
from support.diagnosis import REQUESTS, SIGNATURES, Verifier, ask, diagnose, not_good, shown, wait_ended
from support.metrics import observed_dispatcher
from support.stack import free_port, setting
from support.wait import holds_for, wait_until

LITERAL = {"nombre": "no_hecha"}  # these receivers' names are overridden
AFTER = dict.fromkeys(REQUESTS, "no_hecha")
HOUR = 3600


@pytest.fixture
def certificate(stack):
    return stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]


@pytest.fixture
def scripted(stack, certificate):
    """An entity with a webhook at a receiver for the script."""
    running = []

    def start(script, secret="s3creto"):
        receiver = ScriptedReceiver(certificate, script)
        running.append(receiver)
        entity = Entity(stack, receiver)
        return entity, entity.register(secret=secret)
    yield start
    for receiver in running:
        receiver.close()


def state(stack, hook):
    """Everything that a diagnosis must leave unchanged."""
    return [stack.sql(f"SELECT {what} = {hook.id}") for what in
            ("activo, motivo, url, fecha_modificacion FROM webhooks WHERE id", "* FROM webhook_ejecuciones WHERE webhook_id",
             "* FROM entregas WHERE webhook_id")]


def test_a_good_receiver_is_asked_five_times_and_all_is_well(scripted, stack):
    verifier = Verifier()
    entity, hook = scripted(verifier)
    before = state(stack, hook)
    assert not_good(diagnose(entity, hook)) == LITERAL
    assert len(verifier.received) == 5 and len(verifier.processed) == 1
    genuine, wrong, unsigned, old, repeated = verifier.received
    now = time.time()
    assert verify.problems(*genuine, hook.secret, now) == [] and verify.problems(*old, hook.secret, now - HOUR) == []
    assert abs(int(old[0]["webhook-timestamp"]) + HOUR - now) < 30
    assert verify.problems(*wrong, hook.secret, now) == ["x-webhook-signature does not match", "webhook-signature does not match"]
    assert set(wrong[0]) == set(genuine[0]) and len(wrong[0]["webhook-signature"]) == len(genuine[0]["webhook-signature"])
    assert not [name for name in unsigned[0] if "signature" in name]
    assert repeated[1] == genuine[1] and repeated[0]["webhook-id"] == genuine[0]["webhook-id"]
    assert len({fields["webhook-id"] for fields, _ in verifier.received}) == 4
    for (fields, body), probe in zip(verifier.received, ["autentica", *SIGNATURES, "autentica"]):
        assert fields["x-webhook-event"] == "evaluacion.abierta" and fields["content-type"] == "application/json"
        verb = "aceptarse" if probe == "autentica" else "rechazarse"
        assert json.loads(body)["data"] == {
            "test": True, "entidadId": entity.id, "entidadNombre": entity.name,
            "mensaje": f"Diagnóstico: esta notificación debe {verb}", "datos": {"diagnostico": probe}}
    assert state(stack, hook) == before and entity.api("GET", f"{BASE}/{hook.id}/entregas").json()["entregas"] == []


def test_the_event_is_one_of_the_webhooks(scripted):
    verifier = Verifier()
    entity, _ = scripted(verifier)
    hook = entity.register(["incidencia.cerrada", "documento.disponible"])
    diagnose(entity, hook)
    assert {fields["x-webhook-event"] for fields, _ in verifier.received} == {"incidencia.cerrada"}


def test_one_that_accepts_everything(scripted):
    entity, hook = scripted(Verifier(signature=False, timestamp=False))
    found = diagnose(entity, hook)
    assert not_good(found) == LITERAL | {"firma_incorrecta": "mal", "sin_firma": "mal", "fecha_antigua": "aviso"}


def test_one_that_refuses_the_repetition(scripted):
    entity, hook = scripted(Verifier(again=409))
    assert not_good(diagnose(entity, hook)) == LITERAL | {"repetida": "aviso"}


def test_one_that_has_another_secret(scripted):
    verifier = Verifier("otro")
    entity, hook = scripted(verifier)
    found = diagnose(entity, hook)
    assert found["autentica"]["resultado"] == "mal" and "secreto" in found["autentica"]["remedio"]
    assert len(verifier.received) == 1


def test_a_webhook_without_a_secret(scripted):
    verifier = Verifier(None)
    entity, hook = scripted(verifier, secret=None)
    assert not_good(diagnose(entity, hook)) == LITERAL | dict.fromkeys(SIGNATURES, "no_hecha")
    assert len(verifier.received) == 2 and not [name for fields, _ in verifier.received for name in fields if "signature" in name]


def test_a_rotation_under_way(scripted):
    """The wrong signatures have the shape of genuine ones."""
    verifiers = [Verifier(secret) for secret in ("s3creto", "nuevo-secreto")]

    def script(connection, number, fields):
        body = connection.read_body(fields)
        results = [one.status(fields, body) for one in verifiers]
        verifiers[0].received.append((fields, body))
        connection.send(OK if 200 in results else answer(401))
    entity, hook = scripted(script)
    assert entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": "nuevo-secreto"}).status == 200
    assert not_good(diagnose(entity, hook)) == LITERAL
    genuine, wrong, *_ = verifiers[0].received
    for fields, _ in (genuine, wrong):
        assert len(fields["webhook-signature"].split(" ")) == 2 and "x-webhook-signature-nueva" in fields
    assert len({*genuine[0]["webhook-signature"].split(" "), *wrong[0]["webhook-signature"].split(" ")}) == 4


@pytest.mark.parametrize("status", [302, 410, 429, 500])
def test_what_the_genuine_one_is_refused_with_touches_nothing(entity, receiver, stack, status):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=status, headers={"Retry-After": "3600"}))
    before = state(stack, hook)
    found = diagnose(entity, hook)
    assert found["autentica"]["resultado"] == "mal" and str(status) in found["autentica"]["detalle"]
    assert {found[name]["resultado"] for name in (*SIGNATURES, "repetida")} == {"no_hecha"}
    assert state(stack, hook) == before and len(receiver.requests(hook.path)) == 1
    receiver.behave(hook.path, Behaviour())
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada", 5)


def test_a_failing_webhook_stays_as_it_is(entity, receiver, stack):
    """A good diagnosis is no recovery: deliveries that wait for the webhook still wait."""
    hook = entity.register()
    with stack.dispatcher_with(**setting(delivery_retry_schedule="1h,1h,1h", delivery_probe_interval="0s")):
        receiver.behave(hook.path, Behaviour(status=500))
        delivery = stack.delivery_id(entity.notify(), hook.id)
        wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 500, what="a failure")
        receiver.behave(hook.path, Behaviour())
        before = state(stack, hook)
        found = diagnose(entity, hook)
        assert found["autentica"]["resultado"] == "bien"
        holds_for(1.5, lambda: state(stack, hook) == before, "all as it was")
        assert stack.delivery(delivery)["estado"] == "pendiente"


def test_a_receiver_that_closes_after_its_answer(scripted):
    for fields, expected in (((), "aviso"), (("Connection: close",), "bien")):
        def script(connection, _number, request, fields=fields):
            connection.read_body(request)
            connection.send(answer(200, *fields))
            return False
        entity, hook = scripted(script)
        found = diagnose(entity, hook)
        assert found["conexion_mantenida"]["resultado"] == expected, (fields, found["conexion_mantenida"])
        assert found["autentica"]["resultado"] == "bien"


def test_a_receiver_that_answers_twice(scripted):
    def script(connection, _number, request):
        connection.read_body(request)
        connection.send(OK, OK)
    entity, hook = scripted(script)
    found = diagnose(entity, hook)
    assert found["conexion_mantenida"]["resultado"] == "aviso" and "más datos" in found["conexion_mantenida"]["detalle"]


def test_a_receiver_that_closes_without_an_answer(entity, receiver):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(fault="hang_up"))
    found = diagnose(entity, hook)
    assert found["autentica"]["resultado"] == "mal" and "cerró la conexión" in found["autentica"]["detalle"]
    assert found["certificado"]["resultado"] == "bien" and "días" in found["certificado"]["detalle"]


def test_a_slow_receiver_and_one_that_is_too_slow(entity, receiver):
    """delivery.timeout is 2 s here."""
    slow, silent = entity.register(), entity.register()
    receiver.behave(slow.path, Behaviour(delay=0.8), Behaviour())
    receiver.behave(silent.path, Behaviour(fault="silent"))
    assert diagnose(entity, slow)["tiempo"]["resultado"] == "aviso"
    found = diagnose(entity, silent)
    assert (found["tiempo"]["resultado"], found["autentica"]["resultado"]) == ("mal", "mal")


TLS_FAILED = {"tls": "mal", "certificado": "no_hecha", "nombre_certificado": "no_hecha"}
UNREACHABLE = TLS_FAILED | {"tls": "no_hecha", "conexion": "mal"}
CERTIFICATE = {"certificado": "mal", "nombre_certificado": "no_hecha"}
CONNECTIONS = {
    "a closed port": UNREACHABLE,
    "a black hole": UNREACHABLE,
    "a handshake that stalls": UNREACHABLE,
    "no TLS": TLS_FAILED,
    "hangs up": TLS_FAILED,
    "TLS 1.1": TLS_FAILED,
    "a certificate of ours is wanted": TLS_FAILED,
    "expired": CERTIFICATE,
    "self-signed": CERTIFICATE,
    "signed with SHA-1": CERTIFICATE,
    "another name": {"nombre_certificado": "mal"},
}


@pytest.fixture(scope="module")
def ports(stack, untrusted_receiver, tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    ca = stack.env["CA_CERT"]
    authority = ca, str(Path(ca).with_name("ca.key"))
    valid = stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]
    expired = issue(folder, authority, "expired", "*.receptor.test", end="20200201000000Z")
    other = issue(folder, authority, "other", "otro.example.com")
    sha1 = issue(folder, authority, "sha1", "*.receptor.test", digest="sha1")
    with contextlib.ExitStack() as servers:
        serve = servers.enter_context
        yield {
            "a closed port": free_port(),
            "a black hole": serve(tcp.black_hole()),
            "a handshake that stalls": serve(tcp.tcp_server(tcp.say_nothing)),
            "no TLS": serve(tcp.tcp_server(tcp.speak_in_clear)),
            "hangs up": serve(tcp.tcp_server(tcp.hang_up)),
            "TLS 1.1": serve(tcp.https_server(valid, tcp.only(ssl.TLSVersion.TLSv1_1))),
            "a certificate of ours is wanted": serve(tcp.https_server(valid, tcp.ask_for_a_certificate(ca, ssl.TLSVersion.TLSv1_2))),
            "expired": serve(tcp.https_server(expired)),
            "self-signed": untrusted_receiver.port,
            "signed with SHA-1": serve(tcp.https_server(sha1, tcp.at_any_level)),
            "another name": serve(tcp.https_server(other)),
        }


@pytest.mark.parametrize("name", CONNECTIONS)
def test_a_connection_that_cannot_be_made(entity, ports, name):
    hook = entity.register(port=ports[name])
    found = diagnose(entity, hook)
    assert not_good(found) == LITERAL | AFTER | CONNECTIONS[name], found


def test_a_receiver_with_a_certificate_for_each_name(stack, tmp_path):
    """It presents another one to a client without the name (SNI)."""
    ca = stack.env["CA_CERT"]
    other = issue(tmp_path, (ca, str(Path(ca).with_name("ca.key"))), "other", "otro.example.com")
    right = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    right.load_cert_chain(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"])
    names = []

    def choose(connection, name, _context):
        names.append(name)
        if name and name.endswith(".receptor.test"):
            connection.context = right
    receiver = ScriptedReceiver(other, Verifier())
    receiver._context.sni_callback = choose
    with receiver:
        entity = Entity(stack, receiver)
        assert not_good(diagnose(entity, entity.register())) == LITERAL
        assert None not in names
        receiver._context.sni_callback = None
        found = diagnose(entity, entity.register())
        assert found["nombre_certificado"]["resultado"] == "mal" and "SNI" in found["nombre_certificado"]["detalle"]


def test_a_mutual_tls_that_shows_after_the_handshake(entity, stack):
    """TLS 1.3 asks for the certificate when the client takes the handshake to be over."""
    valid = stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]
    with tcp.https_server(valid, tcp.ask_for_a_certificate(stack.env["CA_CERT"], ssl.TLSVersion.TLSv1_3)) as port:
        found = diagnose(entity, entity.register(port=port))
    assert (found["tls"]["resultado"], found["autentica"]["resultado"]) == ("mal", "mal")


def test_an_inactive_webhook_is_diagnosed_too_unless_by_the_operator(entity, receiver, stack):
    hook = entity.register()
    assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"activo": False}).status == 200
    assert diagnose(entity, hook)["autentica"]["resultado"] == "bien"
    assert entity.listed(hook)["activo"] is False
    receiver.behave(hook.path, Behaviour(hold=True))
    ask(entity, hook)
    before = len(receiver.requests(hook.path))
    receiver.wait(hook.path, before + 1)
    stack.admin("webhook", "disable", hook.id)
    receiver.release(hook.path)
    found = wait_ended(entity, hook, "fallido")
    assert found["autentica"]["resultado"] == "bien" and "desactivó" in found["sin_firma"]["detalle"]
    assert len(receiver.requests(hook.path)) == before + 1


# Events during a diagnosis.

@pytest.fixture
def held(entity, receiver):
    """A diagnosis with a genuine notification that waits for its answer; the next requests take their time."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True), Behaviour(delay=0.5))
    assert ask(entity, hook).status == 202
    receiver.wait(hook.path)
    assert shown(entity, hook) | {"iniciado": 0} == {"estado": "en_curso", "iniciado": 0, "pruebas": []}
    return hook


def test_the_url_changes(entity, receiver, held):
    other = entity.register()
    assert entity.api("PATCH", f"{BASE}/{held.id}", json_body={"url": other.url + "/otra"}).status == 200
    receiver.release(held.path)
    found = wait_ended(entity, held, "fallido")
    assert "URL" in found["sin_firma"]["detalle"] and found["sin_firma"]["remedio"]
    assert len(receiver.requests(held.path)) == 1 and not receiver.requests(other.path + "/otra")


def test_the_webhook_is_deleted(entity, receiver, held, stack):
    assert entity.api("DELETE", f"{BASE}/{held.id}").status == 200
    receiver.release(held.path)
    wait_until(lambda: stack.value(f"SELECT estado FROM diagnosticos WHERE webhook_id = {held.id}") == "fallido", what="its end")
    assert entity.api("GET", f"{BASE}/{held.id}/diagnostico").status == 404
    assert len(receiver.requests(held.path)) == 1


@pytest.mark.parametrize("part", [[], ["--webhook"]])
def test_the_queue_is_paused(entity, receiver, held, stack, part):
    what = [*part, held.id] if part else []
    stack.admin("queue", "pause", *what)
    try:
        receiver.release(held.path)
        found = wait_ended(entity, held, "fallido")
        assert "detenido" in found["repetida"]["detalle"] and len(receiver.requests(held.path)) <= 2, "one look later"
        assert ask(entity, held).status == 202
        holds_for(1.5, lambda: shown(entity, held)["estado"] == "pendiente", "it waits")
    finally:
        stack.admin("queue", "resume", *what)
    wait_ended(entity, held)


@pytest.mark.parametrize("part", [[], ["--webhook"]])
def test_one_that_waits_for_an_hour_ends_while_the_pause_lasts(entity, receiver, stack, part):
    hook = entity.register()
    what = [*part, hook.id] if part else []
    stack.admin("queue", "pause", *what)
    try:
        assert ask(entity, hook).status == 202
        holds_for(1.5, lambda: shown(entity, hook)["estado"] == "pendiente", "it waits")
        stack.sql(f"UPDATE diagnosticos SET pedido_en = pedido_en - INTERVAL 1 HOUR WHERE webhook_id = {hook.id}")
        found = wait_ended(entity, hook, "fallido")
    finally:
        stack.admin("queue", "resume", *what)
    assert {one["resultado"] for one in found.values()} == {"no_hecha"} and "a tiempo" in found["nombre"]["detalle"]
    assert receiver.requests(hook.path) == []


def test_one_that_cannot_begin_lets_the_dispatcher_rest(entity, stack):
    """Its loop runs no more often than without one, once it has been idle for a while."""
    hook = entity.register()
    stack.admin("queue", "pause", "--webhook", hook.id)
    try:
        with observed_dispatcher(stack) as scrape:
            def rounds_in_a_second():
                before = scrape().value("apientidades_rounds_total")
                time.sleep(1)
                return scrape().value("apientidades_rounds_total") - before
            at_rest = min(rounds_in_a_second() for _ in range(8))
            assert ask(entity, hook).status == 202
            holds_for(1.5, lambda: shown(entity, hook)["estado"] == "pendiente", "it waits")
            wait_until(lambda: rounds_in_a_second() < 1.4 * at_rest, 15, "its rest")
    finally:
        stack.admin("queue", "resume", "--webhook", hook.id)


def test_the_dispatcher_is_stopped_and_what_is_in_flight_ends(entity, receiver, held, stack):
    pid, = stack.pids("dispatcher")
    os.kill(pid, signal.SIGTERM)
    receiver.release(held.path)
    wait_until(lambda: not stack.pids("dispatcher"), 20, "its end")
    found = wait_ended(entity, held, "fallido")
    assert found["autentica"]["resultado"] == "bien" and found["sin_firma"]["resultado"] == "no_hecha"
    stack.start("dispatcher")
    holds_for(1, lambda: len(receiver.requests(held.path)) == 1, "sent once")


def test_the_dispatcher_is_stopped_before_anything_was_sent(entity, stack):
    """It waits for the next one."""
    with tcp.black_hole() as hole:
        hook = entity.register(port=hole)
        with stack.dispatcher_with(**setting(delivery_connect_timeout="10s", delivery_timeout="12s", delivery_lease="30s")):
            ask(entity, hook)
            wait_until(lambda: shown(entity, hook)["estado"] == "en_curso", what="its beginning")
            stack.stop("dispatcher")
            assert shown(entity, hook) == {"estado": "pendiente", "iniciado": None, "pruebas": []}
        assert wait_ended(entity, hook)["conexion"]["resultado"] == "mal"


def test_the_dispatcher_is_stopped_while_the_genuine_one_waits_for_its_host(entity, receiver, stack):
    """It follows a delivery on the slot of a fast webhook: it was not sent, and does not count."""
    hook = entity.register()
    receiver.behave(hook.path, *[Behaviour()] * 20, Behaviour(hold=True), Behaviour())
    with stack.dispatcher_with(**setting(delivery_timeout="30s", delivery_lease="60s")):
        for _ in range(21):
            entity.notify()
        receiver.wait(hook.path, 21)
        wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == 20, what="all but one")
        ask(entity, hook)
        wait_until(lambda: shown(entity, hook)["estado"] == "en_curso", what="its beginning")
        holds_for(1.5, lambda: len(receiver.requests(hook.path)) == 21, "it waits")
        pid, = stack.pids("dispatcher")
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: shown(entity, hook) == {"estado": "pendiente", "iniciado": None, "pruebas": []}, 5, "another dispatcher's turn")
        receiver.release(hook.path)
        wait_until(lambda: not stack.pids("dispatcher"), 20, "its end")
    wait_ended(entity, hook)
    assert len(receiver.requests(hook.path)) == 21 + 5


def test_the_dispatcher_is_killed_and_nothing_hangs_for_ever(entity, receiver, held, stack):
    """Its lease expires, so it has failed, and another one may be asked for."""
    stack.stop("dispatcher", "-9")
    assert shown(entity, held)["estado"] == "en_curso"
    assert ask(entity, held).json()["diagnostico"] == {"estado": "en_curso"}
    stack.sql(f"UPDATE diagnosticos SET arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE webhook_id = {held.id}")
    found = wait_ended(entity, held, "fallido")
    assert {one["resultado"] for one in found.values()} == {"no_hecha"} and all(one["remedio"] for one in found.values())
    receiver.behave(held.path, Behaviour())
    assert ask(entity, held).json()["diagnostico"] == {"estado": "pendiente"}
    stack.start("dispatcher")
    wait_ended(entity, held)


def test_a_secret_that_cannot_be_read_sends_nothing(entity, receiver, stack):
    hook = entity.register()
    key = stack.value(f"SELECT secreto_clave FROM webhooks WHERE id = {hook.id}")
    stack.sql(f"UPDATE webhooks SET secreto_clave = 'perdida' WHERE id = {hook.id}")
    try:
        ask(entity, hook)
        found = wait_ended(entity, hook, "fallido")
    finally:  # later tests open every secret
        stack.sql(f"UPDATE webhooks SET secreto_clave = '{key}' WHERE id = {hook.id}")
    assert "secreto" in found["autentica"]["detalle"] and receiver.requests(hook.path) == []


def test_two_dispatchers_send_each_once(new_entity, stack):
    """The second dispatcher dials 127.0.0.2, so that the receiver can tell them apart."""
    certificate = stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]
    with Receiver(*certificate, free_port(), ("127.0.0.1", "127.0.0.2")) as receiver:
        entity, rounds = new_entity(), 0
        hooks = [entity.register(port=receiver.port) for _ in range(5)]
        lease = setting(delivery_lease="60s")  # longer than either waits on a busy machine
        with (stack.dispatcher_with(**lease),
              stack.second_dispatcher(**lease, **setting(delivery_host_overrides="*.receptor.test=127.0.0.2"))):
            while rounds < 3 or len({one.local_address for one in receiver.requests()}) < 2:
                rounds += 1
                assert rounds <= 40, "one of the two takes all"
                for hook in hooks:
                    assert ask(entity, hook).status == 202
                for hook in hooks:
                    wait_ended(entity, hook)
        for hook in hooks:
            sent = receiver.requests(hook.path)
            assert len(sent) == rounds * 5
            senders = {}
            for one in sent:
                senders.setdefault(one.headers["webhook-id"].rsplit("_", 1)[0], set()).add(one.local_address)
            assert len(senders) == rounds and all(len(one) == 1 for one in senders.values())


def test_the_database_goes_away(entity, receiver, stack):
    """Answers that came while it was away are not lost, and it goes on where it was."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True), Behaviour())
    with stack.dispatcher_with(**setting(delivery_timeout="60s", delivery_lease="90s")):
        assert ask(entity, hook).status == 202
        receiver.wait(hook.path)
        stack.stop("db", "-9")
        receiver.release(hook.path)
        stack.start("db")
        stack.connect_evaluation()
        wait_until(lambda: entity.api("GET", BASE).status == 200, 30, "the API")
        wait_ended(entity, hook, timeout=40)
    sent = receiver.requests(hook.path)
    assert len(sent) == 5 and len({one.headers["webhook-id"] for one in sent}) == 4


def test_a_webhook_with_a_backlog_is_diagnosed_all_the_same(entity, receiver, stack):
    """It goes before waiting deliveries, and takes only one of the webhook's slots."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(delay=0.15))
    backlog = 400
    for _ in range(backlog):
        entity.notify()
    receiver.wait(hook.path, 20)
    found = diagnose(entity, hook)
    assert found["autentica"]["resultado"] == "bien" and len(receiver.requests(hook.path)) < backlog
    assert receiver.peak_in_flight(hook.path) <= 10
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == backlog, 60, "the backlog")


def test_diagnoses_of_black_holes_cost_others_no_turn(new_entity, receiver, stack):
    """One slot for each webhook, counted for its own entity."""
    with tcp.black_hole() as hole, stack.dispatcher_with(**setting(delivery_max_in_flight="8")):
        greedy, other = new_entity(), new_entity()
        holes = [greedy.register(port=hole) for _ in range(5)]
        silent = [new_entity() for _ in range(2)]
        hooks = [(one, one.register()) for one in silent for _ in range(5)]
        for _, hook in hooks:
            receiver.behave(hook.path, Behaviour(fault="silent"))
        quick = other.register()
        for hook in holes:
            ask(greedy, hook)
        for one, hook in hooks:
            ask(one, hook)
        for _ in range(10):
            delivery = stack.delivery_id(other.notify(), quick.id)
            stack.wait_delivery(delivery, "entregada", 3)
        assert all(receiver.peak_in_flight(hook.path) <= 1 for _, hook in hooks)
        for one, hook in [*hooks, *((greedy, hook) for hook in holes)]:
            wait_ended(one, hook, timeout=60)
