"""The tests and files that docs/security.md names exist, and every risk there has a protection and a test."""
import re

from support.stack import ROOT

TEXT = (ROOT / "docs/security.md").read_text()
NAMED = re.findall(r"`(tests/[\w/]+\.(?:py|cpp))::(\w+)`", TEXT)


def test_every_test_it_names_exists():
    def exists(file, name):
        path = ROOT / file
        pattern = rf"^def {name}\(" if file.endswith(".py") else rf"BOOST_AUTO_TEST_CASE\({name}\)"
        return path.exists() and re.search(pattern, path.read_text(), re.MULTILINE)

    assert len(NAMED) > 40
    assert [f"{file}::{name}" for file, name in NAMED if not exists(file, name)] == []


def test_each_of_the_ten_risks_has_a_protection_and_a_test():
    sections = dict(re.findall(r"^### (API\d+) .+?\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL))
    assert list(sections) == [f"API{n}" for n in range(1, 11)]
    for risk, section in sections.items():
        protection, shown_by, proof = section.partition("\nShown by\n")
        assert protection.strip() and shown_by and "::" in proof, risk


def test_the_files_it_names_exist():
    files = set(re.findall(r"`((?:lib|fcgi-app|dispatcher|admin|sql|nginx|systemd)/[\w./@-]*)`", TEXT))
    assert len(files) > 10
    assert [file for file in files if not (ROOT / file).exists()] == []
