"""If database.tls_ca is set, the programs connect to the database over TCP only with verified TLS. The error of a refused
connection names the setting that the operator has to check."""
import socket
import subprocess

import pytest

from fakes.receiver import Receiver, self_signed
from fakes.tcp import forward_to, tcp_server
from support.actors import Entity
from support.stack import Stack, free_port, setting

CLIENT_SSL = 0x0800  # a bit of the capabilities in the server's greeting


@pytest.fixture(scope="module")
def port():
    return free_port()


@pytest.fixture(scope="module")
def remote(port):
    """A stack with programs that reach the database over TCP, as users from which the server demands TLS."""
    running = Stack({**setting(delivery_allowed_networks="127.0.0.0/8"), "DEV_DB_PORT": str(port)}).up()
    yield running
    running.down()


def list_entities(stack, *how, **settings):
    """Runs apientidades-admin directly, so that `how` (a wrapper and its arguments) affects nothing else."""
    arguments, environment = stack.command_of("dispatcher")
    password = f"{stack.env['SECRETS_DIR']}/admin.password"
    own = setting(database_user="apientidades_admin", database_password_file=password, **settings)
    arguments = [*how, arguments[0].replace("dispatcher", "admin"), *arguments[1:], "entity", "list"]
    return subprocess.run(arguments, env={**environment, **own}, capture_output=True, text=True, timeout=20)


def refused(stack, *how, **settings) -> str:
    """Returns the one line of error that apientidades-admin prints with `how` and `settings`. Checks first that it succeeds
    without them."""
    assert list_entities(stack).returncode == 0
    result = list_entities(stack, *how, **settings)
    lines = result.stderr.strip().splitlines()
    assert (result.returncode, result.stdout, len(lines)) == (1, "", 1), result
    assert "database.tls_ca" in lines[0]
    return lines[0]


def test_every_program_works_over_it(remote):
    with Receiver(remote.env["RECEIVER_CERT"], remote.env["RECEIVER_KEY"]) as receiver:
        entity = Entity(remote, receiver)
        hook = entity.register(["evaluacion.cerrada"])
        notification = remote.notify(entity.id, "evaluacion.cerrada", '{"evaluacionId": 1, "titulo": "t"}')
        remote.wait_delivery(remote.delivery_id(notification, hook.id), "entregada")
    connected = {user for user, host in remote.sql("SELECT user, host FROM information_schema.processlist")
                 if host.startswith("127.0.0.1:")}
    assert connected == {"apientidades_api", "apientidades_dispatcher"}


def test_a_server_of_another_authority_is_refused(remote, tmp_path):
    other, _ = self_signed(tmp_path, "localhost")
    assert "certificate" in refused(remote, database_tls_ca=other)


def test_a_server_of_another_name_is_refused(remote, port):
    """The server's certificate is for localhost, not for 127.0.0.2."""
    with tcp_server(forward_to(port), "127.0.0.2") as tunnel:
        assert "database.hosts" in refused(remote, database_hosts=f"127.0.0.2:{tunnel}")


def test_an_ip_address_with_tls_stops_the_start(remote, port):
    """At 127.0.0.1, libmariadb 3.4 would accept a certificate for any name."""
    result = list_entities(remote, database_hosts=f"127.0.0.1:{port}")
    assert (result.returncode, result.stdout) == (2, "")
    assert "database.hosts" in result.stderr and "database.tls_ca" in result.stderr


def test_an_expired_certificate_is_refused(remote):
    assert "expired" in refused(remote, "faketime", "-f", "+2y")


def test_a_server_without_tls_gets_no_password(remote, port):
    """An attacker on the network removes TLS from the server's offer."""
    sent = []

    def strip(client):
        with socket.create_connection(("127.0.0.1", port)) as server:
            greeting = bytearray(server.recv(4096))
            # The version's text ends with a NUL. The thread's id (4 bytes), 8 bytes of salt and a filler byte follow; then the flags.
            flags = greeting.index(0, 5) + 1 + 4 + 8 + 1
            offered = int.from_bytes(greeting[flags:flags + 2], "little")
            assert offered & CLIENT_SSL
            greeting[flags:flags + 2] = (offered & ~CLIENT_SSL).to_bytes(2, "little")
            client.sendall(greeting)
            while data := client.recv(4096):
                sent.append(data)
                return

    with tcp_server(strip) as stripped:
        refused(remote, database_hosts=f"localhost:{stripped}")
    assert not any(b"apientidades" in data for data in sent)
