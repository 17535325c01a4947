"""What the examples fetch is pinned, by hash where the language allows it, and comes from the language's own registry."""
import json
import re
import tomllib

import pytest

from support.stack import ROOT

FOLDER = ROOT / "examples"
CRATES = "registry+https://github.com/rust-lang/crates.io-index"


@pytest.mark.parametrize("project", ["python", "python/django"])
def test_python(project):
    lines = re.sub(r" \\\n +", " ", (FOLDER / project / "requirements.txt").read_text()).splitlines()
    assert lines and all(re.fullmatch(r"[\w-]+==[\w.]+( --hash=sha256:[0-9a-f]{64})+", line) for line in lines)


@pytest.mark.parametrize("project, needed", [("javascript", "standardwebhooks"), ("javascript/express", "express"),
                                             ("evaluacion/javascript/typeorm", "typeorm")])
def test_javascript(project, needed):
    packages = {path: package for path, package in json.loads((FOLDER / project / "package-lock.json").read_text())["packages"].items() if path}
    assert f"node_modules/{needed}" in packages
    assert all(package["integrity"].startswith("sha512-") and "resolved" not in package for package in packages.values())


@pytest.mark.parametrize("project", ["go", "go/gin"])
def test_go(project):
    required = re.findall(r"^\s*(?:require )?(\S+) (v[^\s/]+)(?: // indirect)?$", (FOLDER / project / "go.mod").read_text(), re.M)
    sums = (FOLDER / project / "go.sum").read_text()
    assert required and all(f"{module} {version} h1:" in sums for module, version in required)


@pytest.mark.parametrize("project", ["rust", "rust/axum"])
def test_rust(project):
    packages = tomllib.loads((FOLDER / project / "Cargo.lock").read_text())["package"]
    fetched = [package for package in packages if not package["name"].startswith("receptor")]
    assert len(fetched) > 50 and all(package["source"] == CRATES and len(package["checksum"]) == 64 for package in fetched)


def test_axum_needs_no_later_rust_than_the_receiver():
    """Its locked versions are the receiver's, which Debian 13's rustc compiles."""
    axum, receiver = ({(package["name"], package["version"]) for package in tomllib.loads((FOLDER / path).read_text())["package"]}
                      for path in ("rust/axum/Cargo.lock", "rust/Cargo.lock"))
    assert axum - receiver == {("receptor-axum", "1.0.0")}


@pytest.mark.parametrize("project", ["java", "java/spring", "evaluacion/java", "evaluacion/java/hibernate", "evaluacion/java/spring"])
def test_java(project):
    text = (FOLDER / project / "pom.xml").read_text()
    parts = re.findall(r"<artifactId>(.*?)</artifactId>\s*<version>(.*?)</version>", text)
    assert len(parts) == text.count("<artifactId>") and all(re.fullmatch(r"[\d.]+(\.Final)?", version) for _, version in parts)
    assert "epository" not in text


def test_no_address_of_a_mirror_is_anywhere():
    known = {"www.standardwebhooks.com", "github.com", "maven.apache.org", "localhost", "integracion.ejemplo.es", "pruebas.example.org", "entidad-",
             "opencollective.com", "feross.org", "www.patreon.com", "dotenvx.com"}  # the last line: packages' authors, in lock files
    for path in FOLDER.rglob("*"):
        if path.is_file() and not {"target", "node_modules", "__pycache__"} & set(path.parts):
            assert set(re.findall(r"https?://([\w.-]+)", path.read_text())) <= known, path


CLIENTS = ROOT / "tests/examples/clients"


def test_clients_in_python():
    lines = re.sub(r" \\\n +", " ", (CLIENTS / "python/requirements.txt").read_text()).splitlines()
    wheels = [line for line in lines if not line.startswith("#")]
    assert len(wheels) > 20 and all(re.fullmatch(r"[\w-]+==[\w.]+( --hash=sha256:[0-9a-f]{64})+", line) for line in wheels)


def test_clients_in_typescript():
    packages = {path: package for path, package in json.loads((CLIENTS / "typescript/package-lock.json").read_text())["packages"].items() if path}
    assert len(packages) > 100
    assert all(package["integrity"].startswith("sha512-") and "resolved" not in package for package in packages.values())


def test_clients_in_go():
    sums = (CLIENTS / "go/go.sum").read_text()
    required = re.findall(r"^\s*(?:require )?(\S+) (v[\d.]+)(?: // indirect)?$", (CLIENTS / "go/go.mod").read_text(), re.M)
    assert required and all(f"{module} {version} h1:" in sums or f"{module} {version}/go.mod h1:" in sums for module, version in required)


@pytest.mark.parametrize("project", ["java", "generator"])
def test_clients_in_java(project):
    text = re.sub(r"<exclusions>.*?</exclusions>", "", (CLIENTS / project / "pom.xml").read_text(), flags=re.S)
    parts = re.findall(r"<artifactId>(.*?)</artifactId>\s*<version>(.*?)</version>", text)
    assert len(parts) == text.count("<artifactId>") and all(re.fullmatch(r"[\d.]+", version) for _, version in parts)
    assert "epository" not in text


def test_the_page_of_the_clients_has_the_pinned_versions_and_the_options_of_the_tests():
    page = (ROOT / "web/docs/clientes.md").read_text()
    npm = json.loads((CLIENTS / "typescript/package.json").read_text())["dependencies"]
    python = dict(re.findall(r"^([\w-]+)==([\w.]+)", (CLIENTS / "python/requirements.txt").read_text(), re.M))
    go = dict(re.findall(r"(github\.com/oapi-codegen/\S+) v([\d.]+)", (CLIENTS / "go/go.mod").read_text()))
    oapi, runtime = go["github.com/oapi-codegen/oapi-codegen/v2"], go["github.com/oapi-codegen/runtime"]
    generator, = re.findall("<version>(7.*)</version>", (CLIENTS / "generator/pom.xml").read_text())
    typescript = ("openapi-typescript", "openapi-fetch", "@hey-api/openapi-ts", "orval", "axios")
    for command in (f"openapi-python-client=={python['openapi-python-client']}", f"oapi-codegen@v{oapi}", f"openapi-generator-cli:{generator}",
                    *(f"{name}@{npm[name]}" for name in typescript)):
        assert command in page, command
    rows = re.findall(r"^\| \[(.*?)\]\(#.*?\).* \| ([\d.]+) \|", page, re.M)
    assert dict(rows) == {"openapi-python-client": python["openapi-python-client"], "OpenAPI Generator": generator, "oapi-codegen": oapi,
                          "openapi-typescript": npm["openapi-typescript"], "Hey API": npm["@hey-api/openapi-ts"], "orval": npm["orval"]}
    assert {version for name, version in rows if name == "OpenAPI Generator"} == {generator} and len(rows) == 9
    for other in (f"openapi-fetch {npm['openapi-fetch']}", f"axios {npm['axios']}", f"la versión {runtime} o posterior"):
        assert other in page, other
    script = (ROOT / "scripts/dev/clients.sh").read_text()
    for options in ("--input openapi.json --output", "--client @hey-api/client-fetch", "--additional-properties importFileExtension=.js"):
        assert options in script and options in page, options
    for needed in ("clients-python 3.11", "clients-typescript 20.19", "clients-go 1.25", "clients-java 17"):
        assert needed in script and needed.rpartition(" ")[2] in page, needed
