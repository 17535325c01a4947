"""Servers for faults beneath HTTP, in TCP or TLS. black_hole(), tcp_server() and https_server() are context managers that
yield the port; the other functions say how such a server treats a connection, or change its TLS context."""
from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
import time
import warnings

from fakes.black_hole import fill


@contextlib.contextmanager
def black_hole():
    with contextlib.ExitStack() as open_sockets:
        server, *others = fill("127.0.0.1", 0)
        for one in (server, *others):
            open_sockets.enter_context(one)
        yield server.getsockname()[1]


@contextlib.contextmanager
def tcp_server(serve, address="127.0.0.1"):
    """Runs serve(connection) in a thread for each connection; yields the port."""
    with socket.create_server((address, 0)) as server:
        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=handle, args=(server.accept()[0],), daemon=True).start()

        def handle(connection):
            with connection, contextlib.suppress(OSError):
                serve(connection)
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def forward_to(port):
    """For tcp_server(): passes everything on to that port of 127.0.0.1, and back."""
    def pump(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def serve(connection):
        with socket.create_connection(("127.0.0.1", port)) as server:
            answers = threading.Thread(target=pump, args=(server, connection), daemon=True)
            answers.start()
            pump(connection, server)
            answers.join()
    return serve


def say_nothing(connection):
    while connection.recv(65536):
        pass


def speak_in_clear(connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def begin_a_record(connection):
    """Announces a TLS record of 16 KB with a ServerHello, and never sends the rest."""
    connection.recv(65536)
    connection.sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
    say_nothing(connection)


def greet_without_end(connection):
    """Sends HelloRequests, which a client ignores during a handshake, as fast as they are read; gives up after 10 s."""
    connection.recv(65536)
    until = time.monotonic() + 10
    while time.monotonic() < until:
        connection.sendall(b"\x16\x03\x03\0\4\0\0\0\0" * 5000)


def hang_up(connection):
    connection.recv(65536)


def https_server(certificate, change=lambda context: None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    change(context)
    context.load_cert_chain(*certificate)

    def serve(connection):
        with context.wrap_socket(connection, server_side=True) as tls:
            tls.recv(65536)
            tls.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    return tcp_server(serve)


def only(version):
    def change(context):
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = version
    return change


def only_dhe(folder):
    """Allows only TLS 1.2 with finite-field Diffie-Hellman. Writes the Diffie-Hellman parameters to
    `folder`. The certificate must be RSA."""
    numbers = folder / "dh.pem"
    subprocess.run(["openssl", "genpkey", "-genparam", "-algorithm", "DH", "-pkeyopt", "group:ffdhe2048", "-out", numbers],
                   check=True, capture_output=True)

    def change(context):
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("kDHE")
        context.load_dh_params(numbers)
    return change


def at_any_level(context):
    """Allows certificates that OpenSSL finds too weak."""
    context.set_ciphers("ALL:@SECLEVEL=0")


def ask_for_a_certificate(authority, version):
    def change(context):
        context.minimum_version = context.maximum_version = version
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority)
    return change
