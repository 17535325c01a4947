"""Answers that nginx makes without the FastCGI program, and answers of the program that nginx must not change."""
import re

import pytest

from support.actors import BASE
from support.nginx import own_nginx, site_of
from support.stack import ROOT
from support.wire import Client

DOCUMENT = "/apientidades/openapi.json"
PATHS = sorted(set(re.findall(r'^    \{"[A-Z]+", "([^"]+)",', (ROOT / "fcgi-app/routes.cpp").read_text(), re.M)))


@pytest.mark.parametrize("pattern", PATHS)
def test_trace_names_the_methods_that_the_program_would(entity, stack, pattern):
    path = "/apientidades/v1" + re.sub(r"\{\w+\}", "7", pattern)
    program = entity.api("OPTIONS", path)
    for target in (path, path + "?x=1"):
        trace = stack.api("TRACE", target)
        assert (trace.status, trace.headers["allow"]) == (program.status, program.headers["allow"]), trace
        assert trace.message


@pytest.mark.parametrize("path, methods", [
    (DOCUMENT, ("POST", "DELETE", "TRACE")), ("/apientidades/salud", ("POST", "DELETE", "TRACE")),
    ("/apientidades/origenes.json", ("DELETE", "TRACE"))])  # no POST: nginx would answer 404, because a test stack lacks the file
def test_a_read_only_path_answers_405_with_allow(stack, path, methods):
    for method in methods:
        refused = stack.api(method, path)
        assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD") and refused.message, method


@pytest.mark.parametrize("header, value, status", [
    ("If-Match", '"otro"', 412), ("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT", 412), ("Range", "bytes=9999999-", 416)])
def test_the_document_is_refused_in_json(stack, header, value, status):
    refused = stack.api("GET", DOCUMENT, headers={header: value})
    assert refused.status == status and refused.message


def test_what_nginx_may_not_give_is_refused_in_json(stack):
    """`deny` stands for a file that nginx cannot read: if the tests run as root, so does nginx, and root can read every file."""
    with own_nginx(site_of(stack).replace(f"alias {ROOT}/web", f"deny all; alias {ROOT}/web")) as port:
        refused = Client(f"https://localhost:{port}", stack.env["CA_CERT"])("GET", DOCUMENT)
    assert refused.status == 403 and refused.message


def test_a_site_that_compresses_leaves_an_etag_strong(entity, stack):
    hook = entity.register()
    with own_nginx("gzip on; gzip_types application/json; gzip_min_length 1;" + site_of(stack)) as port:
        client = Client(f"https://localhost:{port}", stack.env["CA_CERT"])
        answer = client("GET", f"{BASE}/{hook.id}", entity.token, headers={"Accept-Encoding": "gzip"})
        assert "content-encoding" not in answer.headers and answer.headers["etag"].startswith('"')
        patched = client("PATCH", f"{BASE}/{hook.id}", entity.token, {}, headers={"If-Match": answer.headers["etag"]})
        assert patched.status == 200
