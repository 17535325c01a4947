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

LISTED = 20  # the most faults of a suite that are told again at the end
MESSAGE = 300  # characters of a message


def count_cases(report):
    """The numbers of cases that passed, failed and were skipped, and a line for each that failed."""
    passed = skipped = 0
    failures = []
    # Boost writes control characters as they are, which XML does not allow.
    text = re.sub(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", report.read_text(errors="replace"))
    for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
        fault = next((case.find(kind) for kind in ("failure", "error") if case.find(kind) is not None), None)
        if fault is not None:
            told = " ".join((fault.get("message") or fault.text or "").split())
            name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            failures.append(f"{name}: {told[:MESSAGE]}")
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return (passed, len(failures), skipped), failures


def judge(status_file):
    """Counts of one suite, and what is to be told of it."""
    status = status_file.read_text().strip()
    try:
        (passed, failed, skipped), failures = count_cases(status_file.with_suffix(".xml"))
    except (OSError, xml.etree.ElementTree.ParseError):
        return (0, 1, 0), [f"left no report and ended with status {status}: counted as a failure"]
    if status != "0" and not failed:
        return (passed, 1, skipped), [f"ended with status {status} though no case failed: counted as a failure"]
    if not passed + failed + skipped:
        return (0, 1, 0), ["ran no test at all: counted as a failure"]
    return (passed, failed, skipped), failures


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
        counts, faults = judge(status_file)
        totals = [total + count for total, count in zip(totals, counts)]
        print(f"{status_file.stem}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped")
        for fault in faults[:LISTED]:
            print(f"  {fault}")
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
