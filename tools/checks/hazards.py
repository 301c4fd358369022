#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each hazard of docs/hazards.md has a test and a guard patch, and what it names is there."""

import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def test_fault(name):
    """Why there is no such test, or nothing: `kind.topic` and perhaps `Class.method`."""
    program, _, what = name.partition(" ")
    kind, _, topic = program.partition(".")
    script = os.path.join("tests", kind, f"test_{topic}.py")
    if kind == "stress" and not os.path.exists(os.path.join(ROOT, script)):
        return None if f"NAME {program} " in read("tests", "stress", "index_tests.cmake") else "no such program"
    if kind == "unit":
        folder, _, rest = topic.partition("_")
        places = [os.path.join("tests", "unit", one) for one in os.listdir(os.path.join(ROOT, "tests", "unit"))]
        found = any(os.path.exists(os.path.join(ROOT, place, one)) for place in places
                    for one in (f"{folder}_{rest}.cpp", f"test_{rest}.cpp"))
        return None if found else "no such program"
    if kind == "abi":
        found = os.path.exists(os.path.join(ROOT, "tests", "abi", f"test_{topic}.c"))
        return None if found else "no such program"
    if not os.path.exists(os.path.join(ROOT, script)):
        return f"there is no {script}"
    text = read(script)
    for word, mark in zip(what.split("."), (r"^class {}\(", r"^    def {}\(")):
        if word and not re.search(mark.format(re.escape(word)), text, re.MULTILINE):
            return f"{script} has no {word}"
    return None


def faults():
    seen = {}  # hazards, with the guards that their rows name: one may have several rows, for its backends
    patches = {name.removesuffix(".patch") for name in os.listdir(os.path.join(ROOT, "tests", "guards"))
               if name.endswith(".patch")}
    for line in read("docs", "hazards.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5 or not cells[0].isdigit():
            continue
        number = int(cells[0])
        tests, guards = (re.findall(r"`([^`]+)`", cell) for cell in cells[2:4])
        for kind, names in (("test", tests), ("guard", guards)):
            if not names:
                yield f"hazard {number} has no {kind}"
        for name in tests:
            if fault := test_fault(name):
                yield f"hazard {number}: {name}: {fault}"
        for name in guards:
            if name not in patches or not name.startswith(f"{number:02}-"):
                yield f"hazard {number}: there is no guard {name}"
        seen.setdefault(number, set()).update(guards)
    for number, named in seen.items():
        listed = {name for name in patches if name.startswith(f"{number:02}-")}
        for name in sorted(listed - named):
            yield f"hazard {number}: the guard {name} is not named"
    for number in (*range(1, 16), *range(28, 32)):
        if number not in seen:
            yield f"hazard {number} has no row"
    for name in sorted(patches):
        for test in re.findall(r"^Test: (.+)$", read("tests", "guards", name + ".patch"), re.MULTILINE):
            if test.split(".")[0] in ("faults", "stress") and (fault := test_fault(test)):
                yield f"{name}.patch: {test}: {fault}"


def main():
    found = list(faults())
    print("\n".join(found) if found else "every hazard has its test and its guard")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
