"""`db migrate` during a backup: it waits briefly, says how to find the session of the backup, and lets the service go
on."""
import contextlib
import re
import shutil
import subprocess

import pytest

from support.sql import SqlSession
from support.stack import ROOT, setting

COLUMN = ("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()"
          " AND table_name = 'entregas' AND column_name = 'anotacion'")


@pytest.fixture
def migrate(stack, tmp_path):
    """Yields a function that starts `db migrate` with one more migration, which changes `entregas`. The process writes to
    pipes. After the test the database is as before."""
    folder = shutil.copytree(ROOT / "sql/migrations", tmp_path / "migrations")
    number = len(list(folder.iterdir())) + 1
    (folder / f"{number:04}_prueba.sql").write_text("ALTER TABLE entregas ADD COLUMN anotacion INT NULL;\n")
    arguments, environment = stack.command_of("dispatcher")
    environment |= setting(database_user="apientidades_admin",
                           database_password_file=f"{stack.env['SECRETS_DIR']}/admin.password")
    program = [arguments[0].replace("dispatcher", "admin"), *arguments[1:], "db", "migrate", "--migrations", folder]
    with contextlib.ExitStack() as started:
        def start(*options):
            process = subprocess.Popen([*program, *options], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True)
            started.callback(process.wait)
            started.callback(process.kill)
            return process

        yield start
    if stack.value(COLUMN) == "1":
        stack.sql("ALTER TABLE entregas DROP COLUMN anotacion")
    stack.sql(f"DELETE FROM migraciones WHERE numero = {number}")
    stack.sql("UPDATE migracion_guardia SET duena = NULL, hasta = NULL")


@pytest.fixture
def backup(stack):
    """Returns the id of a connection with an open transaction that has read `entregas`."""
    session = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")
    session("START TRANSACTION")
    session("SELECT COUNT(*) FROM entregas")
    yield session("SELECT CONNECTION_ID()")[0][0]
    session.close()


def test_a_migration_waits_for_a_backup_without_blocking(stack, entity, migrate, backup):
    running = migrate()
    assert running.stdout.readline().endswith("_prueba.sql\n")
    assert re.match("held up: .*try 1 of 12", running.stdout.readline())
    hook = entity.register()
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
    # The operator's database user may not see the session; the program prints the query for a user who may.
    assert "may not see who" in running.stdout.readline()
    [[holder, *_], *_] = stack.sql(running.stdout.readline())
    assert holder == backup
    stack.sql(f"KILL {holder}")
    out, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, "") and "1 of " in out, (out, err)
    assert stack.value(COLUMN) == "1"


def test_a_migration_that_gives_up_changes_nothing(stack, migrate, backup):
    running = migrate("--tries", "1")
    out, err = running.communicate(timeout=60)
    assert running.returncode == 1 and "try 1 of 1)" in out, (out, err)
    assert "was not applied" in err and "Nothing was changed" in err and "`apientidades-admin db migrate` goes on" in err
    assert len(err.splitlines()) == 1 and stack.value(COLUMN) == "0"
