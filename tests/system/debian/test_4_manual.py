"""What only a real systemd can answer of docs/operations.md; tests/system/test_operations_manual.py runs its other commands."""
import pytest

from support import manual

BLOCKS = [block for block in manual.blocks() if block.kind == "sh system"]


@pytest.mark.parametrize("block", BLOCKS, ids=[f"{block.chapter}, line {block.line}" for block in BLOCKS])
def test_the_commands_work_and_print_what_the_manual_shows(machine, installation, block):
    printed = machine.shell(block.commands)
    assert manual.not_printed(block.shown, printed) == [], printed
    installation.wait_working()


def test_the_settings_of_the_database_are_in_force(machine, installation):
    assert machine.shell("mariadb -N -e 'SELECT @@innodb_log_file_size >> 20, @@innodb_buffer_pool_size >> 20'").split() == [
        "1024", "1024"]
