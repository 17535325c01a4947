"""On a fresh Debian, the service delivers after at most five commands of the manual."""
import hashlib
import json
import os
import re
from pathlib import Path

from fakes import verify
from support.actors import BASE
from support.installation import SERVICES, manual
from support.wait import wait_until


def test_apt_installs_and_the_service_waits_for_its_database(fresh, figure):
    fresh.install_package()
    for unit in SERVICES:
        assert fresh.property(unit, "ActiveState") == "active"
        wait_until(lambda: "waiting for the database" in fresh.status(unit), 15, f"{unit} to say what it waits for")
    assert fresh.property("apientidades-notices.timer", "ActiveState") == "active"
    commands = len(manual("Install"))
    figure(f"commands of the manual until it delivers: {commands}")
    assert commands <= 5


def test_secrets_are_made_with_restricted_modes(machine):
    listed = machine.shell("stat -c '%a %U %G %n' /etc/apientidades/*").splitlines()
    modes = {line.split()[3].rpartition("/")[2]: line.split()[:3] for line in listed}
    assert modes["secrets.keys"] == ["640", "root", "apientidades"]
    for name in ("api", "dispatcher", "notices", "admin", "evaluacion"):
        assert modes[f"{name}.password"] == ["600", "root", "root"]
    assert modes["tls"][0] == "700"


def test_the_rest_of_the_manual_and_a_delivery(fresh):
    fresh.finish_install()
    entity = fresh.entity()
    hook = entity.register()
    entity.notify()
    request = fresh.receiver.wait(hook.path, timeout=30)[0]
    assert verify.problems(request.headers, request.body, hook.secret) == []
    wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 200, what="the result in the listing")


def test_the_setup_of_the_database_can_be_run_again(machine, installation):
    machine.run("apientidades-setup-database")
    assert installation.works()


def test_a_request_without_token_is_401_through_nginx_and_tls(installation):
    assert installation.api("GET", BASE).status == 401


def test_the_api_described_is_there_for_anybody(installation):
    answer = installation.api("GET", "/apientidades/openapi.json")
    assert answer.status == 200 and answer.json()["openapi"] == "3.1.0"


def test_the_documentation_for_entities_is_there_for_anybody(machine, installation):
    answer = installation.api("GET", "/apientidades/docs/")
    assert answer.status == 200 and "<h1>" in answer.text and "default-src 'none'" in answer.headers["content-security-policy"]
    assert installation.api("GET", "/apientidades/docs/primeros-pasos.md").headers["content-type"] == "text/markdown; charset=utf-8"
    assert machine.run("cat", "/usr/share/doc/apientidades/web/docs/errores.md").stdout.startswith("# Errores")


def test_manual_pages_and_completion(machine, installation):
    for page in ("apientidades-admin.1", "apientidades-fcgi.8", "apientidades-dispatcher.8", "apientidades-notices.8", "apientidades.conf.5",
                 "apientidades-setup-database.8"):
        machine.run("test", "-s", f"/usr/share/man/man{page[-1]}/{page}.gz")
    complete = """source /usr/share/bash-completion/completions/apientidades-admin
        COMP_WORDS=(apientidades-admin {words}) COMP_CWORD={position}; _apientidades_admin; echo "${{COMPREPLY[@]}}" """
    assert "token" in machine.shell(complete.format(words="to", position=1)).split()
    assert machine.shell(complete.format(words="token is", position=2)) == "issue"
    assert "--entity" in machine.shell(complete.format(words="token issue --", position=3)).split()


def test_its_bill_of_materials_stands_beside_it(machine):
    package = Path(os.environ["SYSTEM_PACKAGE"])
    bill = json.loads(package.with_name(package.name.removesuffix(".deb") + ".cdx.json").read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    product = bill["metadata"]["component"]
    assert {"alg": "SHA-256", "content": hashlib.sha256(package.read_bytes()).hexdigest()} in product["hashes"]
    assert product["version"] == machine.shell("dpkg-query --show --showformat='${Version}' apientidades")
    assert product["purl"].startswith("pkg:generic/apientidades@")
    parts = {part["name"]: part for part in bill["components"]}
    assert {"libc6", "nginx", "rapidjson-dev"} < parts.keys() and any(name.startswith("libcurl") for name in parts)
    release = machine.shell(". /etc/os-release && echo $VERSION_CODENAME")
    purl = rf"pkg:deb/debian/[^@?]+(@[^@?]+\?arch=[a-z0-9]+&|\?)distro={release}(&upstream=[^?&]+)?"
    assert all(re.fullmatch(purl, part["purl"]) for part in parts.values())
    licences = {name: part["licenses"][0]["license"]["name"] for name, part in parts.items() if "licenses" in part}
    assert licences["rapidjson-dev"] == "Expat" and any((name[:8], of) == ("libcurl4", "curl") for name, of in licences.items())
    refs = [part["bom-ref"] for part in bill["components"]]
    assert refs == sorted(set(refs)) and {each["ref"] for each in bill["dependencies"]} == {product["bom-ref"], *refs}
    loaded = {each["value"] for part in parts.values() for each in part["properties"] if each["name"] == "apientidades:links"}
    assert set(machine.shell("ldd /usr/bin/apientidades-admin | awk '$2 == \"=>\" { print $1 }'").split()) <= loaded
