"""scripts/dev/tally.py, whose output is what a run of the CI leaves."""
import subprocess
import sys

from support.stack import ROOT

CASES = '<testcase classname="a" name="good"/><testcase classname="a" name="skipped"><skipped/></testcase>'


def test_it_names_what_failed_and_adds_up(tmp_path):
    for suite, status, cases in (("bad", 1, CASES + '<testcase classname="a" name="bad[1]"><failure message="boom\n  and more"/></testcase><testcase name="worse"><error>first</error></testcase>'),
                                 ("crashed", 139, CASES), ("good", 0, CASES), ("silent", 1, None)):
        (tmp_path / f"{suite}.status").write_text(f"{status}\n")
        if cases:
            (tmp_path / f"{suite}.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    done = subprocess.run([sys.executable, ROOT / "scripts/dev/tally.py", tmp_path], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "bad: 1 passed, 2 failed, 1 skipped", "  a::bad[1]: boom and more", "  worse: first",
        "crashed: 1 passed, 1 failed, 1 skipped", "  ended with status 139 though no case failed: counted as a failure",
        "good: 1 passed, 0 failed, 1 skipped",
        "silent: 0 passed, 1 failed, 0 skipped", "  left no report and ended with status 1: counted as a failure",
        "3 passed, 4 failed, 3 skipped"]
