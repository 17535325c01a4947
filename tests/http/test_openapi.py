"""web/openapi.json describes the API as it is: each request that the document allows is answered as the document says."""
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE, DATA
from support.tools import tool

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "web" / "openapi.json"
DOCUMENT = json.loads(FILE.read_text())
PINS = ROOT / "tests" / "openapi"
BROWSER = ROOT / "tests" / "browser"
METHODS = {"get", "put", "post", "delete", "patch"}
TYPES = {"int": "int64", "string": "string", "number": "number", "date": "date", "date-time": "date-time"}
DATE_OR_TIME = r"^\d{4}-\d\d-\d\d(T.+)?$"  # a field with this pattern has a date, or a date and a time
# The document has no pattern beside a format: generated clients apply it to the date that they have read. The tests do.
TIME_SENT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
TIME_READ = r"^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|\+00:00)$"


def run(program: Path, *arguments, files, timeout: int) -> subprocess.CompletedProcess:
    """Runs `program` in a temporary folder that has copies of `files`. If the tests run as root, the program runs as the user
    nobody, unless that user cannot reach the program."""
    closed = not all(folder.stat().st_mode & 0o001 for folder in program.parents)
    who = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 and not closed else {}
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            Path(shutil.copy(file, folder)).chmod(0o644)
        if who:
            shutil.chown(folder, "nobody")
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment |= {"HOME": folder, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, cwd=folder, env=environment, **who)


def test_tools_are_pinned_by_hash_and_their_registry_is_not():
    for file, least in ((PINS / "requirements.txt", 20), (BROWSER / "requirements.txt", 2)):
        lines = re.sub(r" \\\n +", " ", file.read_text()).splitlines()
        wheels = [line for line in lines if not line.startswith("#")]
        assert len(wheels) >= least and all(re.fullmatch(r"[\w-]+==[\w.]+( --hash=sha256:[0-9a-f]{64})+", line) for line in wheels)
    for file, least in ((PINS / "redocly", 100), (BROWSER / "axe", 1)):
        lock = json.loads((file / "package-lock.json").read_text())
        packages = [package for path, package in lock["packages"].items() if path]
        assert len(packages) >= least and all(package["integrity"].startswith("sha512-") for package in packages)
        assert "resolved" not in {key for package in packages for key in package}
    script = (ROOT / "scripts" / "dev" / "openapi.sh").read_text()
    assert "--require-hashes" in script and "npm ci --ignore-scripts" in script and "npm install" not in script


def test_a_tool_that_is_missing_skips_its_tests_or_fails_them(monkeypatch):
    monkeypatch.delenv("OPENAPI_REQUIRED", raising=False)
    with pytest.raises(pytest.skip.Exception):
        tool("none", "none")
    monkeypatch.setenv("OPENAPI_REQUIRED", "1")
    with pytest.raises(pytest.fail.Exception):
        tool("none", "none")


def test_the_document_is_served_unchanged_without_a_token(stack):
    answer = stack.api("GET", "/apientidades/openapi.json")
    assert answer.status == 200 and answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.text == FILE.read_text()
    assert stack.api("HEAD", "/apientidades/openapi.json").status == 200
    assert stack.api("POST", "/apientidades/openapi.json").status == 405
    for other in ("/apientidades/openapi.json/", "/apientidades/../apientidades/openapi.json", "/apientidades/web/openapi.json"):
        assert stack.api("GET", other).status in (400, 404), other


def test_the_document_has_the_routes_of_the_program():
    table = (ROOT / "fcgi-app" / "routes.cpp").read_text()
    program = set(re.findall(r'^    \{"([A-Z]+)", "([^"]+)",', table, re.M))
    described = {(method.upper(), path) for path, item in DOCUMENT["paths"].items() for method in item if method in METHODS}
    assert described == program and len(program) > 10
    operations = [item[method] for item in DOCUMENT["paths"].values() for method in item if method in METHODS]
    assert len({one["operationId"] for one in operations}) == len(operations)


def objects(node):
    """Yields the schemas of objects in a part of the document, with those that the part refers to."""
    if isinstance(node, dict):
        if "$ref" in node:
            part = DOCUMENT
            for name in node["$ref"].removeprefix("#/").split("/"):
                part = part[name]
            yield from objects(part)
        if "properties" in node:
            yield node
        for value in node.values():
            yield from objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects(value)


def answered():
    """The schemas of the objects in the API's responses."""
    operations = [item[method] for item in DOCUMENT["paths"].values() for method in item if method in METHODS]
    return list(objects([one["responses"] for one in operations]))


def test_a_later_version_may_add_a_field_to_what_is_sent():
    """web/docs/cambios.md promises that fields are only added. Some generated clients refuse a field unless the schema
    says that there may be others."""
    notifications = list(objects([item["post"]["requestBody"] for item in DOCUMENT["webhooks"].values()]))
    assert len(answered()) > 10 and len(notifications) > 20
    assert all(one["additionalProperties"] is True for one in answered() + notifications)


def strict() -> dict:
    """The document, and responses have no other fields than those it describes, and times as the API writes and reads them."""
    added = {id(one) for one in answered()}
    schemas = DOCUMENT["components"]["schemas"]
    read = {id(one) for one in (schemas["Instante"], schemas["Reenvio"]["properties"]["hasta"])}

    def copy(node):
        if isinstance(node, list):
            return [copy(value) for value in node]
        if not isinstance(node, dict):
            return node
        copied = {name: copy(value) for name, value in node.items()}
        if node.get("format") == "date-time":
            copied["pattern"] = TIME_READ if id(node) in read else TIME_SENT
        return copied | {"additionalProperties": False} if id(node) in added else copied
    document = copy(DOCUMENT)
    answers = document["paths"]["/webhooks/{id}/reenvios"]["post"]["responses"]
    for status, fields in (("200", ["candidatas", "exacto"]), ("202", ["message", "reenvio"])):  # generators take one schema for both
        answers[status]["content"]["application/json"]["schema"] = {
            **document["components"]["schemas"]["ReenvioOSimulacion"], "required": fields, "maxProperties": len(fields)}
    return document


def kinds_of(field: dict) -> list[str]:
    return ["date", "date-time"] if field.get("pattern") == DATE_OR_TIME else [field.get("format", field["type"])]


def nodes(node, path=()):
    """Yields each object of a part of the document, with the names on the way to it."""
    if isinstance(node, dict):
        yield path, node
        for name, value in node.items():
            if name not in ("example", "examples", "value"):
                yield from nodes(value, (*path, name))
    elif isinstance(node, list):
        for value in node:
            yield from nodes(value, path)


def test_the_document_has_only_forms_that_generators_of_clients_read():
    """tests/examples/test_generated_clients.py runs the generators. This names the form that one of them does not read."""
    schemas = [(path, node) for path, node in nodes(DOCUMENT) if {"type", "enum", "const"} & set(node) and "scheme" not in node]
    assert len(schemas) > 200
    assert not [path for path, node in schemas if "type" not in node], "Go: an enum or a constant without type"
    assert not [path for path, node in schemas if {"format", "pattern"} <= set(node)], "Python: a pattern is compared with what the format gives"
    assert not [path for path, node in schemas if node.get("type") == "boolean" and "const" in node], "Java: does not compile"
    assert not [path for path, node in nodes(DOCUMENT["paths"]) if {"anyOf", "oneOf"} & set(node)], "Go, TypeScript: the value is hard to read"
    assert not [path for path, node in nodes(DOCUMENT["components"]["schemas"]) if "default" in node or {"anyOf", "oneOf"} & set(node)]
    for path, node in nodes(DOCUMENT["paths"]):
        good = [json.dumps(one["content"]["application/json"]["schema"]) for status, one in node.get("responses", {}).items() if status.startswith("2")]
        assert len(set(good)) <= 1, "Go, Java, TypeScript: one type for all answers that are not errors"
    ids = [node for path, node in schemas if re.search("^id|Id$", path[-1]) and node["type"] == "integer"]
    assert len(ids) > 20 and all(node["format"] == "int64" for node in ids), "Go, Java, C#: 32 bits"
    tags = {tag["name"] for tag in DOCUMENT["tags"]}
    assert all(re.fullmatch("[A-Za-z]+", tag) for tag in tags), "they become names of classes and folders"
    components = DOCUMENT["components"]
    assert not {name.lower() for name in components["parameters"]} & {name.lower() for name in components["schemas"]}, "Go: one type for both"
    text = json.dumps(DOCUMENT["webhooks"])
    assert {name.rpartition("/")[2] for name in re.findall(r"#/components/(?:parameters|schemas)/\w+", text)} <= {"Fecha"}, "Go: left out"


def test_the_document_has_every_event_with_its_fields():
    rows = re.findall(r"^\| `([a-z_.]+)` \| [^|]+ \| (.+) \|$", (ROOT / "docs" / "events.md").read_text(), re.M)
    assert [event for event, _ in rows] == list(DATA) == list(DOCUMENT["webhooks"])
    assert DOCUMENT["components"]["schemas"]["Evento"]["enum"] == list(DATA)
    for event, fields in rows:
        expected = {name: [TYPES[one] for one in kinds.split(" or ")] for name, kinds in re.findall(r"`(\w+)` ([a-z-]+(?: or [a-z-]+)?)", fields)}
        post = DOCUMENT["webhooks"][event]["post"]
        schema, _ = post["requestBody"]["content"]["application/json"]["schema"]["properties"]["data"]["anyOf"]
        found = {name: kinds_of(field) for name, field in schema["properties"].items()}
        assert found == expected and schema["required"] == list(expected), event
        assert post["parameters"][0]["schema"] == {"type": "string", "const": event}
        real, test = (one["value"] for one in post["requestBody"]["content"]["application/json"]["examples"].values())
        assert list(real["data"]) == list(expected) and test["data"]["test"] is True
        assert set(post["responses"]) == {"2XX", "410", "429", "503", "default"}


def test_the_headers_of_a_notification_are_those_that_are_sent(entity, receiver):
    hook = entity.register()
    entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": "otro-secreto"})
    entity.notify()
    sent = {name for name in receiver.wait(hook.path, 1)[0].headers if "webhook" in name}
    post = DOCUMENT["webhooks"]["evaluacion.abierta"]["post"]
    assert {one["name"].lower() for one in post["parameters"]} == sent | {"x-webhook-reenvio"}


def test_the_document_allows_a_receivers_status_999(entity, receiver, stack):
    """Some firewalls answer 999."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=999))
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "fallida")
    path = f"{BASE}/{hook.id}"
    shown = [("WebhookListado", "ultimoEstado", entity.listed(hook)), ("WebhookDetalle", "ultimoEstado", entity.api("GET", path).json()),
             ("Entrega", "ultimoEstado", entity.api("GET", path + "/entregas").json()["entregas"][0])]
    whole = entity.api("GET", f"{path}/entregas/{delivery}").json()
    shown += [("EntregaDetalle", "ultimoEstado", whole), ("Intento", "estadoHttp", whole["historial"][0])]
    for schema, name, found in shown:
        described = DOCUMENT["components"]["schemas"][schema]["properties"][name]
        assert described["minimum"] <= found[name] <= described["maximum"] and found[name] == 999, schema


def messages(node):
    """Yields the messages of all examples of errors."""
    if isinstance(node, dict):
        schema = node.get("schema", {})
        if schema.get("$ref", "").endswith("/Mensaje"):
            yield from (one["value"]["message"] for one in node.get("examples", {}).values())
        for value in node.values():
            yield from messages(value)
    elif isinstance(node, list):
        for value in node:
            yield from messages(value)


def test_every_message_of_the_document_is_in_the_manual():
    """tests/system/test_docs.py compares the manual with the sources."""
    manual = [text for page in (ROOT / "web" / "docs").glob("*.md") for text in re.findall(r"«([^»]+)»", page.read_text())]
    patterns = [re.compile(re.sub(r"\\\{[^}]*\\\}", ".+", re.escape(one))) for one in manual]
    found = set(messages(DOCUMENT))
    assert len(found) > 30
    assert not [one for one in found if not any(pattern.fullmatch(one) for pattern in patterns)]


def test_a_linter_finds_nothing():
    program = tool("redocly", "node_modules/.bin/redocly")
    found = run(program, "lint", "--max-problems", "20", FILE.name, files=[FILE], timeout=120)
    output = found.stdout + found.stderr
    assert found.returncode == 0 and "warning" not in output.replace("npm warn", ""), output


# schemathesis's check positive_data_acceptance fails if a request that fits the schema is refused. It is excluded, because a
# schema cannot express some rules: an entity has at most five webhooks, a cursor goes only with its query, `desde` is before
# `hasta`, If-Match must match. Other tests check these rules.
def test_requests_are_answered_as_the_document_says(entity, stack, tmp_path):
    program = tool("schemathesis", "venv/bin/schemathesis")
    entity.register()
    entity.notify()
    examples = 500 if os.environ.get("TEST_LONG") else 60
    base = stack.env["BASE_URL"]
    config, certificate = PINS / "schemathesis.toml", Path(stack.env["CA_CERT"])
    document = tmp_path / FILE.name
    document.write_text(json.dumps(strict()))
    found = run(program, "--config-file", config.name, "run", document.name, "--url", f"{base}/apientidades/v1",
                "--header", f"Authorization: Bearer {entity.token}", "--tls-verify", certificate.name,
                "--exclude-checks", "positive_data_acceptance", "--max-examples", examples, "--seed", "1", "--no-color",
                files=[config, certificate, document], timeout=600)
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr
    tested, selected = re.search(r"Selected: (\d+)/\d+\n +Tested: (\d+)", found.stdout).groups()
    assert tested == selected == str(sum(method in METHODS for item in DOCUMENT["paths"].values() for method in item)), found.stdout
    assert "Stateful" in found.stdout
