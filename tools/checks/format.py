#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks C and C++ against .clang-format (version 14: others lay out some lines differently).

  --fix   rewrites the files instead

Public headers are set by hand, for the columns of their comments. Prints file:line for each difference. Exit code 1 if there
is one, 77 without clang-format 14.
"""
import argparse
import re
import shutil
import subprocess
import sys

from files import ROOT, report, sources

FOLDERS = ("src", "backends", "remotes", "tools", "tests", "bench", "examples", "bindings")


def find():
    for name in ("clang-format-14", "clang-format"):
        path = shutil.which(name)
        if path and "version 14." in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:
            return path
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="rewrite the files")
    fix = parser.parse_args().fix
    tool = find()
    if not tool:
        print("skipped: there is no clang-format 14")
        return 77
    # metal_headers: Objective-C, which the style is not for
    paths = [str(p) for p in sources(*FOLDERS) if not p.name.endswith((".in", ".inc")) and "metal_headers" not in p.parts]
    if not paths:
        return 0
    command = [tool, "-i"] if fix else [tool, "--dry-run"]
    done = subprocess.run([*command, *paths], cwd=ROOT, capture_output=True, text=True)
    wrong = sorted({f"{m[1]}: not as .clang-format wants it" for m in re.finditer(r"^(\S+:\d+):\d+: warning", done.stderr, re.M)})
    if done.returncode and not wrong:
        wrong = [done.stderr]
    return report(wrong)


if __name__ == "__main__":
    sys.exit(main())
