"""Adds up the results of test suites in a folder. NAME.status is the exit status of suite NAME, NAME.xml its JUnit report. The
file `times` has a line `SECONDS<tab>STEP` for each step of the run.

The last line of output is `N passed, N failed[, N skipped]`. A suite that ended badly without a failed case (a crash, a
sanitizer's report, no JUnit report, nothing run) counts as one failure. This script exits with 0 only if a case passed
and none failed.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree


def count_cases(report):
    passed = failed = skipped = 0
    # Boost writes control characters as they are, which XML does not allow.
    text = re.sub(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", report.read_text(errors="replace"))
    for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def judge(status_file):
    """Counts of one suite, and its message."""
    status = status_file.read_text().strip()
    try:
        passed, failed, skipped = count_cases(status_file.with_suffix(".xml"))
    except (OSError, xml.etree.ElementTree.ParseError):
        return (0, 1, 0), f"left no report and ended with status {status}: counted as a failure"
    if status != "0" and not failed:
        return (passed, 1, skipped), f"ended with status {status} though no case failed: counted as a failure"
    if not passed + failed + skipped:
        return (0, 1, 0), "ran no test at all: counted as a failure"
    return (passed, failed, skipped), ""


def print_times(file):
    if file.exists():
        print("The tools, and all that concerns another Debian, ran beside the rest:")
        for line in file.read_text().splitlines():
            seconds, step = line.split("\t")
            if seconds != "0":
                print(f"{seconds:>6} s  {step}")


def main():
    print_times(pathlib.Path(sys.argv[1], "times"))
    totals = [0, 0, 0]
    for status_file in sorted(pathlib.Path(sys.argv[1]).glob("*.status")):
        counts, remark = judge(status_file)
        totals = [total + count for total, count in zip(totals, counts)]
        print(f"{status_file.stem}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped", remark)
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
