"""A private stack of the service, controlled through `./dev` as a person would control it."""
from __future__ import annotations

import contextlib
import json
import os
import random
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from support.sql import GONE, SqlError, SqlSession, insert
from support.wait import wait_until
from support.wire import Client

ROOT = Path(__file__).resolve().parents[2]
EVENTS = [
    "evaluacion.abierta", "evaluacion.prorroga", "evaluacion.cierre_proximo", "evaluacion.cerrada",
    "resultados.provisionales", "resultados.definitivos", "alegaciones.periodo_abierto", "alegaciones.periodo_cierre",
    "incidencia.respuesta", "incidencia.cerrada", "documento.disponible",
]


_ports: set[int] = set()  # those that free_port() has returned


def free_port() -> int:
    """Returns a free port below the range from which the kernel takes ports for connections and for port 0. So no other test
    takes the port before a server listens on it, or while that server restarts. With pytest-xdist, each worker has a part of the
    range, and it gets no port again until half of them are used. From 26257 on there are ports that no webhook may have
    (lib/webhook/refused_ports.cpp)."""
    share = 6_000 // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    first = 20_000 + share * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    if len(_ports) > share // 2:
        _ports.clear()
    while True:
        port = random.choice([port for port in range(first, first + share) if port not in _ports])
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            _ports.add(port)
            return port


def clean_environment(**variables: str) -> dict:
    """Returns this process's environment without the variables that place or configure a stack, and with `variables`."""
    steering = ("APIENTIDADES_", "DEV_DIR", "DEV_PORT", "DEV_DB_PORT", "DEV_DB_ADDRESS", "DEV_DB_OPTIONS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
    return {**kept, **variables}


def setting(**keys: str) -> dict:
    """setting(delivery_timeout="2s") is {"APIENTIDADES_DELIVERY_TIMEOUT": "2s"}."""
    return {f"APIENTIDADES_{key.upper()}": value for key, value in keys.items()}


class Stack:
    """If `folder` is given, the stack belongs to the caller: down() closes only the sessions."""

    def __init__(self, settings: dict | None = None, folder: str | None = None, port: str | None = None):
        self._own = folder is None
        # The folder holds Unix sockets, and their paths may have only 107 bytes.
        self.folder = folder or tempfile.mkdtemp(prefix="apie-", dir="/tmp")
        self.settings = settings or {}
        self.environment = clean_environment(DEV_DIR=self.folder, DEV_PORT=str(port or free_port()))
        self.evaluation: SqlSession | None = None
        self._root: SqlSession | None = None
        self._root_lock = threading.Lock()

    def dev(self, *arguments, input=None, timeout=120, check=True, **settings) -> subprocess.CompletedProcess:
        result = subprocess.run(
            [ROOT / "dev", *map(str, arguments)], input=input, capture_output=True, text=True, timeout=timeout,
            env={**self.environment, **self.settings, **settings})
        if check and result.returncode:
            raise AssertionError(f"./dev {' '.join(map(str, arguments))} ended {result.returncode}:\n"
                                 f"{result.stdout}{result.stderr}")
        return result

    def up(self) -> "Stack":
        try:
            self.dev("up", timeout=1800)
            self.attach()
        except BaseException:
            self.down()
            raise
        return self

    def attach(self) -> None:
        """Reads the addresses and files of a running stack, and connects to it."""
        lines = self.dev("env").stdout.splitlines()
        self.env = dict(word.split("=", 1) for line in lines for word in shlex.split(line))
        self.api = self.client()
        self.connect_evaluation()

    def client(self, **how) -> Client:
        return Client(self.env["BASE_URL"], self.env["CA_CERT"], **how)

    def connect_evaluation(self) -> None:
        self.evaluation = self.writer()

    def writer(self) -> SqlSession:
        """A session of the evaluation system, with the rights of its user alone."""
        password = Path(self.env["SECRETS_DIR"], "evaluacion.password").read_text().strip()
        return SqlSession(self.env["DB_SOCKET"], self.env["DB_NAME"], "evaluacion", password)

    def down(self) -> None:
        for session in (self.evaluation, self._root):
            if session:
                session.close()
        if self._own:
            self.dev("down", check=False)
            shutil.rmtree(self.folder, ignore_errors=True)

    def sql(self, text: str) -> list[list[str]]:
        """Runs a statement as the database's root, to read or to change any row. The session stays open, because a test
        that waits runs its statement many times. If the server has been restarted since the last call, a new session runs the
        statement."""
        with self._root_lock:
            try:
                return self._ask_root(text)
            except (SqlError, OSError) as error:
                self._root.close()
                self._root = None
                if isinstance(error, SqlError) and error.code not in GONE:
                    raise
                return self._ask_root(text)

    def _ask_root(self, text: str) -> list[list[str]]:
        self._root = self._root or SqlSession(self.env["DB_SOCKET"], self.env["DB_NAME"], "root", "")
        return self._root(text.strip().rstrip(";"))

    def value(self, text: str) -> str:
        return self.sql(text)[0][0]

    def admin(self, *arguments):
        """Runs an `apientidades-admin` command. Returns its parsed answer, or None if it prints nothing."""
        output = self.dev("admin", *arguments, "--json").stdout
        return json.loads(output) if output.strip() else None

    def try_admin(self, *arguments) -> subprocess.CompletedProcess:
        return self.dev("admin", *arguments, check=False)

    def notify(self, entidad_id: int, evento: str, datos: str, **more) -> int:
        """Writes a row as the evaluation system does, with `more` columns; returns its id. Raises SqlError."""
        row = dict(entidad_id=entidad_id, evento=evento, datos=datos, **more)
        return int(self.evaluation(insert("notificaciones_pendientes", **row) + "; SELECT LAST_INSERT_ID()")[0][0])

    def notification(self, id: int) -> dict:
        return self.admin("notification", "show", id)

    def wait_notification(self, id: int, estado: str, timeout: float = 30) -> dict:
        wait_until(lambda: self.value(f"SELECT estado FROM notificaciones_pendientes WHERE id = {id}") == estado,
                   timeout, f"notification {id} to be {estado}")
        return self.notification(id)

    def wait_deferred(self, id: int):
        """Waits until the fan-out has seen that a notification is for later."""
        wait_until(lambda: self.value(f"SELECT aplazada_hasta IS NOT NULL FROM notificaciones_pendientes WHERE id = {id}") == "1",
                   20, f"notification {id} to be deferred")

    def delivery_id(self, notification: int, webhook: int) -> int:
        query = f"SELECT id FROM entregas WHERE notificacion_id = {notification} AND webhook_id = {webhook}"
        return int(wait_until(lambda: self.sql(query), what=f"a delivery of notification {notification}")[0][0])

    def count_deliveries(self, webhook: int, estado: str) -> int:
        return int(self.value(f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {webhook} AND estado = '{estado}'"))

    def delivery(self, id: int) -> dict:
        return self.admin("delivery", "show", id)

    def wait_delivery(self, id: int, estado: str, timeout: float = 30) -> dict:
        wait_until(lambda: self.value(f"SELECT estado FROM entregas WHERE id = {id}") == estado,
                   timeout, f"delivery {id} to be {estado}")
        return self.delivery(id)

    def attempts(self, delivery: int) -> list[dict]:
        """Returns the evidence: one object per attempt, oldest first."""
        return next(value for value in self.delivery(delivery).values() if isinstance(value, list))

    def stop(self, part: str, *options) -> None:
        self.dev("kill", part, *options)

    def start(self, part: str, **settings) -> None:
        self.dev("start", part, **settings)

    def pids(self, part: str) -> list[int]:
        return [int(pid) for pid in self.dev("pids", part).stdout.split()]

    def command_of(self, part: str) -> tuple[list[str], dict]:
        """Returns command line and environment of a running part, to run another process like it."""
        process = Path("/proc", str(self.pids(part)[0]))
        arguments = process.joinpath("cmdline").read_text().split("\0")[:-1]
        variables = process.joinpath("environ").read_text().split("\0")[:-1]
        environment = dict(variable.split("=", 1) for variable in variables)
        environment.pop("NOTIFY_SOCKET", None)
        return arguments, environment

    @contextlib.contextmanager
    def second_dispatcher(self, **settings):
        """Runs another dispatcher beside the stack's. At the end it must stop cleanly."""
        arguments, environment = self.command_of("dispatcher")
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(arguments, env={**environment, **settings}, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log)
            try:
                yield process
            finally:
                process.terminate()
                assert process.wait(30) == 0

    def cancel_all_waiting(self):
        """Cancels the notifications and deliveries that earlier tests have left, so that they are not sent during a test that
        counts deliveries."""
        self.stop("dispatcher")
        self.sql("UPDATE entregas SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3), arriendo = NULL,"
                 " arriendo_hasta = NULL WHERE estado IN ('pendiente', 'retenida', 'en_curso')")
        self.sql("UPDATE notificaciones_pendientes SET estado = 'cancelada', terminada_en = UTC_TIMESTAMP(3)"
                 " WHERE estado = 'pendiente'")
        self.start("dispatcher")

    @contextlib.contextmanager
    def part_with(self, part: str, **settings):
        """Restarts a part with other settings, and afterwards with the old ones."""
        self.stop(part)
        try:
            self.start(part, **settings)
            yield
        finally:
            if self.pids(part):
                self.stop(part)
            self.start(part)

    def dispatcher_with(self, **settings):
        return self.part_with("dispatcher", **settings)
