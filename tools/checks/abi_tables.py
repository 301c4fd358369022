#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what is derived from the public headers, or (--check) says which of it is stale.

  src/capi/abi_tables.cpp   the tables behind tlc_abi_layout() and tlc_abi_constants()
  cmake/tlcache.map         the version script: the exported functions, by the ABI version that added them
  tests/abi/abi.json        functions, structs with offsets, constants with values: what a binding's mirror is checked against

Numbers in abi.json come from a compiled probe ($CC or cc). Standard library only.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from headers import HEADERS, ROOT, HeaderError, read_all

TABLES = ROOT / "src/capi/abi_tables.cpp"
MAP = ROOT / "cmake/tlcache.map"
JSON = ROOT / "tests/abi/abi.json"


def tables(api):
    lines = [
        "// SPDX-License-Identifier: MIT",
        "// Written by tools/checks/abi_tables.py from include/tlcache/*.h; do not edit. The names are the",
        "// headers', the numbers the compiler's: what a binding compares its mirror with is what this",
        "// library was built with.",
        "// clang-format off",
        "#include <cstddef>",
        "#include <cstdint>",
        "#include <iterator>",
        "",
        *[f'#include "tlcache/{h}"' for h in HEADERS],
        "",
        "namespace {",
        "",
        "// The size of a pointer member is what is meant. NOLINTBEGIN(bugprone-sizeof-expression)",
        "constexpr tlc_layout kLayout[] = {",
    ]
    for s in api.structs:
        lines.append(f'    {{"{s["name"]}", nullptr, 0, sizeof({s["name"]})}},')
        for m in s["members"]:
            lines.append(f'    {{"{s["name"]}", "{m["name"]}", offsetof({s["name"]}, {m["name"]}), '
                         f'sizeof({s["name"]}::{m["name"]})}},')
    lines += ["};", "// NOLINTEND(bugprone-sizeof-expression)", "", "constexpr tlc_constant kConstants[] = {"]
    lines += [f'    {{"{c["name"]}", static_cast<std::int64_t>({c["name"]})}},' for c in api.constants]
    lines += [
        "};", "", "}  // namespace", "",
        'extern "C" {', "",
        "const tlc_layout* tlc_abi_layout(size_t* count) {",
        "  if (count != nullptr) *count = std::size(kLayout);",
        "  return kLayout;",
        "}", "",
        "const tlc_constant* tlc_abi_constants(size_t* count) {",
        "  if (count != nullptr) *count = std::size(kConstants);",
        "  return kConstants;",
        "}", "", "}", "",
    ]
    return "\n".join(lines)


def version_script(api):
    bands = {}
    for f in api.functions:
        bands.setdefault(tuple(int(n) for n in f["since"].split(".")), []).append(f["name"])
    lines = ["# SPDX-License-Identifier: MIT",
             "# Written by tools/checks/abi_tables.py from include/tlcache/*.h; do not edit. A function stays in the node of the",
             "# ABI version that added it (its @since)."]
    previous = ""
    for band in sorted(bands):
        node = "TLC_{}.{}".format(*band)
        lines += [f"{node} {{", "  global:", *[f"    {n};" for n in sorted(bands[band])]]
        if not previous:
            lines += ["  local:", "    *;"]
        lines.append(f"}}{' ' + previous if previous else ''};")
        previous = node
    return "\n".join(lines) + "\n"


def probe(api):
    """Offsets, sizes and values as a C compiler sees them: a list of numbers in the order asked for."""
    asked = []
    for s in api.structs:
        asked.append(f"sizeof({s['name']})")
        for m in s["members"]:
            asked += [f"offsetof({s['name']}, {m['name']})", f"sizeof((({s['name']}*)0)->{m['name']})"]
    asked += [c["name"] for c in api.constants]
    program = "#include <stdio.h>\n" + "".join(f'#include "tlcache/{h}"\n' for h in HEADERS)
    program += "int main(void) {\n" + "".join(f'  printf("%lld\\n", (long long)({a}));\n' for a in asked) + "}\n"
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "probe.c"), Path(folder, "probe")
        source.write_text(program)
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-w", f"-I{ROOT / 'include'}", str(source), "-o", str(binary)],
                       check=True)
        out = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return [int(n) for n in out.split()]


def as_json(api):
    numbers = iter(probe(api))
    structs = []
    for s in api.structs:
        entry = {"name": s["name"], "header": s["header"], "size": next(numbers), "members": []}
        for m in s["members"]:
            entry["members"].append({"name": m["name"], "type": m["type"], "offset": next(numbers), "size": next(numbers)})
        structs.append(entry)
    constants = [{"name": c["name"], "value": next(numbers), "header": c["header"]} for c in api.constants]
    version = {c["name"]: c["value"] for c in constants}
    data = {"abi": [version["TLC_ABI_MAJOR"], version["TLC_ABI_MINOR"]], "functions": api.functions,
            "callbacks": api.callbacks, "opaque": api.opaque, "structs": structs, "constants": constants}
    # One entry a line: a change of the ABI is a change of a line.
    out = ["{"]
    for i, (key, value) in enumerate(data.items()):
        comma = "," if i + 1 < len(data) else ""
        if key == "abi":
            out.append(f' "abi": {json.dumps(value)}{comma}')
            continue
        out.append(f' "{key}": [')
        out += [f"  {json.dumps(v)}{',' if j + 1 < len(value) else ''}" for j, v in enumerate(value)]
        out.append(f" ]{comma}")
    return "\n".join(out) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    arguments = parser.parse_args()
    try:
        api = read_all()
    except HeaderError as error:
        print(error, file=sys.stderr)
        return 1
    stale = 0
    for path, text in ((TABLES, tables(api)), (MAP, version_script(api)), (JSON, as_json(api))):
        if path.exists() and path.read_text() == text:
            continue
        if arguments.check:
            print(f"{path.relative_to(ROOT)}:1: stale: run tools/checks/abi_tables.py and commit what it writes", file=sys.stderr)
            stale = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    return stale


if __name__ == "__main__":
    sys.exit(main())
