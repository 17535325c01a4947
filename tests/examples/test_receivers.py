"""The receivers of examples/ against the real dispatcher, and against forged notifications. Most tests run for each language."""
import contextlib
import http.client
import importlib.util
import json
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import odd_requests
from support.actors import BASE
from support.example_receivers import COMMANDS, QUICK_JAVA, SOURCES, ExampleReceiver, failing, reported, require, running, started
from support.failing_example import FAILING
from support.wait import wait_until

if "EXAMPLES" not in os.environ:
    pytest.skip("./dev test --examples runs these", allow_module_level=True)

SECRET = "contraseña 🔑 de España"
DATA = '{"evaluacionId": 9007199254740993, "titulo": "Peña 👩‍🎓 \\"7.50\\" \\u00f1 €"}'
SCHEMES = {language: "webhook-signature" for language in COMMANDS} | {"php": "X-Webhook-Signature"}

specification = importlib.util.spec_from_file_location("vectores", SOURCES / "vectores/vectores.py")
vectores = importlib.util.module_from_spec(specification)
specification.loader.exec_module(vectores)


@pytest.fixture(params=COMMANDS)
def language(request):
    require(request.param)
    return request.param


@pytest.fixture
def webhook(entity):
    """Returns a function that registers a webhook of `entity` at a receiver."""
    return lambda receiver, secret=SECRET: entity.register(["evaluacion.abierta"], secret, receiver.port)


def genuine(number: int = 1, body: str = vectores.CUERPO, name: str = "msg_autentico"):
    notification = vectores.Aviso(f"{name}_{number}", int(time.time()), SECRET).con_cuerpo(body)
    return notification.con(X_Webhook_Signature=vectores.firma(SECRET, body), webhook_signature=vectores.firma_estandar(
        vectores.clave(SECRET), notification.identificador, notification.hora, body))


def test_a_genuine_notification_is_accepted_and_processed_whole(language, stack, entity, webhook):
    with running(language, stack, SECRET) as receiver:
        hook = webhook(receiver)
        entity.notify(data=DATA)
        (id, event, data), = receiver.wait_processed(1)
        assert id.startswith("msg_") and event == "evaluacion.abierta"
        assert data["titulo"] == 'Peña 👩‍🎓 "7.50" ñ €'
        assert str(data["evaluacionId"]) == "9007199254740993"  # as a double, 9007199254740992
        wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 204, what="the answer to be recorded")


def test_a_receiver_judges_every_vector_as_expected(language, stack):
    now = vectores.vectores(int(time.time()))["vectores"]
    for secrets in {tuple(vector["secretos"]) for vector in now}:
        with running(language, stack, *secrets) as receiver:
            wrong, accepted = [], set()
            for vector in vectores.vectores(int(time.time()))["vectores"]:
                if tuple(vector["secretos"]) != secrets:
                    continue
                status = receiver.post(vector["cabeceras"], vector["cuerpo"])
                expected = vector["esperado"][SCHEMES[language]]
                if status != (204 if expected == "aceptar" else 401):
                    wrong.append((vector["nombre"], expected, status))
                if expected == "aceptar":
                    accepted.add(vector["cabeceras"]["webhook-id"])
            assert wrong == []
            processed = receiver.wait_processed(len(accepted))
            assert len(processed) == len(accepted) and {id for id, _, _ in processed} == accepted


def test_a_repetition_is_answered_2xx_and_processed_once(language, stack):
    with running(language, stack, SECRET) as receiver, ThreadPoolExecutor(8) as pool:
        notifications = [genuine(number) for number in range(20)]
        sent = [notification for notification in notifications for _ in range(4)]  # four copies of each, sent by 8 threads
        answers = list(pool.map(lambda aviso: receiver.post(aviso.cabeceras, aviso.cuerpo), sent))
        answers.append(receiver.post(sent[0].cabeceras, sent[0].cuerpo))
        last = genuine(20)
        answers.append(receiver.post(last.cabeceras, last.cuerpo))
        assert answers == [204] * 82
        wait_until(lambda: last.identificador in {id for id, _, _ in receiver.processed()}, what="the last one to be processed")
        processed = [id for id, _, _ in receiver.wait_processed(21)]
        assert sorted(processed) == sorted(notification.identificador for notification in [*notifications, last])


def test_a_rotation_under_way_is_accepted_with_either_secret(language, stack, entity, webhook):
    new = vectores.NUEVO
    with running(language, stack, SECRET) as old, running(language, stack, new) as renewed, running(language, stack, new, SECRET) as both:
        receivers = [old, renewed, both]
        hooks = [webhook(receiver) for receiver in receivers]
        for hook in hooks:
            assert entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": new}).status == 200
        entity.notify()
        assert [len(receiver.wait_processed(1)) for receiver in receivers] == [1, 1, 1]
        assert entity.api("DELETE", f"{BASE}/{hooks[2].id}/secreto/anterior").status == 200
        entity.notify()
        assert len(both.wait_processed(2)) == 2


@pytest.mark.parametrize("previous", ["", " ", "whsec_"])
def test_an_empty_previous_secret_opens_nothing(language, stack, previous):
    with running(language, stack, SECRET, previous) as receiver:
        forged, notification = genuine(1), genuine(2)
        key = previous.removeprefix("whsec_").encode()
        forged.con(X_Webhook_Signature=vectores.firma(previous, forged.cuerpo), webhook_signature=vectores.firma_estandar(
            key, forged.identificador, forged.hora, forged.cuerpo))
        assert receiver.post(forged.cabeceras, forged.cuerpo) == 401
        assert receiver.post(notification.cabeceras, notification.cuerpo) == 204


@pytest.mark.parametrize("secret", [None, "", " ", "whsec_"])
def test_without_a_secret_it_does_not_start_and_says_so(language, stack, secret):
    if language == "php":  # the web server starts all the same; the receiver answers 500, and logs why
        with running(language, stack, secret, refusal=500) as receiver:
            assert refusal_of("RECEPTOR_SECRETO") in receiver.log.read_text()
    else:
        assert_refuses_to_start(language, stack, "RECEPTOR_SECRETO", secret)


@pytest.mark.parametrize("variable", ["RECEPTOR_CERT", "RECEPTOR_CLAVE"])
def test_without_a_certificate_it_does_not_start_and_says_so(language, stack, variable):
    if language == "php":
        pytest.skip("the certificate is the web server's")
    assert_refuses_to_start(language, stack, variable, None)


def assert_refuses_to_start(language: str, stack, variable: str, value: str | None) -> None:
    with started(language, stack, {"RECEPTOR_SECRETO": SECRET, variable: value}) as (process, _, log):
        assert process.wait(20) == 1
        said = log.read_text().replace(f"Picked up JAVA_TOOL_OPTIONS: {QUICK_JAVA}\n", "")
        assert refusal_of(variable) in said and said.count("\n") == 1, said


def refusal_of(variable: str) -> str:
    return f"{variable} falta o está incompleta: póngala como dicen las primeras líneas de "


def test_200_notifications_in_a_second(language, stack, entity, webhook):
    with running(language, stack, SECRET) as receiver:
        hook = webhook(receiver)
        rows = ", ".join(f"({entity.id}, 'evaluacion.abierta', '{{\"evaluacionId\": {n}, \"titulo\": \"ñ\"}}')" for n in range(200))
        stack.evaluation(f"INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES {rows}")
        processed = receiver.wait_processed(200, 10)
        assert sorted(data["evaluacionId"] for _, _, data in processed) == list(range(200))
        wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == 200, what="200 deliveries to be recorded")
        again = f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id} AND intentos > 1"
        assert stack.value(again) == "0", "each at its first attempt"


def test_a_failure_to_process_one_is_written_and_stops_no_other(language, stack):
    with failing(language) as program, running(language, stack, SECRET, program=program) as receiver:
        for notification in (genuine(1, name=FAILING), genuine(2, name=FAILING), genuine(3)):
            assert receiver.post(notification.cabeceras, notification.cuerpo) == 204
        assert [id for id, _, _ in receiver.wait_processed(1)] == ["msg_autentico_3"]
        for number in (1, 2):
            wait_until(lambda: f"no se ha podido procesar {FAILING}_{number}" in receiver.log.read_text(), what="the failure to be written")


# Bodies that are not JSON, and JSON that is not a notification.
STRANGE = ["no es JSON", "", "[]", "1", "null", "{}", '{"evento": 7}', '{"evento": "evaluacion.abierta"}', '{"data": {}}']


def test_a_signed_body_that_is_no_notification_is_written_and_stops_no_other(language, stack):
    with running(language, stack, SECRET) as receiver:
        strange, last = [genuine(number, body=body) for number, body in enumerate(STRANGE)], genuine(len(STRANGE))
        for notification in (*strange, last):
            assert receiver.post(notification.cabeceras, notification.cuerpo) == 204, notification.cuerpo
        assert [id for id, _, _ in receiver.wait_processed(1)] == [last.identificador]
        for failure in [f"no se ha podido procesar {notification.identificador}" for notification in strange]:
            wait_until(lambda: failure in receiver.log.read_text(), what=f"the log to say: {failure}")


# For each language with a receiver that processes notifications in a thread of its own: how many notifications the test sends.
# The queue of the thread is limited only in Go, to fewer notifications than the test sends.
BEHIND = {"python": 100, "java": 100, "go": 10_100, "rust": 100}


@pytest.mark.parametrize("language", BEHIND)
def test_slow_processing_holds_up_no_answer_and_loses_nothing(language, stack):
    """For the first notification, the receiver prints more than a pipe holds. So its processing lasts until the test reads the
    output, which it does only after the answers."""
    require(language)
    output, its_output = os.pipe()
    with (ThreadPoolExecutor(1) as pool, open(output, "rb") as reader,
          running(language, stack, SECRET, stdout=its_output) as receiver):
        os.close(its_output)

        def read(count: int) -> list[str]:
            return [id for id, _, _ in reported(pool.submit(read_until, reader, count).result(60))]

        first = genuine(-1, json.dumps({"evento": "evaluacion.abierta", "data": {"titulo": "x" * 200_000}}))
        assert receiver.post(first.cabeceras, first.cuerpo) == 204
        answers = answers_in_turn(receiver, [genuine(number) for number in range(BEHIND[language])])
        assert set(answers.values()) == ({204, 503} if language == "go" else {204})
        taken = [first.identificador, *(id for id, status in answers.items() if status == 204)]
        assert read(len(taken)) == taken
        refused = [genuine(number) for number in range(BEHIND[language]) if answers[genuine(number).identificador] == 503]
        assert set(answers_in_turn(receiver, refused).values()) <= {204}
        assert read(len(refused)) == [notification.identificador for notification in refused]


def answers_in_turn(receiver: ExampleReceiver, notifications: list) -> dict[str, int]:
    """Sends the notifications on one connection; returns webhook-id -> status. Each answer must come within 5 s."""
    connection = http.client.HTTPSConnection("localhost", receiver.port, context=receiver.client.tls, timeout=5)
    answers = {}
    with contextlib.closing(connection):
        for notification in notifications:
            connection.request("POST", "/avisos", notification.cuerpo.encode(), notification.cabeceras)
            with connection.getresponse() as response:
                response.read()
                answers[notification.identificador] = response.status
    return answers


def read_until(reader, count: int) -> str:
    """Reads lines until `count` notifications have been processed."""
    lines = []
    while sum(line.startswith("procesado ") for line in lines) < count:
        lines.append(reader.readline().decode())
        assert lines[-1], "the receiver ended"
    return "".join(lines)


def test_strange_clients_delay_no_notification(language, stack):
    with running(language, stack, SECRET) as receiver, ThreadPoolExecutor(1) as pool:
        strangers = [socket.create_connection(("127.0.0.1", receiver.port)) for _ in range(20)]
        for stranger in strangers[:10]:
            stranger.sendall(b"\x16\x03\x01\x02\x00\x01\x00")  # half a TLS handshake; the other ten send nothing
        strangers[0].sendall(b"GET / HTTP/1.0\r\n\r\n")
        wire = receiver.client.wire(b"POST /avisos HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
        endless = receiver.client.wire(b"POST /avisos HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n")
        pool.submit(endless.send, b"x" * 10_000_000)
        drips = [receiver.client.wire(head) for head in DRIPS for _ in range(10)]
        done = threading.Event()
        dripping = threading.Thread(target=drip, args=(drips, done))
        dripping.start()
        for number in range(5):
            notification = genuine(number)
            assert receiver.post(notification.cabeceras, notification.cuerpo) == 204
        receiver.wait_processed(5, 5)
        done.set()
        dripping.join()
        for stranger in [*strangers, *drips, wire, endless]:
            stranger.close()


@pytest.mark.parametrize("language", COMMANDS)
def test_a_notification_that_a_proxy_has_written_anew(language, stack):
    require(language)
    with running(language, stack, SECRET) as receiver:
        def status(data: bytes) -> int:
            with receiver.client.wire(data) as wire:
                return wire.response().status
        answers = {name: status(write(genuine(number))) for number, (name, write) in enumerate(odd_requests.GENUINE.items())}
        assert answers == dict.fromkeys(odd_requests.GENUINE, 204)
        forged = genuine().con_cuerpo("{}")
        assert {status(write(forged)) for write in odd_requests.GENUINE.values()} == {401}
        assert status(odd_requests.without_a_length(genuine())) == (411 if language == "python" else 401)
        assert len(receiver.wait_processed(len(answers))) == len(answers)


def test_python_refuses_chunks_that_are_too_large_or_none(stack):
    with running("python", stack, SECRET) as receiver:
        for chunks, status in ((b"F4241\r\n", 413), (b"FFFFFFFFF\r\n", 413), (b"-1\r\n", 400), (b"0x5\r\n", 400), (b"1_0\r\n", 400), (b"\r\n", 400), (b"5\r\n12345\r\nz\r\n", 400),
                               (b"5\r\n12345XY\r\n0\r\n\r\n", 400)):
            with receiver.client.wire(odd_requests.request(genuine(), chunks, {"Transfer-Encoding": "chunked"})) as wire:
                assert wire.response().status == status, chunks


def test_python_refuses_a_content_length_that_is_no_number(stack):
    with running("python", stack, SECRET) as receiver:
        # "²".isdigit() is true; int() refuses more than 4300 digits.
        for length in ("²".encode("latin-1"), b"-1", b"+5", b"0x5", b"", b"9" * 5000):
            with receiver.client.wire(b"POST /avisos HTTP/1.1\r\nHost: x\r\nContent-Length: " + length + b"\r\n\r\n") as wire:
                assert wire.response().status == 413, length


# Requests that stop within the headers, and within the body.
DRIPS = [b"POST /avisos HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"POST /avisos HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"]
WITH_DEADLINE = ["javascript", "java", "go", "rust"]  # comments in the other examples say what must run in front of them


def drip(wires, done: threading.Event) -> None:
    """Sends a byte on each connection, twice a second."""
    while not done.wait(0.5):
        for wire in wires:
            with contextlib.suppress(OSError):
                wire.send(b"x")


@pytest.mark.parametrize("language", WITH_DEADLINE)
def test_a_request_that_arrives_a_byte_at_a_time_is_ended(language, stack):
    require(language)
    with running(language, stack, SECRET) as receiver:
        wires = [receiver.client.wire(head) for head in DRIPS]
        wait_until(lambda: all([is_closed_after_a_byte(wire) for wire in wires]), 40, "the requests to be ended")


def is_closed_after_a_byte(wire) -> bool:
    wire.socket.settimeout(0.5)
    try:
        wire.send(b"x")
        return wire.socket.recv(65536) == b""  # a 408 may come first, and the end only at the next call
    except TimeoutError:
        return False
    except OSError:
        return True


def test_php_without_its_folder_takes_nothing_and_says_why(stack):
    require("php")
    for folder in ("", "/nonexistent"):
        with running("php", stack, SECRET, folder_of_php=folder, refusal=500) as receiver:
            notification = genuine()
            assert receiver.post(notification.cabeceras, notification.cuerpo) == 500
            assert "RECEPTOR_CARPETA debe ser una carpeta" in receiver.log.read_text() and receiver.processed() == []
