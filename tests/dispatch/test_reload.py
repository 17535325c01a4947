"""SIGHUP takes a changed configuration, keeps the old one if the new one is bad, and loses nothing; `config show --running` and
`config diff` show what is in force."""
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE, EVENTS
from support.stack import setting
from support.wait import wait_until

PARTS = ("dispatcher", "fcgi")
PATIENT = setting(delivery_timeout="20s", delivery_lease="40s")  # so that no attempt that a test holds back ends by itself


class Configuration:
    """A file beside the stack's configuration, and the notes of its processes."""

    def __init__(self, stack, folder: Path):
        self.stack, self.folder = stack, folder
        self.file = Path(stack.folder, "apientidades.conf.d", "reload.conf")
        self.file.parent.mkdir(exist_ok=True)
        self.logged = {part: 0 for part in PARTS}  # the length of the log before the test
        self.logged = {part: len(self.log(part)) for part in PARTS}

    def write(self, **keys) -> None:
        """`delivery__timeout="9s"` is timeout in the section delivery."""
        lines = ["[{}]\n{} = {}\n".format(*name.split("__"), value) for name, value in keys.items()]
        self.file.write_text("".join(lines))

    def reload(self, *parts) -> None:
        for part in parts or PARTS:
            for pid in self.stack.pids(part):
                os.kill(pid, signal.SIGHUP)

    def ask(self, *words):
        return self.stack.dev("admin", "config", *words, "--json", check=False, RUNTIME_DIRECTORY=str(self.folder), **PATIENT)

    def answer(self, *words):
        """Waits while all processes start anew: none has noted its configuration then, and the command says so."""
        return wait_until(lambda: (answer := self.ask(*words)).stdout and answer, 20, "a process that has noted its configuration")

    def running(self, key: str) -> dict:
        """The key's value in each process that is not just starting anew."""
        return {row["pid"]: row["valor"] for row in json.loads(self.answer("show", "--running").stdout) if row["clave"] == key}

    def wait_taken(self, key: str, value: str) -> None:
        """Waits until every process has the value in force."""
        expected = {pid: value for part in PARTS for pid in self.stack.pids(part)}
        wait_until(lambda: self.running(key) == expected, 20, "the configuration to be taken")

    def differences(self) -> set:
        answer = self.answer("diff")
        assert answer.returncode == bool(json.loads(answer.stdout)), answer
        return {(row["pid"], row["clave"], row["en_vigor"], row["configurado"]) for row in json.loads(answer.stdout)}

    def log(self, part: str) -> str:
        return self.stack.dev("logs", part).stdout[self.logged[part]:]

    def said(self, part: str, text: str) -> int:
        return self.log(part).count(text)


@pytest.fixture
def configuration(stack, tmp_path):
    configuration = Configuration(stack, tmp_path)
    with contextlib.ExitStack() as parts:
        for part in PARTS:
            parts.enter_context(stack.part_with(part, RUNTIME_DIRECTORY=str(tmp_path), **PATIENT))
        configuration.logged = {part: configuration.logged[part] + len(configuration.log(part)) for part in PARTS}
        yield configuration
        configuration.file.unlink(missing_ok=True)


def test_a_changed_configuration_is_taken_by_the_same_processes(configuration, entity, stack):
    pids = {pid for part in PARTS for pid in stack.pids(part)}
    assert len(pids) == 3 and configuration.differences() == set()
    configuration.write(limits__registrations="1", delivery__retry_after_max="7h")
    expected = {(pid, *key) for pid in pids for key in (("limits.registrations", "0", "1"), ("delivery.retry_after_max", "24h", "7h"))}
    assert configuration.differences() == expected
    assert configuration.running("limits.registrations") == dict.fromkeys(pids, "0")
    configuration.reload()
    configuration.wait_taken("delivery.retry_after_max", "7h")
    assert configuration.differences() == set()
    assert {pid for part in PARTS for pid in stack.pids(part)} == pids
    assert {Path("/proc", str(pid), "comm").read_text().strip() for pid in pids} == {"apientidades-fc", "apientidades-di"}
    hook = {"url": "https://a.receptor.test/", "eventos": EVENTS}
    assert [entity.api("POST", BASE, json_body=hook).status for _ in range(2)] == [201, 429]
    assert configuration.said("dispatcher", "configuration changed; starting anew with it") == 1


@pytest.mark.parametrize("keys, why", [
    ({"delivery__max_response": "todo"}, "delivery.max_response = "), ({"database__hosts": "db.example.org"}, "set database.tls_ca"),
    ({"secrets__key_file": "/nonexistent/keys"}, "secrets.key_file"), ({"database__name": "ninguna"}, "ninguna"),
    ({"delivery__tiempo": "1s"}, "delivery.tiempo")])
def test_a_bad_configuration_is_not_taken(configuration, entity, receiver, stack, keys, why):
    hook = entity.register()
    pids = stack.pids("dispatcher") + stack.pids("fcgi")
    configuration.write(limits__registrations="1", **keys)
    configuration.reload()
    for part, processes in (("dispatcher", 1), ("fcgi", 2)):
        wait_until(lambda: configuration.said(part, "configuration not reloaded; what was in force stays") == processes, 20, "the refusal")
        refusal = next(line for line in configuration.log(part).splitlines() if "configuration not reloaded" in line)
        assert why in refusal
    configuration.file.unlink()  # apientidades-admin reads it, too
    assert entity.api("POST", BASE, json_body={"url": "https://a.receptor.test/", "eventos": EVENTS}).status == 201
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
    assert stack.pids("dispatcher") + stack.pids("fcgi") == pids


def test_an_unchanged_configuration_only_reads_the_keys_again(configuration, stack):
    configuration.reload()
    for part, processes in (("dispatcher", 1), ("fcgi", 2)):
        wait_until(lambda: configuration.said(part, "configuration unchanged") == processes, 20)
        wait_until(lambda: configuration.said(part, "keys reloaded") == processes, what="the keys to be read")
        assert configuration.said(part, "stopping") == 0


def test_no_request_and_no_attempt_is_lost(configuration, entity, receiver, stack):
    held, hook = entity.register(), entity.register()
    statuses, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            statuses.append(entity.api("GET", BASE).status)
    clients = [threading.Thread(target=ask) for _ in range(4)]
    for client in clients:
        client.start()
    try:
        for round_ in range(1, 4):
            receiver.behave(held.path, Behaviour(hold=True))
            notification = entity.notify()
            receiver.wait(held.path, round_)
            configuration.write(delivery__retry_after_max=f"{round_}h")
            configuration.reload()
            wait_until(lambda: configuration.said("dispatcher", "stopping") == round_, 20)
            receiver.release(held.path)
            configuration.wait_taken("delivery.retry_after_max", f"{round_}h")
            for one in (held, hook):
                assert stack.wait_delivery(stack.delivery_id(notification, one.id), "entregada")["intentos"] == 1
    finally:
        stop.set()
        for client in clients:
            client.join(30)
    assert set(statuses) == {200} and len(receiver.requests(held.path)) == 3


def test_without_the_database_nothing_is_reloaded(configuration, entity, stack):
    hook = entity.register()
    pids = {part: stack.pids(part) for part in PARTS}
    configuration.write(delivery__retry_after_max="7h")
    stack.stop("db", "-9")
    configuration.reload()
    try:
        for part in PARTS:
            refusals = len(pids[part])
            wait_until(lambda: configuration.said(part, "configuration not reloaded; what was in force stays") == refusals, 30)
            assert configuration.said(part, "stopping") == 0
    finally:
        stack.start("db")
        stack.connect_evaluation()
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
    assert {part: stack.pids(part) for part in PARTS} == pids
    configuration.reload()
    configuration.wait_taken("delivery.retry_after_max", "7h")


@pytest.mark.parametrize("stops", [False, True])
def test_a_configuration_that_goes_bad_after_its_check(configuration, entity, receiver, stack, stops):
    """The program waits for a good one: systemd would not restart it."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    entity.notify()
    receiver.wait(hook.path)
    pid, = stack.pids("dispatcher")
    configuration.write(delivery__retry_after_max="7h")
    configuration.reload("dispatcher")
    wait_until(lambda: configuration.said("dispatcher", "stopping") == 1, 20)
    configuration.write(delivery__retry_after_max="nunca")
    receiver.release(hook.path)
    wait_until(lambda: configuration.said("dispatcher", "configuration is no longer good; starting anew once it is") == 1, 20)
    if stops:
        stack.stop("dispatcher")
        configuration.file.unlink()
        stack.start("dispatcher", RUNTIME_DIRECTORY=str(configuration.folder), **PATIENT)
        return
    configuration.write(delivery__retry_after_max="8h")
    wait_until(lambda: configuration.running("delivery.retry_after_max").get(pid) == "8h", 20, "the configuration to be taken")
    assert configuration.said("dispatcher", "configuration is no longer good") == 1


def test_a_stop_during_a_reload_is_a_stop(configuration, entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    delivery = stack.delivery_id(entity.notify(), hook.id)
    receiver.wait(hook.path)
    pid, = stack.pids("dispatcher")
    configuration.write(delivery__retry_after_max="7h")
    configuration.reload("dispatcher")
    wait_until(lambda: configuration.said("dispatcher", "stopping") == 1, 20)
    os.kill(pid, signal.SIGTERM)
    receiver.release(hook.path)
    wait_until(lambda: not Path("/proc", str(pid)).exists() or "Z" in Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1], 20)
    assert configuration.said("dispatcher", "ready") == 0
    stack.start("dispatcher", RUNTIME_DIRECTORY=str(configuration.folder), **PATIENT)
    assert stack.wait_delivery(delivery, "entregada")["intentos"] == 1


def test_a_stop_during_a_reload_asks_for_time(configuration, entity, receiver, stack):
    command, environment = stack.command_of("dispatcher")
    stack.stop("dispatcher")
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(configuration.folder / "notify"))
        manager.settimeout(20)

        def await_state(state: bytes):
            while state not in manager.recv(65536):
                pass
        process = subprocess.Popen(command, env={**environment, "NOTIFY_SOCKET": manager.getsockname()}, stderr=subprocess.PIPE)
        try:
            await_state(b"READY=1")
            entity.notify()
            receiver.wait(hook.path)
            configuration.write(delivery__retry_after_max="7h")
            process.send_signal(signal.SIGHUP)
            while b"stopping" not in process.stderr.readline():
                pass
            process.terminate()
            await_state(b"STOPPING=1\nEXTEND_TIMEOUT_USEC=30000000")
            receiver.release(hook.path)
            assert process.wait(20) == 0
        finally:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("part", PARTS)
def test_the_status_says_that_a_configuration_was_refused(configuration, stack, part):
    """Until a later reload finds a good one: `systemctl reload` itself reports no refusal."""
    command, environment = stack.command_of(part)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, socket.socket(socket.AF_UNIX) as listener:
        manager.bind(str(configuration.folder / "notify"))
        manager.settimeout(20)
        listener.bind(str(configuration.folder / "socket"))
        listener.listen()

        def await_status(refused: bool):
            while not (said := manager.recv(65536)).startswith(b"STATUS=") or (b"NOT RELOADED" in said) != refused:
                pass
        process = subprocess.Popen(command, env={**environment, "NOTIFY_SOCKET": manager.getsockname()}, stdin=listener)
        try:
            await_status(False)
            configuration.write(delivery__tiempo="1s")
            process.send_signal(signal.SIGHUP)
            await_status(True)
            configuration.write(delivery__retry_after_max="7h")
            process.send_signal(signal.SIGHUP)
            await_status(False)
            process.terminate()
            assert process.wait(20) == 0
        finally:
            process.kill()
            process.wait()


def test_a_process_that_was_killed_is_not_shown(configuration, stack):
    pid, *_ = stack.pids("fcgi")
    assert pid in configuration.running("log.level")
    stack.stop("dispatcher", "-9")
    assert len(configuration.running("log.level")) == 2 and configuration.differences() == set()
    stack.start("dispatcher", RUNTIME_DIRECTORY=str(configuration.folder), **PATIENT)
    assert len(list(configuration.folder.iterdir())) == 3


def test_without_processes_there_is_nothing_to_compare(stack, tmp_path):
    for words in (("diff",), ("show", "--running")):
        answer = stack.dev("admin", "config", *words, check=False, RUNTIME_DIRECTORY=str(tmp_path))
        assert answer.returncode == 1 and "no running process has noted its configuration in " in answer.stderr


@contextlib.contextmanager
def forged(folder, **values):
    """Notes in the folder, as of processes that run. Each has one key."""
    with contextlib.ExitStack() as locked:
        for name, value in values.items():
            note = folder / name.replace("_", ".")
            note.write_text(f"programa\x1b[2J\t2026-01-01T00:00:00Z\nlog.level\t{value}\n")
            fcntl.flock(locked.enter_context(open(note)), fcntl.LOCK_EX)
        yield


def test_what_the_service_puts_beside_its_note_is_no_note(stack, tmp_path):
    """Root reads the folder, and its owner may put anything there."""
    os.mkfifo(tmp_path / "config.1")
    (tmp_path / "config.2").symlink_to("config.3")
    asked = [("show", "--running"), ("show", "--running", "--json"), ("diff", "--json")]
    with forged(tmp_path, config_3="\x1b[31minfo\tsuyo.conf:1", config_4x="info\tdefault"):
        text, rows, diff = (stack.dev("admin", "config", *words, check=False, RUNTIME_DIRECTORY=str(tmp_path)).stdout for words in asked)
    assert "programa\\x1b[2J (3), since 2026" in text and "\x1b" not in text
    assert [(row["pid"], row["clave"], row["valor"]) for row in json.loads(rows)] == [(3, "log.level", "\\x1b[31minfo")]
    assert [(row["pid"], row["clave"]) for row in json.loads(diff)] == [(3, "log.level")], "a relative --config is a file, too"


def test_the_environment_of_the_operator_is_not_that_of_the_units(stack, tmp_path):
    program = stack.command_of("dispatcher")[0][0].replace("dispatcher", "admin")
    with forged(tmp_path, config_3="info\tdefault"):
        environment = {"RUNTIME_DIRECTORY": str(tmp_path), "APIENTIDADES_LOG_LEVEL": "debug"}
        answer = subprocess.run([program, "config", "diff"], env=environment, capture_output=True, text=True)
    assert answer.returncode == 0 and answer.stdout == "All 1 processes have in force what is configured.\n", answer
