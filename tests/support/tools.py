"""The tools from PyPI and npm that ./dev installs for the tests (scripts/dev/openapi.sh)."""
import os
from pathlib import Path

import pytest

TOOLS = Path(os.environ.get("OPENAPI_TOOLS", Path(__file__).resolve().parents[2] / "build" / "openapi-tools"))


def tool(name: str, file: str) -> Path:
    """A tool's file. If the tool is not installed, skips the test, or fails it if OPENAPI_REQUIRED is set."""
    if not (TOOLS / name / "pins").exists():
        missing = pytest.fail if os.environ.get("OPENAPI_REQUIRED") else pytest.skip
        missing(f"{name} could not be installed: {TOOLS}/{name}/log")
    return TOOLS / name / file
