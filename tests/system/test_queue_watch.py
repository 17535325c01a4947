"""`queue status --watch`: on a terminal, in a pipe, as JSON."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from support.stack import setting
from support.wait import wait_until

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def command(stack):
    """Command line and environment of the program, without a shell, so that a signal reaches the program."""
    arguments, environment = stack.command_of("dispatcher")
    program = arguments[0].replace("dispatcher", "admin")
    password = f"{stack.env['SECRETS_DIR']}/admin.password"
    environment = {**environment, **setting(database_user="apientidades_admin", database_password_file=password),
                   "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    return [program, *arguments[1:], "queue", "status", "--watch"], environment


def resize(terminal, columns, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@contextlib.contextmanager
def on_a_terminal(command, columns=80, rows=24, **variables):
    arguments, environment = command
    terminal, other = pty.openpty()
    resize(terminal, columns, rows)
    process = subprocess.Popen(arguments, env={**environment, **variables}, stdin=other, stdout=other, stderr=other,
                               start_new_session=True)
    os.close(other)
    try:
        yield terminal, process
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def screens(terminal, count, timeout=15):
    """Returns the output once the program has drawn its screen `count` times."""
    text, deadline = b"", time.monotonic() + timeout
    while text.count(b"\x1b[J") < count:
        assert time.monotonic() < deadline, text
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 65536)
    return text


def lines(screen):
    return [ESCAPE.sub(b"", line).rstrip(b"\r").decode() for line in screen.split(b"\n")]


def test_a_terminal_is_drawn_in_colour_with_rates(command):
    with on_a_terminal(command) as (terminal, process):
        first, second = screens(terminal, 2).split(b"\x1b[J")[:2]
        assert COLOUR.search(first)
        assert any("notificaciones_pendientes" in line for line in lines(first))
        assert not any(line.endswith("=") for line in lines(first))
        assert any(line.endswith("=") or "/s" in line for line in lines(second))
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(command, variables):
    with on_a_terminal(command, **variables) as (terminal, _):
        assert not COLOUR.search(screens(terminal, 1))


def test_it_fits_while_the_terminal_is_resized(command):
    with on_a_terminal(command, 30, 6) as (terminal, _):
        small = screens(terminal, 1)
        assert max(map(len, lines(small))) <= 30 and small.count(b"\n") < 6
        resize(terminal, 100, 40)
        large = screens(terminal, 1)
        assert max(map(len, lines(large))) > 30


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_json_is_one_object_to_a_line_until_the_signal(command, number):
    arguments, environment = command
    process = subprocess.Popen([*arguments, "--json"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    try:
        for _ in range(2):
            assert set(json.loads(process.stdout.readline())) >= {"en_curso", "mas_antigua_s", "pausada", "hora"}
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0 and err == "" and "\x1b" not in out
    finally:
        process.kill()
        process.wait()


def test_a_pipe_gets_plain_lines(command):
    arguments, environment = command
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert re.match(r"\d{4}-\d\d-\d\dT\S+Z notificaciones_pendientes=\d+ ", process.stdout.readline())
        process.stdout.close()
        assert process.wait(30) is not None, "it ends when no program reads any more"
    finally:
        process.kill()
        process.wait()


def test_it_goes_on_while_the_database_is_away(command, stack):
    with on_a_terminal(command) as (terminal, process):
        screens(terminal, 1)
        stack.stop("db", "-9")
        try:
            text = b""
            def away():
                nonlocal text
                if select.select([terminal], [], [], 0)[0]:
                    text += os.read(terminal, 65536)
                return b"database unavailable" in text
            wait_until(away, 15)
        finally:
            stack.start("db")
            stack.connect_evaluation()
        screens(terminal, 1)
        assert process.poll() is None
