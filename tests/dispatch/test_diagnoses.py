"""Diagnoses of real receivers: the requests, and the findings from the receivers' answers."""
import contextlib
import json
import ssl
import time
from pathlib import Path

import pytest

from fakes import tcp, verify
from fakes.certificates import issue
from fakes.receiver import Behaviour
from fakes.scripted import OK, ScriptedReceiver, answer
from support.actors import BASE, Entity
from support.diagnosis import RARE_FORMS, REQUESTS, SENT, SIGNATURES, Verifier, ask, diagnose, not_good, wait_ended
from support.stack import free_port, setting
from support.wait import holds_for, wait_until

LITERAL = {"nombre": "no_hecha"}  # host_overrides gives the address, so there is no lookup to check
AFTER = dict.fromkeys(REQUESTS, "no_hecha")
HOUR = 3600
TIMEOUT = 9  # seconds
SAMPLE = {"texto": "a/b 😀", "nota": 7.5, "id": 9007199254740993}


@pytest.fixture(scope="module", autouse=True)
def patient_stack(stack):
    """Time-outs that an answer does not exceed on a busy machine: a third of the time-out is slow already."""
    usual = stack.settings
    stack.settings = usual | setting(delivery_connect_timeout="3s", delivery_timeout=f"{TIMEOUT}s", delivery_lease="30s")
    stack.stop("dispatcher")
    stack.start("dispatcher")
    yield
    stack.settings = usual
    stack.stop("dispatcher")
    stack.start("dispatcher")


@pytest.fixture
def certificate(stack):
    return stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]


@pytest.fixture
def scripted(stack, certificate):
    """A function that starts a receiver, and returns an entity and its webhook at that receiver."""
    running = []

    def start(script, secret="s3creto-de-prueba"):
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


def test_a_good_receiver_is_asked_ten_times_and_all_is_well(scripted, stack):
    verifier = Verifier()
    entity, hook = scripted(verifier)
    before = state(stack, hook)
    assert not_good(diagnose(entity, hook)) == LITERAL
    assert len(verifier.received) == SENT and len(verifier.processed) == 6
    genuine, wrong, unsigned, old, repeated, *rare = verifier.received
    now = time.time()
    assert verify.problems(*genuine, hook.secret, now) == [] and verify.problems(*old, hook.secret, now - HOUR) == []
    assert abs(int(old[0]["webhook-timestamp"]) + HOUR - now) < 30
    assert verify.problems(*wrong, hook.secret, now) == ["x-webhook-signature does not match", "webhook-signature does not match"]
    assert set(wrong[0]) == set(genuine[0]) and len(wrong[0]["webhook-signature"]) == len(genuine[0]["webhook-signature"])
    assert not [name for name in unsigned[0] if "signature" in name]
    assert repeated[1] == genuine[1] and repeated[0]["webhook-id"] == genuine[0]["webhook-id"]
    assert len({fields["webhook-id"] for fields, _ in verifier.received}) == SENT - 1
    for (fields, body), probe in zip(verifier.received, ["autentica", *SIGNATURES, "autentica", *RARE_FORMS]):
        event = "diagnostico.evento_desconocido" if probe == "evento_desconocido" else "evaluacion.abierta"
        assert fields["x-webhook-event"] == json.loads(body)["evento"] == event
        assert fields["content-type"] == "application/json" + ("; charset=utf-8" if probe == "tipo_contenido" else "")
        data = json.loads(body)["data"]
        more = data["datos"].pop("muestra", None), len(data["datos"].pop("relleno", ""))
        assert more == (None if probe in SIGNATURES else SAMPLE, 60 * 1024 if probe == "cuerpo_grande" else 0)
        verb = "rechazarse" if probe in SIGNATURES else "aceptarse"
        assert data == {
            "test": True, "entidadId": entity.id, "entidadNombre": entity.name,
            "mensaje": f"Diagnóstico: esta notificación debe {verb}", "datos": {"diagnostico": probe}}
    assert all(verify.problems(fields | {"content-type": "application/json"}, body, hook.secret, now) == [] for fields, body in rare)
    assert [len(fields["webhook-signature"].split(" ")) for fields, _ in rare] == [1, 1, 1, 2, 1]
    assert state(stack, hook) == before and entity.api("GET", f"{BASE}/{hook.id}/entregas").json()["entregas"] == []


def test_the_event_is_one_of_the_webhooks(scripted):
    verifier = Verifier()
    entity, _ = scripted(verifier)
    hook = entity.register(["incidencia.cerrada", "documento.disponible"])
    diagnose(entity, hook)
    assert {fields["x-webhook-event"] for fields, _ in verifier.received[:-1]} == {"incidencia.cerrada"}


def test_a_receiver_that_accepts_everything_is_found(scripted):
    entity, hook = scripted(Verifier(signature=False, timestamp=False))
    found = diagnose(entity, hook)
    assert not_good(found) == LITERAL | {"firma_incorrecta": "mal", "sin_firma": "mal", "fecha_antigua": "aviso"}


def test_a_receiver_that_refuses_the_repetition_is_found(scripted):
    entity, hook = scripted(Verifier(again=409))
    assert not_good(diagnose(entity, hook)) == LITERAL | {"repetida": "aviso"}


def test_a_receiver_with_another_secret_is_found(scripted):
    verifier = Verifier("otro")
    entity, hook = scripted(verifier)
    found = diagnose(entity, hook)
    assert found["autentica"]["resultado"] == "mal" and "secreto" in found["autentica"]["remedio"]
    assert len(verifier.received) == 2


def rewritten(**how):
    """The script of a receiver that verifies the JSON that it has parsed and written again."""
    def script(connection, _number, fields):
        body = json.dumps(json.loads(connection.read_body(fields)), **how).encode()
        connection.send(OK if verify.problems(fields, body, "s3creto-de-prueba") == [] else answer(401))
    return script


@pytest.mark.parametrize("how, sure", [
    ({"ensure_ascii": False, "separators": (",", ":")}, True),
    ({}, False),
    ({"sort_keys": True, "separators": (",", ":")}, True)], ids=["compact", "blanks", "sorted"])
def test_a_receiver_that_verifies_what_it_writes_again_is_told_so(scripted, how, sure):
    entity, hook = scripted(rewritten(**how))
    found = diagnose(entity, hook)["autentica"]
    assert found["resultado"] == "mal" and ("la misma, como la escribe" in found["detalle"]) == sure
    assert "los bytes recibidos, antes de interpretar el JSON" in found["remedio"] and ("secreto" in found["remedio"]) != sure
    assert "/apientidades/docs/verificar-la-firma.html#en-su-framework" in found["remedio"]


UNVERIFIABLE = "este secreto no puede verificarse con las bibliotecas de Standard Webhooks"


def test_a_secret_that_no_library_verifies_is_named(scripted):
    """Also in the refusal of a receiver whose library decodes it otherwise."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw "
    found = diagnose(*scripted(Verifier(secret), secret=secret))
    assert not_good(found) == LITERAL | {"firma_incorrecta": "aviso"} and UNVERIFIABLE in found["firma_incorrecta"]["detalle"]
    found = diagnose(*scripted(Verifier(secret.strip()), secret=secret))["autentica"]
    assert found["resultado"] == "mal" and UNVERIFIABLE in found["detalle"] and "openssl rand -base64 24" in found["remedio"]


def test_a_test_event_shows_the_same_mistake(scripted):
    """Such a receiver refuses the test event, too; one that verifies the bytes takes it."""
    for script, status in ((rewritten(ensure_ascii=False, separators=(",", ":")), 401), (Verifier(), 200)):
        entity, hook = scripted(script)
        assert entity.api("POST", f"{BASE}/test", json_body={"evento": "evaluacion.abierta"}).status == 200
        wait_until(lambda: entity.listed(hook)["ultimoEstado"] == status, what=f"the answer {status}")


def test_a_webhook_without_a_secret(scripted):
    verifier = Verifier(None)
    entity, hook = scripted(verifier, secret=None)
    assert not_good(diagnose(entity, hook)) == LITERAL | dict.fromkeys([*SIGNATURES, "segunda_firma"], "no_hecha")
    assert len(verifier.received) == 6 and not [name for fields, _ in verifier.received for name in fields if "signature" in name]


def test_a_rotation_under_way(scripted):
    """During a rotation, the genuine request has two signatures, and the request `wrong` has two wrong signatures."""
    verifiers = [Verifier(secret) for secret in ("s3creto-de-prueba", "nuevo-secreto-de-prueba")]

    def script(connection, number, fields):
        body = connection.read_body(fields)
        results = [one.status(fields, body) for one in verifiers]
        verifiers[0].received.append((fields, body))
        connection.send(OK if 200 in results else answer(401))
    entity, hook = scripted(script)
    assert entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": "nuevo-secreto-de-prueba"}).status == 200
    assert not_good(diagnose(entity, hook)) == LITERAL
    genuine, wrong, *_ = verifiers[0].received
    for fields, _ in (genuine, wrong):
        assert len(fields["webhook-signature"].split(" ")) == 2 and "x-webhook-signature-nueva" in fields
    assert len({*genuine[0]["webhook-signature"].split(" "), *wrong[0]["webhook-signature"].split(" ")}) == 4


@pytest.mark.parametrize("status", [302, 410, 429, 500])
def test_a_refused_diagnosis_does_not_change_the_webhook(entity, receiver, stack, status):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=status, headers={"Retry-After": "3600"}))
    before = state(stack, hook)
    found = diagnose(entity, hook)
    assert found["autentica"]["resultado"] == "mal" and str(status) in found["autentica"]["detalle"]
    assert {found[name]["resultado"] for name in (*SIGNATURES, "repetida", *RARE_FORMS)} == {"no_hecha"}
    assert state(stack, hook) == before and len(receiver.requests(hook.path)) == (2 if status == 500 else 1)
    receiver.behave(hook.path, Behaviour())
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")


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
    """If libcurl meets the second answer before the next request, it ends the connection, and the diagnosis sees only that."""
    def script(connection, _number, request):
        connection.read_body(request)
        connection.send(OK, OK)
    entity, hook = scripted(script)
    kept = diagnose(entity, hook)["conexion_mantenida"]
    assert kept["resultado"] == "aviso" and any(text in kept["detalle"] for text in ("más datos", "cierra la conexión"))


def test_a_receiver_that_closes_without_an_answer(entity, receiver):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(fault="hang_up"))
    found = diagnose(entity, hook)
    assert found["autentica"]["resultado"] == "mal" and "cerró la conexión" in found["autentica"]["detalle"]
    assert found["certificado"]["resultado"] == "bien" and "días" in found["certificado"]["detalle"]


def test_a_slow_receiver_and_one_that_is_too_slow(entity, receiver):
    """An answer that takes more than a third of delivery.timeout is slow."""
    slow, silent = entity.register(), entity.register()
    receiver.behave(slow.path, Behaviour(delay=TIMEOUT / 3 + 0.5), Behaviour())
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
    """The receiver presents the right certificate only to a client that sends the name (SNI). Without `choose` it presents the
    other certificate to every client."""
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
    """In TLS 1.3 the server refuses a missing client certificate only after the client has ended its handshake."""
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
