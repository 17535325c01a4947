"""The examples and their dependencies run as the user nobody, even if the checkout is closed to other users."""
import os
import subprocess

import pytest

from support.example_receivers import as_nobody, readable

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


def test_what_is_run_as_nobody_can_be_read(tmp_path):
    folder = tmp_path / "checkout/examples"
    folder.mkdir(parents=True)
    (folder / "receptor.py").write_text("print('hola')")
    folder.parent.chmod(0o700)
    done = subprocess.run(["/usr/bin/python3", readable(folder) / "receptor.py"], cwd="/", capture_output=True, text=True, timeout=20, **as_nobody())
    assert done.stdout == "hola\n", done.stderr
    assert as_nobody()["user"] == "nobody"
