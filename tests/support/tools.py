"""The tools from PyPI and npm that ./dev installs for the tests (scripts/dev/openapi.sh)."""
import os
from pathlib import Path

import pytest

TOOLS = Path(os.environ.get("OPENAPI_TOOLS", Path(__file__).resolve().parents[2] / "build" / "openapi-tools"))


def tool(name: str, file: str) -> Path:
    """A file of a tool; if it is missing, the test is skipped, or fails if the tools are required."""
    if not (TOOLS / name / "pins").exists():
        missing = pytest.fail if os.environ.get("OPENAPI_REQUIRED") else pytest.skip
        missing(f"{name} could not be installed: {TOOLS}/{name}/log")
    return TOOLS / name / file
