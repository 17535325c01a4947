"""The manual's commands upgrade Debian 12 to 13, and replace the package by that for Debian 13; the database stays."""
import os
import re
import shutil
from pathlib import Path

import pytest
from fakes.receiver import Behaviour
from support.actors import BASE
from support.installation import SERVICES, manual
from support.load import Load
from support.wait import wait_until

CHAPTER = "A new release of Debian"
KEEP_OURS = "-o Dpkg::Options::=--force-confold"


@pytest.fixture(scope="module")
def package(machine, installation):
    """The package for the next release of Debian, in the folder where the manual expects it."""
    package = Path(os.environ["SYSTEM_NEXT_PACKAGE"])
    shutil.copy(package, machine.root / "root" / package.name)
    return package


def upgrade(machine, package) -> None:
    """Runs the commands of the manual. The machine has no network, so machine.fetch downloads the packages first."""
    stop, sources, system, service, start = manual(CHAPTER)
    machine.shell(stop)
    machine.shell(sources)
    machine.fetch("update")
    machine.fetch("--download-only", "full-upgrade")
    assert system == "apt update && apt full-upgrade"
    machine.shell(f"apt-get -q -y --no-download {KEEP_OURS} full-upgrade", timeout=900)
    machine.fetch("--download-only", "install", f"/root/{package.name}")
    machine.shell("cd /root; " + re.sub("apientidades_[^ ]*", package.name, service).replace("apt ", f"apt-get -q -y {KEEP_OURS} "),
                  timeout=300)
    machine.shell(start)


def versions(machine) -> str:
    return machine.shell("cat /etc/debian_version; systemctl --version | head -n 1; mariadbd --version; nginx -v 2>&1; "
                         "dpkg-query -W -f '${Package} ${Version}\\n' apientidades")


def test_nothing_is_lost_and_nothing_repeated(machine, installation, package, figure):
    figure(versions(machine))
    files = "cd /etc && find apientidades nginx/sites-available/apientidades.conf -maxdepth 1 -type f -name '*.*' | sort | xargs sha256sum"
    before = machine.shell(files)
    entity = installation.entity()
    waiting = entity.register()
    installation.receiver.behave(waiting.path, Behaviour(status=503, headers={"Retry-After": "3600"}))
    entity.notify()
    wait_until(lambda: entity.listed(waiting)["ultimoEstado"] == 503, 30, "an attempt that fails")
    with Load(installation) as load:  # Load writes notifications all the time, even while the API is away
        upgrade(machine, package)
        installation.wait_working()
        load.goes_on()
    losses = load.losses()
    figure(versions(machine))
    figure(f"upgrade of Debian 12 to 13: {losses}")
    assert machine.shell("cat /etc/debian_version").startswith("13")
    assert machine.shell(files) == before
    assert losses.lost_deliveries == 0 and losses.repeated == 0
    assert installation.sql(f"SELECT estado, intentos FROM entregas WHERE webhook_id = {waiting.id}") == [["pendiente", "1"]]


def test_a_new_notification_is_delivered_after_the_upgrade(machine, installation):
    entity = installation.entity()
    hook = entity.register()
    entity.notify()
    installation.receiver.wait(hook.path, timeout=30)
    assert entity.api("GET", BASE).status == 200
    assert machine.shell("systemctl --failed --plain --no-legend") == ""
    for unit in SERVICES:
        assert installation.property(unit, "NRestarts") == "0", unit


def test_the_next_start_finds_everything(machine, installation):
    installation.close_connections()
    machine.reboot()
    machine.enter_network()
    installation.open()
    installation.wait_working()
