"""An nginx for one test, with what the stack's nginx lacks: other certificates, other clients' addresses."""
import contextlib
import re
import socket
import subprocess
import tempfile
from pathlib import Path

from support.stack import ROOT, free_port
from support.wait import wait_until

SNIPPETS = ROOT / "nginx/snippets"
TEMPORARY_FOLDERS = """
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_body_temp_path {folder}/body;
"""
CONFIGURATION = """
{user}
daemon off;
pid {folder}/nginx.pid;
events {{ }}
http {{
    access_log off;
    """ + TEMPORARY_FOLDERS + """
    {http}
}}
"""


DEBIANS = Path("/etc/nginx/nginx.conf")


def as_debian_ships_it(connections: int = 768) -> str:
    """Debian's nginx.conf, as own_nginx() takes a configuration, with two workers of as many connections each."""
    text = DEBIANS.read_text()
    changes = {"user www-data;": "{user}\ndaemon off;", "worker_processes auto": "worker_processes 2", "/run/nginx.pid": "{folder}/nginx.pid",
               "worker_connections 768": f"worker_connections {connections}", "/var/log/nginx/": "{folder}/",
               "include /etc/nginx/modules-enabled/*.conf;": "", "include /etc/nginx/conf.d/*.conf;": TEMPORARY_FOLDERS,
               "include /etc/nginx/sites-enabled/*;": "{http}"}
    text = "\n".join(line.partition("#")[0] for line in text.splitlines()).replace("{", "{{").replace("}", "}}")
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    return text


@contextlib.contextmanager
def own_nginx(http: str, configuration: str = CONFIGURATION):
    """Yields the port that nginx listens on. In `http`, PORT stands for that port, FOLDER for a folder with a file `ok`."""
    with tempfile.TemporaryDirectory(prefix="apie-nginx-") as name:
        folder, port = Path(name), free_port()
        folder.joinpath("ok").write_text("ok")
        http = http.replace("PORT", str(port)).replace("FOLDER", name)
        user = "user root;" if folder.owner() == "root" else ""  # the workers read files that only root may read
        folder.joinpath("nginx.conf").write_text(configuration.format(user=user, folder=folder, http=http))
        process = subprocess.Popen(["/usr/sbin/nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf"])
        try:
            wait_until(lambda: process.poll() is not None or _listens(port), what="nginx to listen")
            assert process.poll() is None, folder.joinpath("error.log").read_text()
            yield port
        finally:
            process.terminate()
            process.wait(30)


def site_of(stack) -> str:
    """Returns the stack's apientidades.conf for own_nginx(): as one text, with PORT for the port, and without the pool's
    metrics."""
    folder = Path(stack.folder, "nginx")
    text = folder.joinpath("apientidades.conf").read_text()
    for part in ("http", "site"):
        included = folder.joinpath(f"apientidades-{part}.conf").read_text()
        text = re.sub(rf"include \S+/apientidades-{part}.conf;", lambda _: included, text)
    text = re.sub(r"include \S+/apientidades-metrics.conf;", "", text)
    return text.replace(f":{stack.api.port} ", ":PORT ")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
