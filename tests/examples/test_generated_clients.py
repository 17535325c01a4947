"""Clients that generators made of the OpenAPI document call the API of a live stack: clients/scenario.py says which calls."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.actors import BASE
from support.example_receivers import PREPARED, QUICK_JAVA, as_nobody, require
from support.later_api import later_api
from support.stack import ROOT, setting
from support.wait import wait_until

sys.path.insert(0, str(ROOT / "tests/examples/clients"))
import scenario  # noqa: E402

if "EXAMPLES" not in os.environ:
    pytest.skip("./dev test --examples runs these", allow_module_level=True)

PYTHON, NODE, GO, JAVA = (PREPARED / f"clients-{language}" for language in ("python", "typescript", "go", "java"))
CLIENTS = {  # generator -> its language's folder, and the command, given the trust store for Java
    "openapi-python-client": (PYTHON, lambda _: [PYTHON / "venv/bin/python", PYTHON / "openapi_python_client.py"]),
    "openapi-generator python": (PYTHON, lambda _: [PYTHON / "venv/bin/python", PYTHON / "openapi_generator.py"]),
    "openapi-typescript": (NODE, lambda _: ["node", NODE / "built/openapi_fetch.js"]),
    "hey-api": (NODE, lambda _: ["node", NODE / "built/hey_api.js"]),
    "orval": (NODE, lambda _: ["node", NODE / "built/orval.js"]),
    "openapi-generator typescript-fetch": (NODE, lambda _: ["node", NODE / "built/openapi_generator.js"]),
    "oapi-codegen": (GO, lambda _: [GO / "built/oapi_codegen"]),
    "openapi-generator go": (GO, lambda _: [GO / "built/openapi_generator"]),
    "openapi-generator java": (JAVA, lambda store: ["java", *QUICK_JAVA.split(), f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStorePassword=changeit",
                                                    "-cp", f"{JAVA}/built:{JAVA}/lib/*", "Cliente"]),
}
FIRST_ID = 3_000_000_000  # more than 32 bits hold


@pytest.fixture(scope="module", autouse=True)
def large_ids(stack):
    for table in ("webhooks", "entregas", "reenvios"):
        stack.sql(f"ALTER TABLE {table} AUTO_INCREMENT = {FIRST_ID}")


@pytest.fixture(scope="module")
def trust(stack):
    """Yields a folder with the authority of the stack's certificates, as ca.pem and as the trust store of Java."""
    with tempfile.TemporaryDirectory(prefix="apie-clients-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(stack.env["CA_CERT"], folder / "ca.pem")
        if shutil.which("keytool"):
            subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", folder / "ca.pem", "-keystore", folder / "ca.p12",
                            "-storetype", "PKCS12", "-storepass", "changeit"], check=True, capture_output=True, timeout=60)
        for file in folder.iterdir():
            file.chmod(0o644)
        yield folder


@pytest.fixture
def run(stack, trust):
    """Returns a function that runs a generator's program, and returns the lines that it prints."""
    def run(generator: str, *arguments: str, **settings) -> list[str]:
        _, command = CLIENTS[generator]
        for needed in needs(generator):
            require(needed)
        environment = {**os.environ, "LANG": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1", "SSL_CERT_FILE": str(trust / "ca.pem"),
                       "NODE_EXTRA_CA_CERTS": str(trust / "ca.pem"), "API": stack.env["BASE_URL"] + "/apientidades/v1"}
        environment |= {name: str(value) for name, value in settings.items()}
        done = subprocess.run([*map(str, command(trust / "ca.p12")), *arguments], env=environment, capture_output=True, encoding="utf-8", timeout=120,
                              cwd="/", **as_nobody())
        assert done.returncode == 0, (done.stdout, done.stderr[-3000:])
        return done.stdout.splitlines()
    return run


def settings_of(entity, webhook: int = 1) -> dict:
    return {"TOKEN": entity.token, "TOKEN_READ_ONLY": entity.issue_token("--read-only"), "WEBHOOK": webhook, "API_LATER": "https://localhost:1",
            "URL_OF_RECEIVER": f"https://cliente.receptor.test:{entity.receiver.port}/cliente"}


@pytest.mark.parametrize("generator", CLIENTS)
def test_a_generated_client_makes_every_call(generator, run, stack, entity):
    hook = entity.register()
    assert hook.id > FIRST_ID - 1
    for _ in range(3):
        entity.notify()
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == 3)
    with later_api(stack) as later:
        said = run(generator, **settings_of(entity, hook.id) | {"API_LATER": later + "/apientidades/v1"})
    diagnosis = entity.api("GET", f"{BASE}/{hook.id}/diagnostico").json()["pruebas"]
    expected = scenario.expected(hook.id, entity.listed(hook)["ultimoEstado"], [f"{one['prueba']}={one['resultado']}" for one in diagnosis])
    assert len(diagnosis) == 18
    assert len(said) == len(expected), said
    assert [line[:len(beginning)] for line, beginning in zip(said, expected)] == expected


def test_every_client_reads_that_it_asks_too_often(run, stack, entity):
    said = {}
    with stack.part_with("nginx", **setting(limits_requests_per_token="1")):
        for generator in prepared():
            entity.token = entity.issue_token()  # the next request with a token is allowed a minute later
            wait_until(lambda: entity.api("GET", BASE).status == 429)
            said[generator] = run(generator, "refused", **settings_of(entity))
    assert said and all(lines == ["error 429 Demasiadas peticiones; inténtelo de nuevo más tarde"] for lines in said.values()), said


def test_every_client_reads_that_the_service_is_down(run, stack, entity):
    settings = settings_of(entity)
    stack.stop("fcgi")
    try:
        said = {generator: run(generator, "refused", **settings) for generator in prepared()}
    finally:
        stack.start("fcgi")
    line = "error 50[23] El servicio no está disponible en este momento; vuelva a intentarlo en unos segundos"
    assert said and all(re.fullmatch(line, "\n".join(lines)) for lines in said.values()), said


def needs(generator: str) -> list[str]:
    """The folders that are prepared for it."""
    folder, _ = CLIENTS[generator]
    return [folder.name, "clients-generator"] if generator.startswith("openapi-generator ") else [folder.name]


def prepared() -> list[str]:
    return [generator for generator in CLIENTS if all((PREPARED / folder / "pins").exists() for folder in needs(generator))]


@pytest.mark.parametrize("language", [PYTHON, NODE, GO, JAVA], ids=lambda folder: folder.name)
def test_the_clients_are_made_of_the_document_that_is_served(language, stack):
    require(language.name)
    assert (language / "openapi.json").read_text() == stack.api("GET", "/apientidades/openapi.json").text


def test_a_client_in_csharp_is_made():
    """It is not compiled, because Debian has no .NET."""
    require("clients-generator")
    models = PREPARED / "clients-generator/csharp/src/Org.OpenAPITools/Model"
    text = (models / "WebhookDetalle.cs").read_text()
    assert "public long Id " in text and "public DateTime FechaAlta " in text and "AdditionalProperties" in text
    assert "PruebaEnum" in (models / "PruebaDeDiagnostico.cs").read_text()
