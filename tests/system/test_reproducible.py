"""Two builds of one commit, in two folders and two environments, are the same bytes."""
import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from support.stack import ROOT

LONG = pytest.mark.skipif(not os.environ.get("TEST_LONG"), reason="takes minutes; --long")


def build(folder: Path, umask: int, **environment: str) -> dict[str, str]:
    """The hashes of the package and of its SBOM."""
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("DEV_", "CMAKE_", "CCACHE_"))}
    built = subprocess.run([folder / "dev", "package"], env={**clean, **environment}, umask=umask, capture_output=True, text=True,
                           timeout=1800)
    assert built.returncode == 0, built.stderr
    package = Path(built.stdout.strip())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in (package, package.with_name(package.name.removesuffix(".deb") + ".cdx.json"))}


@LONG
def test_two_builds_of_one_commit_are_the_same_bytes(tmp_path):
    one = build(tmp_path / "one", 0o022, TZ="UTC", LANG="C.UTF-8")
    another = build(tmp_path / "another-and-longer", 0o077, TZ="Asia/Tokyo", LANG="C", USER="another")
    assert one == another
