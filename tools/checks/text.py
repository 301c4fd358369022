#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks every file of the project: an SPDX line in its first lines, no host of a package registry, no path of somebody's
machine, no leftover of an editor, and no file of code over 600 lines.

Prints file:line for each. Exit code 1 if there is one.
"""
import argparse
import re
import sys

from files import ROOT, project_files, report

CODE = re.compile(r"\.(c|h|cpp|hpp|py|pyi|sh|bash|zsh|fish|cmake|jl|rs|toml|yml|yaml|map|1|inc|cfg)(\.in)?$|(^|/)CMakeLists\.txt$|\.pc\.in$")
LONG = re.compile(r"\.(c|h|cpp|hpp|py|rs|jl)$")
# Written with brackets, so that this file does not find itself.
FORBIDDEN = [
    (re.compile(r"[d]eb\.debian\.|[a]rchive\.ubuntu\.|[p]ypi\.org|[p]ythonhosted|[r]egistry\.npm|[c]rates\.io|[p]roxy\.golang|[r]ubygems\.org"),
     "names a host of packages"),
    (re.compile(r"(?<![\w./-])/[w]ork/|(?<![\w.-])/[r]oot/|/tmp/[h]/|(?<![\w.-])/[h]ome/(?!you\b|user\b)[a-z]\w*/|[C]:\\\\Users"), "names a folder of somebody's machine"),
    (re.compile(r"^(<{7}|>{7}|={7})( |$)"), "holds a merge conflict"),
    (re.compile(r"\b(T[O]DO|F[I]XME|X[X]X)\b"), "is unfinished"),
]
# Public headers are documentation first, and what is written from them is as long.
MAY_BE_LONG = {"include/tlcache/tlcache.h", "bindings/rust/tlcache-sys/src/bindings.rs"}
# Written by cargo, which puts the host of each package into it.
WRITTEN_BY_TOOLS = {"Cargo.lock"}


def spdx_needed(path, text):
    return bool(CODE.search(str(path))) or text.startswith("#!")


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    wrong = []
    for path in project_files():
        if path.name in WRITTEN_BY_TOOLS:
            continue
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue  # a corpus, a golden store
        lines = text.split("\n")
        if spdx_needed(path, text) and text.strip() and not any("SPDX-License-Identifier: MIT" in line for line in lines[:4]):
            wrong.append(f"{path}:1: has no SPDX-License-Identifier line")
        for number, line in enumerate(lines, 1):
            for pattern, what in FORBIDDEN:
                if pattern.search(line):
                    wrong.append(f"{path}:{number}: {what}")
        if LONG.search(path.name) and len(lines) > 600 and str(path) not in MAY_BE_LONG:
            wrong.append(f"{path}:600: has {len(lines)} lines; a file is about one thing")
    return report(wrong)


if __name__ == "__main__":
    sys.exit(main())
