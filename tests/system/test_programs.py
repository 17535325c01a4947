"""The programs as processes: how they refuse to start, how they end (design 1.4)."""
import os
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.stack import setting
from support.wait import wait_until

PROGRAMS = ["apientidades-fcgi", "apientidades-dispatcher", "apientidades-admin"]


@pytest.fixture(scope="module")
def programs(stack):
    """Name -> (command, environment) as in the stack."""
    arguments, environment = stack.command_of("fcgi")
    dispatcher, dispatcher_environment = stack.command_of("dispatcher")
    admin = dispatcher[0].replace("dispatcher", "admin")
    password_file = f"{stack.env['SECRETS_DIR']}/admin.password"
    admin_environment = {
        **environment, **setting(database_user="apientidades_admin", database_password_file=password_file)}
    return {
        "apientidades-fcgi": (arguments, environment),
        "apientidades-dispatcher": (dispatcher, dispatcher_environment),
        "apientidades-admin": ([admin, *arguments[1:]], admin_environment),
    }


@pytest.fixture(scope="module")
def run(programs):
    """Runs a program that is to end by itself; its standard input is a listening socket, as the pool's is."""
    def start(name, *extra, settings=None, config=None, without_socket=False):
        command, environment = programs[name]
        command = list(command)
        if config:
            command[command.index("--config") + 1] = str(config)
        extra = extra or (("entity", "list") if name.endswith("admin") else ())
        with tempfile.TemporaryDirectory(prefix="apie-") as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
            listener.listen()
            return subprocess.run(
                [*command, *extra], env={**environment, **(settings or {})}, capture_output=True, text=True, timeout=10,
                stdin=subprocess.DEVNULL if without_socket else listener)
    return start


def one_line(result, status, *named):
    assert result.returncode in status, result
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    for name in named:
        assert name in lines[0], lines[0]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("key, value", [
    ("delivery.poll_interval", "soon"), ("delivery.poll_interval", "50"), ("delivery.lease", "11s"),
    ("api.threads", "0"), ("api.threads", "x"), ("delivery.retry_schedule", "5s,,5m"),
    ("delivery.allowed_networks", "127.0.0.1/33"),
    ("delivery.host_overrides", "localhost=127.0.0.1"), ("delivery.retry_jitter", "1.5"), ("database.port", "65536"),
])
def test_a_bad_value(run, name, key, value):
    one_line(run(name, settings=setting(**{key.replace(".", "_"): value})), [2], key)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_unknown_key(run, name, stack, tmp_path):
    one_line(run(name, settings=setting(delivery_nothing="1")), [2], "APIENTIDADES_DELIVERY_NOTHING")
    config = tmp_path / "bad.conf"
    config.write_text(Path(stack.folder, "apientidades.conf").read_text() + "\nnothing = 1\n")
    one_line(run(name, config=config), [2], "nothing", str(config))
    config.write_text("[nonsense]\nkey = 1\n")
    one_line(run(name, config=config), [2], "nonsense", str(config))
    config.write_text("this is no configuration\n")
    one_line(run(name, config=config), [2], str(config))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_missing_configuration_file(run, name):
    one_line(run(name, config="/nonexistent/apie.conf"), [1, 2], "/nonexistent/apie.conf")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_missing_password_file(run, name):
    missing = "/nonexistent/password"
    one_line(run(name, settings=setting(database_password_file=missing)), [1, 2], missing)


@pytest.mark.parametrize("name", ["apientidades-fcgi", "apientidades-dispatcher"])
def test_a_missing_or_broken_key_file(run, name, tmp_path):
    one_line(run(name, settings=setting(secrets_key_file="/nonexistent/keys")), [1, 2], "/nonexistent/keys")
    keys = tmp_path / "keys"
    keys.write_text("one:c2hvcnQ=\n")
    result = run(name, settings=setting(secrets_key_file=str(keys)))
    one_line(result, [1, 2], "secrets.key_file", "line 1")
    assert "c2hvcnQ" not in result.stderr


def test_a_missing_ca_file(run):
    missing = "/nonexistent/ca.pem"
    one_line(run("apientidades-dispatcher", settings=setting(delivery_ca_file=missing)), [1, 2], missing)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_database(run, name):
    one_line(run(name, settings=setting(database_socket="/nonexistent/db.sock")), [1], "/nonexistent/db.sock")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wrong_password(run, name, tmp_path):
    password = tmp_path / "password"
    password.write_text("wrong")
    result = run(name, settings=setting(database_password_file=str(password)))
    one_line(result, [1])


@pytest.mark.parametrize("name, user", [("apientidades-fcgi", "api"), ("apientidades-dispatcher", "dispatcher")])
def test_a_database_without_the_schema_says_what_to_do(run, name, user, stack):
    stack.sql("CREATE DATABASE vacia")
    try:
        stack.sql(f"GRANT ALL ON vacia.* TO 'apientidades_{user}'@'localhost'")
        one_line(run(name, settings=setting(database_name="vacia")), [1], "migrate")
    finally:
        stack.sql("DROP DATABASE vacia")


def test_no_listening_socket(run):
    one_line(run("apientidades-fcgi", without_socket=True), [1], "socket")


@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments_that_are_none(run, name):
    result = run(name, "--nothing")
    assert result.returncode == 2 and result.stdout == "" and "--nothing" in result.stderr


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_go_to_standard_output(run, name, option):
    result = run(name, option)
    assert result.returncode == 0 and result.stderr == "" and result.stdout.strip()
    if option == "--help" and not name.endswith("admin"):
        assert "delivery.poll_interval" in result.stdout


@pytest.mark.parametrize("name", ["apientidades-fcgi", "apientidades-dispatcher"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0(programs, name, number):
    command, environment = programs[name]
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with tempfile.TemporaryDirectory(prefix="apie-") as folder, datagrams as ready:
        ready.bind(f"{folder}/ready")
        ready.settimeout(10)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
            listener.listen()
            process = subprocess.Popen(command, env={**environment, "NOTIFY_SOCKET": f"{folder}/ready"},
                                       stdin=listener, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while b"READY=1" not in ready.recv(4096):
                pass
            process.send_signal(number)
            assert process.wait(10) == 0
        finally:
            process.kill()
            process.wait()


def test_no_secret_on_any_command_line_or_in_any_log(stack, entity, receiver):
    hook = entity.register(secret="unmistakable-secret")
    entity.notify()
    receiver.wait(hook.path)
    wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 200)
    secrets = [entity.token, "unmistakable-secret"]
    secrets += [f.read_text().strip() for f in Path(stack.env["SECRETS_DIR"]).iterdir() if f.suffix == ".password"]
    for part in ("fcgi", "dispatcher", "nginx"):
        text = stack.dev("logs", part, check=False).stdout
        text += "".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in stack.pids(part))
        assert [secret for secret in secrets if secret in text] == []
    logs = "".join(f.read_text(errors="replace") for f in Path(stack.folder, "log").iterdir())
    assert [secret for secret in secrets if secret in logs] == []
    assert os.stat(stack.env["SECRETS_DIR"]).st_mode & 0o077 == 0
