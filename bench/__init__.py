"""The benchmarks of the delivery engine and the API, most with a control in the same run: `./dev bench --help`."""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # for tests/support: the private stack, the SQL session
