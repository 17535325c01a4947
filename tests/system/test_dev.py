"""./dev as a person uses it: one clear line and an exit status other than 0 for an error; and the demo."""
import contextlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from support.stack import ROOT, clean_environment, free_port, setting

PARTS = ("db", "fcgi", "dispatcher", "nginx")
NO_STACK = {"DEV_DIR": "/tmp/apie-nonexistent", "DEV_PORT": "1"}


def dev(*arguments, timeout=120, **variables):
    return subprocess.run([ROOT / "dev", *arguments], env=clean_environment(**variables), timeout=timeout,
                          capture_output=True, text=True)


def complains(result, *named):
    """The last line says what is wrong; only progress may precede it."""
    assert result.returncode != 0, result
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("dev: "), result.stderr
    for name in named:
        assert name in last, last
    assert "Traceback" not in result.stderr and not re.search(r"line \d+", last), "no error of bash's or Python's"


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="apie-")
    try:
        yield path
    finally:
        dev("down", DEV_DIR=path)
        shutil.rmtree(path, ignore_errors=True)


def is_running(pid):
    """A zombie does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_help():
    result = dev("--help")
    assert result.returncode == 0 and "demo" in result.stdout and result.stderr == ""


@pytest.mark.parametrize("arguments, named", [
    (["nothing"], "nothing"), (["kill"], "part"), (["kill", "nothing"], "nothing"), (["start", "nothing"], "nothing"),
    (["up", "extra"], "up"), (["kill", "fcgi", "-1"], "-9"), (["bench", "x"], "bench"),
    (["fuzz", "nothing"], "nothing"), (["fuzz", "--seconds", "x"], "seconds"), (["test", "--only", "nothing"], "nothing"),
    (["test", "--only", "unit,nothing"], "nothing"), (["test", "--only", ""], "unit"), (["test", "--release", "sid"], "bookworm"),
    (["test", "--release"], "trixie"), (["site", "x"], "site"), (["package", "--release", "sid"], "trixie"), (["package", "--version", "0.1~deb12"], "version"),
])
def test_misuse(arguments, named):
    result = dev(*arguments, **NO_STACK)
    complains(result, named)
    assert result.returncode == 2


@pytest.mark.parametrize("arguments", [
    ["env"], ["sql", "SELECT 1"], ["admin", "entity", "list"], ["kill", "fcgi"], ["start", "fcgi"]])
def test_without_a_stack(arguments):
    with folder() as path:
        complains(dev(*arguments, DEV_DIR=path))


def test_status_without_a_stack():
    with folder() as path:
        result = dev("status", DEV_DIR=path)
        assert result.returncode != 0 and result.stdout.count("down") == 4


def test_port_in_use():
    with folder() as path, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        complains(dev("up", DEV_DIR=path, DEV_PORT=port), port)
        assert dev("status", DEV_DIR=path).stdout.count("down") == 4


@pytest.mark.parametrize("port", ["x", "0", "65536", "-1"])
def test_a_port_that_is_none(port):
    with folder() as path:
        complains(dev("up", DEV_DIR=path, DEV_PORT=port), port)


def test_bad_configuration_names_the_key_and_leaves_nothing_running():
    with folder() as path:
        result = dev("up", DEV_DIR=path, DEV_PORT=str(free_port()), **setting(delivery_poll_interval="soon"))
        complains(result)
        assert "delivery.poll_interval" in result.stderr
        assert dev("status", DEV_DIR=path).stdout.count("down") == 4


def test_status_and_one_part_after_another(stack):
    assert stack.dev("status").stdout.count(" up ") == 4
    stack.stop("dispatcher")
    try:
        result = stack.dev("status", check=False)
        assert result.returncode != 0 and result.stdout.count("down") == 1
        complains(stack.dev("kill", "dispatcher", check=False), "dispatcher")
    finally:
        stack.start("dispatcher")
    assert stack.pids("dispatcher")
    assert stack.dev("start", "dispatcher").returncode == 0  # already running: not a failure


def test_a_second_up_changes_nothing(stack):
    before = {part: stack.pids(part) for part in PARTS}
    stack.dev("up")
    assert {part: stack.pids(part) for part in before} == before


def test_down_leaves_nothing_behind_and_the_data_stay():
    with folder() as path:
        variables = dict(DEV_DIR=path, DEV_PORT=str(free_port()))
        assert dev("up", **variables).returncode == 0
        assert dev("admin", "entity", "add", "--id", "5", "--name", "Queda", **variables).returncode == 0
        pids = [pid for part in PARTS for pid in dev("pids", part, **variables).stdout.split()]
        assert dev("down", **variables).returncode == 0
        assert [pid for pid in pids if is_running(pid)] == []
        assert dev("up", **variables).returncode == 0
        assert "Queda" in dev("admin", "entity", "list", **variables).stdout
        assert dev("down", **variables).returncode == 0


# The demo.

def demo(stack, seconds):
    variables = {name: stack.environment[name] for name in ("DEV_DIR", "DEV_PORT")}
    return subprocess.run(["/usr/bin/python3", ROOT / "scripts/demo.py", "--seconds", str(seconds)],
                          capture_output=True, text=True, timeout=seconds + 30, env=clean_environment(**variables))


def failed(result, *said):
    assert result.returncode == 1, result
    assert "FAILED: " in result.stderr and "Traceback" not in result.stderr
    assert "The whole path works" not in result.stdout
    for text in said:
        assert text in result.stderr


def test_the_demo_passes_from_nothing():
    started = time.monotonic()
    result = dev("demo")
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(re.findall(r"verified +verified\n", result.stdout)) == 13, "11 events, a test event and a replay, each with both signatures"
    assert re.findall(r"(the \w+ secret(?: alone)?) .* verified\n", result.stdout) == ["the old secret", "the new secret", "the new secret alone"]
    assert re.search(r"median \d", result.stdout)
    assert re.search(r"token issue --entity \d+ .*\n +https://localhost:8443/apientidades/docs/ .*\n +https://localhost:8443/apientidades/portal/ .*\n$",
                     result.stdout), "at its end, where to go and with which token"
    assert time.monotonic() - started < 120
    assert not Path(ROOT, ".dev/demo").exists()


def test_the_demo_fails_when_its_host_has_no_address():
    failed(dev("demo", **setting(delivery_host_overrides="")), "400 instead of 201")


def test_the_demo_fails_when_the_receiver_may_not_be_dialled(stack):
    with stack.dispatcher_with(**setting(delivery_allowed_networks="")):
        failed(demo(stack, 4), "within 4 s")


def test_the_demo_fails_without_a_dispatcher(stack):
    stack.stop("dispatcher")
    try:
        failed(demo(stack, 4), "within 4 s")
    finally:
        stack.start("dispatcher")


def test_the_demo_fails_when_the_signature_is_made_with_another_secret(stack):
    """The test cannot encrypt another secret as the API does. Instead a trigger erases the secret that the API stores, so the
    dispatcher signs nothing."""
    stack.sql("CREATE TRIGGER sin_secreto BEFORE UPDATE ON webhooks FOR EACH ROW"
              " SET NEW.secreto_sellado = NULL, NEW.secreto_clave = NULL")
    try:
        failed(demo(stack, 30), "does not match")
    finally:
        stack.sql("DROP TRIGGER sin_secreto")


def test_the_demo_fails_without_the_api(stack):
    stack.stop("fcgi")
    try:
        failed(demo(stack, 10), "502 instead of 201")
    finally:
        stack.start("fcgi")
