"""Rotates the keys of a stack as an operator does: writes a new file, renames it so that it replaces the file of
secrets.key_file, and sends SIGHUP, at which the programs read the keys again."""
from __future__ import annotations

import base64
import os
import re
import secrets
import signal
import subprocess
from pathlib import Path

from support.stack import ROOT, Stack
from support.wait import wait_until

RELOADED, REFUSED = "keys reloaded", "keys not reloaded"


def new_key(id: str) -> str:
    return f"{id}:{base64.b64encode(secrets.token_bytes(32)).decode()}"


def packaged_key() -> str:
    """Returns a line of the key file, made as the installation of the package makes it."""
    made = (ROOT / "packaging/deb/postinst").read_text()
    functions = re.findall(r"^(?:random|new_key)\(\) \{.*?\}$", made, re.M | re.S)
    return subprocess.run(["sh", "-ec", "\n".join([*functions, "new_key"])], capture_output=True, text=True, check=True).stdout.strip()


class Keys:
    def __init__(self, stack: Stack):
        self.stack = stack
        self.path = Path(stack.env["SECRETS_DIR"], "secrets.keys")

    @property
    def lines(self) -> list[str]:
        return self.path.read_text().splitlines()

    def write(self, *lines: str) -> None:
        aside = self.path.with_suffix(".new")
        aside.write_text("".join(line + "\n" for line in lines))
        aside.chmod(0o600)
        aside.replace(self.path)

    def reload(self, *parts: str, says: str = RELOADED) -> None:
        """Sends SIGHUP to every process of these parts; returns once each has logged `says`."""
        for part in parts:
            pids, before = self.stack.pids(part), self._said(part, says)
            for pid in pids:
                os.kill(pid, signal.SIGHUP)
            wait_until(lambda: self._said(part, says) == before + len(pids), what=f"{part}: {says}")

    def log(self, part: str) -> str:
        return Path(self.stack.folder, "log", f"{part}.log").read_text(errors="replace")

    def _said(self, part: str, what: str) -> int:
        return self.log(part).count(what)

    def status(self) -> dict[str, dict]:
        """Returns each key's id -> its row of `secrets status`."""
        return {row["clave"]: row for row in self.stack.admin("secrets", "status")}

    def sealed_by(self, id: str) -> int:
        row = self.status().get(id, {"webhooks": 0, "pruebas": 0})
        return row["webhooks"] + row["pruebas"]
