"""The tools of PyPI and npm that ./dev has fetched for the tests, by the hashes of their files."""
import os
from pathlib import Path

import pytest

from support.stack import ROOT

TOOLS = Path(os.environ.get("OPENAPI_TOOLS", ROOT / "build" / "openapi-tools"))


def tool(name: str, program: str) -> Path:
    found = TOOLS / name / program
    if not (TOOLS / name / "pins").exists():
        missing = pytest.fail if os.environ.get("OPENAPI_REQUIRED") else pytest.skip
        missing(f"{name} could not be installed: {TOOLS}/{name}/log")
    return found
