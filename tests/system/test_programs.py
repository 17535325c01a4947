"""How the programs refuse to start, wait for the database, and end."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from support.actors import BASE
from support.fastcgi import STDIN, record, request_head
from support.stack import setting
from support.unread import unread
from support.wait import wait_until

DAEMONS = ["apientidades-fcgi", "apientidades-dispatcher"]
PROGRAMS = [*DAEMONS, "apientidades-admin"]


@pytest.fixture(scope="module")
def programs(stack):
    """Returns program name -> (command, environment) as in the stack."""
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


def with_config(command, config):
    command = list(command)
    command[command.index("--config") + 1] = str(config)
    return command


@pytest.fixture(scope="module")
def run(programs):
    """Runs a program that is expected to end by itself. Unless `without_socket`, its standard input is a listening
    socket, as systemd gives one to apientidades-fcgi."""
    def start(name, *extra, settings=None, config=None, without_socket=False):
        command, environment = programs[name]
        if config:
            command = with_config(command, config)
        extra = extra or (("entity", "list") if name.endswith("admin") else ())
        with tempfile.TemporaryDirectory(prefix="apie-") as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/s")
            listener.listen()
            return subprocess.run(
                [*command, *extra], env={**environment, **(settings or {})}, capture_output=True, text=True, timeout=60,
                stdin=subprocess.DEVNULL if without_socket else listener)
    return start


@pytest.fixture(scope="module")
def supervise(programs):
    """Starts a daemon as systemd does. Yields told(…), which waits for one message to systemd with all the given texts;
    `told.socket_file` is the listening socket, `told.process` the daemon. At the end the daemon gets a signal, and must end with status 0."""
    @contextlib.contextmanager
    def start(name, settings=None, number=signal.SIGTERM, config=None):
        command, environment = programs[name]
        if config:
            command = with_config(command, config)
        with tempfile.TemporaryDirectory(prefix="apie-") as folder, contextlib.ExitStack() as closing:
            said = closing.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            said.bind(f"{folder}/notify")
            said.settimeout(15)
            listener = closing.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(f"{folder}/s")
            listener.listen()
            process = subprocess.Popen(
                command, env={**environment, **(settings or {}), "NOTIFY_SOCKET": f"{folder}/notify"},
                stdin=listener, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

            def told(*words, without="\0"):
                message = ""
                while without in message or not all(word in message for word in words):
                    message = said.recv(65536).decode()

            told.socket_file = f"{folder}/s"
            told.process = process
            try:
                yield told
                process.send_signal(number)
                assert process.wait(30) == 0
            finally:
                process.kill()
                process.wait()
    return start


def test_a_stop_asks_systemd_for_the_time_that_attempts_may_take(supervise):
    with supervise("apientidades-dispatcher", setting(delivery_timeout="70s", delivery_lease="90s")) as told:
        told("READY=1")
        told.process.terminate()
        told("STOPPING=1", "EXTEND_TIMEOUT_USEC=80000000")


def private(path: Path, text: str) -> str:
    path.touch(0o600)
    path.write_text(text)
    return str(path)


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


@pytest.mark.parametrize("name", DAEMONS)
def test_under_the_journal_the_reason_has_the_priority_of_an_error(run, name):
    """Otherwise `journalctl -p warning`, which the manual names, would not show it."""
    settings = {**setting(delivery_poll_interval="soon"), "JOURNAL_STREAM": "1:2"}
    result = run(name, settings=settings)
    assert result.returncode == 2 and result.stderr.startswith(f"<3>{name}: "), result


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_missing_configuration_file(run, name):
    one_line(run(name, config="/nonexistent/apie.conf"), [1, 2], "/nonexistent/apie.conf")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_missing_password_file(run, name):
    missing = "/nonexistent/password"
    one_line(run(name, settings=setting(database_password_file=missing)), [1, 2], f"database.password_file: {missing}")


@pytest.mark.parametrize("name", DAEMONS)
def test_a_missing_or_broken_key_file(run, name, tmp_path):
    one_line(run(name, settings=setting(secrets_key_file="/nonexistent/keys")), [1, 2], "/nonexistent/keys")
    keys = private(tmp_path / "keys", "one:c2hvcnQ=\n")
    result = run(name, settings=setting(secrets_key_file=keys))
    one_line(result, [1, 2], "secrets.key_file", "line 1")
    assert "c2hvcnQ" not in result.stderr


def test_a_missing_ca_file(run):
    missing = "/nonexistent/ca.pem"
    one_line(run("apientidades-dispatcher", settings=setting(delivery_ca_file=missing)), [1, 2], missing)


@pytest.mark.parametrize("name, command", [*((name, ()) for name in DAEMONS), ("apientidades-admin", ("config", "check"))])
def test_a_missing_ca_file_of_the_database(run, name, command):
    """A daemon does not wait for the database, which it could never reach."""
    result = run(name, *command, settings=setting(database_tls_ca="/nonexistent/ca.pem"))
    assert result.returncode == 2 and "database.tls_ca: /nonexistent/ca.pem: No such file" in result.stderr, result


@pytest.mark.parametrize("name, command", [("apientidades-dispatcher", ()), ("apientidades-admin", ("config", "check"))])
def test_a_ca_file_that_is_cut_off(run, stack, tmp_path, name, command):
    """The TLS library refuses the whole file, so that no attempt could be made."""
    whole = Path(stack.folder, "certs/ca.pem").read_text()
    cut = tmp_path / "ca.pem"
    cut.write_text(whole + whole[:len(whole) // 2])
    one_line(run(name, *command, settings=setting(delivery_ca_file=str(cut))), [2], f"delivery.ca_file: {cut}: ")


@pytest.mark.parametrize("command", [("config", "show"), ("nginx", "limits"), ("nginx", "origins")])
def test_what_needs_no_database_needs_no_password(run, command, tmp_path):
    folder = ("--folder", str(tmp_path)) if command[0] == "nginx" else ()
    result = run("apientidades-admin", *command, *folder, settings=setting(database_password_file="/nonexistent/password"))
    assert (result.returncode, result.stderr) == (0, ""), result


def test_the_check_reports_each_file_with_its_key(run, tmp_path):
    settings = setting(database_password_file="/nonexistent/password", delivery_ca_file="/nonexistent/ca.pem")
    result = run("apientidades-admin", "config", "check", "--json", settings=settings)
    assert result.returncode == 2, result
    assert [row["clave"] for row in json.loads(result.stdout)] == ["database.password_file", "delivery.ca_file"]
    password = tmp_path / "database-password"
    password.touch()
    settings = {**setting(database_password_file=""), "CREDENTIALS_DIRECTORY": str(tmp_path)}
    one_line(run("apientidades-admin", "config", "check", settings=settings), [2], f"database.password_file: {password}: is empty")


@pytest.mark.parametrize("command", [(), ("config", "check")])
def test_the_operators_program_without_a_database(run, tmp_path, command):
    away = run("apientidades-admin", *command, settings=setting(database_socket="/nonexistent/db.sock"))
    assert (away.returncode, away.stdout) == (1, "") and away.stderr.count("/nonexistent/db.sock)") == 1, away
    refused = run("apientidades-admin", *command, settings=setting(database_password_file=private(tmp_path / "password", "wrong")))
    assert (refused.returncode, refused.stdout) == (1, "") and refused.stderr.count("Access denied") == 1, refused


def test_the_check_connects_as_each_program(run, stack):
    """Without database.user each program has its own; one password cannot be that of all three."""
    result = run("apientidades-admin", "config", "check", settings=setting(database_user=""))
    assert (result.returncode, result.stdout) == (1, ""), result
    for user in ("api", "dispatcher"):
        assert f"Access denied for user 'apientidades_{user}'" in result.stderr
    assert "apientidades_admin" not in result.stderr


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("key", ["database_password_file", "secrets_key_file"])
def test_what_every_user_may_read_is_no_secret(run, stack, tmp_path, name, key):
    folder = Path(stack.env["SECRETS_DIR"])
    good = folder / {"apientidades-fcgi": "api", "apientidades-dispatcher": "dispatcher", "apientidades-admin": "admin"}[name]
    file = tmp_path / "secret"
    file.write_bytes((folder / "secrets.keys" if key == "secrets_key_file" else good.with_suffix(".password")).read_bytes())
    file.chmod(0o644)
    command = ("config", "check") if name == "apientidades-admin" else ()
    result = run(name, *command, settings=setting(**{key: str(file)}))
    assert result.returncode in (1, 2) and f"{key.replace('_', '.', 1)}: {file}: every user of this host" in result.stderr, result
    assert f"chmod o= {file}" in result.stderr


def test_a_check_of_another_configuration_says_what_it_leaves_out(run):
    result = run("apientidades-admin", "config", "check")
    assert result.returncode == 0 and "as it must be" in result.stdout and "what the units can read was not checked" in result.stderr


@pytest.mark.parametrize("name", DAEMONS)
def test_a_missing_database_is_waited_for(supervise, name, stack, tmp_path):
    path = tmp_path / "db.sock"
    with supervise(name, setting(database_socket=str(path), metrics_queue_interval="1s")) as told:
        told("READY=1")
        told("STATUS=waiting for the database", str(path))
        path.symlink_to(stack.env["DB_SOCKET"])
        told("STATUS=", {"apientidades-fcgi": "threads busy", "apientidades-dispatcher": "in flight"}[name], without="waiting")


@pytest.mark.parametrize("name", DAEMONS)
def test_a_database_that_refuses_the_user_is_waited_for(supervise, name, tmp_path):
    with supervise(name, setting(database_password_file=private(tmp_path / "password", "wrong"))) as told:
        told("STATUS=waiting for the database", "Access denied")


@pytest.mark.parametrize("name, user", [("apientidades-fcgi", "api"), ("apientidades-dispatcher", "dispatcher")])
def test_a_database_without_the_schema_says_what_to_do(supervise, name, user, stack):
    stack.sql("CREATE DATABASE vacia")
    try:
        stack.sql(f"GRANT ALL ON vacia.* TO 'apientidades_{user}'@'localhost'")
        with supervise(name, setting(database_name="vacia")) as told:
            told("STATUS=waiting for the database", "migrate")
    finally:
        stack.sql("DROP DATABASE vacia")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_starts_no_dispatcher_by_mistake(programs):
    """It would deliver beside the unit's, with all rights. ./dev names a file."""
    (program, *_), environment = programs["apientidades-dispatcher"]
    for arguments in ([], ["--log.level=debug"]):
        one_line(subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=60), [2], "root", "--config FILE")


def test_the_dispatcher_waits_for_a_migration_that_is_missing(supervise, stack):
    """If an upgrade cannot migrate, systemd may still start the new dispatcher. It must not send what it could not record."""
    last = stack.sql("SELECT numero, nombre, huella FROM migraciones ORDER BY numero DESC LIMIT 1")[0]
    stack.sql(f"DELETE FROM migraciones WHERE numero = {last[0]}")
    try:
        with supervise("apientidades-dispatcher", setting(metrics_queue_interval="1s")) as told:
            told("STATUS=waiting for the database", "db migrate")
            stack.sql("INSERT INTO migraciones (numero, nombre, huella) VALUES ({}, '{}', '{}')".format(*last))
            told("STATUS=", "in flight", without="waiting")
    finally:
        stack.sql("INSERT IGNORE INTO migraciones (numero, nombre, huella) VALUES ({}, '{}', '{}')".format(*last))


@pytest.mark.parametrize("name", DAEMONS)
def test_the_watchdog_is_fed_with_and_without_a_database(supervise, name):
    for settings in ({}, setting(database_socket="/nonexistent/db.sock")):
        with supervise(name, {**settings, "WATCHDOG_USEC": "4000000"}) as told:
            for _ in range(3):
                told("WATCHDOG=1")


@contextlib.contextmanager
def relay(server: str, delay_s: list[float]):
    """Yields the path of a socket through which each answer of a database server arrives `delay_s[0]` seconds late."""
    def answer(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                time.sleep(delay_s[0])
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def ask(client):
        with client, socket.socket(socket.AF_UNIX) as database, contextlib.suppress(OSError):
            database.connect(server)
            answers = threading.Thread(target=answer, args=(database, client), daemon=True)
            answers.start()
            while data := client.recv(65536):
                database.sendall(data)
            database.shutdown(socket.SHUT_WR)
            answers.join()

    with tempfile.TemporaryDirectory(prefix="apie-") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/s")
        listener.listen()

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=ask, args=(listener.accept()[0],), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield f"{folder}/s"
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()


def feeding_gaps(told, seconds: float) -> list[float]:
    """Watches a daemon's WATCHDOG=1 messages for about `seconds`. Returns the seconds from now to the first message, and then
    from each message to the next."""
    gaps, fed = [], time.monotonic()
    while sum(gaps) < seconds:
        told("WATCHDOG=1")
        gaps.append(time.monotonic() - fed)
        fed = time.monotonic()
    return gaps


def test_the_watchdog_is_fed_while_each_answer_of_the_database_is_slow(supervise, stack, entity, receiver):
    """A transaction may take longer than the watchdog's limit. If systemd then ended the dispatcher, the deliveries in
    flight would be sent again."""
    limit_s, delay_s = 6, [0.0]
    hook = entity.register()
    server = stack.env["DB_SOCKET"]
    stack.stop("dispatcher")
    try:
        with relay(server, delay_s) as socket_file:
            settings = {**setting(database_socket=socket_file), "WATCHDOG_USEC": f"{limit_s}000000"}
            with supervise("apientidades-dispatcher", settings) as told:
                told("READY=1")
                entity.notify()
                receiver.wait(hook.path)
                delay_s[0] = limit_s / 6
                entity.notify()
                gaps = feeding_gaps(told, 3 * limit_s)
                delay_s[0] = 0
                assert max(gaps) < limit_s, gaps
    finally:
        stack.start("dispatcher")


def test_the_watchdog_is_fed_while_a_process_of_the_pool_meets_a_slow_database(supervise, stack):
    """A process that starts sends the database several statements, one after the other. It already serves requests at that
    time: if systemd ended the process, the requests would be lost."""
    limit_s = 8  # to connect takes six answers of the database, and each comes limit_s / 8 late
    with relay(stack.env["DB_SOCKET"], [limit_s / 8]) as socket_file:
        settings = {**setting(database_socket=socket_file), "WATCHDOG_USEC": f"{limit_s}000000"}
        with supervise("apientidades-fcgi", settings) as told:
            told("READY=1")
            gaps = feeding_gaps(told, 2 * limit_s)
            assert max(gaps) < limit_s, gaps


def test_the_watchdog_is_fed_while_a_request_has_many_slow_statements(supervise, stack, entity):
    limit_s, delay_s = 6, [0.0]
    with relay(stack.env["DB_SOCKET"], delay_s) as socket_file:
        settings = {**setting(database_socket=socket_file, api_threads="1"), "WATCHDOG_USEC": f"{limit_s}000000"}
        with supervise("apientidades-fcgi", settings) as told, socket.socket(socket.AF_UNIX) as connection:
            told("STATUS=", "threads busy")
            delay_s[0] = limit_s / 8
            connection.connect(told.socket_file)
            connection.sendall(request_head(entity.token, "DELETE", f"{BASE}/0", 0) + record(STDIN, b""))
            gaps = feeding_gaps(told, 3 * limit_s)
            delay_s[0] = 0
            assert b"Status: 404" in connection.recv(65536)
            assert max(gaps) < limit_s, gaps


def test_no_listening_socket(run):
    one_line(run("apientidades-fcgi", without_socket=True), [1], "socket")


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_unknown_option(run, name):
    result = run(name, "--nothing")
    assert result.returncode == 2 and result.stdout == "" and "--nothing" in result.stderr


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_go_to_standard_output(run, name, option):
    result = run(name, option)
    assert result.returncode == 0 and result.stderr == "" and result.stdout.strip()
    if option == "--help" and not name.endswith("admin"):
        assert "delivery.poll_interval" in result.stdout


@pytest.mark.parametrize("name", DAEMONS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0(supervise, name, number):
    with supervise(name, number=number) as told:
        told("READY=1")


@pytest.mark.parametrize("name", DAEMONS)
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_before_the_configuration_is_read(supervise, programs, name, number, tmp_path):
    """Here the configuration is a FIFO, at which the daemon waits. Unless the signals are taken over before that, SIGHUP ends
    the daemon, and systemd takes that for a clean end."""
    command, _ = programs[name]
    text, fifo = Path(command[command.index("--config") + 1]).read_bytes(), tmp_path / "apientidades.conf"
    os.mkfifo(fifo)

    def opened():
        with contextlib.suppress(OSError):  # no reader yet
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        return None

    with supervise(name, config=fifo) as told:
        writer = wait_until(opened, what="the daemon to read its configuration")
        told.process.send_signal(number)
        os.write(writer, text)
        os.close(writer)
        if number == signal.SIGHUP:
            told("READY=1")


def blocks(process, number) -> bool:
    status = Path("/proc", str(process.pid), "status").read_text()
    return bool(int(status.split("SigBlk:")[1].split()[0], 16) >> number - 1 & 1)


@pytest.mark.parametrize("name", DAEMONS)
def test_an_unread_log_and_an_unread_service_manager_do_not_delay_the_end(programs, name, tmp_path):
    command, environment = programs[name]
    with unread() as sink, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        process = subprocess.Popen(command, env={**environment, "NOTIFY_SOCKET": sink.notify_socket}, stdin=listener, stderr=sink.log)
        try:
            wait_until(lambda: blocks(process, signal.SIGTERM), what="the daemon to take over SIGTERM")
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
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


@pytest.mark.parametrize("arguments", [["entity", "list"], ["entity", "list", "--json"], ["config", "show"], ["--help"],
                                       ["report", "--event", "evaluacion.abierta", "--since", "1d", "--csv"]])
@pytest.mark.parametrize("ignored", [False, True], ids=["", "SIGPIPE is ignored"])
def test_a_closed_pipe_ends_the_operators_program_silently(programs, entity, arguments, ignored):
    """The program dies of SIGPIPE, as programs do in `… | head`; the shell shows exit status 141."""
    command, environment = programs["apientidades-admin"]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run([*command, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True,
                               timeout=30, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL),
                               restore_signals=False)
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (-signal.SIGPIPE, "")


def test_a_full_output_device_is_reported(programs):
    command, environment = programs["apientidades-admin"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run([*command, "config", "show"], env=environment, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True,
                               timeout=30)
    assert (ended.returncode, ended.stderr) == (1, "apientidades-admin: standard output could not be written\n")


@pytest.mark.parametrize("name", DAEMONS)
def test_closed_standard_descriptors_are_opened_on_dev_null(programs, name):
    """Otherwise a socket could become descriptor 1 or 2, and what the program prints would go to the database or a receiver."""
    command, environment = programs[name]
    closed = [1, 2] if name.endswith("fcgi") else [0, 1, 2]  # descriptor 0 is the listening socket
    with tempfile.TemporaryDirectory(prefix="apie-") as folder, socket.socket(socket.AF_UNIX) as listener, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as said:
        said.bind(f"{folder}/notify")
        said.settimeout(15)
        listener.bind(f"{folder}/s")
        listener.listen()
        process = subprocess.Popen(command, env={**environment, "NOTIFY_SOCKET": f"{folder}/notify"}, stdin=listener,
                                   preexec_fn=lambda: [os.close(fd) for fd in closed])
        try:
            while "READY=1" not in said.recv(65536).decode():
                pass
            assert {os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in closed} == {"/dev/null"}
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()
            process.wait()


def test_what_cannot_be_written_is_a_failure(programs):
    command, environment = programs["apientidades-admin"]
    for closed in ([1], [0, 1, 2]):
        ended = subprocess.run([*command, "entity", "list"], env=environment, stderr=subprocess.DEVNULL, timeout=30,
                               preexec_fn=lambda: [os.close(fd) for fd in closed])
        assert ended.returncode == 1
