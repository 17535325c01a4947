"""A private stack on which commands of docs/operations.md run as on the operator's host."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from fakes import host
from fakes.receiver import Behaviour, Receiver
from support.actors import Entity
from support.setup_database import SetupDatabase
from support.stack import Stack, setting
from support.wait import wait_until

# The first retry comes after an hour, and so not during a test.
SETTINGS = setting(delivery_connect_timeout="1s", delivery_timeout="2s", delivery_lease="12s",
                   delivery_retry_schedule="1h,1h", delivery_allowed_networks="127.0.0.0/8")
SETTINGS["DEV_DB_OPTIONS"] = "--loose-innodb-force-primary-key=1 --loose-sql-require-primary-key=1"  # as clusters need


class Place:
    """A private stack on which the manual's commands are run."""

    def __init__(self, stack: Stack, receiver: Receiver, folder: Path):
        self.stack, self.receiver, self.folder = stack, receiver, folder
        stack_folder, self.bin = Path(stack.folder), folder / "bin"
        # The manual's paths, and where they are in this test. run() replaces them in order, so a folder comes before its parent.
        self.paths = {"/etc/apientidades/tls": stack_folder / "certs", "/etc/apientidades": stack_folder / "secrets",
                      "/var/backups": folder, "/var/lib/mysql": stack_folder / "db"}
        for name, own in (("fullchain.pem", "server.pem"), ("privkey.pem", "server.key")):
            shutil.copy(stack_folder / "certs" / own, stack_folder / "certs" / name)
            shutil.copy(stack_folder / "certs" / own, folder / name)
        self.bin.mkdir()
        for name in host.COMMANDS:
            (self.bin / name).symlink_to(host.__file__)
        (folder / "setup").mkdir()
        SetupDatabase(stack, folder / "setup").write_command(self.bin / "apientidades-setup-database")

    def run(self, commands: str, **variables) -> subprocess.CompletedProcess:
        for path, own in self.paths.items():
            commands = commands.replace(path, str(own))
        environment = {
            **self.stack.environment, **self.stack.settings, "PATH": f"{self.bin}:{os.environ['PATH']}:/usr/sbin",
            "API": self.stack.env["BASE_URL"], "CURL_CA_BUNDLE": self.stack.env["CA_CERT"], "SINCE": "1h",
            **{name: str(value) for name, value in variables.items()}}
        return subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)

    def case(self, behaviour: Behaviour = Behaviour(), attempted: bool = True, events=("evaluacion.abierta",)) -> dict:
        """Registers a webhook at a receiver with this behaviour, and writes a notification for it; returns their ids."""
        entity = Entity(self.stack, self.receiver, "Universidad de Ejemplo")
        hook = entity.register(events, secret="s3creto-de-prueba")
        self.receiver.behave(hook.path, behaviour)
        notification = entity.notify()
        delivery = self.stack.delivery_id(notification, hook.id)
        if attempted:
            wait_until(lambda: self.stack.value(f"SELECT intentos FROM entregas WHERE id = {delivery}") != "0")
        return dict(ENTITY=entity.id, WEBHOOK=hook.id, NOTIFICATION=notification, DELIVERY=delivery, PATH_OF=hook.path)

    def set_state(self, delivery: int, state: str) -> None:
        self.stack.sql(f"UPDATE entregas SET estado = '{state}', terminada_en = UTC_TIMESTAMP(3) WHERE id = {delivery}")

    def arrived(self, case: dict, count: int = 1) -> None:
        self.receiver.wait(case["PATH_OF"], count)
