"""Runs apientidades-setup-database as at an installation, with a stack's configuration and secrets."""
from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from support.stack import ROOT, Stack, setting

SCRIPT = ROOT / "packaging/apientidades-setup-database"


class SetupDatabase:
    """Writes into the empty `folder` a copy of the script with other paths, and the apientidades-admin that the copy calls."""

    def __init__(self, stack: Stack, folder: Path, secrets: Path | None = None, **settings):
        program, environment = stack.command_of("dispatcher")
        secrets = secrets or stack.env["SECRETS_DIR"]
        own = setting(database_user="apientidades_admin", database_password_file=f"{secrets}/admin.password", **settings)
        self._environment = {**environment, **own, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "MYSQL_PWD": ""}
        self.script = folder / "setup"
        paths = {"ETC=/etc/apientidades": f"ETC={secrets}", "=/usr/share/apientidades/sql/": f"={ROOT}/sql/",
                 "((EUID == 0)) ||": "true ||"}
        text = SCRIPT.read_text()
        for before, after in paths.items():
            assert before in text
            text = text.replace(before, after)
        self.script.write_text(text)
        command = folder / "apientidades-admin"
        executable, *options = [program[0].replace("dispatcher", "admin"), *program[1:]]
        command.write_text(f'#!/bin/bash\n[[ $1 != db ]] || set -- "$@" --migrations {ROOT}/sql/migrations\n'
                           f"exec {executable} {' '.join(options)} \"$@\"\n")
        command.chmod(0o755)

    def __call__(self, *arguments: str, check=True, **environment: str) -> subprocess.CompletedProcess:
        result = subprocess.run(["bash", str(self.script), *arguments], env={**self._environment, **environment},
                                cwd=self.script.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if check:
            assert result.returncode == 0, result.stdout + result.stderr
        return result

    def write_command(self, file: Path) -> None:
        """Writes a command that runs the script as the stack's root, in this class's environment."""
        variables = " ".join(shlex.quote(f"{name}={value}") for name, value in self._environment.items())
        file.write_text(f'#!/bin/bash\nexec env -i {variables} bash {self.script} --user root "$@"\n')
        file.chmod(0o755)

    def refusal(self, *arguments: str, **environment: str) -> str:
        """Runs the script, which must fail; returns its last message."""
        result = self(*arguments, check=False, **environment)
        lines = re.findall(r"^apientidades-setup-database: (.*)$", result.stderr, re.M)
        assert result.returncode == 1 and lines, result
        return lines[-1]
