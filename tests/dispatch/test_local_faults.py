"""Faults of this host: they count for no receiver, and the operator sees which they are. tests/unit/local_fault_test.cpp has every
place where they are met."""
import errno
import re
import subprocess

from support.metrics import observed_dispatcher
from support.stack import EVENTS, free_port
from support.wait import wait_until

FAULTS = ("ENOBUFS", "EADDRNOTAVAIL", "EPERM")
BREAKER = r"""
#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/socket.h>
extern "C" int connect(int fd, const sockaddr* to, socklen_t size) {
  using Function = int (*)(int, const sockaddr*, socklen_t);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "connect"));
  static const int faults[][2] = PORTS;
  for (const auto& fault : faults) {
    if (to->sa_family != AF_INET || ntohs(reinterpret_cast<const sockaddr_in*>(to)->sin_port) != fault[0]) continue;
    errno = fault[1];
    return -1;
  }
  return real(fd, to, size);
}
"""


def test_a_connection_that_cannot_be_begun_here_counts_for_no_receiver_and_is_told_once(entity, stack, tmp_path):
    library, ports = tmp_path / "breaker.so", {name: free_port() for name in FAULTS}
    table = "{" + ", ".join(f"{{{port}, {getattr(errno, name)}}}" for name, port in ports.items()) + "}"
    subprocess.run(["g++", "-x", "c++", "-shared", "-fPIC", f"-DPORTS={table}", "-o", library, "-", "-ldl"], input=BREAKER, text=True,
                   check=True)
    hooks = [entity.register([event], port=port) for event, port in zip(EVENTS, ports.values())]
    lines = lambda: re.findall(r"a fault of this host has ended attempts.* attempts=(\d+)", stack.dev("logs", "dispatcher").stdout)
    before = len(lines())
    with observed_dispatcher(stack, LD_PRELOAD=str(library)) as scrape:
        for event in EVENTS[:3] * 3:
            entity.notify(event)
        for name in FAULTS:
            wait_until(lambda: scrape().value("apientidades_local_faults_total", fault=name) >= 3, what=f"attempts that {name} ended")
        assert len(lines()) == before + len(FAULTS), "each fault is told once a minute"
    assert sum(map(int, lines()[before:])) >= 9, "the stop tells the rest"
    ids = ", ".join(str(hook.id) for hook in hooks)
    assert stack.sql(f"SELECT COUNT(*), SUM(intentos), SUM(paso) FROM entregas WHERE webhook_id IN ({ids})") == [["9", "0", "0"]]
    assert [entity.listed(hook)["ultimoError"] for hook in hooks] == [""] * 3
