#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a trace of real compiles for the simulator of eviction (bench/evict_sim.py).

    python3 bench/record_trace.py --tool build/tools/tlcache/tlcache --out bench/traces/cpu-sweep.trace.gz

A tuner's day in little, each step a process of its own: C kernels of three kinds are compiled for a sweep of tile sizes
and optimisation levels by the cpu backend, some candidates are asked for again, and after each sweep jobs use the best
of it and of earlier ones. What is recorded is what TLC_TRACE writes.
"""
import argparse
import gzip
import os
import random
import subprocess
import sys
import tempfile

KERNELS = {
    "matmul": """void run(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; i += T) for (int j = 0; j < n; j += T) for (int k = 0; k < n; ++k)
    for (int x = 0; x < T; ++x) for (int y = 0; y < T; ++y) c[(i + x) * n + j + y] += a[(i + x) * n + k] * b[k * n + j + y];
}""",
    "softmax": """#include <math.h>
void run(const float* a, float* c, int n) {
  for (int i = 0; i < n; ++i) { float s = 0; for (int t = 0; t < T; ++t) { s += expf(a[i * T + t]); }
    for (int t = 0; t < T; ++t) c[i * T + t] = expf(a[i * T + t]) / s; }
}""",
    "stencil": """void run(const double* a, double* c, int n) {
  for (int i = T; i < n - T; ++i) { double s = 0; for (int t = -T; t <= T; ++t) s += a[i + t] * (T - (t < 0 ? -t : t)); c[i] = s; }
}""",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="build/tools/tlcache/tlcache")
    parser.add_argument("--out", required=True, help="file to write, compressed by gzip")
    parser.add_argument("--sweeps", type=int, default=12)
    options = parser.parse_args()
    tool, dice, winners = os.path.abspath(options.tool), random.Random(1), []
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        environment = dict(os.environ, TLC_TRACE=trace, TLC_DIR=os.path.join(folder, "store"))

        def compile_one(kernel, tile, level, padding):
            source = os.path.join(folder, f"{kernel}.c")
            with open(source, "w", encoding="utf-8") as file:
                file.write(f"const char table[{padding}] = {{1}};\n" + KERNELS[kernel])
            subprocess.run([tool, "-q", "compile", source, "--target", "cpu:native", f"-O{level}", "-D", f"T={tile}"],
                           env=environment, check=True, stdout=subprocess.DEVNULL)

        for sweep in range(options.sweeps):
            kernel, padding = dice.choice(sorted(KERNELS)), 1 << dice.randrange(8, 18)
            candidates = [(kernel, tile, level, padding + sweep) for tile in (2, 4, 8, 16, 32) for level in (2, 3)]
            for candidate in candidates:
                compile_one(*candidate)
                if dice.random() < 0.3:
                    compile_one(*candidate)
            winners.append(dice.choice(candidates))
            for _ in range(3):
                for winner in winners[-8:]:
                    if dice.random() < 0.6:
                        compile_one(*winner)
            print(f"sweep {sweep + 1} of {options.sweeps}", file=sys.stderr)
        os.makedirs(os.path.dirname(os.path.abspath(options.out)), exist_ok=True)
        with open(trace, "rb") as file, open(options.out, "wb") as out, gzip.GzipFile(
                "", "wb", fileobj=out, mtime=0) as packed:
            packed.write(file.read())
    return 0


if __name__ == "__main__":
    sys.exit(main())
