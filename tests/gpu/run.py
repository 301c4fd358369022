#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Everything that needs a card, on this machine, as the table of docs/measured.md.

    python3 tests/gpu/run.py --build DIR [--bench DIR] [--starts N] [--json FILE]

  --build   a build folder with tests/gpu in it
  --bench   a Release build folder with bench in it: the store's benchmark on this machine's cores, too
The package tlcache, Triton, CuPy and cuda.core are measured if they can be imported; what cannot is said.
Exit code 1 if a test failed, 77 without a card.
"""

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FRAMEWORKS = ("tlcache", "triton", "cupy", "cuda.core")


def run_tests(build):
    """Runs test_gpu_cuda; its lines, and whether all passed."""
    done = subprocess.run([str(build / "tests/gpu/test_gpu_cuda")], capture_output=True, text=True)
    text = done.stdout + done.stderr
    print(text)
    if done.returncode == 77:
        print("skipped: there is no CUDA device")
        sys.exit(77)
    passed = re.findall(r"\[\s+OK \] (\w+)", text)
    failed = sorted(set(re.findall(r"\[\s+FAILED\s+\] (\w+)", text)))
    said = re.search(r"^(.*), driver (\d+)$", text, re.M)
    return {"passed": passed, "failed": failed, "code": done.returncode,
            "device": said.group(1) if said else "?", "driver": said.group(2) if said else "?"}


def run_ready(build):
    done = subprocess.run([str(build / "tests/gpu/tlc_gpu_ready_kernel")], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"ready_kernel failed: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def warm_starts(starts):
    """For each framework: the first start, with an empty cache, and the median of the next ones. In turn."""
    out, folders, times = {}, {}, {}
    with tempfile.TemporaryDirectory() as base:
        for name in FRAMEWORKS:
            folders[name] = os.path.join(base, name)
            os.mkdir(folders[name], 0o700)
        for turn in range(starts + 1):
            for name in FRAMEWORKS:
                if name in out:
                    continue
                done = subprocess.run([sys.executable, str(HERE / "warm_start.py"), name, folders[name]],
                                      capture_output=True, text=True)
                if done.returncode != 0:
                    out[name] = {"missing": (done.stderr.strip().splitlines() or ["no reason given"])[-1]}
                else:
                    times.setdefault(name, []).append(json.loads(done.stdout.splitlines()[-1]))
    for name, series in times.items():
        if name not in out:
            out[name] = {"cold": series[0]["ready"], "ready": statistics.median(s["ready"] for s in series[1:]),
                         "whole": statistics.median(s["whole"] for s in series[1:])}
    return out


def print_table(result):
    tests = result["tests"]
    print(f"\n## {tests['device']}, driver {tests['driver']}, {result['date']}\n")
    print("| path | result |\n|---|---|")
    for name in tests["passed"]:
        print(f"| {name.replace('_', ' ')} | right |")
    for name in tests["failed"]:
        print(f"| {name.replace('_', ' ')} | **FAILED** |")
    print("\n| cubin | ours | `cuModuleLoadData` | medians' ratio | median of the pairs' ratios | bound |\n|---|---|---|---|---|---|")
    for row in result["ready"]:
        print(f"| {row['bytes'] / 1024:.1f} KiB | {row['ours_us']:.0f} us | {row['bare_us']:.0f} us | {row['ratio']:.3f} | "
              f"{row['pairs_ratio']:.3f} | 1.05 |")
    print("\n| warm start, a fresh process | first start | kernel ready | whole process |\n|---|---|---|---|")
    for name, row in result["starts"].items():
        if "missing" in row:
            print(f"| {name} | not measured: {row['missing'][:150]} | | |")
        else:
            print(f"| {name} | {row['cold']:.1f} ms | {row['ready']:.2f} ms | {row['whole']:.0f} ms |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--starts", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    result = {"date": datetime.date.today().isoformat(), "tests": run_tests(arguments.build)}
    result["ready"] = run_ready(arguments.build)
    result["starts"] = warm_starts(arguments.starts)
    print_table(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1))
    if arguments.bench:
        print(f"\n## The store on {os.cpu_count()} cores\n", flush=True)
        subprocess.run([sys.executable, str(HERE.parent.parent / "bench/run.py"), "--build", str(arguments.bench)])
    return 1 if result["tests"]["failed"] or result["tests"]["code"] != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
