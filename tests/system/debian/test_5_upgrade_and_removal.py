"""Upgrade of the package under load, removal, installation over what the removal left, purge."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.installation import SERVICES
from support.load import Load
from support.locks import in_background
from support.metrics import scrape
from support.sql import SqlSession
from support.wait import wait_until

LEFT = ("find / -xdev -name '*apientidades*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/var/lib/mysql/*' "
        "-not -path '/root/*' -not -path '/etc/mysql/*' -not -path '/run/systemd/*' -not -path '/var/log/*' -not -path '/var/backups/*' "
        "-not -path '/var/cache/*' -not -path '/var/lib/systemd/*' -not -path '/tmp/*'")


SITE, CONFIGURATION = "/etc/nginx/sites-available/apientidades.conf", "/etc/apientidades/apientidades.conf"
SITES = Path(__file__).resolve().parents[1] / "sites"


def repack(package, folder, version, change):
    """Returns a package of the same programs with another version number, after change(tree) has changed its files."""
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub("^Version: .*", f"Version: {version}", control.read_text(), flags=re.M))
    change(tree)
    result = folder / f"apientidades_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, result], check=True, capture_output=True)
    return result


@pytest.fixture(scope="module")
def next_package(installation, tmp_path_factory):
    """A later package with one more migration, and one more location in nginx's site."""
    def add(tree):
        migrations = tree / "usr/share/apientidades/sql/migrations"
        number = len(list(migrations.iterdir())) + 1
        (migrations / f"{number:04}_prueba.sql").write_text("CREATE TABLE IF NOT EXISTS prueba (id INT PRIMARY KEY);\n")
        with (tree / "etc/nginx/snippets/apientidades-site.conf").open("a") as site:
            site.write("location = /apientidades/nueva { return 204; }\n")

    return repack(installation.package, tmp_path_factory.mktemp("package"), "9", add)


@pytest.fixture(scope="module")
def first_package(installation, tmp_path_factory):
    """The package with units as in release 0.1.0, in which the socket stopped directly with apientidades.target."""
    def change_units(tree):
        units = tree / "usr/lib/systemd/system"
        for name in ("listening.target", "running.target", "started.service"):
            (units / f"apientidades-{name}").unlink()
        for name in ("apientidades-fcgi.socket", "apientidades.target"):
            text = (units / name).read_text()
            text = text.replace("StopPropagatedFrom=apientidades-listening.target", "StopPropagatedFrom=apientidades.target")
            text = text.replace("Wants=apientidades-listening.target apientidades-running.target ", "Wants=")
            (units / name).write_text(text.replace("Requires=apientidades-started.service\n", ""))

    return repack(installation.package, tmp_path_factory.mktemp("package"), "0.1.0", change_units)


@pytest.fixture(scope="module")
def second_package(installation, tmp_path_factory):
    """The package with the site as in release 0.2.0: one file of dpkg's, like the configuration."""
    def change_site(tree):
        conffiles = tree / "DEBIAN/conffiles"
        lines = set(conffiles.read_text().split())
        for name in ("http", "site", "metrics"):
            lines.remove(file := f"/etc/nginx/snippets/apientidades-{name}.conf")
            Path(f"{tree}{file}").unlink()
        for file, source in ((SITE, SITES / "0.2.0.conf"), (CONFIGURATION, tree / "usr/share/apientidades/apientidades.conf")):
            Path(f"{tree}{file}").parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, f"{tree}{file}")
            lines.add(file)
        conffiles.write_text("".join(f"{line}\n" for line in sorted(lines)))
        postinst = tree / "DEBIAN/postinst"
        postinst.write_text(postinst.read_text().replace("\nrenew_site\n", "\n"))

    return repack(installation.package, tmp_path_factory.mktemp("package"), "0.2.0", change_site)


def apt(machine, package, *options) -> str:
    (machine.root / "root" / package.name).write_bytes(package.read_bytes())
    return machine.run("apt-get", "-q", "-y", "--allow-downgrades", *options, "install", f"/root/{package.name}", timeout=300).stdout


def test_an_upgrade_keeps_everything_and_loses_nothing(machine, installation, next_package, figure):
    files = "cd /etc && find apientidades nginx/sites-available/apientidades.conf -maxdepth 1 -type f -name '*.*' | sort | xargs sha256sum"
    before, pids = machine.shell(files), [installation.pid(unit) for unit in SERVICES]
    # An earlier release may have granted these rights; the new package revokes them.
    installation.sql("GRANT SELECT (paso) ON apientidades.entregas TO apientidades_api@localhost;"
                     " GRANT DELETE ON apientidades.tokens_acceso TO apientidades_api@localhost")
    with Load(installation) as load:
        apt(machine, next_package)
        load.goes_on()
    losses = load.losses()
    figure(f"upgrade of the package: {losses}")
    assert machine.shell(files) == before
    assert not set(pids) & {installation.pid(unit) for unit in SERVICES}
    wait_until(lambda: installation.api("GET", "/apientidades/nueva").status == 204, 10, "the new location")
    last = installation.admin("db", "status")[-1]
    assert "prueba" in last["nombre"] and last["aplicada"]
    assert losses.lost_requests == 0 and losses.lost_deliveries == 0 and losses.repeated == 0
    grants = str(installation.sql("SHOW GRANTS FOR apientidades_api@localhost"))
    assert "paso" not in grants and "DELETE ON `apientidades`.`tokens_acceso`" not in grants


def test_an_upgrade_starts_nothing_that_was_stopped(machine, installation, next_package):
    installation.systemctl("stop", "apientidades.target")
    try:
        for package in (installation.package, next_package):
            apt(machine, package)
            wait_until(lambda: [installation.property(unit, "ActiveState") for unit in SERVICES] == ["inactive"] * len(SERVICES),
                   60, "all to have stopped")
    finally:
        installation.systemctl("start", "apientidades.target")
    installation.wait_working()


def test_the_socket_of_the_first_version_follows_its_target_after_the_upgrade(machine, installation, first_package, next_package):
    apt(machine, first_package)
    # Release 0.1.0 has no apientidades-listening.target, so this target is not active after a boot with that release.
    installation.systemctl("stop", "apientidades-listening.target", "apientidades-running.target", check=False)
    apt(machine, next_package)
    for name in ("listening", "running"):
        assert installation.property(f"apientidades-{name}.target", "ActiveState") == "active"
    installation.systemctl("stop", "apientidades.target")
    wait_until(lambda: installation.property("apientidades-fcgi.socket", "ActiveState") == "inactive", 60, "the socket to be closed")
    installation.systemctl("start", "apientidades.target")
    installation.wait_working()


@pytest.mark.parametrize("own, said, status", [
    ("s|location / {|location = /mine { return 204; } &|", "only you can move", 404),
    ("", "has only the lines that are yours", 204)])
def test_an_upgrade_never_asks_about_an_edited_site(machine, installation, second_package, next_package, own, said, status):
    """apt has no terminal to ask on: dpkg would fail. Both files are edited, as the manual of 0.2.0 tells the operator to do."""
    machine.shell(f"mv {CONFIGURATION} /root/own.conf && rm -f {SITE}")
    apt(machine, second_package, "-o", "Dpkg::Options::=--force-confmiss")
    machine.shell(f"cp /root/own.conf {CONFIGURATION}; sed -i 's/api.example.org/localhost/; {own}' {SITE} && nginx -tq")
    assert installation.works()
    before = machine.shell(f"sha256sum {CONFIGURATION}")
    assert said in apt(machine, next_package)
    assert machine.shell(f"nginx -tq; sha256sum {CONFIGURATION}") == before
    assert installation.works() and installation.api("GET", "/apientidades/openapi.json").status == 200
    wait_until(lambda: installation.api("GET", "/apientidades/nueva").status == status, 10, "nginx to have reloaded")
    assert "apientidades_api_requests_total" in scrape("http://127.0.0.1:9465/metrics").types


def test_an_upgrade_without_the_database(machine, installation, next_package):
    """The migration cannot be applied, so the processes that run go on with the unchanged tables."""
    pids = [installation.pid(unit) for unit in SERVICES]
    installation.systemctl("stop", "mariadb")
    try:
        apt(machine, installation.package)
        apt(machine, next_package)
    finally:
        installation.systemctl("start", "mariadb")
    installation.wait_working()
    assert [installation.pid(unit) for unit in SERVICES] == pids
    machine.shell("apientidades-setup-database --upgrade && systemctl restart apientidades.target")
    installation.wait_working()


@pytest.fixture
def one_more(machine, installation):
    """Adds a migration that changes `entregas`, and removes it afterwards, because the package does not have it."""
    folder = machine.root / "usr/share/apientidades/sql/migrations"
    number = len(list(folder.iterdir())) + 1
    file = folder / f"{number:04}_entregas.sql"
    file.write_text("ALTER TABLE entregas ADD COLUMN anotacion INT NULL;\n")
    yield file.name
    file.unlink()
    installation.sql(f"DELETE FROM migraciones WHERE numero = {number}; ALTER TABLE entregas DROP COLUMN IF EXISTS anotacion")


def test_a_migration_waits_for_a_backup_and_shows_its_session(machine, installation, one_more):
    backup = SqlSession(str(machine.root / "run/mysqld/mysqld.sock"), "apientidades", "root", "")
    backup("START TRANSACTION")
    backup("SELECT COUNT(*) FROM entregas")
    number, output = backup("SELECT CONNECTION_ID()")[0][0], machine.root / "run/upgrade.log"
    upgrade = in_background(machine.shell, "apientidades-setup-database --upgrade >/run/upgrade.log 2>&1")
    try:
        told = rf"^held up: .*\n(?:.*\n)*?\| +{number} \| root"
        wait_until(lambda: upgrade.done() or output.exists() and re.search(told, output.read_text(), re.M), 30, "root to be told")
        assert not upgrade.done() and installation.works(), output.read_text()
        installation.sql(f"KILL {number}")
        upgrade.result(60)
    finally:
        backup.close()
    assert f"{one_more}\n" in output.read_text() and "1 of " in output.read_text()


def test_removed_it_stops_and_what_is_the_sites_stays(machine, installation):
    removed = machine.run("apt-get", "-q", "-y", "remove", "apientidades", timeout=300)
    said = removed.stdout + removed.stderr
    assert "stopping the pool and the dispatcher" in said and "nothing of it runs any more" in said
    machine.shell("! pgrep -f /usr/bin/apientidades; test -s /etc/apientidades/secrets.keys; nginx -tq")
    assert machine.shell("ls /usr/bin/apientidades* /lib/systemd/system/apientidades* 2>/dev/null || true") == ""
    assert installation.api("GET", "/apientidades/v1/webhooks").status == 502


def test_installed_again_it_goes_on(machine, installation, next_package):
    apt(machine, next_package)
    installation.wait_working()
    entity = installation.entity()
    hook = entity.register()
    entity.notify()
    installation.receiver.wait(hook.path, timeout=30)


def test_purged_nothing_is_left_but_certificates_the_database_and_its_keys(machine, installation, figure):
    keys = machine.shell("cat /etc/apientidades/secrets.keys")
    machine.shell("rm -rf /etc/letsencrypt")  # the operator's certbot hook, made as docs/operations.md says
    purged = machine.run("apt-get", "-q", "-y", "purge", "apientidades", timeout=300)
    assert machine.shell(LEFT) == "/etc/apientidades"
    assert machine.shell("ls -d /run/apientidades* 2>/dev/null || true") == ""
    certificates = machine.shell("find /etc/apientidades ! -type d").splitlines()
    assert sorted(certificates) == ["/etc/apientidades/tls/fullchain.pem", "/etc/apientidades/tls/privkey.pem"], "the operator's own"
    assert "The database stays" in purged.stdout + purged.stderr
    assert all(file in purged.stdout + purged.stderr for file in certificates)
    assert machine.shell("cat /var/backups/apientidades-secrets.keys") == keys
    assert installation.sql("SELECT COUNT(*) FROM entidades")[0][0] != "0"
    machine.run("nginx", "-tq")
    wait_until(lambda: installation.property("nginx", "ActiveState") == "active", 10)
    assert machine.shell("systemctl --failed --plain --no-legend") == ""
    figure("purge: nothing left but the operator's certificates, the database, a copy of its keys, and the system users")
