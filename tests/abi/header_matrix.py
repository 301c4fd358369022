#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles each public header alone, twice and all together, under every language standard a compiler knows.

usage: header_matrix.py INCLUDE_DIR C_COMPILER CXX_COMPILER    exit code 77: no such compiler
"""
import shutil
import subprocess
import sys
from pathlib import Path

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wconversion", "-Wundef"]
C = ["c99", "c11", "c17"]
CXX = ["c++11", "c++14", "c++17", "c++20", "c++23"]


def compile_one(compiler, language, standard, include, headers):
    # version.h declares nothing, and ISO C wants a declaration in every translation unit.
    source = "".join(f"#include <tlcache/{h}>\n" for h in headers) + "extern int tlc_header_matrix;\n"
    extra = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wc++-compat"] if language == "c" else ["-Wold-style-cast"]
    done = subprocess.run([compiler, "-x", language, f"-std={standard}", "-fsyntax-only", *WARNINGS, *extra, "-I", include, "-"],
                          input=source, capture_output=True, text=True)
    return done.returncode, done.stderr


def knows(compiler, language, standard):
    return subprocess.run([compiler, "-x", language, f"-std={standard}", "-fsyntax-only", "-"], input="", text=True,
                          capture_output=True).returncode == 0


def main():
    if len(sys.argv) != 4:
        print(__doc__)
        return 2
    include, compilers = sys.argv[1], {"c": sys.argv[2], "c++": sys.argv[3]}
    for compiler in compilers.values():
        if not shutil.which(compiler):
            print(f"skipped: there is no {compiler}")
            return 77
    headers = sorted(p.name for p in Path(include, "tlcache").glob("*.h"))
    sets = [[h] for h in headers] + [[h, h] for h in headers] + [headers, headers[::-1]]
    failed = compiled = 0
    for language, standards in (("c", C), ("c++", CXX)):
        for standard in standards:
            if not knows(compilers[language], language, standard):
                print(f"{compilers[language]} does not know {standard}")
                failed += standard not in ("c++23",)  # the only one that a compiler of today may lack
                continue
            for one in sets:
                code, text = compile_one(compilers[language], language, standard, include, one)
                compiled += 1
                if code:
                    failed += 1
                    print(f"{compilers[language]} -std={standard} {' '.join(one)}:\n{text}")
    print(f"{compiled} compiled, {failed} failed")
    return 1 if failed or not compiled else 0


if __name__ == "__main__":
    sys.exit(main())
