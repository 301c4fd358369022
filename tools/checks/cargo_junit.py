#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a JUnit file from what `cargo test` printed, for summary.py: one case a test, named by its program; a program
that did not end well without a failed test in it is a failure of its own.

usage: cargo_junit.py LOG OUT.xml [--code N]    N: cargo's exit code
"""
import argparse
import re
import xml.etree.ElementTree as ET
from pathlib import Path

PROGRAM = re.compile(r"^ +Running (?:unittests )?(\S+) \(.*?/deps/(\w+?)-[0-9a-f]+\)$")
DOCTESTS = re.compile(r"^ +Doc-tests (\S+)$")
CASE = re.compile(r"^test (.+?) \.\.\. (ok|FAILED|ignored)(?:, (.*))?$")
SHOWN = re.compile(r"^---- (.+?) stdout ----$")
SKIPPED = re.compile(r"^skipped: (.*)$")


def read(text):
    """{(program, test): (outcome, reason)}. What a test skips of itself, it says (`cargo test -- --show-output`)."""
    program, shown, found = "cargo", "", {}
    for line in text.splitlines():
        begun, documented, case = PROGRAM.match(line), DOCTESTS.match(line), CASE.match(line)
        if begun:
            program, shown = Path(begun[1]).stem if begun[1].startswith("tests/") else begun[2], ""
        elif documented:
            program, shown = f"{documented[1]}.doc", ""
        elif case:
            found[program, case[1]] = (case[2], case[3] or "")
        elif SHOWN.match(line):
            shown = SHOWN.match(line)[1]
        elif SKIPPED.match(line) and found.get((program, shown), ("",))[0] == "ok":
            found[program, shown] = ("ignored", SKIPPED.match(line)[1])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--code", type=int, default=0)
    arguments = parser.parse_args()
    text = arguments.log.read_text(errors="replace")
    suite = ET.Element("testsuite", name="rust")
    failed = 0
    for (program, test), (outcome, reason) in read(text).items():
        case = ET.SubElement(suite, "testcase", classname=f"rust.{program}", name=test)
        if outcome == "FAILED":
            failed += 1
            ET.SubElement(case, "failure", message="see the log")
        elif outcome == "ignored":
            ET.SubElement(case, "skipped", message=reason or "ignored")
    if arguments.code != 0 and not failed:
        case = ET.SubElement(suite, "testcase", classname="rust", name="cargo")
        errors = [line for line in text.splitlines() if line.startswith("error")]
        ET.SubElement(case, "failure", message=(errors or ["cargo ended with an error"])[0])
    root = ET.Element("testsuites")
    root.append(suite)
    ET.ElementTree(root).write(arguments.out, encoding="utf-8", xml_declaration=True)


if __name__ == "__main__":
    main()
