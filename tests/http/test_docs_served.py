"""The documentation for entities as nginx serves it: public, cacheable, with our own scripts alone, and with the operator's values."""
import gzip
import http.client
import re
import ssl
import subprocess

import pytest

from support.nginx import own_nginx, site_of
from support.stack import ROOT, setting
from support.wire import Client

DOCS = "/apientidades/docs/"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
          "require-trusted-types-for 'script'; trusted-types 'none'")


@pytest.fixture(scope="module", autouse=True)
def site():
    """Builds the pages, because pytest may run this file without `./dev test`, which builds them too."""
    subprocess.run(["/usr/bin/python3", ROOT / "scripts/build_site.py", ROOT / "build/site"], check=True, timeout=300)


@pytest.mark.parametrize("path, kind, file", [
    ("", "text/html; charset=utf-8", "index.html"), ("que-llega.html", "text/html; charset=utf-8", "que-llega.html"),
    ("que-llega.md", "text/markdown; charset=utf-8", "que-llega.md"), ("site.css", "text/css; charset=utf-8", "site.css"),
    ("icon.svg", "image/svg+xml", "icon.svg"), ("search.js", "text/javascript; charset=utf-8", "search.js"),
    ("descargas/receptor/apientidades-receptor", "text/plain; charset=utf-8", "descargas/receptor/apientidades-receptor"),
    ("descargas/vectores/vectores.json", "application/json; charset=utf-8", "descargas/vectores/vectores.json")])
def test_a_page_is_served_without_a_token(stack, path, kind, file):
    answer = stack.api("GET", DOCS + path)
    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    assert answer.text == (ROOT / "build/site" / file).read_text()
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "public, max-age=600" and answer.headers["x-request-id"]
    assert answer.headers["strict-transport-security"].startswith("max-age=")


def test_dev_up_prints_the_address_of_the_site(stack):
    assert f" {stack.env['BASE_URL']}{DOCS}\n" in stack.dev("up").stderr


def test_an_unchanged_page_is_304(stack):
    tag = stack.api("GET", DOCS).headers["etag"]
    assert stack.api("GET", DOCS, headers={"If-None-Match": tag}).status == 304


def test_a_page_is_compressed_on_request(stack):
    connection = http.client.HTTPSConnection("localhost", stack.api.port, context=ssl.create_default_context(cafile=stack.env["CA_CERT"]))
    connection.request("GET", DOCS + "errores.html", headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.headers["content-encoding"] == "gzip" and answer.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(body) == (ROOT / "build/site/errores.html").read_bytes() and len(body) < 16_000


def test_the_address_without_slash_redirects(stack):
    answer = stack.api("GET", DOCS.rstrip("/"))
    assert (answer.status, answer.headers["location"]) == (301, DOCS)


def test_the_address_above_says_what_this_is(stack):
    answer = stack.api("GET", "/apientidades/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.text == (ROOT / "build/site/servicio.html").read_text()
    assert all(f'href="/apientidades/{name}"' in answer.text for name in ("docs/index.html", "portal/", "docs/site.css"))
    assert answer.headers["content-security-policy"] == POLICY
    head = stack.api("HEAD", "/apientidades/?x=1")
    assert (head.status, head.text, head.headers["content-length"]) == (200, "", str(len(answer.text.encode())))
    refused = stack.api("POST", "/apientidades/")
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD") and refused.message
    short = stack.api("GET", "/apientidades")
    assert (short.status, short.headers["location"]) == (301, "/apientidades/")


@pytest.mark.parametrize("path", ["no-existe", "a/b/c.html", "descargas/", "descargas/python/", "..%2f..%2fetc/passwd", ".lock"])
def test_an_unknown_path_gets_the_404_page(stack, path):
    answer = stack.api("GET", DOCS + path)
    if answer.status == 400:  # an ambiguous path
        assert answer.message
        return
    assert answer.status == 404
    assert answer.text == (ROOT / "build/site/404.html").read_text()
    assert answer.headers["content-security-policy"] == POLICY and answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", [DOCS, DOCS + "index.html", DOCS.rstrip("/")])
def test_a_page_allows_only_get_and_head(stack, path):
    for method in ("POST", "DELETE", "TRACE"):
        refused = stack.api(method, path)
        if path == DOCS.rstrip("/") and method == "POST":
            assert refused.status == 301
        else:
            assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD") and refused.message, method


@pytest.mark.parametrize("header, value, status", [("If-Match", '"otro"', 412), ("Range", "bytes=9999999-", 416)])
def test_a_page_is_refused_in_json(stack, header, value, status):
    refused = stack.api("GET", DOCS + "index.html", headers={header: value})
    assert refused.status == status and refused.message


def test_an_ambiguous_path_is_refused(stack):
    for path in (DOCS + "../v1/webhooks", DOCS + "/index.html", DOCS + "%2e%2e/salud"):
        assert stack.api("GET", path).status == 400, path


def test_the_operators_values_are_in_the_pages(stack, tmp_path):
    folder = tmp_path / "docs"

    def write(**values: str) -> dict[str, int]:
        stack.dev("admin", "nginx", "docs", "--from", str(ROOT / "build/site"), "--folder", str(folder), **setting(**values))
        return {file.name: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}

    first = write()
    assert (folder / "index.html").read_text() == (ROOT / "build/site/index.html").read_text()
    assert write() == first, "what is the same is not written again"
    filled = write(api_address="https://api.example.org", contact_name="Calidad & <Cía>", contact_email="soporte@example.org")
    assert filled["index.html"] != first["index.html"] and filled["site.css"] == first["site.css"]
    with own_nginx(site_of(stack).replace(f"{ROOT}/build/site", str(folder))) as port:
        client = Client(f"https://localhost:{port}", stack.env["CA_CERT"])
        foot = client("GET", DOCS + "datos.html").text
        assert 'Operador del servicio: Calidad &amp; &lt;Cía&gt; · <a href="mailto:soporte@example.org">soporte@example.org</a></p>' in foot
        told = client("GET", DOCS + "accesibilidad.md").text
        assert "Calidad &amp; &lt;Cía&gt; se ha comprometido" in told and "en https://api.example.org, a" in told
        start = client("GET", "/apientidades/").text
        assert "mailto:soporte@example.org" in start and "quien le dio el token" not in start
        for name in ("primeros-pasos.html", "index.html", "index.md", "search_index.js"):
            text = client("GET", DOCS + name).text
            assert "api.example.org" in text and "apientidades.ejemplo.es" not in text, name


def test_an_operators_page_takes_the_place_of_ours(stack):
    """docs/nginx.md shows the operator how to replace a page."""
    block = re.search("```nginx\n(location = /apientidades/docs/.*?)```", (ROOT / "docs/nginx.md").read_text(), re.S).group(1)
    block = block.replace("/etc/nginx/snippets/", f"{stack.folder}/nginx/").replace("/etc/apientidades/docs/accesibilidad.html", "FOLDER/ok")
    site = site_of(stack).replace("\nserver {", f"\nserver {{\n{block}", 1)
    with own_nginx(site) as port:
        client = Client(f"https://localhost:{port}", stack.env["CA_CERT"])
        answer = client("GET", DOCS + "accesibilidad.html")
        assert (answer.status, answer.text, answer.headers["content-security-policy"]) == (200, "ok", POLICY)
        assert client("GET", DOCS + "datos.html").status == 200
