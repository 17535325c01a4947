"""`systemctl restart apientidades.target` fails where a unit of it fails; what goes on, goes on."""
from support.installation import DISPATCHER, POOL, SERVICES
from support.load import Load
from support.wait import wait_until


def active(installation, unit: str) -> bool:
    return installation.property(unit, "ActiveState") == "active"


def test_a_restart_fails_where_a_unit_does_and_stops_no_other(machine, installation):
    listening_since = installation.property("apientidades-fcgi.socket", "ActiveEnterTimestampMonotonic")
    machine.shell("mv /etc/apientidades/dispatcher.password /root")
    try:
        with Load(installation) as load:
            result = machine.run("systemctl", "restart", "apientidades.target", check=False)
            assert result.returncode == 1, result
            assert f"{DISPATCHER}.service" in installation.journal("apientidades-started")
            assert all(active(installation, unit) for unit in POOL)
            machine.shell("mv /root/dispatcher.password /etc/apientidades")
            load.goes_on()
        losses = load.losses()
    finally:
        machine.shell("[ ! -e /root/dispatcher.password ] || mv /root/dispatcher.password /etc/apientidades")
    assert losses.lost_requests == 0 and losses.lost_deliveries == 0
    assert installation.property("apientidades-fcgi.socket", "ActiveEnterTimestampMonotonic") == listening_since
    installation.systemctl("restart", "apientidades.target")
    assert all(active(installation, unit) for unit in ("apientidades.target", *SERVICES))
    installation.wait_working()


def test_what_starts_after_all_does_not_fail_the_restart(installation):
    """The dispatcher ends once, and systemd starts it again."""
    once = "if mkdir /run/apientidades-dispatcher/once; then exit 1; fi; exec /usr/bin/apientidades-dispatcher"
    installation.drop_in(f"{DISPATCHER}.service", f"[Service]\nExecStart=\nExecStart=/bin/sh -c '{once}'\n")
    try:
        installation.systemctl("restart", "apientidades.target")
    finally:
        installation.drop_in(f"{DISPATCHER}.service", "")
    installation.systemctl("restart", "apientidades.target")
    installation.wait_working()


def test_a_masked_unit_is_not_waited_for(installation):
    installation.systemctl("mask", "--runtime", "--now", DISPATCHER)
    try:
        installation.systemctl("restart", "apientidades.target")
    finally:
        installation.systemctl("unmask", "--runtime", DISPATCHER)
    installation.systemctl("restart", "apientidades.target")
    installation.wait_working()


def test_a_stop_after_a_failed_restart_stops_all(machine, installation):
    machine.shell("mv /etc/apientidades/dispatcher.password /root")
    try:
        machine.run("systemctl", "restart", "apientidades.target", check=False)
    finally:
        machine.shell("mv /root/dispatcher.password /etc/apientidades")
    installation.systemctl("stop", "apientidades.target")
    for unit in ("apientidades-fcgi.socket", *SERVICES):  # what could not start is `failed`
        wait_until(lambda: installation.property(unit, "ActiveState") in ("inactive", "failed"), 60, f"{unit} to stop")
    installation.systemctl("start", "apientidades.target")
    installation.wait_working()
