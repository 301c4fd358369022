#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""TileLang's own cache and tlcache side by side: many kernels, each looked up first in a fresh process.

    python bench/dropins_tilelang.py [--kernels 200] [--repeat 3] [--folder FOLDER] [--cpu]

Kernels are for the host, so no device is needed; the C++ compiler runs once, and its library serves for all of them. They are elaborated before the clock starts; what
is timed is `tilelang.compile`, which prints the function, makes the key, looks up and loads. Arms
take turns, and so does which of them begins. With --folder, caches are kept there, and found there by the next run. --cpu counts the processes' own time on
processors, for a machine that does other work meanwhile. Exit code 1 where tlcache, imports included, is slower than TileLang's own cache.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

clock = time.process_time if "--cpu" in sys.argv else time.perf_counter


def child(count: int, use: bool) -> None:
    """One process: what the imports and the kernels took."""
    started = clock()
    if use:
        import tlcache.integrations.tilelang  # noqa: F401
    import tilelang
    import tilelang.language as T

    imports = clock() - started
    functions = []
    for size in range(16, 16 + count):

        @T.prim_func
        def double(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):
            with T.Kernel(1) as _:
                for i in T.serial(size):
                    B[i] = A[i] + A[i]

        functions.append(double)
    times = []
    for function in functions:
        started = clock()
        tilelang.compile(function, out_idx=[1], target="c", execution_backend="cython")
        times.append(clock() - started)
    print("REPORT " + json.dumps({"imports": imports, "first": times[0], "all": sum(times)}))


def copying_compiler(top: Path) -> Path:
    """A C++ compiler that compiles once, and gives that library for all other kernels: none of them is launched here.

    What is looked up and loaded stays as it is: as many entries, of the same files and sizes.
    """
    made = top / "copying-c++"
    if not made.exists():
        made.write_text(
            "#!/bin/sh\n"
            'out=; last=; for one; do [ "$last" = -o ] && out=$one; last=$one; done\n'
            f'case "$out" in *.so) ;; *) exec {shutil.which("g++")} "$@" ;; esac\n'
            f'if [ ! -f "{top}/template.so" ]; then {shutil.which("g++")} "$@" && cp "$out" "{top}/template.so"; exit; fi\n'
            f'cp "{top}/template.so" "$out"\n'
        )
        made.chmod(0o755)
    return made


def run(top: Path, count: int, use: bool) -> dict:
    """A process of an arm."""
    command = [sys.executable, os.path.abspath(__file__), "--child", "--kernels", str(count)]
    environment = {
        **os.environ,
        "TLC_DIR": str(top / "store"),
        "TILELANG_CACHE_DIR": str(top / "own"),
        "TILELANG_PRINT_ON_COMPILATION": "0",
        "CXX": str(copying_compiler(top)),
    }
    command += ["--tlcache"] if use else []
    command += ["--cpu"] if "--cpu" in sys.argv else []
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=top)
    lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
    if done.returncode != 0 or not lines:
        raise SystemExit(f"a process failed:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    return json.loads(lines[0][7:])


def main() -> int:
    """Fills both caches, then compares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the caches are kept; default: a temporary folder")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--tlcache", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.kernels, options.tlcache)
        return 0
    arms = {"TileLang's own": False, "tlcache": True}
    warm: dict[str, list[dict]] = {name: [] for name in arms}
    with contextlib.ExitStack() as stack:
        top = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dropins-tilelang-")))
        top.mkdir(parents=True, exist_ok=True)
        cold = {name: run(top.resolve(), options.kernels, use) for name, use in arms.items()}
        for number in range(options.repeat):
            for name, use in list(arms.items())[:: -1 if number % 2 else 1]:
                warm[name].append(run(top.resolve(), options.kernels, use))
    print(f"| {options.kernels} kernels | cold without g++, ms each | warm, ms each | first of a process, ms | imports, s |")
    print("|---|---|---|---|---|")
    total = {}
    for name in arms:
        middle = {what: statistics.median(one[what] for one in warm[name]) for what in ("imports", "first", "all")}
        total[name] = middle["imports"] + middle["all"]
        each = (middle["all"] - middle["first"]) / (options.kernels - 1)
        print(
            f"| {name} | {cold[name]['all'] / options.kernels * 1e3:.1f} | {each * 1e3:.2f} "
            f"| {middle['first'] * 1e3:.1f} | {middle['imports']:.2f} |"
        )
    pairs = zip(warm["tlcache"], warm["TileLang's own"], strict=True)
    paired = statistics.median((ours["imports"] + ours["all"]) / (own["imports"] + own["all"]) for ours, own in pairs)
    ratio = total["tlcache"] / total["TileLang's own"]
    print(f"\nall of a warm process, imports included: {ratio:.3f} x TileLang's own; median of the pairs {paired:.3f}")
    return 0 if ratio <= 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
