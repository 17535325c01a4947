"""`apientidades-admin config check && systemctl restart apientidades.target` is a promise: what would take a program down makes the
check fail. test_3_failed_restart.py has what the restart promises."""
import pytest

AS_API, AS_DISPATCHER = ("(as the unit's user apientidades-api)", "(as the unit's user apientidades-dispatcher)")
MORE = "/etc/apientidades/apientidades.conf.d/tests.conf"

# what is wrong: (the command that breaks it, the one that mends it, the exit status, what the check says)
BROKEN = {
    "folder": ("chmod 700 .", "chmod 755 .", 2, ["apientidades.conf: Permission denied", AS_API, AS_DISPATCHER]),
    "folder beside": ("chmod 700 apientidades.conf.d", "chmod 755 apientidades.conf.d", 2,
                      ["apientidades.conf.d: Permission denied", AS_API]),
    "configuration": ("chmod 600 apientidades.conf", "chmod 644 apientidades.conf", 2,
                      ["apientidades.conf: Permission denied", AS_API, AS_DISPATCHER]),
    "keys of root alone": ("chmod 600 secrets.keys", "chmod 640 secrets.keys", 2,
                           ["secrets.key_file: /etc/apientidades/secrets.keys: Permission denied", AS_API, AS_DISPATCHER]),
    "keys of all": ("chmod 644 secrets.keys", "chmod 640 secrets.keys", 2, ["chmod o= /etc/apientidades/secrets.keys"]),
    "keys that are hidden": (f"cp -a secrets.keys /tmp; echo '[secrets]\nkey_file = /tmp/secrets.keys' >{MORE}",
                             f"rm {MORE} /tmp/secrets.keys", 2, ["/tmp/secrets.keys: the units see nothing below", AS_API]),
    "authorities": (f"install -m 600 /etc/ssl/certs/ca-certificates.crt ca.pem; echo '[delivery]\nca_file = /etc/apientidades/ca.pem' >{MORE}",
                    f"rm {MORE} ca.pem", 2, ["delivery.ca_file: /etc/apientidades/ca.pem: Permission denied", AS_DISPATCHER]),
    "socket": ("chmod 700 /run/mysqld", "chmod 755 /run/mysqld", 2,
               ["database.socket: /run/mysqld/mysqld.sock: Permission denied", AS_API, AS_DISPATCHER]),
    "no network": (f"echo '[database]\nhosts = localhost\ntls_ca = /etc/ssl/certs/ca-certificates.crt' >{MORE}", f"rm {MORE}", 2,
                   ["database.hosts: the API's unit has no network: copy /usr/share/doc/apientidades/examples/remote-database.conf to "]),
    "source address": (f"echo '[delivery]\nsource_addresses = 203.0.113.9' >{MORE}", f"rm {MORE}", 1,
                       ["delivery.source_addresses: this host has no address 203.0.113.9"]),
    "password of all": ("chmod 644 api.password", "chmod 600 api.password", 2, ["chmod o= /etc/apientidades/api.password"]),
    "password of root alone": (
        f"echo '[database]\nuser = apientidades_admin\npassword_file = /etc/apientidades/admin.password' >{MORE}", f"rm {MORE}", 2,
        ["database.password_file: /etc/apientidades/admin.password: Permission denied", AS_API, AS_DISPATCHER]),
    "password missing": ("mv dispatcher.password lost", "mv lost dispatcher.password", 2,
                         ["database.password_file: /etc/apientidades/dispatcher.password: No such file"]),
    "password empty": ("cp -a dispatcher.password kept; : >dispatcher.password", "mv kept dispatcher.password", 2,
                       ["dispatcher.password: is empty"]),
    "password wrong": ("cp -a dispatcher.password kept; echo wrong >dispatcher.password", "mv kept dispatcher.password", 1,
                       ["Access denied for user 'apientidades_dispatcher'"]),
    "password wrong, of the API": ("cp -a api.password kept; echo wrong >api.password", "mv kept api.password", 1,
                                   ["Access denied for user 'apientidades_api'"]),
    "account missing": ("mariadb -e 'RENAME USER apientidades_dispatcher@localhost TO otro@localhost'",
                        "mariadb -e 'RENAME USER otro@localhost TO apientidades_dispatcher@localhost'", 1,
                        ["Access denied for user 'apientidades_dispatcher'"]),
    "migration missing": ("mariadb apientidades -e 'CREATE TABLE kept SELECT * FROM migraciones; DELETE FROM migraciones ORDER BY numero DESC LIMIT 1'",
                          "mariadb apientidades -e 'REPLACE INTO migraciones SELECT * FROM kept; DROP TABLE kept'", 1, ["db migrate"]),
    "database away": ("systemctl stop mariadb", "systemctl start mariadb", 1, ["/run/mysqld/mysqld.sock"]),
}


@pytest.mark.parametrize("what", BROKEN)
def test_the_check_finds_what_would_take_a_program_down(machine, installation, what):
    broken, mended, status, texts = BROKEN[what]
    check = ("apientidades-admin", "config", "check")
    machine.run(*check)
    machine.shell(f"cd /etc/apientidades; {broken}")
    try:
        result = machine.run(*check, check=False)
    finally:
        machine.shell(f"cd /etc/apientidades; {mended}")
    assert (result.returncode, result.stdout) == (status, ""), result
    for text in texts:
        assert text in result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == len(set(lines))
    assert "as it must be" in machine.run(*check).stdout
    installation.wait_working()


def test_a_drop_in_that_gives_the_api_a_network_is_seen(machine):
    """The check of the accounts still fails, because no server presents that certificate."""
    folder = "/etc/systemd/system/apientidades-fcgi@.service.d"
    machine.shell(f"mkdir {folder}; printf '[Service]\\nPrivateNetwork = false\\n' >{folder}/red.conf;"
                  f" printf '[database]\\nhosts = localhost\\ntls_ca = /etc/ssl/certs/ca-certificates.crt\\n' >{MORE}")
    try:
        result = machine.run("apientidades-admin", "config", "check", check=False)
    finally:
        machine.shell(f"rm -r {folder} {MORE}")
    assert result.returncode == 1 and "no network" not in result.stderr, result


def test_the_environment_of_the_caller_is_not_that_of_the_units(machine):
    result = machine.run("env", "APIENTIDADES_SECRETS_KEY_FILE=/nowhere", "apientidades-admin", "config", "check")
    assert "as it must be" in result.stdout


def test_who_is_not_root_gets_no_promise(machine, installation):
    nobody = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
    result = machine.run(*nobody, "apientidades-admin", "config", "check", check=False)
    assert (result.returncode, result.stdout) == (1, "") and "sudo apientidades-admin config check" in result.stderr, result
