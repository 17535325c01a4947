"""make_tool of scripts/dev/openapi.sh installs a test tool once, and again when the tool's pinned versions change."""
import subprocess

from support.stack import ROOT, clean_environment

SCRIPT = """
ROOT=$1
say() { echo "$*"; }
source "$ROOT/scripts/dev/openapi.sh"
install() { echo "made" && touch "$1/tool"; }
broken() { echo "it is broken" && return 1; }
for pins in one one two; do make_tool "$2/tool" "$pins" install 1; done
cat "$2/tool/pins" "$2/tool/log"
make_tool "$2/other" three broken ''
ls "$2/other"
"""


def test_a_tool_is_made_once_for_its_pins(tmp_path):
    done = subprocess.run(["bash", "-euc", SCRIPT, "bash", ROOT, tmp_path], env=clean_environment(), capture_output=True, text=True, timeout=30)
    assert done.stdout.splitlines() == ["installing tool for the tests", "installing tool for the tests", "two", "made", "installing other for the tests",
                                        f"other could not be installed ({tmp_path}/other/log): its tests are SKIPPED", "log"], done
    assert done.stderr == "it is broken\n"
