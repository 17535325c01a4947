"""apientidades-receptor, which shows an entity its first notifications: what the program says, refuses and survives."""
import ast
import contextlib
import importlib.machinery
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import odd_requests
from support.actors import BASE, DATA
from support.stack import ROOT, free_port
from support.wait import wait_until
from support.wire import Client

PROGRAM = ROOT / "examples/receptor/apientidades-receptor"
VECTORS = json.loads((ROOT / "examples/vectores/vectores.json").read_text())
SECRET = "contraseña 🔑 de España"


def load(name: str, path):
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


receptor = load("receptor", PROGRAM)
vectores = load("vectores", ROOT / "examples/vectores/vectores.py")


def check(aviso, secret=SECRET, now=None, successes=0):
    headers = receptor.Cabeceras(aviso.cabeceras)
    return receptor.comprobar(headers, aviso.cuerpo.encode(), [secret.encode()], now or aviso.hora, successes)


def genuine(**how):
    return vectores.Aviso("msg_1_1", VECTORS["ahora"], **{"secreto": SECRET, **how})


# What the program accepts as a notification.


@pytest.mark.parametrize("vector", VECTORS["vectores"], ids=lambda vector: vector["nombre"])
def test_the_receptor_judges_every_vector_as_expected(vector):
    reason = receptor.comprobar(receptor.Cabeceras(vector["cabeceras"]), vector["cuerpo"].encode(),
                                [secret.encode() for secret in vector["secretos"]], VECTORS["ahora"])
    assert (reason is None) == (vector["esperado"]["webhook-signature"] == "aceptar"), reason


def test_a_malformed_whsec_secret_is_taken_as_its_bytes():
    for secret in ("whsec_", "whsec_ñ", "whsec_abc"):
        aviso = genuine()
        aviso.con(X_Webhook_Signature=vectores.firma(secret, aviso.cuerpo), webhook_signature=vectores.firma_estandar(
            secret.encode(), aviso.identificador, aviso.hora, aviso.cuerpo))
        assert check(aviso, secret) is None


@pytest.mark.parametrize("why, aviso, given", [
    ("secreto equivocado: le sobran espacios o comillas", genuine(), {"secret": f"'{SECRET}' "}),
    ("secreto equivocado: el que se registró tiene al final un espacio", genuine(secreto=SECRET + "\n"), {}),
    ("secreto equivocado: le falta delante whsec_", genuine(secreto=vectores.WHSEC), {"secret": vectores.WHSEC[6:]}),
    ("secreto equivocado: el webhook se registró con él, pero sin el whsec_", genuine(secreto=vectores.WHSEC[6:]), {"secret": vectores.WHSEC}),
    ("no coincide. Lo más corriente es un secreto equivocado", genuine(secreto="otro"), {}),
    ("cuerpo alterado por el camino (un proxy que lo reescribe), o aviso de otro webhook, con otro secreto: este ha servido ya para 1 aviso.", genuine(secreto="otro"), {"successes": 1}),
    ("cuerpo alterado: le sobran espacios o saltos de línea", genuine().con_cuerpo(genuine().cuerpo + "\r\n"), {}),
    ("cuerpo alterado: le sobra una marca de orden de bytes", genuine().con_cuerpo("\ufeff" + genuine().cuerpo), {}),
    ("de hace 10 minutos. Si acaba de salir, el reloj de esta máquina va mal (dice 2026-11-20 10:10:01 UTC)", genuine(), {"now": VECTORS["ahora"] + 600}),
    ("de dentro de 2 horas", genuine(), {"now": VECTORS["ahora"] - 7200}),
    ("el webhook-id o el webhook-timestamp no son los que se firmaron", genuine().con(webhook_id="msg_2"), {}),
    ("falta la cabecera webhook-signature: un proxy la quita", genuine().con(webhook_signature=None), {}),
    ("no trae firma. O el webhook se registró sin secreto", genuine().con(webhook_signature=None, X_Webhook_Signature=None), {}),
    ("falta la cabecera webhook-id", genuine().con(webhook_id=None), {}),
    ("webhook-timestamp no es una hora", genuine().con(webhook_timestamp="²"), {}),
], ids=lambda value: value[:40] if isinstance(value, str) else "")
def test_it_says_why_a_signature_is_wrong(why, aviso, given):
    assert why in (check(aviso, **given) or "")


def test_it_takes_no_more_than_python_3_9_and_its_standard_library():
    tree = ast.parse(PROGRAM.read_text(), feature_version=(3, 9))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} <= set(sys.stdlib_module_names)


# The running program.


class Running:
    def __init__(self, process, port, ca):
        self.process, self.port, self.text = process, port, ""
        self.client = Client(f"https://localhost:{port}", ca)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.text += line

    def post(self, aviso):
        return self.client("POST", "/", body=aviso.cuerpo.encode(), headers=aviso.cabeceras)

    def wait_text(self, pattern: str, times: int = 1, timeout: float = 30):
        return wait_until(lambda: len(found := re.findall(pattern, self.text)) >= times and found, timeout, f"{pattern!r} in {self.text}")


def how(options, environment) -> tuple[list, dict]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RECEPTOR_")}
    return [sys.executable, "-I", "-S", PROGRAM, *map(str, options)], {
        "env": {**clean, **environment}, "encoding": "utf-8", "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}


def start(*options, **environment) -> subprocess.Popen:
    command, streams = how(options, environment)
    return subprocess.Popen(command, **streams)


def ended(*options) -> tuple[int, str]:
    """Exit status and text of a run that ends by itself."""
    command, streams = how(options, {})
    done = subprocess.run(command, timeout=20, **streams)
    return done.returncode, done.stdout


@pytest.fixture
def run(stack, tmp_path):
    """Starts the program with a secret in a file, and further options."""
    with contextlib.ExitStack() as closing:
        def run(*options, secret: str | None = SECRET, **environment):
            port = free_port()
            given = ["--cert", stack.env["RECEIVER_CERT"], "--clave", stack.env["RECEIVER_KEY"], "--puerto", port]
            if secret is not None:
                file = tmp_path / f"secreto-{port}"
                file.write_text(secret + "\n")
                given += ["--secreto-fichero", file]
            process = closing.enter_context(start(*given, *options, **environment))
            closing.callback(process.kill)
            running = Running(process, port, stack.env["CA_CERT"])
            running.wait_text("Escuchando en el puerto")
            return running
        yield run


def now(number: int = 1, **how):
    return vectores.Aviso(f"msg_1_{number}", int(time.time()), **{"secreto": SECRET, **how})


def test_it_shows_what_the_dispatcher_sends(run, entity):
    running = run()
    hook = entity.register(list(DATA), SECRET, running.port)
    for event in DATA:
        entity.notify(event)
    answer = entity.api("POST", f"{BASE}/test", json_body={"evento": "evaluacion.abierta", "datosExtra": {"niño": "👍"}})
    assert answer.status == 200
    running.wait_text("firma +correcta", len(DATA) + 1)
    wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 204)
    running.process.send_signal(signal.SIGTERM)
    running.wait_text("Terminado: 12 avisos auténticos y 0 rechazados")
    assert running.process.wait(30) == 0
    for event, title in receptor.EVENTOS.items():
        assert f"{title} ({event})" in running.text
    assert list(receptor.EVENTOS) == list(DATA)
    assert re.search(r"descripcion +Informe final ñ\n", running.text) and re.search(r"notaFinal +7\.5\n", running.text)
    assert "Se ha abierto una evaluación (evaluacion.abierta) — ES UNA PRUEBA" in running.text and '{"niño": "👍"}' in running.text


def test_a_rotation_with_both_secrets(run, entity, tmp_path):
    previous = tmp_path / "anterior"
    previous.write_text(SECRET)
    running = run("--secreto-anterior-fichero", previous, secret=vectores.NUEVO)
    hook = entity.register(["evaluacion.abierta"], SECRET, running.port)
    for change in ("none", "grace", "over"):
        if change == "grace":
            assert entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": vectores.NUEVO}).status == 200
        if change == "over":
            assert entity.api("DELETE", f"{BASE}/{hook.id}/secreto/anterior").status == 200
        seen = running.text.count("firma          correcta")
        entity.notify()
        running.wait_text("firma +correcta", seen + 1)
    assert "RECHAZADO" not in running.text


def test_a_failure_on_purpose_shows_the_retries(run, entity):
    running = run("--fallar", "500")
    hook = entity.register(["evaluacion.abierta"], SECRET, running.port)
    entity.notify()
    ids = running.wait_text(r"webhook-id +(\S+)\n", 3)
    assert len(set(ids)) == 1 and running.text.count("500, por --fallar: el servicio lo intentará otra vez") >= 2
    wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 500)


def test_slowness_on_purpose_is_a_time_out_and_a_repetition(run, entity):
    running = run("--lento", "5s")  # delivery.timeout is 2 s in these tests
    entity.register(["evaluacion.abierta"], SECRET, running.port)
    entity.notify()
    running.wait_text("dentro de 5 s, por --lento")
    running.wait_text("Repetido: ya había llegado")


def test_a_repetition_is_said_and_answered_alike(run):
    running, aviso = run(), now()
    assert [running.post(aviso).status for _ in range(3)] == [204] * 3
    running.wait_text("Repetido", 2)


def test_what_is_refused_is_said_and_shows_nothing_of_what_it_holds(run):
    running = run()
    aviso = now().con_cuerpo(now().cuerpo.replace("Informe", "\x1b[2JInforme"))
    assert running.post(aviso).status == 401
    running.wait_text("RECHAZADO: no coincide")
    assert "Informe" not in running.text and "\x1b" not in running.text
    assert running.post(now(2)).status == 204
    assert running.post(aviso).status == 401
    running.wait_text("RECHAZADO: cuerpo alterado por el camino")


def test_control_characters_of_a_genuine_one_do_not_reach_the_screen(run):
    running, body = run(secret=None), json.dumps({"evento": "x\x1b[2J", "data": {"a\x07": "\x1b]0;\u202eñ"}})
    assert running.client("POST", "/", body=body.encode(), headers={"webhook-id": "\x1b[2J"}).status == 204
    running.wait_text("SIN COMPROBAR")
    running.wait_text(re.escape("\\x1b]0;\\u202eñ"))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", running.text)


def test_the_secret_comes_by_a_variable_too_and_never_by_the_command_line(run):
    running = run(secret=None, RECEPTOR_SECRETO=SECRET, LC_ALL="C.UTF-8")
    assert running.post(now()).status == 204
    assert ended("--secreto", SECRET)[0] == 2


def test_a_notification_that_a_proxy_has_written_anew(run):
    running = run()

    def status(data: bytes) -> int:
        with running.client.wire(data) as wire:
            return wire.response().status
    for write in odd_requests.GENUINE.values():
        assert status(write(now())) == 204
        assert status(write(now().con_cuerpo("{}"))) == 401
    assert status(odd_requests.without_a_length(now())) == 411
    for chunks, refusal in ((b"FFFFFFFFF\r\n", 413), (b"-1\r\n", 400), (b"1_0\r\n", 400), (b"5\r\n12345\r\nz\r\n", 400),
                               (b"5\r\n12345XY\r\n0\r\n\r\n", 400)):
        assert status(odd_requests.request(now(), chunks, {"Transfer-Encoding": "chunked"})) == refusal, chunks


def test_a_browser_is_told_that_it_runs(run):
    answer = run().client("GET", "/")
    assert answer.status == 200 and "está en marcha" in answer.text


def test_garbage_silence_and_floods_delay_no_notification(run):
    running = run()
    address = ("127.0.0.1", running.port)
    with contextlib.ExitStack() as closing, ThreadPoolExecutor(1) as pool:
        def stranger(data: bytes = b""):
            connection = closing.enter_context(socket.create_connection(address))
            with contextlib.suppress(OSError):
                connection.sendall(data)

        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
        for data in (b"GET / HTTP/1.0\r\n\r\n", b"\0" * 5000, b"\xff" * 5000, os.urandom(5000), hello, b"\x16", b""):
            stranger(data)
        for text in (b"POST / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"\0\0\0\r\n\r\n", b"POST\r\n\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n[[[[[",
                     b"POST / HTTP/1.1\r\n" + b"a: b\r\n" * 1000 + b"\r\n", b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nhalf"):
            closing.callback(running.client.wire(text).close)
        big = running.client.wire(b"POST / HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n")
        closing.callback(big.close)
        pool.submit(big.send, b"x" * 10_000_000)
        running.wait_text("RECHAZADO: anuncia 10000000 bytes")
        assert running.post(now(1)).status == 204
        for _ in range(receptor.CONEXIONES + 20):  # more connections than the program serves at a time
            stranger(hello)
        for number in range(2, 5):
            assert running.post(now(number)).status == 204
    running.wait_text("firma {10}correcta", 4)
    assert running.process.poll() is None and "Traceback" not in running.text
    assert running.text.count("firma          correcta") == 4


def test_a_body_that_is_no_notification_is_refused(run):
    running = run(secret=None)
    for body in (b"", b"[]", b"{", b"[" * 100_000, b"\xff", b"NaN"):
        assert running.client("POST", "/", body=body).status == 401
    assert running.process.poll() is None and "Traceback" not in running.text


def test_a_sender_that_does_not_trust_the_certificate_is_explained(run, tmp_path):
    running = run()
    with contextlib.suppress(OSError):
        subprocess.run(["curl", "-s", "--noproxy", "*", f"https://localhost:{running.port}/"], timeout=10)
    running.wait_text("El otro lado no acepta este certificado")


@pytest.mark.parametrize("why, options", [
    ("faltan --cert y --clave", []),
    ("no-hay: No such file", ["--cert", "no-hay", "--clave", "no-hay"]),
    ("no son un certificado y su clave en PEM", ["--cert", str(PROGRAM), "--clave", str(PROGRAM)]),
    ("no es la clave de", ["--cert", "CERT", "--clave", "OTHER"]),
    ("vacio: está vacío", ["--sin-tls", "--secreto-fichero", "vacio"]),
    ("a-medias: está vacío, o solo tiene whsec_", ["--sin-tls", "--secreto-fichero", "a-medias"]),
    ("no se puede escuchar en el puerto", ["--sin-tls", "--puerto", "BUSY"]),
    ("--puerto es un número de 1 a 65535", ["--sin-tls", "--puerto", "70000"]),
    ("no es una duración como 20s", ["--lento", "20"]),
    ("no es un estado HTTP", ["--fallar", "200"]),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_stops_the_start_is_one_line(stack, tmp_path, monkeypatch, why, options):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("vacio").write_text("\n")
    tmp_path.joinpath("a-medias").write_text("whsec_\n")
    names = {"CERT": stack.env["RECEIVER_CERT"], "OTHER": stack.env["RECEIVER_KEY"].replace("receiver", "server"), "BUSY": stack.api.port}
    status, text = ended(*(names.get(option, option) for option in options))
    assert status in (1, 2) and why in text and text.count("\n") == 1, text


def test_its_help_teaches():
    for option in ("--ayuda", "--help"):
        status, text = ended(option)
        assert status == 0
        for word in ("--fallar 500", "--lento 20s", "--secreto-anterior-fichero", "certbot", "RECEPTOR_SECRETO", "openssl rand"):
            assert word in text
