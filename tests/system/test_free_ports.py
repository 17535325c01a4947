"""Tests and `./dev` choose a free port before a server listens on it. The port must lie below the range from which the kernel
itself chooses ports (for outgoing connections, and for programs that bind port 0): otherwise the kernel could give it away."""
import subprocess
from pathlib import Path

import pytest

from support.stack import ROOT, clean_environment, free_port

FIRST_OF_THE_KERNEL = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])

pytestmark = pytest.mark.skipif(FIRST_OF_THE_KERNEL < 26_000, reason="this machine's kernel takes ports from 20000 to 25999, too")


def test_a_free_port_is_none_that_the_kernel_takes_and_none_that_is_refused():
    ports = {free_port() for _ in range(50)}
    assert max(ports) < FIRST_OF_THE_KERNEL
    assert 20_000 <= min(ports) and max(ports) < 26_257  # CockroachDB's, the next one of lib/webhook/refused_ports.cpp


def test_a_free_port_of_dev_is_none_that_the_kernel_takes():
    script = 'ROOT=$1; source "$ROOT/scripts/dev/common.sh"; for _ in 1 2 3 4 5; do free_port; done'
    done = subprocess.run(["bash", "-euc", script, "bash", ROOT], env=clean_environment(), capture_output=True, text=True, timeout=30)
    ports = [int(port) for port in done.stdout.split()]
    assert len(ports) == 5 and max(ports) < FIRST_OF_THE_KERNEL, done
