#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a hit and a put cost: system calls (strace) and instructions (valgrind), each the difference of two runs.

    python3 bench/hit_cost.py --build build [--json] [--compare FILE]

`table`: a hit of the process table; `index`: one that asks the index; `lmdb`: mdb_get in a renewed transaction, to compare;
`put`: 16 KiB, its key and its bundle. These do not depend on what else the machine does. --compare FILE: against what --json
printed before; exit code 1 where something takes over 3 % more. `bench/hit_cost.json` holds what the last version took.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

FEW, MANY = 1000, 11000
WAYS = ("table", "index", "lmdb", "put")
SLACK = 1.03


def instructions(program, way, count):
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", program, way, str(count)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def system_calls(program, way, count):
    done = subprocess.run(["strace", "-f", "-c", program, way, str(count)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=True)
    total = re.search(r"^\s*100\.00\s+\S+\s+(?:\d+\s+)?(\d+)\s+(?:\d+\s+)?total$", done.stderr, re.MULTILINE)
    return int(total.group(1))


def measure(program):
    costs = {}
    for name, count in (("system calls", system_calls), ("instructions", instructions)):
        try:
            costs[name] = {way: (count(program, way, MANY) - count(program, way, FEW)) / (MANY - FEW) for way in WAYS}
        except FileNotFoundError as missing:
            print(f"{name}: not measured, {missing.filename} is not installed", file=sys.stderr)
    return costs


def compare(costs, before):
    """What takes more than before."""
    return [f"{name} of {way}: {was:.1f} before, {costs[name][way]:.1f} now"
            for name, ways in before.items() if name in costs
            for way, was in ways.items() if way != "lmdb" and costs[name][way] > was * SLACK + 0.05]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    parser.add_argument("--compare", metavar="FILE", help="what --json printed before")
    arguments = parser.parse_args()
    program = os.path.join(arguments.build, "bench", "tlc_bench_hit_probe")
    if not os.path.exists(program):
        sys.exit(f"bench: {program} is not built; configure with -DTLC_BUILD_BENCH=ON")
    costs = measure(program)
    if arguments.json:
        json.dump(costs, sys.stdout, indent=1)
        print()
    else:
        print(f"{'of one':14}" + "".join(f"{way:>10}" for way in WAYS))
        for name, ways in costs.items():
            print(f"{name:14}" + "".join(f"{ways[way]:10.1f}" for way in WAYS))
    if arguments.compare:
        with open(arguments.compare, encoding="utf-8") as file:
            worse = compare(costs, json.load(file))
        print("\n".join(worse) or "nothing takes more than before", file=sys.stderr)
        return 1 if worse else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
