"""The receiver of the benchmarks: a separate nginx with TLS. The service sends to it, and so does the control program
(bench/control.cpp) that the service is compared with."""
from __future__ import annotations

import http.client
import re
import subprocess
import tempfile
import threading
from pathlib import Path

from bench import machine
from bench.silent import ADDRESS
from support.stack import free_port
from support.wait import wait_until

CONFIGURATION = """
{user}
daemon off;
worker_processes {workers};
worker_rlimit_nofile 16384;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    log_format arrival '$http_webhook_id $msec';
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    keepalive_requests 100000000;
    keepalive_timeout 1h;
    server {{
        listen 127.0.0.1:{port} ssl backlog=4096 reuseport;  # for bench/control.cpp
        listen {address}:{port} ssl backlog=4096 reuseport;
        server_name *.receptor.test;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        ssl_protocols TLSv1.2 TLSv1.3;
        location / {{ {answer} {log} }}
    }}
    server {{
        listen 127.0.0.1:{status_port};
        location / {{ stub_status; }}
    }}
}}
"""


class Receiver:
    """`log` records the webhook-id and the wall-clock millisecond of each arrival; `answer` is nginx's directive that answers."""

    def __init__(self, certificate: str, key: str, log: bool = False, workers: int = 2, answer: str = "return 204;"):
        self._folder = tempfile.TemporaryDirectory(prefix="apie-receiver-", dir="/tmp")
        self.folder = Path(self._folder.name)
        self.port, self.status_port = free_port(), free_port()
        self.log = self.folder / "arrivals.log"
        self._polls = 0
        user = "user root;" if machine.os.geteuid() == 0 else ""
        self.folder.joinpath("nginx.conf").write_text(CONFIGURATION.format(
            user=user, workers=workers, folder=self.folder, address=ADDRESS, port=self.port, status_port=self.status_port,
            certificate=certificate, key=key, answer=answer,
            log=f"access_log {self.log} arrival buffer=64k flush=1s;" if log else ""))

    def __enter__(self) -> "Receiver":
        self._process = subprocess.Popen(
            ["nginx", "-e", self.folder / "error.log", "-c", self.folder / "nginx.conf"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)  # Ctrl-C then reaches only the benchmark, which ends nginx
        self._status = http.client.HTTPConnection("127.0.0.1", self.status_port, timeout=30)
        try:
            wait_until(self._answers, 10, "the receiver to answer")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._status.close()
        self._process.terminate()  # the fast shutdown, which does not wait for connections
        self._process.wait(30)
        self._folder.cleanup()

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise AssertionError("the receiver ended: " + self.folder.joinpath("error.log").read_text())
        try:
            self.counts()
            return True
        except OSError:
            self._status.close()
            return False

    def pids(self) -> list[int]:
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        return [self._process.pid, *map(int, children.split())]

    def counts(self) -> dict[str, int]:
        """Since the start: `requests` that arrived and `connections` that were made. At this moment: `held` requests, not
        answered yet, and `open` connections."""
        self._status.request("GET", "/")
        text = self._status.getresponse().read().decode()
        self._polls += 1
        _accepted, handled, requests = map(int, re.search(r"(\d+) (\d+) (\d+)", text).groups())
        active, writing = (int(re.search(rf"{name}: (\d+)", text).group(1)) for name in ("Active connections", "Writing"))
        return {"requests": requests - self._polls, "connections": handled - 1, "held": writing - 1, "open": active - 1}

    def forget(self) -> None:
        """Forgets the arrivals that nginx has written so far."""
        self.log.write_text("")

    def arrivals(self) -> dict[str, float]:
        """When each webhook-id first arrived, in seconds of the wall clock: the end of the millisecond that nginx logged."""
        first: dict[str, float] = {}
        for line in self.log.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # half written
            message, moment = line.split()
            first.setdefault(message, float(moment) + 0.001)
        return first

    def arrivals_by_delivery(self) -> dict[int, float]:
        """arrivals() by the delivery's id, which is the last part of the service's webhook-ids."""
        return {int(message.rpartition("_")[2]): moment for message, moment in self.arrivals().items()}


class Watch:
    """While entered, reads a receiver's counts every 10 ms. Notes when the first and the last request came, and how many
    connections were open at most."""

    def __init__(self, receiver: Receiver):
        self.receiver = receiver
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Watch":
        self._before = self._last = self.receiver.counts()
        self.most_open = self._before["open"]
        self.first_at: float | None = None
        self.last_at = machine.now()
        self._thread.start()
        return self

    def __exit__(self, kind, *_) -> None:
        self._end.set()
        self._thread.join()
        if kind is None:
            self._note(self.receiver.counts())

    @property
    def arrived(self) -> int:
        return self._last["requests"] - self._before["requests"]

    @property
    def connections(self) -> int:
        return self._last["connections"] - self._before["connections"]

    def await_arrivals(self, count: int, timeout: float) -> None:
        """Waits until the receiver has counted `count` requests. Polling the database for results instead would slow deliveries
        down by a tenth."""
        wait_until(lambda: self.arrived >= count, timeout, f"{count:,} requests to arrive", every=0.01)

    def _look(self) -> None:
        while not self._end.wait(0.01):
            self._note(self.receiver.counts())

    def _note(self, counts: dict[str, int]) -> None:
        self.most_open = max(self.most_open, counts["open"])
        if counts["requests"] == self._last["requests"]:
            return
        self.last_at = machine.now()
        self.first_at = self.first_at or self.last_at
        self._last = counts
