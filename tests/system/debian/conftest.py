"""Tests the package in a container that boots Debian with its own systemd. The package is installed once; then the test files
of this folder use it, in the order of their names. `./dev test --system` builds the image and the package, and names both in
environment variables; without these no test of this folder runs. `./dev test --only upgrade` also names the package for the
next release of Debian, and runs only test_next_release.py."""
import os
import tempfile
from pathlib import Path

import pytest

from support.installation import Installation
from support.machine import Machine

if "SYSTEM_PACKAGE" not in os.environ:
    collect_ignore_glob = ["test_*.py"]
elif "SYSTEM_NEXT_PACKAGE" not in os.environ:
    collect_ignore = ["test_next_release.py"]

FIGURES: list[str] = []


@pytest.fixture(scope="session")
def figure():
    """figure(text) prints the text after all tests."""
    return FIGURES.append


def pytest_terminal_summary(terminalreporter):
    if FIGURES:
        terminalreporter.section("figures of the installation")
        for line in FIGURES:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def machine():
    folder = Path(tempfile.mkdtemp(prefix="apie-system-", dir="/var/tmp"))
    running = Machine(Path(os.environ["SYSTEM_IMAGE"]), folder / "machine")
    try:
        running.boot()
        running.enter_network()
        yield running
    finally:
        running.close()
        Path(f"{running.folder}.log").unlink(missing_ok=True)
        folder.rmdir()


@pytest.fixture(scope="session")
def fresh(machine):
    """The Installation on `machine`; the package may not be installed yet."""
    running = Installation(machine, Path(os.environ["SYSTEM_PACKAGE"]))
    yield running
    running.close()


@pytest.fixture(scope="session")
def installation(fresh):
    if not fresh.api:
        fresh.install()
    return fresh
