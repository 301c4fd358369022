#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what ctest and pytest did, from their JUnit files: a line a kind, every failed and skipped test by name with its
reason, and a closing line 'N passed, N failed, N skipped'.

A ctest that ran a cmocka program counts as the tests in it. A test that did not run for any other reason than its own wish
(its program is missing, what it needs failed) has failed.

usage: summary.py FILE...    FILE is <kind>.xml    exit code: 1 if a test failed or there is none
"""
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

# Reports of frameworks of tests of their own: a skipped test has its reason as message.
OWN_REPORTS = ("python", "dropins", "julia", "rust")
CASE = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (?!\d+ test)(\S+)", re.M)


def last_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def results(path):
    """(name, 'passed'|'failed'|'skipped', reason) for each test of a file."""
    for case in ET.parse(path).getroot().iter("testcase"):
        name, output = case.get("name"), case.findtext("system-out") or ""
        failure, skipped = case.find("failure"), case.find("skipped")
        if failure is None:
            failure = case.find("error")
        status = "failed" if failure is not None or case.get("status") == "fail" else "passed"
        reason = failure.get("message") or "" if failure is not None else ""
        if skipped is not None:
            message = skipped.get("message") or ""
            if message == "collection skipped":  # a whole file of pytest's; the reason is the text
                message = (skipped.text or message).rsplit("Skipped: ", 1)[-1].rstrip("')")
            own_wish = path.stem in OWN_REPORTS or "SKIP_R" in message
            status = "skipped" if own_wish else "failed"
            reason = message if path.stem in OWN_REPORTS else last_line(output) if own_wish else f"did not run: {message}"
        if path.stem in OWN_REPORTS:
            name = f"{case.get('classname')}.{name}"
        inner = dict(reversed([(n, kind) for kind, n in reversed(CASE.findall(output))])) if status != "skipped" else {}
        if not inner:
            yield name, status, reason
            continue
        kinds = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
        for test, kind in inner.items():
            yield f"{name}: {test}", kinds[kind], "by the test itself" if kind == "SKIPPED" else ""
        if status == "failed" and "FAILED" not in inner.values():
            yield name, "failed", last_line(output)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    total = {"passed": 0, "failed": 0, "skipped": 0}
    named = {"failed": [], "skipped": []}
    seen = set()
    for path in map(Path, sys.argv[1:]):
        count = dict.fromkeys(total, 0)
        for name, status, reason in results(path):
            if name in seen:
                continue  # it has several labels
            seen.add(name)
            count[status] += 1
            if status in named:
                named[status].append(f"  {name}" + (f": {reason}" if reason else ""))
        for status in total:
            total[status] += count[status]
        if any(count.values()):
            print(f"{path.stem:12} {count['passed']:5} passed {count['failed']:5} failed {count['skipped']:5} skipped")
    for status in ("skipped", "failed"):
        if named[status]:
            print(f"\n{status.capitalize()}:")
            print("\n".join(named[status]))
    print(f"\n{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
