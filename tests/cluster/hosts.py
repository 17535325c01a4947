"""The front, a machine with nginx only, and two application hosts behind it. Each host has its own nginx, FastCGI pool and
dispatcher. The database and the receivers are on machines of their own. Front and hosts use the nginx configurations of
packaging/examples, with other addresses and paths."""
from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from cluster.lan import Box, Lan, demolish
from fakes.certificates import issue
from fakes.receiver import Receiver, self_signed
from support.arena import SETTINGS, Arena, Stopwatch, end
from support.network import enter_network
from support.stack import ROOT, Stack, setting
from support.wait import wait_until
from fakes.evaluation_system import Audience

EXAMPLES = ROOT / "packaging/examples"
MODULE = "load_module /usr/lib/nginx/modules/ngx_stream_module.so;"
LINK_NAME = "pools.apientidades.internal"
# The numbers in the next three lines are the last bytes of addresses.
FRONT, DATABASE = 10, 20
NUMBERS = {"a": 11, "b": 12}
RECEIVERS = {"a": 31, "b": 32}  # the address that each host's dispatcher dials
DATABASE_PORT = 3306
POOL_PROCESSES = 2
TRIES = 30  # deliveries that held_by() tries; each of the two hosts almost surely takes at least one of them
BOUND = 35  # seconds within which every request is answered: nginx waits at most 30 s for the pool (fastcgi_read_timeout)


class HostsStack(Stack):
    """`./dev up` makes the configuration, and starts database, nginx, pool and dispatcher on the database's machine. Then the
    front replaces that nginx, and the hosts replace that pool and dispatcher."""

    def __init__(self):
        self._outside = Path("/proc/thread-self/ns/net").open("rb")
        self.lan, self.data = Lan("lan", 0), Lan("data", 1)
        self.front, self.database, self.receivers = Box("front"), Box("database"), Box("receivers")
        self.lan.attach(self.front, FRONT)
        self.lan.attach(self.receivers, *RECEIVERS.values())
        self.data.attach(self.database, DATABASE)
        self.hosts: dict[str, Host] = {}
        self._closing = contextlib.ExitStack()
        super().__init__({
            **SETTINGS, **setting(delivery_allowed_networks="198.18.0.0/24", metrics_queue_interval="1s"),
            "DEV_DB_ADDRESS": self.data.address(DATABASE), "DEV_DB_PORT": str(DATABASE_PORT)}, folder="/run/stack")

    def dev(self, *arguments, **how):
        with self.at(self.database):
            return super().dev(*arguments, **how)

    @contextlib.contextmanager
    def at(self, box: Box):
        """Moves this thread into the network of `box` for the block, and then into that of the front, where the clients are."""
        box.enter()
        try:
            yield
        finally:
            self.front.enter()

    def up(self) -> "HostsStack":
        """The caller calls down() once, even if up() fails."""
        Path(self.folder).mkdir(exist_ok=True)
        self.dev("up", timeout=300)
        self._move_out()
        self.attach()
        self.api = self.client(timeout=BOUND)
        return self

    def _move_out(self) -> None:
        commands = {part: self.command_of(part) for part in ("fcgi", "dispatcher")}
        for part in ("nginx", "fcgi", "dispatcher"):
            self.stop(part)
        link = Link(Path(self.folder, "link"))
        for name in NUMBERS:
            self.hosts[name] = Host(name, self, commands, link)
        self._start_front(link)
        wait_until(lambda: all(host.ready() for host in self.hosts.values()), 30, "the hosts to be ready")

    def _start_front(self, link: "Link") -> None:
        main, socket_path = Path(self.folder, "nginx/nginx.conf"), Path(self.folder, "run/fcgi.sock")
        socket_path.unlink()  # the stopped pool has left its socket
        example = link.fill("front").replace("/run/apientidades-pools/fcgi.sock", str(socket_path))
        for host in self.hosts.values():
            example = example.replace(f"198.18.0.{host.number}:", f"{host.address}:")
        main.write_text(f"{MODULE}\n{main.read_text()}{example}")
        command = self.front.command("/usr/sbin/nginx", "-e", f"{self.folder}/log/front.log", "-c", main)
        process = subprocess.Popen(command, start_new_session=True)
        self._closing.callback(end_process, process)

    def down(self) -> None:
        if self.evaluation:
            self.evaluation.close()
        for host in self.hosts.values():
            host.close()
        self._closing.close()
        self.dev("down", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
        enter_network(self._outside.fileno())
        self._outside.close()
        demolish()


class Link:
    """Certificates for the connection between the front and the pools."""

    def __init__(self, folder: Path):
        folder.mkdir()
        self.folder, self.authority = folder, self_signed(folder, "authority")
        self.certificates = {"front": issue(folder, self.authority, "front", "front.apientidades.internal"),
                             "pool": issue(folder, self.authority, "pool", LINK_NAME)}

    def fill(self, which: str) -> str:
        """Returns packaging/examples/hosts-`which`.conf with this test's certificates."""
        text = (EXAMPLES / f"hosts-{which}.conf").read_text()
        for name, (certificate, key) in self.certificates.items():
            text = text.replace(f"/etc/apientidades/tls/{name}.pem", certificate).replace(f"/etc/apientidades/tls/{name}.key", key)
        return text.replace("/etc/apientidades/tls/pools-ca.pem", self.authority[0])


class Host:
    def __init__(self, name: str, stack: HostsStack, commands: dict, link: Link):
        self.name, self.number, self.stack = name, NUMBERS[name], stack
        self.box = Box(name)
        stack.lan.attach(self.box, self.number)
        stack.data.attach(self.box, self.number)
        self.address, self.database_address = stack.lan.address(self.number), stack.data.address(self.number)
        self.receiver_address = stack.lan.address(RECEIVERS[name])
        self.folder = Path(stack.folder, f"host-{name}")
        self.folder.mkdir()
        self._processes: list[subprocess.Popen] = []
        self._start_pool(*commands["fcgi"])
        self._start("dispatcher", *commands["dispatcher"])
        self._start_nginx(link)

    def _start(self, log: str, command: list, environment: dict | None = None, **how) -> None:
        own = setting(metrics_api_file=str(self.folder / "metrics"), delivery_host_overrides=f"*.receptor.test={self.receiver_address}")
        with (self.folder / f"{log}.log").open("ab") as file:
            self._processes.append(subprocess.Popen(
                self.box.command(*command), stdout=file, stderr=file, start_new_session=True,
                env=environment and {**environment, **own}, **{"stdin": subprocess.DEVNULL, **how}))

    def _start_pool(self, command: list, environment: dict) -> None:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "fcgi.sock"))
            listener.listen(4096)
            for _ in range(POOL_PROCESSES):
                self._start("fcgi", command, environment, stdin=listener)

    def _start_nginx(self, link: Link) -> None:
        front = self.stack.lan.address(FRONT)
        example = link.fill("pool").replace("/run/apientidades/fcgi.sock", str(self.folder / "fcgi.sock"))
        example = example.replace("listen 198.18.0.11:", f"listen {self.address}:").replace("allow 198.18.0.10;", f"allow {front};")
        log = f"log_format line '$status $bytes_sent'; access_log {self.folder}/access.log line;"
        main = f"{MODULE}\nuser root;\ndaemon off;\npid {self.folder}/nginx.pid;\nevents {{ worker_connections 4096; }}\n"
        configuration = self.folder / "nginx.conf"
        configuration.write_text(main + example.replace("stream {", "stream {\n    " + log, 1))
        self._start("nginx", ["/usr/sbin/nginx", "-e", self.folder / "nginx.log", "-c", configuration])

    def ready(self) -> bool:
        assert self.alive(), f"a process of host {self.name} has ended: {self.last_words()}"
        return self.log("fcgi").count(" ready ") == POOL_PROCESSES and " ready " in self.log("dispatcher")

    def log(self, part: str) -> str:
        file = self.folder / f"{part}.log"
        return file.read_text() if file.exists() else ""

    def last_words(self) -> str:
        return " | ".join(line for part in ("fcgi", "dispatcher", "nginx") for line in self.log(part).splitlines()[-3:])

    def alive(self) -> bool:
        """Whether all processes of this host still run."""
        return all(process.poll() is None for process in self._processes)

    def served(self) -> int:
        """Returns the number of requests that the host's pool has answered."""
        return sum(not line.endswith(" 0") for line in self.log("access").splitlines())

    def power_off(self) -> None:
        """Cuts the cables, so that no peer is notified, and then kills the processes."""
        self.box.unplug()
        for process in self._processes:
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    end(int(child), signal.SIGKILL)
            end(process.pid, signal.SIGKILL)

    def close(self) -> None:
        for process in self._processes:
            end_process(process)


def end_process(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class HostsArena(Arena):
    def __init__(self, seed: int):
        self.quiet_ones: list[Audience] = []
        super().__init__(seed, HostsStack())

    @property
    def hosts(self) -> dict[str, Host]:
        return self.stack.hosts

    def _open_receiver(self, addresses) -> Receiver:
        with self.stack.at(self.stack.receivers):
            return super()._open_receiver([host.receiver_address for host in self.hosts.values()])

    def delivered_by(self, host: Host) -> int:
        return sum(r.local_address == host.receiver_address for r in self.receiver.requests())

    def wait_at_work(self, host: Host, patience: float) -> float:
        """Waits until the host's pool has answered one more request and its dispatcher has made one more delivery. Returns the
        seconds that this took."""
        taken, served, delivered = Stopwatch(), host.served(), self.delivered_by(host)
        wait_until(lambda: host.served() > served and self.delivered_by(host) > delivered, patience,
                   f"host {host.name} to serve and to deliver", every=0.1)
        assert host.alive(), f"a process of host {host.name} has ended: {host.last_words()}"
        return taken.seconds

    @contextlib.contextmanager
    def held_by(self, host: Host):
        """Like Arena.held(), which keeps a delivery in flight, but the dispatcher of `host` sends the delivery."""
        for _ in range(TRIES):
            with self.held() as (id, webhook, answer):
                if self._holder(webhook) == host.receiver_address:
                    yield id, webhook, answer
                    return
                answer()
        raise AssertionError(f"host {host.name} took none of {TRIES} deliveries")

    def _holder(self, webhook: int) -> str:
        path = next(hook.path for audience in self.quiet_ones for hook in audience.hooks if hook.id == webhook)
        return self.receiver.requests(path)[-1].local_address

    def quiet(self) -> Audience:
        self.quiet_ones.append(super().quiet())
        return self.quiet_ones[-1]
