"""Runs commands of docs/operations.md on a real systemd: the blocks marked `sh system`, and the chapters in WHOLE, except their
blocks with curl. tests/system/test_operations_manual.py runs the blocks marked `sh`, on a private stack."""
import pytest

from support import manual

WHOLE = ["Install", "Configure", "Watch", "Pause in an emergency", "Drain", "Back up", "Restore", "Rotate", "Upgrade",
         "The queue grows", "The database is full", "Clients get 429", "A certificate has expired", "A program does not start"]
BLOCKS = [block for block in manual.blocks() if block.kind == "sh system" or
          block.chapter in WHOLE and "curl" not in block.commands]  # the machine has no curl


@pytest.fixture(scope="module")
def variables(installation):
    entity = installation.entity()
    hook, token = entity.register(), installation.admin("token", "list", "--entity", entity.id)[0]
    return f"ENTITY={entity.id} WEBHOOK={hook.id} TOKEN_ID={token['id']}; cd /root\n"


@pytest.mark.parametrize("block", BLOCKS, ids=[f"{block.chapter}, line {block.line}" for block in BLOCKS])
def test_the_commands_work_and_print_what_the_manual_shows(machine, installation, variables, block):
    printed = machine.shell(variables + block.commands.replace("--watch", "--watch & sleep 3; kill $!; wait $!"))
    assert manual.not_printed(block.shown, printed) == [], printed
    if "stop apientidades.target" not in block.commands:  # a later block starts it again
        installation.wait_working()


def test_the_service_delivers_afterwards(installation):
    entity = installation.entity()
    hook = entity.register()
    entity.notify()
    installation.receiver.wait(hook.path, timeout=30)


def test_the_settings_of_the_database_are_in_force(machine, installation):
    assert machine.shell("mariadb -N -e 'SELECT @@innodb_log_file_size >> 20, @@innodb_buffer_pool_size >> 20'").split() == [
        "1024", "1024"]
