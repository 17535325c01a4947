"""What the examples fetch is pinned, by hash where the language allows it, and comes from the language's own registry."""
import json
import re
import tomllib

import pytest

from support.stack import ROOT

FOLDER = ROOT / "examples"
CRATES = "registry+https://github.com/rust-lang/crates.io-index"


def test_python():
    lines = re.sub(r" \\\n +", " ", (FOLDER / "python/requirements.txt").read_text()).splitlines()
    assert lines and all(re.fullmatch(r"[\w-]+==[\w.]+( --hash=sha256:[0-9a-f]{64})+", line) for line in lines)


def test_javascript():
    packages = {path: package for path, package in json.loads((FOLDER / "javascript/package-lock.json").read_text())["packages"].items() if path}
    assert "node_modules/standardwebhooks" in packages
    assert all(package["integrity"].startswith("sha512-") and "resolved" not in package for package in packages.values())


def test_go():
    required = re.findall(r"^\s*(?:require )?(\S+) (v[\d.]+)$", (FOLDER / "go/go.mod").read_text(), re.M)
    sums = (FOLDER / "go/go.sum").read_text()
    assert required and all(f"{module} {version} h1:" in sums for module, version in required)


def test_rust():
    packages = tomllib.loads((FOLDER / "rust/Cargo.lock").read_text())["package"]
    fetched = [package for package in packages if package["name"] != "receptor"]
    assert len(fetched) > 50 and all(package["source"] == CRATES and len(package["checksum"]) == 64 for package in fetched)


@pytest.mark.parametrize("project", ["java", "evaluacion/java"])
def test_java(project):
    text = (FOLDER / project / "pom.xml").read_text()
    parts = re.findall(r"<artifactId>(.*?)</artifactId>\s*<version>(.*?)</version>", text)
    assert len(parts) == text.count("<artifactId>") and all(re.fullmatch(r"[\d.]+", version) for _, version in parts)
    assert "epository" not in text


def test_no_address_of_a_mirror_is_anywhere():
    known = {"www.standardwebhooks.com", "github.com", "maven.apache.org", "localhost", "avisos.su-entidad.es"}
    for path in FOLDER.rglob("*"):
        if path.is_file() and not {"target", "node_modules", "__pycache__"} & set(path.parts):
            assert set(re.findall(r"https?://([\w.-]+)", path.read_text())) <= known, path
