"""Under load: a restarted program loses nothing; a killed or frozen program, or one without its database, recovers by
itself."""
import contextlib
import signal

import pytest

from support.actors import BASE
from support.installation import DISPATCHER, POOL, SERVICES
from support.load import Load
from support.wait import wait_until
from support.wire import Client


@pytest.mark.parametrize("command", [
    ("restart", "apientidades-fcgi@1"), ("restart", *POOL), ("restart", DISPATCHER), ("restart", "apientidades.target"),
    ("reload", *POOL, DISPATCHER), ("reload", "nginx")], ids=" ".join)
def test_a_restart_loses_and_repeats_nothing(installation, command, figure):
    with Load(installation) as load:
        for _ in range(3):
            installation.systemctl(*command)
            load.goes_on()
    losses = load.losses()
    figure(f"systemctl {' '.join(command)}, 3 times: {losses}")
    assert losses.lost_requests == 0 and losses.lost_deliveries == 0 and losses.repeated == 0


def test_a_reload_that_takes_a_changed_configuration_loses_nothing(machine, installation, figure):
    more = "/etc/apientidades/apientidades.conf.d/reload.conf"
    processes = [installation.pid(unit) for unit in SERVICES]

    def differs() -> bool:
        return machine.run("apientidades-admin", "config", "diff", check=False).returncode == 1

    def reload() -> None:
        installation.systemctl("reload", *POOL, DISPATCHER)
        wait_until(lambda: not differs(), 60, "the configuration to be taken")
    assert not differs()
    try:
        with Load(installation) as load:
            for hours in (1, 2, 3):
                machine.shell(f"printf '[delivery]\\nretry_after_max = {hours}h\\n' >{more}")
                assert differs()
                reload()
                load.goes_on()
    finally:
        machine.shell(f"rm -f {more}")
        reload()
    losses = load.losses()
    figure(f"a reload of a changed configuration, 3 times: {losses}")
    assert losses.lost_requests == 0 and losses.lost_deliveries == 0 and losses.repeated == 0
    assert [installation.pid(unit) for unit in SERVICES] == processes


def test_rights_that_are_granted_again_were_there_all_along(machine, installation, figure):
    with Load(installation) as load:
        for _ in range(5):
            machine.run("apientidades-setup-database", "--upgrade")
            load.goes_on()
    losses = load.losses()
    figure(f"apientidades-setup-database --upgrade, 5 times: {losses}")
    assert losses.lost_requests == 0 and losses.lost_deliveries == 0 and losses.repeated == 0


def test_the_socket_is_kept_by_a_restart_and_closed_by_a_stop(installation):
    listening_since = installation.property("apientidades-fcgi.socket", "ActiveEnterTimestampMonotonic")
    installation.systemctl("restart", "apientidades.target")
    assert installation.property("apientidades-fcgi.socket", "ActiveEnterTimestampMonotonic") == listening_since
    with Load(installation):  # a request during the stop must not start the service again
        installation.systemctl("stop", "apientidades.target")
        for unit in ("apientidades-fcgi.socket", *SERVICES):
            wait_until(lambda: installation.property(unit, "ActiveState") == "inactive", 60, f"{unit} to stop")
        assert installation.systemctl("list-jobs", "--plain", "--no-legend", "apientidades*") == ""
        installation.systemctl("start", "apientidades.target")
        installation.wait_working()


def kill(machine, installation, unit: str, number=signal.SIGKILL) -> None:
    """Signals a unit's process, inside the machine."""
    machine.run("kill", f"-{int(number)}", installation.pid(unit))


@pytest.mark.parametrize("unit", [*SERVICES, "mariadb", "nginx"])
def test_a_killed_process_comes_back(machine, installation, unit, figure):
    with Load(installation) as load:
        before = installation.pid(unit)
        kill(machine, installation, unit)
        if unit == "nginx":  # Debian's unit does not restart it: the administrator does
            installation.systemctl("restart", unit)
        wait_until(lambda: installation.pid(unit) not in (0, before), 30, f"{unit} to be started again")
        load.goes_on()
    losses = load.losses()
    figure(f"SIGKILL {unit}: {losses}")
    assert losses.lost_deliveries == 0
    if unit == DISPATCHER:
        assert losses.lost_requests == 0
    if unit in POOL:  # only the requests in that process may be lost
        assert losses.lost_requests <= Load.CLIENTS
    assert unit == DISPATCHER or losses.repeated == 0 or unit in ("mariadb",)


def test_the_database_stopped_for_30_seconds(installation, figure):
    with Load(installation) as load:
        installation.systemctl("stop", "mariadb")
        for unit in (DISPATCHER,):
            wait_until(lambda: "database" in installation.status(unit), 30, f"{unit} to say that it waits")
        pids = [installation.pid(unit) for unit in SERVICES]
        wait_until(lambda: load.seconds_without_rows() > 30, 60, "30 seconds to pass")
        installation.systemctl("start", "mariadb")
        load.goes_on()
        assert [installation.pid(unit) for unit in SERVICES] == pids  # no program had to be restarted
    losses = load.losses()
    figure(f"database stopped for 30 s: {losses}")
    assert losses.lost_deliveries == 0
    assert set(losses.answers) <= {200, 503}


def test_started_before_the_database(installation):
    installation.systemctl("stop", "apientidades.target", "mariadb")
    installation.systemctl("start", "apientidades.target")
    for unit in SERVICES:
        wait_until(lambda: "waiting for the database" in installation.status(unit), 30, f"{unit} to wait")
    installation.systemctl("start", "mariadb")
    installation.wait_working()


@pytest.mark.parametrize("unit", [DISPATCHER, POOL[0]])
def test_the_watchdog_acts_on_a_frozen_process(machine, installation, unit, figure, request):
    request.addfinalizer(lambda: installation.drop_in(f"{unit}.service", ""))
    installation.drop_in(f"{unit}.service", "[Service]\nWatchdogSec=4s\n")
    installation.systemctl("restart", unit)
    with Load(installation) as load:
        before = installation.pid(unit)
        kill(machine, installation, unit, signal.SIGSTOP)
        wait_until(lambda: installation.pid(unit) not in (0, before), 40, "the watchdog to act")
        load.goes_on()
    assert "watchdog" in installation.journal(unit).lower()
    losses = load.losses()
    figure(f"SIGSTOP {unit}, watchdog of 4 s: {losses}")
    assert losses.lost_deliveries == 0
    if unit == DISPATCHER:
        assert losses.lost_requests == 0
    else:
        assert losses.lost_requests <= Load.CLIENTS


def test_what_fails_again_and_again_is_tried_less_often_and_heals(installation, figure):
    installation.drop_in(f"{DISPATCHER}.service", "[Service]\nExecStart=\nExecStart=/bin/false\nType=exec\n")
    try:
        installation.systemctl("restart", DISPATCHER, check=False)
        wait_until(lambda: "started again in 4 s" in installation.journal(DISPATCHER), 90, "the wait to grow", every=0.5)
    finally:
        installation.drop_in(f"{DISPATCHER}.service", "")
    wait_until(lambda: installation.property(DISPATCHER, "ActiveState") == "active", 60, "the dispatcher to be started again")
    figure("a dispatcher that fails at once is started again after ever longer waits, and heals by itself")


def test_a_full_disk_of_the_log(machine, installation, figure):
    machine.shell("""mount -t tmpfs -o size=4m tmpfs /var/log
        mkdir -p /var/log/nginx /var/log/journal && systemctl restart systemd-journald && nginx -s reopen
        dd if=/dev/zero of=/var/log/filler bs=64k 2>/dev/null || true""")
    try:
        with Load(installation) as load:
            installation.systemctl("restart", *POOL, DISPATCHER)
            # Fills the disk once more, because journald frees what it has reserved.
            free = machine.shell("cat /dev/zero >>/var/log/filler 2>/dev/null || true; df --output=avail /var/log | tail -n 1")
            load.goes_on()
        losses = load.losses()
        figure(f"disk of the log full ({free.strip()} KiB free): {losses}")
        assert free.strip() == "0"
        assert losses.lost_requests == 0 and losses.lost_deliveries == 0 and losses.repeated == 0
    finally:
        machine.shell("umount -l /var/log; systemctl restart systemd-journald; nginx -s reopen")


def test_a_journal_that_takes_nothing_stops_nothing(machine, installation, figure):
    journald = machine.run("systemctl", "show", "--property=MainPID", "--value", "systemd-journald").stdout.strip()
    with Load(installation) as load:
        machine.run("kill", "-STOP", journald)
        try:
            for _ in range(1000):  # the API logs every request; the journal's socket holds 512 messages
                assert load.entity.api("GET", BASE).status == 200
            load.goes_on()
        finally:
            machine.run("kill", "-CONT", journald)
        load.goes_on()
    losses = load.losses()
    figure(f"SIGSTOP journald: {losses}")
    assert losses.lost_requests == 0 and losses.lost_deliveries == 0 and losses.repeated == 0


def test_a_wrong_configuration_is_told_and_once_mended_all_is_well(machine, installation):
    file = machine.root / "etc/apientidades/apientidades.conf"
    before = file.read_text()
    file.write_text(before + "\n[api]\nthread = 1\n")
    try:
        assert machine.run("systemctl", "restart", "apientidades.target", check=False).returncode == 1
        for unit in SERVICES:
            wait_until(lambda: installation.property(unit, "ActiveState") == "failed", 30, f"{unit} to give up")
            assert "api.thread" in installation.journal(unit)
        for _ in range(5):  # a connection may start a service, which fails: that must not stop the socket for good
            impatient = Client("https://localhost:443", installation.authority[0], timeout=1)
            with contextlib.suppress(OSError):
                impatient("GET", BASE)
    finally:
        file.write_text(before)
        # Names the services, too: a client's connection may just have started a service with the wrong configuration.
        installation.systemctl("restart", "apientidades.target", *SERVICES)
    installation.wait_working()
