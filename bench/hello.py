"""The control of the API's benchmark: bench/hello.cpp, a program that answers every request with a constant.
nginx passes requests to it from another port, with a copy of the service's server block."""
from __future__ import annotations

import http.client
import os
import re
import signal
import ssl
import subprocess
import sys
from pathlib import Path

from bench import ROOT
from bench.control import PROGRAM
from support.stack import Stack, free_port
from support.wait import wait_until

PART = ROOT / "scripts" / "dev" / "part.py"


class Hello:
    """Runs bench_hello on a unix socket, as the API runs: with `threads` threads in each process, and as many
    processes as the stack's API has."""

    def __init__(self, stack: Stack, threads: int):
        self.stack, self.threads, self.port = stack, threads, free_port()
        self.url = f"https://localhost:{self.port}"
        self._record = f"{stack.folder}/run/hello.pids"

    def __enter__(self) -> "Hello":
        processes = len(self.stack.pids("fcgi"))
        self._part("start", "--log", f"{self.stack.folder}/log/hello.log", "--count", processes,
                   "--listen", f"{self.stack.folder}/run/hello.sock", "--",
                   PROGRAM.parent / "bench_hello", self.threads)
        try:
            old_workers = self.stack.pids("nginx")[1:]
            self._add_to_nginx()
            wait_until(self._answers, 15, "the control to answer")
            # The benchmark counts the processor time of nginx's workers, which cannot be read once a worker has ended.
            wait_until(lambda: not set(old_workers) & set(self.stack.pids("nginx")), 15, "nginx's old workers to end")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._part("stop", "--then-kill")

    def pids(self) -> list[int]:
        return [int(pid) for pid in self._part("pids").split()]

    def _part(self, verb: str, *arguments) -> str:
        return subprocess.run([sys.executable, PART, verb, self._record, *map(str, arguments)], stdout=subprocess.PIPE,
                              text=True, check=True).stdout

    def _add_to_nginx(self) -> None:
        """Adds a copy of the service's server block, with another port and hello's socket."""
        folder = Path(self.stack.folder, "nginx")
        site = folder.joinpath("apientidades.conf").read_text()
        locations = folder.joinpath("apientidades-site.conf").read_text()
        socket = re.search("unix:(.*)/fcgi.sock;", site).group(1)
        folder.joinpath("hello-site.conf").write_text(locations.replace("_pass apientidades;", f"_pass unix:{socket}/hello.sock;"))
        server = site[site.index("\nserver {"):].replace("/apientidades-site.conf;", "/hello-site.conf;")
        server = server.replace(f":{self.stack.environment['DEV_PORT']} ", f":{self.port} ")
        folder.joinpath("hello.conf").write_text(server)
        main = folder.joinpath("nginx.conf")
        service = f"include {folder}/apientidades.conf;"
        main.write_text(main.read_text().replace(service, f"{service}\n    include {folder}/hello.conf;"))
        os.kill(self.stack.pids("nginx")[0], signal.SIGHUP)

    def _answers(self) -> bool:
        context = ssl.create_default_context(cafile=self.stack.env["CA_CERT"])
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=5, context=context)
        try:
            connection.request("GET", "/apientidades/v1/webhooks")
            return connection.getresponse().read() == b'{"message":"hello"}'
        except OSError:
            return False  # nginx has not read its configuration yet
        finally:
            connection.close()
