"""What is installed beside the programs says what the programs say, and the units stay shut."""
import base64
import hashlib
import json
import re
import shutil
import subprocess

import pytest
from support.installation import manual
from support.keys import packaged_key
from support.stack import ROOT

EXPOSURE = {"apientidades-dispatcher.service": 1.5, "apientidades-fcgi@.service": 0.5}
MANUALS = ROOT / "packaging/man"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
@pytest.mark.parametrize("unit, limit", EXPOSURE.items())
def test_a_unit_leaves_no_more_open_than_it_must(unit, limit):
    result = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", ROOT / "systemd" / unit],
                            capture_output=True, text=True, timeout=60)
    score = re.search(r"Overall exposure level for .*: ([0-9.]+)", result.stdout)
    assert score, result
    assert float(score.group(1)) <= limit, result.stdout


def test_the_pool_counts_in_one_folder_that_no_instance_takes_away():
    unit = (ROOT / "systemd/apientidades-fcgi@.service").read_text()
    assert re.findall("^RuntimeDirectory=(.*)$", unit, re.M) == ["apientidades-api"], "one for each would count apart"
    assert "\nRuntimeDirectoryPreserve=yes\n" in unit


def plain(text: str) -> str:
    """Of a manual page: without what troff needs."""
    return text.replace("\\-", "-").replace("\\e", "\\")


def test_the_manual_of_the_configuration_has_every_key_with_its_default(stack):
    text = plain((MANUALS / "apientidades.conf.5").read_text())
    in_manual = dict(re.findall(r'^\.BR ([a-z_]+\.[a-z_]+) " = (.*)"$', text, re.M))
    documented = dict(re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| `?(.*?)`? \|", (ROOT / "docs/configuration.md").read_text(), re.M))
    assert in_manual == {key: default.replace("empty", "(empty)") for key, default in documented.items()}
    assert list(in_manual) == [key["clave"] for key in stack.admin("config", "show")]


def test_the_manual_of_the_operators_program_has_every_command(stack):
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)*)  +(\S.*)$", stack.dev("admin", "--help").stdout, re.M)
    text = plain((MANUALS / "apientidades-admin.1").read_text())
    assert re.findall(r"^\.TP\n\.B ([a-z]+(?: [a-z]+)*)\n(.*)$", text, re.M) == commands


def test_the_configuration_that_is_installed_only_adds_metrics(stack):
    shown = subprocess.run([stack.command_of("dispatcher")[0][0].replace("dispatcher", "admin"), "config", "show", "--json",
                            "--config", ROOT / "packaging/apientidades.conf"], capture_output=True, text=True, timeout=20)
    assert shown.returncode == 0, shown
    given = {key["clave"]: key["valor"] for key in json.loads(shown.stdout) if key["origen"] != "default"}
    assert given == {"metrics.listen": "127.0.0.1:9464"}


def test_the_id_of_a_key_that_the_package_makes_is_of_that_key_alone():
    made = [packaged_key().split(":") for _ in range(2)]
    for id, key in made:
        assert id == "k" + hashlib.sha256(base64.b64decode(key, validate=True)).hexdigest()[:8]
        assert len(base64.b64decode(key)) == 32
    assert made[0] != made[1]


def test_every_file_below_etc_is_a_configuration_file():
    """Those keep what an administrator has written in them."""
    installed = {"/etc/apientidades/apientidades.conf", "/etc/nginx/sites-available/apientidades.conf"}
    installed |= {f"/etc/nginx/snippets/{file.name}" for file in (ROOT / "nginx/snippets").iterdir()}
    assert set((ROOT / "packaging/deb/conffiles").read_text().split()) == installed


def test_the_readme_installs_as_the_manual_does():
    readme = (ROOT / "README.md").read_text()
    assert "\n".join(manual("Install")) in readme
