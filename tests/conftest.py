"""Fixtures. Tests share a stack (with pytest-xdist, each worker has a stack), so tests make entities of their own."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cluster.servers import ClusterStack  # noqa: E402
from fakes.receiver import Receiver, self_signed  # noqa: E402
from support.actors import Entity  # noqa: E402
from support.sql import SqlSession  # noqa: E402
from support.stack import Stack, setting  # noqa: E402

# Retries come within a second. The lease is the shortest that the time-out allows. The database leaves writing to the kernel: no
# test ends the machine.
SHORT = setting(
    delivery_connect_timeout="1s", delivery_timeout="2s", delivery_lease="12s", delivery_retry_jitter="0",
    delivery_retry_schedule="300ms,600ms,900ms", delivery_allowed_networks="127.0.0.0/8")
SHORT["DEV_DB_OPTIONS"] = "--innodb-flush-method=nosync"


def pytest_configure(config):
    """Makes SIGTERM act like Ctrl-C, so that the fixtures take their stacks down. With pytest-xdist, the parent
    process has no stack, and passes the signal on to its workers."""
    has_workers = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    with contextlib.suppress(ValueError):  # thrown in a worker that runs this outside its main thread
        signal.signal(signal.SIGTERM, end_workers if has_workers else signal.default_int_handler)


def end_workers(*_):
    """Ends the workers, the only children of this process. The process then ends by itself."""
    subprocess.run(["pkill", "-TERM", "-P", str(os.getpid())])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Resumes the queue after a failed test, which may have left it paused."""
    report = (yield).get_result()
    if report.failed and "stack" in getattr(item, "funcargs", {}):
        with contextlib.suppress(Exception):  # the failure is reported even if the stack is down
            item.funcargs["stack"].try_admin("queue", "resume")


@pytest.fixture(scope="session")
def stack():
    """TEST_ON_CLUSTER (galera or group-replication) puts the stack on a cluster."""
    kind = os.environ.get("TEST_ON_CLUSTER")
    running = ClusterStack(kind, SHORT).up().spread() if kind else Stack(SHORT).up()
    yield running
    running.down()


@pytest.fixture(scope="session")
def receiver(stack):
    with Receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]) as running:
        yield running


@pytest.fixture(scope="session")
def untrusted_receiver():
    folder = tempfile.mkdtemp(prefix="apie-tls-")
    with Receiver(*self_signed(folder, "*.receptor.test")) as running:
        yield running
    shutil.rmtree(folder)


@pytest.fixture
def new_entity(stack, receiver):
    return lambda **how: Entity(stack, receiver, **how)


@pytest.fixture
def entity(new_entity):
    return new_entity()


@pytest.fixture
def patient(stack):
    """For a test that holds a request while it runs commands or looks at rows: on a busy machine these take longer than the
    other tests' time-out and lease."""
    with stack.dispatcher_with(**setting(delivery_timeout="30s", delivery_lease="60s")):
        yield


@pytest.fixture
def root(stack):
    """A database session of the user root, for one test alone. The session can keep a transaction open."""
    session = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")
    yield session
    session.close()
