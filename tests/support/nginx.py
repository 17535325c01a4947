"""An nginx for one test, with what the stack's nginx lacks: other certificates, other clients' addresses."""
import contextlib
import socket
import subprocess
import tempfile
from pathlib import Path

from support.stack import ROOT, free_port
from support.wait import wait_until

SNIPPETS = ROOT / "nginx/snippets"
CONFIGURATION = """
{user}
daemon off;
pid {folder}/nginx.pid;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {http}
}}
"""


@contextlib.contextmanager
def own_nginx(http: str):
    """Yields the port that nginx listens on. In `http`, PORT stands for that port, FOLDER for a folder with a file `ok`."""
    with tempfile.TemporaryDirectory(prefix="apie-nginx-") as name:
        folder, port = Path(name), free_port()
        folder.joinpath("ok").write_text("ok")
        http = http.replace("PORT", str(port)).replace("FOLDER", name)
        user = "user root;" if folder.owner() == "root" else ""  # the workers read files that only root may read
        folder.joinpath("nginx.conf").write_text(CONFIGURATION.format(user=user, folder=folder, http=http))
        process = subprocess.Popen(["/usr/sbin/nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf"])
        try:
            wait_until(lambda: process.poll() is not None or _listens(port), what="nginx to listen")
            assert process.poll() is None, folder.joinpath("error.log").read_text()
            yield port
        finally:
            process.terminate()
            process.wait(10)


def site_of(stack) -> str:
    """Returns the stack's apientidades.conf for own_nginx(): with PORT for the port, and without the pool's metrics."""
    text = Path(stack.folder, "nginx/apientidades.conf").read_text().partition("# The pool's metrics")[0]
    return text.replace(f":{stack.api.port} ", ":PORT ")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
