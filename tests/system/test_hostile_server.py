"""A hostile database server: it gets no password and no file of this host, and none of its answers is executed."""
import itertools
import os
import re
import subprocess

import pytest

from fakes.database import FakeDatabase
from fakes.receiver import self_signed
from support.setup_database import SetupDatabase
from support.stack import Stack, free_port, setting

PASSWORD = "unmistakable-password"
GIVING_AWAY = ["mysql_clear_password", "dialog", "caching_sha2_password", "sha256_password", "mysql_old_password"]
COMMAND = "a|;1e touch {0}"
# Answers that mean something else if a program inserts them unescaped into a sed script, a shell's word, SQL text or a command
# of the database client.
INJECTIONS = [COMMAND, "|e touch {0}", "$(touch {0})", "`touch {0}`", "'; \\! touch {0}", "\\! touch {0}", "localhost\n\\! touch {0}",
              "x' OR '1", "a\tb", "&", "%n", "a b"]


@pytest.fixture(scope="module")
def stack():
    running = Stack({**setting(delivery_allowed_networks="127.0.0.0/8"), "DEV_DB_PORT": str(free_port())}).up()
    yield running
    running.down()


@pytest.fixture
def password_file(tmp_path):
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    file.chmod(0o600)
    return file


def certificate(stack):
    folder = stack.env["CA_CERT"].rsplit("/", 1)[0]
    return f"{folder}/database.pem", f"{folder}/database.key"


def run_admin(stack, password_file, hosts, **settings):
    program, environment = stack.command_of("dispatcher")
    own = setting(database_user="apientidades_admin", database_password_file=str(password_file), database_hosts=hosts, **settings)
    return subprocess.run([program[0].replace("dispatcher", "admin"), *program[1:], "entity", "list"],
                          env={**environment, **own}, capture_output=True, text=True, timeout=20)


def run_daemon(stack, password_file, hosts, **settings):
    """Runs the dispatcher until it logs that it waits for the database; returns the log."""
    program, environment = stack.command_of("dispatcher")
    own = setting(database_password_file=str(password_file), database_hosts=hosts, **settings)
    with subprocess.Popen(program, env={**environment, **own}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        said = ""
        for line in process.stdout:
            said += line
            if "waiting for the database" in line:
                break
        process.terminate()
    return said


@pytest.mark.parametrize("plugin", GIVING_AWAY)
def test_no_program_gives_its_password_to_a_server_on_loopback(stack, password_file, plugin, tmp_path):
    server = FakeDatabase(asks=plugin)
    with server.listen() as port:
        hosts = f"127.0.0.1:{port}"
        assert run_admin(stack, password_file, hosts, database_tls_ca="").returncode == 1
        run_daemon(stack, password_file, hosts, database_tls_ca="")
        setup = SetupDatabase(stack, tmp_path, database_hosts=hosts, database_tls_ca="")
        setup.refusal("--user", "root", "--evaluation-from", "localhost", MYSQL_PWD=PASSWORD)
    assert server.received.count(b"root") and server.received.count(b"apientidades_admin")
    assert PASSWORD.encode() not in server.received


@pytest.mark.parametrize("plugin", ["mysql_clear_password", "dialog"])
def test_a_server_with_a_valid_certificate_gets_no_password(stack, password_file, plugin, tmp_path):
    server = FakeDatabase(asks=plugin, certificate=certificate(stack))
    with server.listen() as port:
        hosts = f"localhost:{port}"
        assert run_admin(stack, password_file, hosts).returncode == 1
        SetupDatabase(stack, tmp_path, database_hosts=hosts).refusal(
            "--user", "root", "--evaluation-from", "localhost", MYSQL_PWD=PASSWORD)
    assert server.received.count(b"root") and PASSWORD.encode() not in server.received


def test_where_tls_is_demanded_nothing_is_said_in_clear(stack, password_file, tmp_path):
    server = FakeDatabase(asks="mysql_clear_password")  # it offers no TLS
    with server.listen() as port:
        hosts = f"localhost:{port}"
        assert "database.tls_ca" in run_admin(stack, password_file, hosts).stderr
        SetupDatabase(stack, tmp_path, database_hosts=hosts).refusal(
            "--user", "root", "--evaluation-from", "localhost", MYSQL_PWD=PASSWORD)
    assert b"root" not in server.received and b"apientidades" not in server.received


def test_a_server_that_dies_is_not_taken_for_one_with_a_wrong_certificate(stack, password_file, tmp_path):
    for server, told in ((FakeDatabase(dies=True, certificate=certificate(stack)), "the server ended the connection"),
                         (FakeDatabase(certificate=self_signed(tmp_path, "localhost")), "check database.tls_ca")):
        with server.listen() as port:
            said = run_admin(stack, password_file, f"localhost:{port}").stderr
        assert "error 2026" in said and told in said, said


def test_another_machine_without_tls_is_refused_before_the_first_connection(stack, password_file, tmp_path):
    """The configuration counts both hosts as other machines: it accepts only the name localhost and loopback addresses as this
    machine."""
    server = FakeDatabase(asks="mysql_clear_password")
    with server.listen("0.0.0.0") as port:
        hosts = f"localhost.localdomain:{port},{HERE}:{port}"
        result = run_admin(stack, password_file, hosts, database_tls_ca="")
        assert result.returncode == 2 and "set database.tls_ca" in result.stderr
        setup = SetupDatabase(stack, tmp_path, database_hosts=hosts, database_tls_ca="")
        result = setup("--user", "root", "--evaluation-from", "localhost", MYSQL_PWD=PASSWORD, check=False)
        assert result.returncode == 1 and "set database.tls_ca" in result.stderr
    assert server.received == b""


HERE = "0.0.0.0"  # leads to this machine, but the configuration takes it for another machine's address


def test_a_server_gets_no_file(stack, password_file, tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("what this host keeps to itself")
    server = FakeDatabase(wants_file=str(kept))
    with server.listen() as port:
        hosts = f"127.0.0.1:{port}"
        run_admin(stack, password_file, hosts, database_tls_ca="")
        SetupDatabase(stack, tmp_path, database_hosts=hosts, database_tls_ca="").refusal(
            "--user", "root", "--evaluation-from", "localhost", MYSQL_PWD=PASSWORD)
    assert server.statements and b"keeps to itself" not in server.received


QUERIES = ["SUBSTRING_INDEX", "privilege_type", "view_definition|definer", "COUNT", "mysql.user"]
EACH_IN_ONE = [(QUERIES[i % len(QUERIES)], words) for i, words in enumerate(INJECTIONS)]  # and each query has some


@pytest.mark.parametrize("pattern, words", itertools.product(QUERIES, INJECTIONS) if os.environ.get("TEST_LONG") else EACH_IN_ONE)
def test_nothing_that_a_server_says_is_run(stack, tmp_path, pattern, words):
    """Even a server with a valid certificate may be hostile."""
    made = tmp_path / "made"
    said = words.format(made)
    answers = [(pattern, said), ("SUBSTRING_INDEX", "127.0.0.1")]
    server = FakeDatabase(certificate=certificate(stack), answers=answers)
    with server.listen() as port:
        setup = SetupDatabase(stack, tmp_path, database_hosts=f"localhost:{port}")
        # The fake server has no tables, so `apientidades-admin db …` would fail. Here the setup calls an apientidades-admin that
        # does nothing for `db …` and reports success.
        (tmp_path / "apientidades-admin").write_text(
            (tmp_path / "apientidades-admin").read_text().replace("exec ", '[[ $1 != db ]] || exit 0\nexec ', 1))
        results = [setup("--user", "root", "--evaluation-from", "localhost", check=False),
                   setup("--user", "root", "--withdraw", check=False)]
    assert not made.exists()
    for result in results:
        assert result.returncode in (0, 1)
        assert result.returncode == 0 or re.search(r"^apientidades-setup-database: .", result.stderr, re.M), result
    if pattern == "SUBSTRING_INDEX":
        for result in results:
            assert result.returncode == 1 and "host of this connection is not accepted" in result.stderr, result
        assert not any("GRANT" in statement for statement in server.statements)
    if pattern == "privilege_type":
        assert results[1].returncode == 1 and "is not accepted" in results[1].stderr
        assert not any("REVOKE" in statement for statement in server.statements)


def test_a_column_of_a_strange_name_is_no_part_of_a_statement(stack, tmp_path):
    name = COMMAND.format("made")
    user = "apientidades_api@127.0.0.1"
    stack.sql(f"CREATE TABLE rara (`{name}` INT); GRANT SELECT (`{name}`) ON rara TO {user}")
    try:
        said = SetupDatabase(stack, tmp_path).refusal("--user", "root", "--from", "127.0.0.1", "--withdraw")
        assert "column of SELECT on rara is not accepted" in said
    finally:
        stack.sql(f"REVOKE SELECT (`{name}`) ON rara FROM {user}; DROP TABLE rara")
    assert not (tmp_path / "made").exists()
