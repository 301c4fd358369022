#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each policy of eviction costs in recompile time, as a table and a picture.

    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DTLC_BUILD_BENCH=ON && cmake --build build --target tlc_bench_evict_sim
    python3 bench/evict_sim.py --build build [--seed N] [--tune] [--json] [--plot FILE.svg] [TRACE...]

A cache of 5, 10, 25 and 50 % of the bytes that a trace asks for. TRACE is a file that TLC_TRACE wrote, or such a file
compressed by gzip; with none, the recorded traces in bench/traces. docs/eviction.md tells what the policies and traces
are. No library is needed: the picture is SVG written by hand.
"""
import argparse
import glob
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile

COLOURS = {"tlcache": "#d62728", "oldest segment": "#8c564b", "fifo": "#bcbd22", "lru": "#1f77b4", "gdsf": "#2ca02c",
           "offline": "#7f7f7f", "bound": "#c7c7c7"}


def unpacked(path, folder):
    if not path.endswith(".gz"):
        return path
    copy = os.path.join(folder, os.path.basename(path)[:-3])
    with gzip.open(path, "rb") as packed, open(copy, "wb") as file:
        file.write(packed.read())
    return copy


def simulate(program, options):
    here = os.path.dirname(os.path.abspath(__file__))
    paths = options.traces or sorted(glob.glob(os.path.join(here, "traces", "*.gz")))
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--seed", str(options.seed)] + (["--tune"] if options.tune else [])
        command += [unpacked(path, folder) for path in paths]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("evict_sim: the simulator failed")
    return [json.loads(line) for line in done.stdout.splitlines()]


def columns(rows):
    return list(dict.fromkeys((row["trace"], row["part"]) for row in rows))


def by_policy(rows):
    table = {}
    for row in rows:
        table.setdefault(row["policy"], {})[row["trace"], row["part"]] = row
    return table


def times(row):
    """Recompile time, as a multiple of what a cache without limit has."""
    return row["recompile_s"] / row["unlimited_s"] if row["unlimited_s"] else 1.0


def print_part(title, table, cells, value):
    print(f"\n{title}")
    names = [f"{trace[:12]} {part:.0%}" for trace, part in cells]
    width = max(len(name) for name in table)
    print("| " + " " * width + " | " + " | ".join(names) + " |")
    print("|-" + "-" * width + "-|" + "|".join("-" * (len(name) + 1) + ":" for name in names) + "|")
    for policy, row in table.items():
        texts = [value(row[cell]) for cell in cells]
        print(f"| {policy.ljust(width)} | " + " | ".join(t.rjust(len(n)) for t, n in zip(texts, names)) + " |")


def print_tables(rows, tune):
    table, cells = by_policy(rows), columns(rows)
    print_part("Recompile time, 1 = a cache without limit", table, cells, lambda row: f"{times(row):.2f}")
    if not tune:
        print_part("Hit rate, %", table, cells, lambda row: f"{100 * row['hits'] / row['requests']:.1f}")
    rewriting = {name: row for name, row in table.items() if any(one["rewritten_bytes"] for one in row.values())}
    print_part("Bytes written again, % of those published", rewriting, cells,
               lambda row: f"{100 * row['rewritten_bytes'] / max(row['inserted_bytes'], 1):.1f}")
    first = next(iter(table.values()))
    print("\nGeometric mean of recompile time over all columns, 1 = the first row")
    for policy, row in table.items():
        logs = [math.log(row[cell]["recompile_s"] / first[cell]["recompile_s"]) for cell in cells]
        print(f"  {policy:24} {math.exp(sum(logs) / len(logs)):.3f}")


def svg(rows):
    """One panel a trace: recompile time over the cache's part of the working set."""
    table, cells = by_policy(rows), columns(rows)
    traces = list(dict.fromkeys(trace for trace, _ in cells))
    parts = sorted({part for _, part in cells})
    wide, high, left, top = 230, 190, 40, 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(traces) * (wide + left) + 20}" '
           f'height="{high + top + 60}" font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>']
    for number, trace in enumerate(traces):
        x0, y0 = left + number * (wide + left), top
        highest = max(times(row[trace, part]) for row in table.values() for part in parts)
        highest = 1 + max(highest - 1, 0.01) * 1.05

        def at(part, value, x0=x0, y0=y0, highest=highest):
            x = x0 + (math.log(part) - math.log(parts[0])) / (math.log(parts[-1]) - math.log(parts[0])) * (wide - 20)
            return f"{x:.1f},{y0 + high - (value - 1) / (highest - 1) * high:.1f}"

        out.append(f'<text x="{x0}" y="{y0 - 8}" font-weight="bold">{trace}</text>')
        out.append(f'<path d="M{x0} {y0}V{y0 + high}H{x0 + wide - 20}" fill="none" stroke="#999"/>')
        for value in (1, 1 + (highest - 1) / 2, highest):
            y = at(parts[0], value).split(",")[1]
            out.append(f'<text x="{x0 - 4}" y="{y}" text-anchor="end">{value:.2f}</text>')
        for part in parts:
            x = at(part, 1).split(",")[0]
            out.append(f'<text x="{x}" y="{y0 + high + 14}" text-anchor="middle">{part:.0%}</text>')
        for policy, row in table.items():
            line = " ".join(at(part, times(row[trace, part])) for part in parts)
            thick = 2.5 if policy == "tlcache" else 1.3
            dashes = ' stroke-dasharray="4 3"' if policy in ("offline", "bound") else ""
            out.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS.get(policy, "black")}" '
                       f'stroke-width="{thick}"{dashes}/>')
    for number, policy in enumerate(table):
        x, y = left + number * 130, high + top + 40
        out.append(f'<path d="M{x} {y - 4}h20" stroke="{COLOURS.get(policy, "black")}" stroke-width="2"/>')
        out.append(f'<text x="{x + 25}" y="{y}">{policy}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--seed", type=int, default=1, help="of the synthetic traces (default: 1)")
    parser.add_argument("--tune", action="store_true", help="variants of the store's policy instead of other policies")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", help="an SVG file to write")
    parser.add_argument("traces", nargs="*")
    options = parser.parse_args()
    program = os.path.join(options.build, "bench", "tlc_bench_evict_sim")
    if not os.path.exists(program):
        sys.exit(f"evict_sim: {program} is not built; configure with -DTLC_BUILD_BENCH=ON")
    rows = simulate(program, options)
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print_tables(rows, options.tune)
    if options.plot:
        with open(options.plot, "w", encoding="utf-8") as file:
            file.write(svg(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
