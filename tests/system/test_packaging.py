"""Installed files agree with the programs, and the units stay restricted."""
import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.installation import manual
from support.keys import packaged_key
from support.stack import ROOT

EXPOSURE = {"apientidades-dispatcher.service": 1.5, "apientidades-notices.service": 1.5, "apientidades-fcgi@.service": 0.5}
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
    assert re.findall("^RuntimeDirectory=(.*)$", unit, re.M) == ["apientidades-api"], "with a folder for each instance, each would count apart"
    assert "\nRuntimeDirectoryPreserve=yes\n" in unit


def test_the_pool_may_open_what_its_most_threads_need():
    """With a lower LimitNOFILE, accept() would fail while many requests wait, and each thread would log that failure ten times a
    second."""
    keys = (ROOT / "docs/configuration.md").read_text()
    threads = int(re.search(r"`api.threads` \| `\w+` \| 1 to (\d+) ", keys).group(1))
    source = (ROOT / "fcgi-app/http/entity_concurrency.hpp").read_text()
    waiting = int(re.search(r"return {std::max.*?, \d+, (\d+), ", source).group(1))
    unit = (ROOT / "systemd/apientidades-fcgi@.service").read_text()
    others = 64
    assert int(re.search("^LimitNOFILE=(.*)$", unit, re.M).group(1)) >= 3 * threads + waiting + others
    assert int(re.search("^TasksMax=(.*)$", unit, re.M).group(1)) >= threads + others
    assert int(re.search("^MemoryHigh=(.*)M$", unit, re.M).group(1)) >= 20 + threads, "1 MiB for each thread: docs/scaling.md"


@pytest.mark.parametrize("words, completed", [
    ("rep", ["replay", "report"]), ("report --si", ["--since"]), ("queue st", ["status"]), ("queue clock a", ["accept"]),
    ("entity contact r", ["remove"]), ("entity contact add --ki", ["--kinds"]),
    ("token issue --ent", ["--entity"]), ("--deliv", ["--delivery."]), ("config show --log", ["--log."]),
    ("queue status --delivery.max_in_flight_per_h", ["--delivery.max_in_flight_per_host="])])
def test_every_command_is_completed(stack, words, completed):
    admin = Path(stack.command_of("dispatcher")[0][0].replace("dispatcher", "admin"))
    script = f"""source {ROOT}/packaging/completion/apientidades-admin
        COMP_WORDS=(apientidades-admin {words}) COMP_CWORD={len(words.split())}; _apientidades_admin; echo "${{COMPREPLY[@]}}" """
    result = subprocess.run(["bash", "-c", script], env={"PATH": f"{admin.parent}:/usr/bin:/bin"}, capture_output=True, text=True,
                            timeout=20)
    assert result.stdout.split() == completed, result.stderr


def plain(text: str) -> str:
    """The source of a manual page, with `-` and the backslash instead of troff's escapes for them."""
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
    """An upgrade asks before it replaces one of them that was changed. So none is a file that the manual tells the operator to change."""
    installed = {f"/etc/nginx/snippets/{file.name}" for file in (ROOT / "nginx/snippets").iterdir()}
    assert set((ROOT / "packaging/deb/conffiles").read_text().split()) == installed


def test_the_readme_installs_as_the_manual_does():
    readme = (ROOT / "README.md").read_text()
    assert "\n".join(manual("Install")) in readme


def run_script(folder: Path, name: str, *arguments) -> list[str]:
    """Runs a script of the package, with its /etc, /run and /var below `folder` and with stubs for commands. Returns the lines that
    the script prints."""
    commands = folder / "bin"
    if not commands.exists():
        commands.mkdir()
        for stub in ("deb-systemd-invoke", "deb-systemd-helper", "systemd-sysusers", "systemd-tmpfiles", "apientidades-admin", "chown",
                     "apientidades-setup-database", "nginx"):
            (commands / stub).write_text("#!/bin/sh\n")
            (commands / stub).chmod(0o755)
        (commands / "systemctl").write_text("#!/bin/sh\ncase $1 in list-units) echo unit.service loaded active running;; esac\n")
        (commands / "systemctl").chmod(0o755)
        for made in ("etc/apientidades/tls", "etc/nginx/snippets", "etc/nginx/sites-available", "etc/nginx/sites-enabled", "run/systemd/system", "var/backups", "var/log/nginx"):
            (folder / made).mkdir(parents=True)
        templates = folder / "usr/share/apientidades"
        (templates / "nginx").mkdir(parents=True)
        shutil.copy(ROOT / "nginx/apientidades.conf", templates / "nginx")
        shutil.copy(ROOT / "packaging/apientidades.conf", templates)
    text = re.sub(r"(?<=[\s=])/(etc|run|var|usr/share/apientidades)\b", rf"{folder}/\1", (ROOT / "packaging/deb" / name).read_text())
    done = subprocess.run(["sh", "-c", text, name, *arguments], capture_output=True, text=True, timeout=30,
                          env={"PATH": f"{commands}:/usr/bin:/bin"})
    assert done.returncode == 0, done
    return (done.stdout + done.stderr).splitlines()


def test_the_scripts_of_the_package_say_what_runs_what_is_removed_and_what_stays(tmp_path):
    run_script(tmp_path, "preinst", "install")
    installed = run_script(tmp_path, "postinst", "configure", "")
    assert len(installed) == 1 and "are started, now and at every boot" in installed[0] and "apientidades-setup-database" in installed[0]
    upgraded = run_script(tmp_path, "postinst", "configure", "0.1.0")
    assert upgraded == ["apientidades: unit.service runs this version now"] * 2
    lost = (tmp_path / "etc/apientidades/secrets.keys").rename(tmp_path / "lost")
    without, = run_script(tmp_path, "postinst", "configure", "0.1.0")
    assert "secrets.keys is missing" in without and "put it back from the backup" in without
    assert not (tmp_path / "etc/apientidades/secrets.keys").exists()
    lost.rename(tmp_path / "etc/apientidades/secrets.keys")
    assert run_script(tmp_path, "prerm", "upgrade") == []
    assert ["stopping the pool and the dispatcher" in line for line in run_script(tmp_path, "prerm", "remove")] == [True]
    removed = run_script(tmp_path, "postrm", "remove")
    assert len(removed) == 1 and "nothing of it runs" in removed[0] and "the database stay" in removed[0]
    keys = (tmp_path / "etc/apientidades/secrets.keys").read_text()
    purged = "\n".join(run_script(tmp_path, "postrm", "purge"))
    assert "The database stays" in purged and "apientidades-secrets.keys" in purged
    assert (tmp_path / "var/backups/apientidades-secrets.keys").read_text() == keys
    assert not (tmp_path / "etc/nginx/sites-available/apientidades.conf").exists()
    assert run_script(tmp_path, "postrm", "upgrade") == []


@pytest.fixture
def earlier(tmp_path):
    """Returns upgrade(change): upgrades from 0.2.0, after `change` has changed the text of its site. Returns what the scripts say,
    and the new text."""
    run_script(tmp_path, "preinst", "upgrade")
    site, shipped = tmp_path / "etc/nginx/sites-available/apientidades.conf", (ROOT / "tests/system/sites/0.2.0.conf").read_text()
    (tmp_path / "bin/dpkg-query").write_text(f"#!/bin/sh\necho ' {site} {hashlib.md5(shipped.encode()).hexdigest()} obsolete'\n")
    (tmp_path / "bin/dpkg-query").chmod(0o755)
    (tmp_path / "etc/nginx/sites-enabled/apientidades.conf").symlink_to(site)

    def upgrade(change):
        site.write_text(change(shipped))
        said = run_script(tmp_path, "postinst", "configure", "0.2.0")
        return "\n".join(line for line in said if "sites-available" in line), site.read_text()

    return upgrade


OWN = {"server_name api.example.org;": "server_name api.ejemplo.es api2.ejemplo.es; # both", "    listen 443 ssl;": "    listen 192.0.2.1:443 ssl http2;",
       "/etc/apientidades/tls/fullchain.pem": "/etc/letsencrypt/live/api/fullchain.pem",
       "    server_tokens off;\n\n": "    server_tokens off;\n    set_real_ip_from 192.0.2.9;\n    real_ip_header X-Forwarded-For;\n\n"}


def edited(site: str) -> str:
    for before, after in OWN.items():
        assert before in site
        site = site.replace(before, after, 1)
    return site


def test_an_upgrade_moves_the_operators_lines_into_the_site_of_today(earlier, tmp_path):
    said, site = earlier(edited)
    assert said.count("only the lines that are yours") == 1
    for line in ("server_name api.ejemplo.es api2.ejemplo.es; # both", "listen 192.0.2.1:443 ssl http2;", "listen [::]:443 ssl;",
                 "ssl_certificate     /etc/letsencrypt/live/api/fullchain.pem;", "ssl_certificate_key /etc/apientidades/tls/privkey.pem;",
                 "set_real_ip_from 192.0.2.9;", "real_ip_header X-Forwarded-For;", "include /etc/nginx/snippets/apientidades-site.conf;"):
        assert site.count(f"\n    {line}\n") == 1, site
    assert site.endswith("}\n") and site.count("{") == site.count("}") == 2 and "example.org" not in site
    assert (tmp_path / "etc/nginx/sites-available/apientidades.conf.dpkg-old").read_text().count("location") > 5
    again = run_script(tmp_path, "postinst", "configure", "0.2.0")
    assert not any("sites-available" in line for line in again)


def test_an_unchanged_site_is_that_of_today(earlier):
    _, site = earlier(lambda text: text)
    assert [line for line in site.split("\n") if line] == [line for line in (ROOT / "nginx/apientidades.conf").read_text().split("\n") if line]


@pytest.mark.parametrize("change", [("    location / {", "    location = /mine { return 204; }\n\n    location / {"),
                                    ("    listen [::]:443 ssl;\n", ""), ("send_timeout              10s", "send_timeout 20s")])
def test_an_upgrade_names_a_site_with_other_changes_and_leaves_it(earlier, change):
    changed = edited((ROOT / "tests/system/sites/0.2.0.conf").read_text()).replace(*change)
    said, site = earlier(lambda _: changed)
    assert site == changed and "only you can move" in said and "installation.md" in said


def test_an_upgrade_leaves_a_site_that_nginx_would_not_take(earlier, tmp_path):
    (tmp_path / "bin/nginx").write_text("#!/bin/sh\nexit 1\n")
    said, site = earlier(edited)
    assert "location / {" in site and "only you can move" in said
