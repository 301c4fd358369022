#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the public structs and constants with each released list tests/abi/slots-<major>.<minor>.txt.

A released member keeps its place, offset, size and type for ever, a constant its value: the list of a release must be the
beginning of what the headers declare now, and the list of the headers' own ABI version must be all of it. A line reads

    <struct> <offset> <size> <member> <type>
    constant <name> <value>

  --pin   writes the list of the headers' ABI version, and tests/abi/slots.inc, which states it to the compiler.
          Refused when an older version's list would be broken.

Standard library only.
"""
import argparse
import json
import re
import sys

from abi_tables import JSON
from headers import ROOT

FOLDER = ROOT / "tests/abi"
ASSERTS = FOLDER / "slots.inc"
# Of the header, not of the ABI: they differ in each release.
UNPINNED = re.compile(r"TLC_(VERSION|ABI|BACKEND_OPS|REMOTE_OPS)(_\w+)?$")


def current():
    data = json.loads(JSON.read_text())
    structs = {s["name"]: [(m["offset"], m["size"], m["name"], m["type"]) for m in s["members"]] for s in data["structs"]}
    constants = {c["name"]: c["value"] for c in data["constants"] if not UNPINNED.match(c["name"])}
    return tuple(data["abi"]), structs, constants


def as_lines(structs, constants):
    for name, members in structs.items():
        for offset, size, member, kind in members:
            yield f"{name} {offset} {size} {member} {kind}"
    for name, value in constants.items():
        yield f"constant {name} {value}"


def parse(path):
    structs, constants = {}, {}
    for line in path.read_text().splitlines():
        if line.startswith("constant "):
            _, name, value = line.split(" ")
            constants[name] = int(value)
        elif line and not line.startswith("#"):
            name, offset, size, member, kind = line.split(" ", 4)
            structs.setdefault(name, []).append((int(offset), int(size), member, kind))
    return structs, constants


def released():
    for path in sorted(FOLDER.glob("slots-*.txt")):
        version = re.fullmatch(r"slots-(\d+)\.(\d+)\.txt", path.name)
        if not version:
            raise SystemExit(f"{path.relative_to(ROOT)}:1: the name is not slots-<major>.<minor>.txt")
        yield (int(version[1]), int(version[2])), path


def compare(version, structs, constants):
    """What is wrong, as file:line lines."""
    seen_own = False
    for of, path in released():
        if of[0] != version[0]:
            continue
        where = path.relative_to(ROOT)
        line_of = {line: i + 1 for i, line in enumerate(path.read_text().splitlines())}
        old, old_constants = parse(path)
        for name, members in old.items():
            new = structs.get(name, [])
            for i, member in enumerate(members):
                if i >= len(new) or new[i] != member:
                    found = f"'{new[i][2]}' ({new[i][3]}) at {new[i][0]}" if i < len(new) else "nothing"
                    line = line_of["{} {} {} {} {}".format(name, *member)]
                    yield f"{where}:{line}: {name}.{member[2]} was released as slot {i}; the headers now have {found} there"
        for name, value in old_constants.items():
            if constants.get(name) != value:
                yield f"{where}:{line_of[f'constant {name} {value}']}: {name} was released as {value}; it is now {constants.get(name)}"
        if of == version:
            seen_own = True
            new_lines = set(as_lines(structs, constants)) - set(as_lines(old, old_constants))
            for line in sorted(new_lines):
                yield f"{where}:1: '{line}' is not in the list of ABI {of[0]}.{of[1]}: what is new needs a new ABI minor"
    if not seen_own:
        yield f"tests/abi:1: there is no slots-{version[0]}.{version[1]}.txt: run tools/checks/abi_slots.py --pin"


def asserts(version, structs, constants):
    lines = ["/* SPDX-License-Identifier: MIT */",
             f"/* ABI {version[0]}.{version[1]} for the compiler: slot_offsets.c asserts it, test_layout.c compares the library's tables",
             "   with it. Written by tools/checks/abi_slots.py --pin; never again for a version that was released. */"]
    for name, members in structs.items():
        lines += [f"SLOT({name}, {m}, {offset}, {size})" for offset, size, m, _ in members]
    lines += [f"CONSTANT({name}, {value})" for name, value in constants.items()]
    return "\n".join(lines) + "\n"


def pin(version, structs, constants):
    wrong = [w for w in compare(version, structs, constants) if f"slots-{version[0]}.{version[1]}.txt" not in w]
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    path = FOLDER / f"slots-{version[0]}.{version[1]}.txt"
    head = (f"# SPDX-License-Identifier: MIT\n# Members of the public structs of ABI {version[0]}.{version[1]}, in order, and "
            "the values of its constants.\n# Written by tools/checks/abi_slots.py --pin.\n")
    path.write_text(head + "\n".join(as_lines(structs, constants)) + "\n")
    ASSERTS.write_text(asserts(version, structs, constants))
    print(f"wrote {path.relative_to(ROOT)} and {ASSERTS.relative_to(ROOT)}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pin", action="store_true", help="write the list of the headers' ABI version")
    arguments = parser.parse_args()
    version, structs, constants = current()
    if arguments.pin:
        return pin(version, structs, constants)
    wrong = list(compare(version, structs, constants))
    if not wrong and ASSERTS.read_text() != asserts(version, structs, constants):
        wrong.append(f"{ASSERTS.relative_to(ROOT)}:1: stale: run tools/checks/abi_slots.py --pin")
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
