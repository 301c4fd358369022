#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the members of every public struct, in order, with each released list tests/abi/slots-<major>.<minor>.txt.

A released member keeps its place, offset, size and type for ever: the list of a release must be the beginning of what the
headers declare now, and the list of the headers' own ABI version must be all of it. A line of a list reads

    struct  offset  size  member  type

  --pin   writes the list of the headers' ABI version, and tests/abi/slot_offsets.c, which states it to the compiler.
          Refused when it would change the list of an older version.

Standard library only.
"""
import argparse
import json
import re
import sys

from abi_tables import JSON
from headers import ROOT

FOLDER = ROOT / "tests/abi"
ASSERTS = FOLDER / "slot_offsets.c"


def current():
    data = json.loads(JSON.read_text())
    return tuple(data["abi"]), {
        s["name"]: [(m["offset"], m["size"], m["name"], m["type"]) for m in s["members"]] for s in data["structs"]}


def as_lines(structs):
    for name, members in structs.items():
        for offset, size, member, kind in members:
            yield f"{name} {offset} {size} {member} {kind}"


def parse(path):
    structs = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, offset, size, member, kind = line.split(" ", 4)
            structs.setdefault(name, []).append((int(offset), int(size), member, kind))
    return structs


def released():
    for path in sorted(FOLDER.glob("slots-*.txt")):
        version = re.fullmatch(r"slots-(\d+)\.(\d+)\.txt", path.name)
        if not version:
            raise SystemExit(f"{path.relative_to(ROOT)}:1: the name is not slots-<major>.<minor>.txt")
        yield (int(version[1]), int(version[2])), path


def compare(version, structs):
    """What is wrong, as file:line lines."""
    seen_own = False
    for of, path in released():
        if of[0] != version[0]:
            continue
        seen_own |= of == version
        old = parse(path)
        line_of = {l: i + 1 for i, l in enumerate(path.read_text().splitlines())}
        for name, members in old.items():
            new = structs.get(name, [])
            for i, member in enumerate(members):
                if i >= len(new) or new[i] != member:
                    text = f"{name} {member[0]} {member[1]} {member[2]} {member[3]}"
                    found = f"'{new[i][2]}' ({new[i][3]}) at {new[i][0]}" if i < len(new) else "nothing"
                    yield (f"{path.relative_to(ROOT)}:{line_of[text]}: {name}.{member[2]} was released as slot {i}; "
                           f"the headers now have {found} there")
            if of == version and len(new) > len(members):
                yield (f"{path.relative_to(ROOT)}:1: {name}.{new[len(members)][2]} is not in the list of ABI "
                       f"{of[0]}.{of[1]}: a new slot needs a new ABI minor")
        if of == version:
            for name in structs.keys() - old.keys():
                yield f"{path.relative_to(ROOT)}:1: struct {name} is not in the list of ABI {of[0]}.{of[1]}"
    if not seen_own:
        yield f"tests/abi:1: there is no slots-{version[0]}.{version[1]}.txt: run tools/checks/abi_slots.py --pin"


def asserts(version, structs):
    lines = ["/* SPDX-License-Identifier: MIT */",
             f"/* The released offsets of ABI {version[0]}.{version[1]}, stated to the compiler. Written by tools/checks/abi_slots.py --pin",
             "   from tests/abi/slots-*.txt; never written again for a version that was released. */",
             "#include <stddef.h>", "#include <tlcache/backend.h>", "#include <tlcache/remote.h>", "#include <tlcache/tlcache.h>", "",
             "#define SLOT(type, member, offset, size)                                                        \\",
             '  _Static_assert(offsetof(type, member) == (offset), #type "." #member " has moved");            \\',
             '  _Static_assert(sizeof(((type*)0)->member) == (size), #type "." #member " has another size")', ""]
    for name, members in structs.items():
        lines += [f"SLOT({name}, {m}, {offset}, {size});" for offset, size, m, _ in members]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def pin(version, structs):
    wrong = [w for w in compare(version, structs) if f"slots-{version[0]}.{version[1]}.txt" not in w]
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    path = FOLDER / f"slots-{version[0]}.{version[1]}.txt"
    head = (f"# SPDX-License-Identifier: MIT\n# Members of the public structs of ABI {version[0]}.{version[1]}, in order: "
            "struct offset size member type.\n# Written by tools/checks/abi_slots.py --pin.\n")
    path.write_text(head + "\n".join(as_lines(structs)) + "\n")
    ASSERTS.write_text(asserts(version, structs))
    print(f"wrote {path.relative_to(ROOT)} and {ASSERTS.relative_to(ROOT)}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pin", action="store_true", help="write the list of the headers' ABI version")
    arguments = parser.parse_args()
    version, structs = current()
    if arguments.pin:
        return pin(version, structs)
    wrong = list(compare(version, structs))
    if not wrong and ASSERTS.read_text() != asserts(version, structs):
        wrong.append(f"{ASSERTS.relative_to(ROOT)}:1: stale: run tools/checks/abi_slots.py --pin")
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
