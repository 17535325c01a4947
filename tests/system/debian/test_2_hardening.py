"""What the units and the database's users may do, on a machine with a real systemd."""
import re
import shutil
import subprocess

import pytest

from fakes.certificates import issue
from support.installation import DISPATCHER, POOL

LIMITS = {DISPATCHER: 1.5, POOL[0]: 0.5, "apientidades-notices": 1.5}

# A Perl program: prints which kinds of socket it may make, and whether it reaches nginx on this machine's loopback.
PROBE = """use Socket;
for ([AF_UNIX, "unix"], [AF_INET, "inet"], [AF_INET6, "inet6"], [16, "netlink"], [17, "packet"]) {
  print "probe $_->[1] ", (socket(my $s, $_->[0], SOCK_DGRAM, 0) ? "made" : "refused"), "\\n"; }
socket(my $s, AF_INET, SOCK_STREAM, 0);
print "probe nginx ", (connect($s, pack_sockaddr_in(443, inet_aton("127.0.0.1"))) ? "reached" : "unreachable"), "\\n";
"""


@pytest.mark.parametrize("unit", LIMITS)
def test_exposure(machine, unit, figure):
    last = machine.run("systemd-analyze", "security", "--no-pager", f"{unit}.service", check=False).stdout.splitlines()[-1]
    score = float(re.search(r": ([0-9.]+) ", last).group(1))
    figure(f"systemd-analyze security {unit}: {score} (at most {LIMITS[unit]})")
    assert score <= LIMITS[unit]


@pytest.mark.parametrize("name", ["apientidades-fcgi@1", "apientidades-dispatcher"])
def test_each_service_runs_without_privileges(machine, installation, name):
    status = (machine.root / f"proc/{installation.pid(name)}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split()[0] != "0" and fields["Seccomp"] == "2" and fields["NoNewPrivs"] == "1"
    assert int(fields["CapBnd"], 16) == 0


@pytest.mark.parametrize("name", [POOL[0], DISPATCHER])
def test_a_crash_writes_no_memory_to_the_disk(machine, installation, name):
    """The memory has keys and secrets."""
    assert (installation.property(name, "LimitCORE"), installation.property(name, "LimitCORESoft")) == ("0", "0")
    limits = (machine.root / f"proc/{installation.pid(name)}/limits").read_text()
    assert re.search(r"^Max core file size +0 +0 ", limits, re.M), limits


@pytest.mark.parametrize("name, memory, tasks", [(POOL[0], 512 << 20, 320), (DISPATCHER, 1 << 30, 64)])
def test_a_fault_takes_no_more_than_its_share_of_the_host(installation, name, memory, tasks):
    assert (installation.property(name, "MemoryHigh"), installation.property(name, "TasksMax")) == (str(memory), str(tasks))
    status = (installation.machine.root / f"proc/{installation.pid(name)}/status").read_text()
    used = {field: int(re.search(rf"^{field}:\s+(\d+)", status, re.M).group(1)) for field in ("VmHWM", "Threads")}
    assert used["VmHWM"] << 10 < memory / 4 and used["Threads"] < tasks / 2, used


def probe(installation, instance: str, more: str = "") -> dict:
    """Runs PROBE in an instance of the pool's unit, with `more` added to its [Service]; returns what PROBE printed."""
    unit = f"apientidades-fcgi@{instance}.service"
    (installation.machine.root / "usr/local/share/probe.pl").write_text(PROBE)
    installation.drop_in(unit, "[Unit]\nOnFailure=\n[Service]\nType=oneshot\nWatchdogSec=0\nRestart=no\nRestartForceExitStatus=\nExecStart=\n"
                               f"ExecStart=/usr/bin/perl /usr/local/share/probe.pl\n{more}")
    try:
        installation.systemctl("start", unit)
        said = re.findall(r"^probe (\w+) (\w+)$", installation.journal(unit), re.M)
    finally:
        installation.drop_in(unit, "")
    return dict(said)


def test_the_pool_reaches_no_network(installation, figure):
    seen = probe(installation, "sealed")
    assert seen == {"unix": "made", "inet": "refused", "inet6": "refused", "netlink": "refused", "packet": "refused",
                    "nginx": "unreachable"}
    assert probe(installation, "family", "RestrictAddressFamilies=AF_UNIX AF_INET\n")["nginx"] == "unreachable"
    # The probe works: without the sandbox's barriers it reaches nginx.
    free = "RestrictAddressFamilies=AF_UNIX AF_INET\nPrivateNetwork=no\nIPAddressDeny=\n"
    assert probe(installation, "free", free)["nginx"] == "reached"
    figure("the pool makes sockets of: " + ", ".join(kind for kind, made in seen.items() if made == "made"))


def test_a_remote_database_with_the_documented_drop_in(machine, installation):
    """Runs the commands of docs/installation.md, with the database at 127.0.0.1 and an administrator who has a password."""
    configuration = machine.root / "etc/apientidades/apientidades.conf"
    before = configuration.read_text()
    machine.run("mariadb", "-e", "GRANT ALL ON *.* TO dba@localhost IDENTIFIED BY 'contrasena' WITH GRANT OPTION")
    try:
        configuration.write_text(before + "\n[database]\nhosts = 127.0.0.1:3306\n")
        machine.shell("""mkdir -p /etc/systemd/system/apientidades-fcgi@.service.d
            cp /usr/share/doc/apientidades/examples/remote-database.conf /etc/systemd/system/apientidades-fcgi@.service.d/
            systemctl daemon-reload && systemctl restart apientidades.target
            MYSQL_PWD=contrasena apientidades-setup-database --user dba --from localhost --evaluation-from localhost""")
        installation.wait_working()
        assert machine.shell("mariadb -N -e \"SELECT COUNT(*) FROM information_schema.processlist "
                             "WHERE user = 'apientidades_api' AND host LIKE 'localhost:%'\"") != "0"
    finally:
        configuration.write_text(before)
        machine.shell("""rm -r /etc/systemd/system/apientidades-fcgi@.service.d; mariadb -e 'DROP USER dba@localhost'
            systemctl daemon-reload && systemctl restart apientidades.target""")
    installation.wait_working()


ADDRESS, NAME = "10.9.9.9", "bd.ejemplo.es"  # of the database in the fixture `elsewhere`
USERS = ["apientidades_admin", "apientidades_api", "apientidades_dispatcher", "apientidades_notices", "evaluacion"]


@pytest.fixture
def elsewhere(machine, installation):
    """Makes the database listen, with a certificate, at ADDRESS, which is not a loopback address. Yields a function that points
    `database.hosts` to NAME and appends `text` to the configuration."""
    configuration, hosts = machine.root / "etc/apientidades/apientidades.conf", machine.root / "etc/hosts"
    before, names = configuration.read_text(), hosts.read_text() if hosts.exists() else ""
    options = machine.root / "etc/mysql/mariadb.conf.d/99-tests.cnf"
    for file, name in zip(issue(installation.certificates, installation.authority, "database", NAME), ("db.pem", "db.key")):
        shutil.copy(file, machine.root / "etc/mysql" / name)
    subprocess.run(["ip", "addr", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
    hosts.write_text(f"{names}\n{ADDRESS} {NAME}\n")
    options.write_text("[mysqld]\nbind-address = 0.0.0.0\nskip-name-resolve\nssl-cert = /etc/mysql/db.pem\nssl-key = /etc/mysql/db.key\n"
                       "ssl-ca = /usr/local/share/tests-ca.pem\n")
    machine.shell("chown mysql: /etc/mysql/db.*; systemctl restart mariadb")
    machine.run("mariadb", "-e", f"GRANT ALL ON *.* TO dba@'{ADDRESS}' IDENTIFIED BY 'contrasena' WITH GRANT OPTION")
    yield lambda text: configuration.write_text(f"{before}\n[database]\nhosts = {NAME}:3306\n{text}")
    configuration.write_text(before)
    hosts.write_text(names)
    options.unlink()
    drop = "; ".join(f"DROP USER IF EXISTS {user}@'{ADDRESS}', {user}@'%'" for user in [*USERS, "dba"])
    machine.shell(f"""mariadb -e "{drop}"; rm /etc/mysql/db.*; systemctl restart mariadb; apientidades-setup-database""")
    subprocess.run(["ip", "addr", "del", f"{ADDRESS}/32", "dev", "lo"], check=True)
    installation.wait_working()


def test_the_users_of_a_database_elsewhere_come_from_here_alone_and_with_tls(machine, installation, elsewhere):
    def setup(check=True, arguments=f"--evaluation-from {ADDRESS}"):
        return machine.run("bash", "-c", f"MYSQL_PWD=contrasena apientidades-setup-database --user dba {arguments}", check=check).stderr

    def users(host):
        return installation.sql(f"SELECT user, ssl_type FROM mysql.user WHERE host = '{host}' AND user <> 'dba' ORDER BY user")

    elsewhere("")
    assert "set database.tls_ca" in setup(check=False)
    assert users(ADDRESS) == []
    installation.sql(f"CREATE USER apientidades_api@'%' IDENTIFIED BY 'x'; CREATE USER evaluacion@'{ADDRESS}' IDENTIFIED BY 'x'")
    elsewhere("tls_ca = /usr/local/share/tests-ca.pem\n")
    assert "--evaluation-from HOST" in setup(check=False, arguments="")
    said = setup()  # apientidades-setup-database migrates as one of the new users
    assert users(ADDRESS) == [[user, "ANY"] for user in USERS]
    assert users("%") == [["apientidades_api", ""]]
    for user in USERS:
        assert f"user '{user}'@'{ADDRESS}', REQUIRE SSL" in said
    assert re.findall("DROP USER .*", said) == ["DROP USER 'apientidades_api'@'%'"]
    # INSERTs and the views must work without apientidades_admin@localhost, the earlier definer of one.
    definers = "SELECT table_name, definer FROM information_schema.views WHERE table_schema = 'apientidades' ORDER BY table_name"
    assert installation.sql(definers) == [["destinatarios", "apientidades_triggers@localhost"],
                                          ["notificaciones_comprobadas", "apientidades_triggers@localhost"],
                                          ["notificaciones_resultado", f"apientidades_admin@{ADDRESS}"]]
    installation.sql("DROP USER apientidades_admin@localhost")
    installation.sql("INSERT INTO apientidades.entidades (id, nombre) VALUES (77, 'x');"
                     " INSERT INTO apientidades.notificaciones_pendientes (entidad_id, evento, datos) VALUES (77, 'evaluacion.abierta', '{}')")
    assert installation.sql("SELECT COUNT(*) FROM apientidades.notificaciones_resultado WHERE entidad_id = 77") == [["1"]]


def rights(installation, user):
    """Rights on columns, tables and the database."""
    where = f"table_schema = 'apientidades' AND grantee = CONCAT(QUOTE('{user}'), '@', QUOTE('localhost'))"
    places = (("column_privileges", "CONCAT(table_name, '.', column_name)"), ("table_privileges", "table_name"), ("schema_privileges", "'*'"))
    return sorted(installation.sql(" UNION ALL ".join(
        f"SELECT privilege_type, {place}, is_grantable FROM information_schema.{table} WHERE {where}" for table, place in places)))


def test_what_a_version_does_not_need_is_withdrawn_and_nothing_else(machine, installation):
    """An earlier release may have left rights that this release does not need. Rights on other databases stay."""
    before = rights(installation, "apientidades_api")
    user = "apientidades_api@localhost"
    installation.sql("CREATE DATABASE otra; CREATE TABLE otra.t (a INT); CREATE TABLE apientidades.`mi-tabla` (`una columna` INT);"
                     f" GRANT SELECT (a) ON otra.t TO {user};"
                     f" GRANT SELECT (fecha_alta), UPDATE (caduca) ON apientidades.tokens_acceso TO {user};"
                     f" GRANT SELECT ON apientidades.tokens_acceso TO {user} WITH GRANT OPTION;"
                     f" GRANT SELECT (`una columna`), DELETE ON apientidades.`mi-tabla` TO {user};"
                     f" GRANT DELETE ON apientidades.* TO {user} WITH GRANT OPTION")
    try:
        assert len(rights(installation, "apientidades_api")) > len(before) + 3
        with_surplus = rights(installation, "apientidades_api")
        machine.run("apientidades-setup-database")
        assert rights(installation, "apientidades_api") == with_surplus, "an earlier version may still run"
        machine.run("apientidades-setup-database", "--withdraw")
        assert rights(installation, "apientidades_api") == before
        assert installation.sql("SELECT COUNT(*) FROM information_schema.column_privileges WHERE table_schema = 'otra'") == [["1"]]
        assert "stays" not in machine.run("apientidades-setup-database", "--withdraw").stderr
    finally:
        installation.sql(f"DROP DATABASE otra; REVOKE SELECT (a) ON otra.t FROM {user}; DROP TABLE apientidades.`mi-tabla`")
    installation.wait_working()


def test_triggers_of_another_definer_are_made_again(machine, installation):
    """A restored dump or an earlier release can leave triggers of another definer. If that definer does not exist, no INSERT works."""
    definer = "SELECT DISTINCT definer FROM information_schema.triggers WHERE trigger_schema = 'apientidades'"
    installation.sql("USE apientidades; DROP TRIGGER numero_no_es_cero; CREATE DEFINER = 'otro'@'%' TRIGGER numero_no_es_cero"
                     " AFTER INSERT ON notificaciones_pendientes FOR EACH ROW DO 0")
    machine.run("apientidades-setup-database")
    assert installation.sql(definer) == [["apientidades_triggers@localhost"]]


def test_an_upgrade_waits_for_the_administrator_of_a_database_elsewhere_where_it_needs_new_rights(machine, installation, elsewhere):
    """This machine's root may grant nothing on a database elsewhere. Without their new rights the new programs would fail, so the
    upgrade stops until the database's administrator has granted these rights."""
    elsewhere("tls_ca = /usr/local/share/tests-ca.pem\n")
    setup = f"MYSQL_PWD=contrasena apientidades-setup-database --user dba --evaluation-from {ADDRESS}"
    machine.shell(setup)
    machine.run("apientidades-setup-database", "--upgrade")
    for user, column, table in (("api", "solo_lectura", "tokens_acceso"), ("dispatcher", "activa", "entidades")):
        installation.sql(f"REVOKE SELECT ({column}) ON apientidades.{table} FROM apientidades_{user}@'{ADDRESS}'")
        refused = machine.run("apientidades-setup-database", "--upgrade", check=False)
        assert refused.returncode == 1 and f"apientidades_{user} has not yet" in refused.stderr and column in refused.stderr
        machine.shell(setup)
    machine.run("apientidades-setup-database", "--upgrade")
    installation.sql(f"GRANT SELECT (paso) ON apientidades.entregas TO apientidades_api@'{ADDRESS}'")
    machine.shell("MYSQL_PWD=contrasena apientidades-setup-database --user dba --withdraw")
    assert "paso" not in str(installation.sql(f"SHOW GRANTS FOR apientidades_api@'{ADDRESS}'"))
