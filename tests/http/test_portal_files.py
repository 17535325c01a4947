"""How nginx serves the portal: what its pages may do, how long they are cached, and how large they are."""
import gzip
import re
import subprocess

import pytest

from support.nginx import own_nginx, site_of
from support.stack import ROOT
from support.wire import Client

PORTAL = "/apientidades/portal/"
FILES = sorted(str(file.relative_to(ROOT / "web/portal")) for file in (ROOT / "web/portal").rglob("*") if file.is_file())
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


@pytest.mark.parametrize("path", ["", "index.html", "portal.css", "changing.css", "tokens.css", "js/main.js", "js/screens/enter.js"])
def test_portal_files_have_security_headers_and_an_etag(stack, path):
    answer = stack.api("GET", PORTAL + path)
    assert answer.status == 200 and answer.headers["content-type"] == TYPES[(path or "index.html").rpartition(".")[2]]
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["strict-transport-security"].startswith("max-age=") and "camera=()" in answer.headers["permissions-policy"]
    assert answer.headers["cache-control"] == "no-cache" and "set-cookie" not in answer.headers
    again = stack.api("GET", PORTAL + path, headers={"If-None-Match": answer.headers["etag"]})
    assert again.status == 304


def test_its_address_without_the_slash(stack):
    answer = stack.api("GET", PORTAL.rstrip("/"))
    assert (answer.status, answer.headers["location"]) == (301, PORTAL)


@pytest.mark.parametrize("path", ["nada", "js/nada.js", "../openapi.json", "js/..%2f..%2fopenapi.json", "index.html/"])
def test_an_unknown_path_of_the_portal_is_refused(stack, path):
    answer = stack.api("GET", PORTAL + path)
    assert answer.status in (400, 404) and answer.message


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE"])
def test_the_portal_allows_only_get_and_head(stack, method):
    refused = stack.api(method, PORTAL + "index.html")
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD") and refused.message


def test_the_portal_is_compressed(stack):
    asked = ["curl", "-q", "-s", "-o", "/dev/null", "-D", "-", "--noproxy", "*", "--max-time", "10", "--cacert", stack.env["CA_CERT"], "--compressed"]
    headers = subprocess.run([*asked, stack.env["BASE_URL"] + PORTAL + "portal.css"], capture_output=True, text=True).stdout.lower()
    assert "content-encoding: gzip" in headers and "vary: accept-encoding" in headers


def test_all_of_it_is_small():
    files = [ROOT / "web/style/tokens.css", *(ROOT / "web/portal" / name for name in FILES)]
    size = sum(len(gzip.compress(file.read_bytes(), 6)) for file in files)
    assert size < 120 * 1024, f"{size} bytes"


def test_every_module_is_fetched_with_the_page():
    page = (ROOT / "web/portal/index.html").read_text()
    assert {*re.findall(r'(?:href|src)="(js/[^"]+)"', page)} == {name for name in FILES if name.endswith(".js")}


def test_no_module_reads_markup():
    for name in FILES:
        text = (ROOT / "web/portal" / name).read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|localStorage|sessionStorage|document\.cookie", text), name
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg|integracion\.ejemplo\.es/)[a-z]", text), name


def test_a_closed_folder_is_refused_in_json(stack):
    with own_nginx(site_of(stack).replace(f"alias {ROOT}/web/portal", f"deny all; alias {ROOT}/web/portal")) as port:
        refused = Client(f"https://localhost:{port}", stack.env["CA_CERT"])("GET", PORTAL)
    assert refused.status == 403 and refused.message
