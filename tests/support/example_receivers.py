"""Runs the receivers of examples/ with the files that `./dev test --examples` has prepared."""
from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.failing_example import with_fault
from support.nginx import own_nginx
from support.stack import ROOT, free_port
from support.wait import wait_until
from support.wire import Client


def open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)


def readable(folder: Path) -> Path:
    """Returns a folder that the user `nobody` can read: `folder`, or a copy of it if the checkout is closed to others."""
    if os.geteuid() != 0 or open_to_all(folder) or not folder.exists():
        return folder
    copy = Path(tempfile.mkdtemp(prefix="apie-examples-", dir="/tmp"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    return Path(shutil.copytree(folder, copy / folder.name, symlinks=True))


def as_nobody() -> dict:
    """Returns Popen's arguments that run a program as another user than root: the examples use foreign code."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


SOURCES = ROOT / "examples"
LARAVEL = ROOT / "tests/support/laravel"
PREPARED = Path(os.environ.get("EXAMPLES", ROOT / "build" / "examples"))
if "EXAMPLES" in os.environ:
    SOURCES, LARAVEL, PREPARED = readable(SOURCES), readable(LARAVEL), readable(PREPARED)
NODE_PATH = f"{PREPARED}/javascript/node_modules:{PREPARED}/javascript/express/node_modules"
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for programs that live for seconds
LINE = re.compile(r"procesado (\S+) (\S+) (\{.*\}) ?$")  # Laravel's log ends its lines with a blank
PROGRAMS = {
    "python": SOURCES / "python/receptor.py",
    "javascript": SOURCES / "javascript/receptor.js",
    "java": SOURCES / "java/Receptor.java",
    "go": PREPARED / "go/receptor",
    "rust": PREPARED / "rust/receptor",
    "php": SOURCES / "php/receptor.php",
    "express": SOURCES / "javascript/express/receptor.js",
    "spring": PREPARED / "java/spring/classes",
    "django": SOURCES / "python/django/receptor.py",
    "gin": PREPARED / "go/gin",
    "axum": PREPARED / "rust/receptor-axum",
    "laravel": SOURCES / "php/laravel/Avisos.php",
}
COMMANDS = {  # language -> the command, given the program and the port
    "python": lambda program, port: [PREPARED / "python/venv/bin/python", program],
    "javascript": lambda program, port: ["node", program],
    "java": lambda program, port: ["java", "-cp", f"{PREPARED}/java/lib/*", program],
    "go": lambda program, port: [program],
    "rust": lambda program, port: [program],
    "php": lambda program, port: ["php", "-S", f"127.0.0.1:{port}", program],
}
FRAMEWORKS = {  # framework -> the language of its example
    "express": "javascript",
    "spring": "java",
    "django": "python",
    "gin": "go",
    "axum": "rust",
    "laravel": "php",
}
FRAMEWORK_COMMANDS = {
    "express": COMMANDS["javascript"],
    "spring": lambda program, port: ["java", "-cp", f"{program}:{program.parent}/lib/*", "es.ejemplo.Receptor"],
    "django": lambda program, port: [PREPARED / "python/django/venv/bin/uvicorn", "--app-dir", program.parent, "--port", port,
                                     f"{program.stem}:aplicacion"],
    "gin": COMMANDS["go"],
    "axum": COMMANDS["rust"],
    "laravel": lambda program, port: ["env", f"LARAVEL_EXAMPLE={program}", *COMMANDS["php"](LARAVEL / "index.php", port)],
}
BEHIND_A_PROXY = {"php", *FRAMEWORKS}  # these do no TLS themselves
PROXY = """
server {{
    listen 127.0.0.1:PORT ssl;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    rewrite ^ /avisos break;  # the one path of the frameworks' receivers
    location / {{ proxy_pass http://127.0.0.1:{port}; }}
}}
"""


def require(name: str) -> None:
    """Skips the test if the toolchain of the language, or of the framework's language, is missing or too old. There is another
    rule for an example that could not be prepared, and for a missing package of PHP: the test fails if EXAMPLES_REQUIRED is
    set; otherwise it is skipped."""
    language = FRAMEWORKS.get(name, name)
    if language == "php":
        laravel = name != "laravel" or Path("/usr/share/php/Illuminate").exists()
        needed = {"php-cli": shutil.which("php"), "php-laravel-framework": laravel}
        reason = ", ".join(f"{package} is not installed" for package, found in needed.items() if not found)
    elif (skipped := PREPARED / language / "skipped").exists():
        pytest.skip(skipped.read_text())
    else:
        log = PREPARED / language / "log"
        told = log.read_text(errors="replace")[-200:] if log.exists() else "no such file"
        reason = "" if (PREPARED / language / "pins").exists() else f"the example is not prepared: {log}: {told}"
    if reason:
        (pytest.fail if os.environ.get("EXAMPLES_REQUIRED") else pytest.skip)(reason)


def reported(text: str) -> list[tuple[str, str, dict]]:
    found = map(LINE.search, text.splitlines())
    return [(line[1], line[2], json.loads(line[3])) for line in found if line]


class ExampleReceiver:
    """`client` reaches the receiver as the dispatcher does; `inner` goes past the proxy, if there is one."""

    def __init__(self, port: int, ca: str, log: Path, inner: Client | None = None):
        self.port, self.log = port, log
        self.client = Client(f"https://localhost:{port}", ca)
        self.inner = inner or self.client

    def post(self, headers: dict, body: str | bytes) -> int:
        """Returns the status of the receiver's answer."""
        body = body.encode() if isinstance(body, str) else body
        return self.client("POST", "/avisos", body=body, headers=headers).status

    def processed(self) -> list[tuple[str, str, dict]]:
        """(webhook-id, event, data) of the notifications that the receiver reports as processed."""
        return reported(self.log.read_text())

    def wait_processed(self, count: int, timeout: float = 20) -> list[tuple[str, str, dict]]:
        wait_until(lambda: len(self.processed()) >= count, timeout, f"{count} notifications processed; {self.log.read_text()[-2000:]}")
        return self.processed()


@contextlib.contextmanager
def failing(language: str):
    """Yields the path of a copy of the example with a `procesar` that fails (support/failing_example.py)."""
    program = PROGRAMS[language]
    if program.is_relative_to(PREPARED):
        yield program.with_name("failing")
        return
    with tempfile.TemporaryDirectory(prefix="apie-example-") as folder:
        copy = Path(folder, program.name)
        copy.write_text(with_fault(language, program.read_text()))
        copy.chmod(0o644)
        copy.parent.chmod(0o755)
        yield copy


@contextlib.contextmanager
def started(language: str, stack, changes: dict[str, str | None], stdout: int | None = None, program: Path | None = None):
    """Starts an example, or `program` in its place. `changes` sets environment variables; the value None removes a variable.
    Yields the process, its environment and the path of its log. The process writes its standard error to the log. It writes its
    standard output to `stdout`, or to the log if `stdout` is None."""
    with tempfile.TemporaryDirectory(prefix="apie-example-") as name, contextlib.ExitStack() as closing:
        folder, who = Path(name), as_nobody()
        certificate, key = (shutil.copy(stack.env[part], folder) for part in ("RECEIVER_CERT", "RECEIVER_KEY"))
        if who:
            for path in (folder, certificate, key):
                shutil.chown(path, "nobody")
        port = free_port()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("RECEPTOR_", "LC_"))}
        environment |= {"RECEPTOR_PUERTO": str(port), "RECEPTOR_CERT": certificate, "RECEPTOR_CLAVE": key, "RECEPTOR_CARPETA": name,
                        "LANG": "C.UTF-8", "HOME": name, "NODE_PATH": NODE_PATH,
                        "PHP_CLI_SERVER_WORKERS": "4", "JAVA_TOOL_OPTIONS": QUICK_JAVA}
        environment = {name: value for name, value in (environment | changes).items() if value is not None}
        log = folder / "log"
        command = (COMMANDS | FRAMEWORK_COMMANDS)[language](program or PROGRAMS[language], port)
        with log.open("wb") as output:
            process = subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL, stdout=stdout or output,
                                       stderr=output, cwd=folder, env=environment, start_new_session=True, **who)
        closing.callback(end, process)
        yield process, environment, log


@contextlib.contextmanager
def running(language: str, stack, secret: str | None, previous: str | None = None, folder_of_php: str | None = None, refusal: int = 401,
            stdout: int | None = None, program: Path | None = None):
    """Runs an example with the present and the previous secret. Yields its ExampleReceiver once the example answers an unsigned
    request with `refusal`."""
    changes = {"RECEPTOR_SECRETO": secret, "RECEPTOR_SECRETO_ANTERIOR": previous}
    if folder_of_php is not None:
        changes["RECEPTOR_CARPETA"] = folder_of_php
    with started(language, stack, changes, stdout, program) as (process, environment, log), contextlib.ExitStack() as closing:
        port, inner = int(environment["RECEPTOR_PUERTO"]), None
        if language in BEHIND_A_PROXY:
            inner = Client(f"http://127.0.0.1:{port}", stack.env["CA_CERT"])
            proxy = PROXY.format(certificate=environment["RECEPTOR_CERT"], key=environment["RECEPTOR_CLAVE"], port=port)
            port = closing.enter_context(own_nginx(proxy))
        receiver = ExampleReceiver(port, stack.env["CA_CERT"], log, inner)
        wait_until(lambda: process.poll() is not None or answers(receiver, refusal), 60, f"the receiver in {language} to answer")
        assert process.poll() is None, log.read_text()
        yield receiver


def answers(receiver: ExampleReceiver, refusal: int) -> bool:
    """Whether an unsigned notification gets `refusal`. The nginx in front of PHP or a framework answers 502 until
    that listens."""
    with contextlib.suppress(OSError):
        return receiver.post({}, "{}") == refusal
    return False


def end(process: subprocess.Popen) -> None:
    """Ends the process and its children: PHP's server does not end its workers."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
