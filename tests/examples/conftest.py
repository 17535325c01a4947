"""What the programs of the evaluation system need: examples/evaluacion, and writers."""
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from support.example_receivers import QUICK_JAVA, as_nobody


@pytest.fixture
def socket(stack):
    """Yields the path of a hard link to the database's socket. If the tests run as root, the examples run as the user
    `nobody`, who cannot enter the stack's folder but can enter the link's."""
    with tempfile.TemporaryDirectory(prefix="apie-example-", dir=Path(stack.folder).parent) as folder:
        who = as_nobody()
        if who:
            shutil.chown(folder, who["user"])
        os.link(stack.env["DB_SOCKET"], Path(folder, "db"))
        yield str(Path(folder, "db"))


@pytest.fixture
def variables(stack, socket):
    """The environment in which the programs run."""
    database = stack.env["DB_NAME"]
    return {
        **os.environ, "LANG": "C.UTF-8", "HOME": str(Path(socket).parent), "JAVA_TOOL_OPTIONS": QUICK_JAVA,
        "EVALUACION_SOCKET": socket, "EVALUACION_BASE": database,
        "EVALUACION_DSN": f"mysql:unix_socket={socket};dbname={database};charset=utf8mb4",
        "EVALUACION_URL": f"jdbc:mariadb://localhost/{database}?localSocket={socket}",
        "EVALUACION_CONTRASENA": Path(stack.env["SECRETS_DIR"], "evaluacion.password").read_text().strip()}
