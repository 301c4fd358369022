#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a warm hit costs: system calls (strace) and instructions (valgrind), each the difference of two runs.

    python3 bench/hit_cost.py --build build
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

FEW, MANY = 1000, 11000


def instructions(program, gets):
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", program, str(gets)],
                              stderr=subprocess.PIPE, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def system_calls(program, gets):
    done = subprocess.run(["strace", "-f", "-c", program, str(gets)], stderr=subprocess.PIPE, text=True, check=True)
    total = re.search(r"^\s*100\.00\s+\S+\s+(?:\d+\s+)?(\d+)\s+(?:\d+\s+)?total$", done.stderr, re.MULTILINE)
    return int(total.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    program = os.path.join(parser.parse_args().build, "bench", "tlc_bench_hit_probe")
    if not os.path.exists(program):
        sys.exit(f"bench: {program} is not built; configure with -DTLC_BUILD_BENCH=ON")
    for name, count in (("system calls", system_calls), ("instructions", instructions)):
        try:
            cost = (count(program, MANY) - count(program, FEW)) / (MANY - FEW)
        except FileNotFoundError as missing:
            print(f"{name} of a warm hit (get, data, release): not measured, {missing.filename} is not installed")
            continue
        print(f"{name} of a warm hit (get, data, release): {cost:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
