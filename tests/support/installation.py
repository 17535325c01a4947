"""Installs the service on a Machine with the commands of docs/installation.md, and uses it as its operator and entities do."""
from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

from fakes.certificates import issue
from fakes.receiver import Receiver, self_signed
from support.actors import BASE, Entity
from support.machine import Machine
from support.sql import SqlError, SqlSession, insert
from support.stack import ROOT
from support.wait import wait_until
from support.wire import Client

CONFIGURATION = """
[delivery]
# For the tests: receivers on this machine, and short retries.
host_overrides = *.receptor.test=127.0.0.1
allowed_networks = 127.0.0.1/32
ca_file = /usr/local/share/tests-ca.pem
retry_schedule = 1s,1s,1s,1s,2s,2s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s
retry_jitter = 0
timeout = 5s
lease = 15s
disable_after = 0s

[limits]
# The load comes from one address, with one token.
requests_per_address = 0
concurrent_requests_per_address = 0
requests_per_token = 0
"""
POOL = ("apientidades-fcgi@1", "apientidades-fcgi@2")
DISPATCHER = "apientidades-dispatcher"
SERVICES = (*POOL, DISPATCHER)


def manual(chapter: str) -> list[str]:
    """Returns the commands of the first sh block in a chapter of docs/installation.md."""
    text = (ROOT / "docs/installation.md").read_text()
    return re.search(rf"^## {chapter}$.*?```sh\n(.*?)```", text, re.S | re.M).group(1).splitlines()


class Installation:
    """support.actors.Entity takes an Installation in place of a Stack."""

    def __init__(self, machine: Machine, package: Path):
        self.machine, self.package = machine, package
        self.certificates = Path(tempfile.mkdtemp(prefix="apie-tls-"))
        self.authority = self_signed(self.certificates, "authority")
        self.receiver: Receiver | None = None
        self.evaluation: SqlSession | None = None
        self.api: Client | None = None

    def bring_files(self) -> None:
        """Copies to the machine what the administrator begins with: the package, and a certificate for the API."""
        certificate, key = issue(self.certificates, self.authority, "server", "localhost")
        for source, name in ((self.package, self.package.name), (certificate, "fullchain.pem"), (key, "privkey.pem")):
            shutil.copy(source, self.machine.root / "root" / name)

    def command(self, line: str) -> str:
        """Returns a line of the manual with the names of this package and this API, and without apt's question."""
        line = re.sub(r"apientidades_[^ ]*\.deb", self.package.name, line)
        return "cd /root; " + re.sub(r"^apt install", "apt-get -q -y install", line).replace("api.ejemplo.es", "localhost")

    def install_package(self) -> None:
        self.bring_files()
        self.machine.shell(self.command(manual("Install")[0]), timeout=900)

    def finish_install(self) -> None:
        for line in manual("Install")[1:]:
            self.machine.shell(self.command(line))
        self.configure(CONFIGURATION)
        self.machine.shell("apientidades-admin nginx limits && systemctl reload nginx")
        self.machine.run("systemctl", "restart", "apientidades.target")
        self.open()
        self.wait_working()

    def install(self) -> None:
        self.install_package()
        self.finish_install()

    def open(self) -> None:
        """Starts the receiver and opens the connections. Call it after the installation, and after every boot of the machine."""
        self.close_connections()
        port = self.receiver.port if self.receiver else 0
        if self.receiver:
            self.receiver.close()
        certificate = issue(self.certificates, self.authority, "receiver", "*.receptor.test")
        seen = self.receiver.requests() if self.receiver else []
        self.receiver = Receiver(*certificate, port=port)
        self.receiver._requests.extend(seen)  # keeps what arrived before the boot
        self.api = Client("https://localhost:443", self.authority[0], timeout=40)
        self.evaluation = self.connect_evaluation()

    def connect_evaluation(self) -> SqlSession:
        """A session of the evaluation system; the caller closes it."""
        password = (self.machine.root / "etc/apientidades/evaluacion.password").read_text().strip()
        socket = self.machine.root / "run/mysqld/mysqld.sock"
        return SqlSession(str(socket), "apientidades", "evaluacion", password)

    def close_connections(self) -> None:
        if self.evaluation:
            self.evaluation.close()
        self.evaluation = None

    def close(self) -> None:
        self.close_connections()
        if self.receiver:
            self.receiver.close()
        shutil.rmtree(self.certificates, ignore_errors=True)

    def configure(self, text: str) -> None:
        file = self.machine.root / "etc/apientidades/apientidades.conf"
        file.write_text(file.read_text() + text)
        shutil.copy(self.authority[0], self.machine.root / "usr/local/share/tests-ca.pem")
        self.machine.run("apientidades-admin", "config", "check")

    def admin(self, *arguments):
        output = self.machine.run("apientidades-admin", *arguments, "--json").stdout
        return json.loads(output) if output.strip() else None

    def dev(self, admin, *arguments):
        """Stands in for `./dev admin …`, which Entity calls."""
        assert admin == "admin"
        return self.machine.run("apientidades-admin", *arguments)

    def notify(self, entidad_id: int, evento: str, datos: str, **more) -> int:
        """Writes a row as the evaluation system does, on a new connection if the database was away."""
        row = dict(entidad_id=entidad_id, evento=evento, datos=datos, **more)
        statement = insert("notificaciones_pendientes", **row) + "; SELECT LAST_INSERT_ID()"
        try:
            return int(self.evaluation(statement)[0][0])
        except (SqlError, OSError):
            self.close_connections()
            self.evaluation = self.connect_evaluation()
            return int(self.evaluation(statement)[0][0])

    def entity(self, **how) -> Entity:
        return Entity(self, self.receiver, **how)

    def sql(self, text: str) -> list[list[str]]:
        return [line.split("\t") for line in
                self.machine.run("mariadb", "-N", "-B", "apientidades", input=text).stdout.splitlines()]

    # The systemd units.

    def systemctl(self, *arguments, **how) -> str:
        return self.machine.run("systemctl", *arguments, **how).stdout.strip()

    def property(self, unit: str, name: str) -> str:
        return self.systemctl("show", "--value", "-p", name, unit)

    def pid(self, unit: str) -> int:
        """The id of the unit's main process, as the machine numbers it."""
        return int(self.property(unit, "MainPID"))

    def status(self, unit: str) -> str:
        return self.property(unit, "StatusText")

    def drop_in(self, unit: str, text: str) -> None:
        """Gives a unit the drop-in `text` until the next boot; an empty `text` removes the drop-in."""
        folder = self.machine.root / f"run/systemd/system/{unit}.d"
        shutil.rmtree(folder, ignore_errors=True)
        if text:
            folder.mkdir(parents=True)
            (folder / "tests.conf").write_text(text)
        self.systemctl("daemon-reload")

    def journal(self, unit: str) -> str:
        return self.machine.run("journalctl", "--no-pager", "-o", "cat", "-u", unit).stdout

    def works(self) -> bool:
        """Whether a request reaches the database: only then does an unknown token get a 401."""
        try:
            return self.api("GET", BASE, "apie_" + "x" * 43).status == 401
        except OSError:
            return False

    def wait_working(self, patience: float = 60) -> None:
        wait_until(self.works, patience, "the API to answer", every=0.2)
        for unit in SERVICES:
            wait_until(lambda: "waiting" not in self.status(unit), patience, f"{unit} to have its database", every=0.2)
