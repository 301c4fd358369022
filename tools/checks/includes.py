#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks which way includes point.

  src/       capi -> cache -> {store, tier, backend} -> key -> trust -> port; arrows may skip, never turn round
  lmdb.h     in src/store only; sodium.h and xxhash.h in src/trust only
  backends/  public headers, their own folder, backends/support
  remotes/   public headers and their own folder
  tools/     public headers and their own folder
  include/   each other, stddef.h, stdint.h

Prints file:line for each include that points elsewhere. Exit code 1 if there is one.
"""
import argparse
import re
import sys

from files import ROOT, blank_comments, report, sources

RANK = {"port": 0, "trust": 1, "key": 2, "store": 3, "tier": 3, "backend": 3, "cache": 4, "capi": 5}
ONLY_IN = {"lmdb.h": "store", "sodium.h": "trust", "sodium/": "trust", "xxhash.h": "trust", "xxh3.h": "trust"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', re.M)


def third_party(name, folder):
    for header, owner in ONLY_IN.items():
        if (name == header or (header.endswith("/") and name.startswith(header))) and folder != owner:
            return f"only src/{owner} includes {name}"
    return None


def in_src(path, quoted, name):
    folder = path.parts[1] if len(path.parts) > 2 else None
    wrong = third_party(name, folder)
    if wrong or not quoted or name.startswith("tlcache/"):
        return wrong
    target = name.split("/")[0]
    if target not in RANK or not (ROOT / "src" / name).is_file():
        return f'"{name}" is not a file of src/, written from src/, nor a public header'
    if folder not in RANK:
        return f"src/{folder} is not in the list of tools/checks/includes.py"
    if target != folder and RANK[target] >= RANK[folder]:
        return f"src/{folder} must not include src/{target}"
    return None


def beside(path, quoted, name, also=()):
    """For folders that see public headers and themselves: top/<own>/..., and what `also` names."""
    wrong = third_party(name, None)
    if wrong or not quoted or name.startswith("tlcache/"):
        return wrong
    top, own = path.parts[0], path.parts[1]
    allowed = [ROOT / path.parent / name] + [ROOT / top / name] * (name.split("/")[0] in (own, *also)) + [ROOT / top / own / name]
    for candidate in allowed:
        candidate = candidate.resolve()
        inside = [ROOT / top / own] + [ROOT / top / a for a in also]
        if candidate.is_file() and any(f in candidate.parents for f in inside):
            return None
    return f'{top}/{own} sees the public headers and itself{" and " + ", ".join(f"{top}/{a}" for a in also) if also else ""}, not "{name}"'


def in_include(_, quoted, name):
    if (quoted and "/" not in name and (ROOT / "include/tlcache" / name).is_file()) or name in ("stddef.h", "stdint.h"):
        return None
    return f"a public header includes its neighbours, stddef.h and stdint.h, not {name}"


RULES = {
    "src": in_src,
    "include": in_include,
    "backends": lambda p, q, n: beside(p, q, n, ("support",)),
    "remotes": beside,
    "tools": beside,
}


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    wrong = []
    for path in sources(*RULES):
        text = blank_comments((ROOT / path).read_text())
        for match in INCLUDE.finditer(text):
            found = RULES[path.parts[0]](path, match.group(1) == '"', match.group(2))
            if found:
                wrong.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {found}")
    return report(wrong)


if __name__ == "__main__":
    sys.exit(main())
