"""The metrics for a Prometheus on another machine, and those of the certificate, as docs/observability.md sets them up."""
import base64
import re
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from fakes.receiver import self_signed
from support.metrics import Scrape, scrape
from support.nginx import own_nginx
from support.stack import ROOT, free_port, setting
from support.wait import wait_until
from support.wire import Client

MANUAL = (ROOT / "docs/observability.md").read_text()
FOLDER = ROOT / "observability"
EXPORTER = "/usr/bin/prometheus-blackbox-exporter"


def block(kind: str, *instead: tuple[str, str]) -> str:
    """The manual's first block of this kind about the other machine, with what stands for a site's own replaced."""
    text = re.search(rf"### For a Prometheus on another machine\n.*?```{kind}\n(.*?)```", MANUAL, re.S).group(1)
    for before, after in instead:
        assert before in text, before
        text = text.replace(before, after)
    return text


@pytest.fixture
def server(stack, tmp_path):
    """Yields a client of the manual's server."""
    users, certs = tmp_path / "metrics.users", Path(stack.folder, "certs")
    subprocess.run(["bash", "-ec", block("sh", ("openssl passwd -6", "openssl passwd -6 long"), ("/etc/apientidades/metrics.users", str(users))).splitlines()[0]],
                   check=True)
    assert users.stat().st_mode & 0o777 == 0o640
    dispatcher = f"127.0.0.1:{free_port()}"
    with stack.dispatcher_with(**setting(metrics_listen=dispatcher)):
        http = block("nginx", ("listen 9466 ", "listen 127.0.0.1:PORT "), ("api.example.org", "localhost"), ("192.0.2.20", "127.0.0.1"),
                     ("/etc/apientidades/metrics.users", str(users)), ("/etc/apientidades/tls/fullchain.pem", f"{certs}/server.pem"),
                     ("/etc/apientidades/tls/privkey.pem", f"{certs}/server.key"), ("/etc/nginx/snippets/", f"{stack.folder}/nginx/"),
                     ("http://127.0.0.1:9465/metrics", stack.env["METRICS_URL"]),
                     ("127.0.0.1:9464", dispatcher))
        with own_nginx(http) as port:
            yield Client(f"https://localhost:{port}", stack.env["CA_CERT"])


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def test_only_its_address_with_its_password_gets_the_metrics(server):
    for path, metric in (("/api", "apientidades_api_requests_total"), ("/dispatcher", "apientidades_rounds_total")):
        answer = server("GET", path, headers=basic("prometheus", "long"))
        assert answer.status == 200 and metric in Scrape(answer.text).types
        assert [server("GET", path, headers=headers).status for headers in ({}, basic("prometheus", "wrong"), basic("x", "long"))] == [401] * 3
        assert server.sending_from("127.0.0.2")("GET", path, headers=basic("prometheus", "long")).status == 403
    assert server("GET", "/metrics", headers=basic("prometheus", "long")).status == 404


def test_the_job_of_the_other_machine_is_well_formed(tmp_path):
    (tmp_path / "prometheus.yml").write_text("scrape_configs:\n" + block("yaml"))
    assert subprocess.run(["promtool", "check", "config", "--syntax-only", tmp_path / "prometheus.yml"], capture_output=True).returncode == 0


@pytest.fixture
def probe(stack):
    """Returns a function that probes a URL as Prometheus would, by the exporter with Debian's configuration."""
    port = free_port()
    process = subprocess.Popen([EXPORTER, "--config.file=/etc/prometheus/blackbox.yml", f"--web.listen-address=127.0.0.1:{port}"],
                               env={"SSL_CERT_FILE": stack.env["CA_CERT"]}, stderr=subprocess.DEVNULL)
    exporter = f"http://127.0.0.1:{port}"
    module = re.search(r"params: {module: \[(\w+)\]}", (FOLDER / "prometheus.yml").read_text()).group(1)
    try:
        wait_until(lambda: answers(f"{exporter}/metrics"), 20, "the exporter")
        yield lambda url: scrape(f"{exporter}/probe?module={module}&target={url}")
    finally:
        process.terminate()
        process.wait(30)


def answers(url: str) -> bool:
    try:
        return bool(scrape(url))
    except OSError:
        return False


def test_the_certificate_that_clients_see_has_a_metric(stack, probe, tmp_path):
    seen = probe(f"https://localhost:{stack.api.port}/apientidades/salud")
    end = ssl.cert_time_to_seconds(ssl._ssl._test_decode_cert(f"{stack.folder}/certs/server.pem")["notAfter"])
    assert seen.value("probe_success") == 1
    assert time.time() < seen.value("probe_ssl_earliest_cert_expiry") <= end
    certificate, key = self_signed(tmp_path, "localhost")
    with own_nginx(f"server {{ listen 127.0.0.1:PORT ssl; ssl_certificate {certificate}; ssl_certificate_key {key}; root FOLDER; }}") as port:
        assert probe(f"https://localhost:{port}/ok").value("probe_success") == 0
