"""A change with a condition is made only if the condition is met (RFC 9110 section 13.1); a route without ETag refuses conditions.
Tests every route that changes something, through nginx."""
import json
import re
from pathlib import Path

import pytest

from support.actors import BASE
from support.stack import EVENTS

TABLE = (Path(__file__).resolve().parents[2] / "fcgi-app" / "routes.cpp").read_text()
CHANGES = [route for route in re.findall(r'^    \{"([A-Z]+)", "([^"]+)",', TABLE, re.M) if route[0] != "GET"]
WITH_ETAG = [("PATCH", "/webhooks/{id}"), ("DELETE", "/webhooks/{id}")]
HEADERS = {"If-Match": ("", "*", '"x"'), "If-None-Match": ("", "*", '"x"'), "If-Unmodified-Since": ("", "Fri, 20 Nov 2026 10:00:00 GMT")}
BODIES = {"/webhooks": {"url": "https://r.example.com/", "eventos": EVENTS[:1]}, "/webhooks/test": {"evento": EVENTS[0]},
          "/webhooks/{id}/secreto": {"secreto": "otro"}}


def change(entity, hook, method, pattern, headers):
    path = pattern.replace("{id}", str(hook.id)).replace("{entrega}", "1").replace("{reenvio}", "1")
    return entity.api(method, BASE.removesuffix("/webhooks") + path, json_body=BODIES.get(pattern, {}), headers=headers)


@pytest.mark.parametrize("method, pattern", [route for route in CHANGES if route not in WITH_ETAG])
def test_a_route_without_etag_refuses_conditions(entity, receiver, method, pattern):
    hook = entity.register()
    before = entity.api("GET", f"{BASE}/{hook.id}").text, entity.api("GET", BASE).text
    for header, values in HEADERS.items():
        for value in values:
            refused = change(entity, hook, method, pattern, {header: value})
            assert (refused.status, refused.message) == (
                412, f"Esta petición no admite condiciones en {header}: no se ha hecho nada; envíela sin esa cabecera"), (header, value)
    assert before == (entity.api("GET", f"{BASE}/{hook.id}").text, entity.api("GET", BASE).text)
    assert receiver.requests(hook.path) == []
    assert change(entity, hook, method, pattern, {}).status != 412


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_route_with_etag_checks_its_conditions(entity, method):
    def answer(**conditions):
        hook = entity.register()
        etag = entity.api("GET", f"{BASE}/{hook.id}").headers["etag"]
        headers = {name.replace("_", "-"): value.replace("ETAG", etag) for name, value in conditions.items()}
        found = change(entity, hook, method, "/webhooks/{id}", headers)
        if found.status == 412:
            assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
        elif method == "PATCH":
            entity.api("DELETE", f"{BASE}/{hook.id}")
        return found

    date = HEADERS["If-Unmodified-Since"][1]
    for held in ({"If_None_Match": '"x"'}, {"If_None_Match": ""}, {"If_Match": "ETAG", "If_None_Match": '"x", W/"y"'},
                 {"If_Match": "ETAG", "If_Unmodified_Since": date}):
        assert answer(**held).status == 200, held
    for excluded in ("*", "ETAG", "W/ETAG", '"x", ETAG'):
        refused = answer(If_None_Match=excluded)
        assert (refused.status, refused.message) == (412, "El webhook está en la versión que excluye If-None-Match"), excluded
    for excluded in ({"If_Match": "ETAG", "If_None_Match": "ETAG"}, {"If_Match": "*", "If_None_Match": "*"}):
        refused = answer(**excluded)
        assert (refused.status, refused.message) == (412, "El webhook está en la versión que excluye If-None-Match"), excluded
    refused = answer(If_Unmodified_Since=date)
    assert refused.status == 412 and "If-Unmodified-Since" in refused.message


def test_a_get_ignores_conditions(entity):
    hook = entity.register()
    for path in (BASE, f"{BASE}/{hook.id}", f"{BASE}/eventos", f"{BASE}/{hook.id}/entregas"):
        for header, values in HEADERS.items():
            assert entity.api("GET", path, headers={header: values[-1]}).status == 200
    etag = entity.api("GET", f"{BASE}/{hook.id}").headers["etag"]
    assert entity.api("GET", f"{BASE}/{hook.id}", headers={"If-None-Match": etag}).status == 200, "never 304"


def test_other_checks_come_first(entity, stack):
    hook, header = entity.register(), {"If-Match": "*"}
    assert stack.api("POST", BASE, "apie_nada", json_body={}, headers=header).status == 401
    assert entity.api("POST", f"{BASE}/nada/x", json_body={}, headers=header).status == 404
    assert entity.api("PUT", f"{BASE}/{hook.id}/estadisticas", json_body={}, headers=header).status == 405
    assert entity.api("POST", BASE, body=json.dumps({}).encode(), headers={"Content-Type": "text/plain", **header}).status == 415
    reader = entity.issue_token("--read-only")
    assert stack.api("POST", BASE, reader, json_body={}, headers=header).status == 403
