#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the benchmarks and prints one table: ours, the peers, the ratio, its bound, whether it is met.

    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DTLC_BUILD_BENCH=ON && cmake --build build
    python3 bench/run.py --build build [--quick] [--json] [--only get,key,first,put,compile,million,python]

Each ratio is of two things measured in turn in the same run, medians of many short slices; the numbers themselves say
little on a machine that does other work. TMPDIR says where the stores are: a folder on a local disk.
"""
import argparse
import json
import os
import platform
import subprocess
import sys

PROGRAMS = {
    "get": "warm_get",
    "key": "key_build",
    "first": "first_get",
    "put": "put",
    "compile": "one_compile",
    "million": "million",
}
SIMPLE_PEERS = ("sqlite_4096", "sqlite_16384", "file_read", "file_mmap")


PYTHON = "python"  # the group that python_peers.py measures


class Row:
    """One comparison. `kind`: 'most' (ratio at most bound) or 'least' (at least)."""

    def __init__(self, name, ours, peer, peer_name, ratio, kind, bound, unit="ns"):
        self.name, self.ours, self.peer, self.peer_name = name, ours, peer, peer_name
        self.ratio, self.kind, self.bound, self.unit = ratio, kind, bound, unit

    @property
    def met(self):
        return self.ratio <= self.bound if self.kind == "most" else self.ratio >= self.bound

    def as_dict(self):
        return {"row": self.name, "ours": self.ours, "peer": self.peer, "peer_name": self.peer_name,
                "unit": self.unit, "ratio": self.ratio, "bound": self.bound, "bound_is": self.kind, "met": self.met}


def most(name, ours, peer, peer_name, bound, unit="ns"):
    return Row(name, ours, peer, peer_name, ours / peer, "most", bound, unit)


def least(name, ours, peer, peer_name, bound, unit="ns"):
    return Row(name, ours, peer, peer_name, peer / ours, "least", bound, unit)


def best_peer(values, names=SIMPLE_PEERS):
    name = min(names, key=lambda each: values[each])
    return values[name], name


def rows_of_get(name, values):
    case, size = name.split("/")
    who = f"{size}, " + ("8 readers + writer" if case.endswith("_8_1") else "1 reader")
    if "read" in case:
        peer, peer_name = best_peer(values, SIMPLE_PEERS + ("lmdb",))
        for way in ("index", "table"):
            yield most(f"get + read every byte, {way}, {who}", values[way], peer, peer_name, 1.0)
        return
    times = {"16K": 6, "256K": 25}[size]
    yield most(f"get, through the index, {who}", values["index"], values["lmdb"], "mdb_get", 1.3)
    yield most(f"get, process table, {who}", values["table"], values["lmdb"], "mdb_get", 0.6)
    peer, peer_name = best_peer(values)
    yield least(f"get, through the index, {who}", values["index"], peer, peer_name, times)


def rows_of(name, values):
    case = name.split("/")[0]
    if case.startswith("get"):
        yield from rows_of_get(name, values)
    elif case == "one_key":
        for threads in (2, 8):
            yield least(f"one key, {threads} threads against 1 (this machine: {values['cores']:.0f} cores)",
                        values[f"threads_{threads}"], values["threads_1"], "1 thread",
                        0.75 * min(threads, values["cores"]))
    elif case == "key":
        allowed = 1.1 * values["blake2b"] + 1000
        yield most(f"building a key, source of {values['bytes']:.0f} bytes", values["ours"], allowed,
                   "1.1 x BLAKE2b + 1 us", 1.0)
    elif case == "first_get":
        size = name.split("/")[1]
        yield most(f"first get in a fresh process, {size}", values["ours"], values["lmdb"], "LMDB open, get, copy", 0.4)
        yield most(f"first get in a fresh process, {size}", values["ours"], values["sqlite"], "SQLite", 0.1)
    elif case in ("put", "put_seen"):
        what = "put of 16K, until " + ("it returns" if case == "put" else "another process has read it")
        yield most(what, values["ours"], values["bare"], "index commit + pwrite", 2.0)
        yield least(what, values["ours"], values["sqlite"], "SQLite, sync off", 1.0)
    elif case == "million_get":
        yield most(f"get, through the index, {values['entries']:.0f} entries", values["index"], values["lmdb"], "mdb_get", 1.5)
        yield most(f"get, process table, {values['entries']:.0f} entries", values["table"], values["lmdb"], "mdb_get", 1.5)
    elif case == "million_open":
        yield most("open with that many entries", values["million"], values["thousand"], "open with 1000", 1.1)
    elif case == "one_key_64_processes":
        yield most("64 processes, one cold key: compiles", values["compiles"], 1, "-", 1.0, "")
        yield most("64 processes, one cold key: all done after the compile", values["done_after_s"], 0.2, "0.2 s", 1.0,
                   "s")
    elif case == "126_keys_64_threads":
        yield most(f"126 keys from 64 threads, compile {name.split('/')[1]}", values["ours_ms"], values["bare_ms"],
                   "bare compiles", 1.02, "ms")


def run_program(path, quick):
    command = [path] + (["--quick"] if quick else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {os.path.basename(path)} failed")
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows_of_python(python, build, quick):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_peers.py")
    command = [python, script, "--build", build, "--json"] + (["--quick"] if quick else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("bench: python_peers.py failed")
    for line in done.stdout.splitlines():
        each = json.loads(line)
        yield Row(each["row"], each["ours"], each["peer"], each["peer_name"], each["ratio"], each["bound_is"], each["bound"])


def number(value, unit):
    if unit == "ns" and value >= 10_000:
        return f"{value / 1000:.1f} us"
    return f"{value:.0f} {unit}".strip() if value >= 10 else f"{value:.2f} {unit}".strip()


def print_table(rows):
    cells = [("what", "ours", "peer", "of", "ratio", "bound", "met")]
    for row in rows:
        cells.append((row.name, number(row.ours, row.unit), number(row.peer, row.unit), row.peer_name,
                      f"{row.ratio:.2f}", f"{'<=' if row.kind == 'most' else '>='} {row.bound:g}",
                      "yes" if row.met else "NO"))
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    for line in cells:
        print("| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |")
        if line is cells[0]:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works, not for numbers")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    parser.add_argument("--only", help="which groups, with commas (default: all; python only where --python is given)")
    parser.add_argument("--python", help="a Python that has tlcache and its peers (see python_peers.py)")
    arguments = parser.parse_args()
    results = []
    default = [*PROGRAMS, PYTHON] if arguments.python else PROGRAMS
    groups = arguments.only.split(",") if arguments.only else list(default)
    for group in groups:
        if group == PYTHON:
            continue
        if group not in PROGRAMS:
            sys.exit(f"bench: no group {group}; there are {', '.join([*PROGRAMS, PYTHON])}")
        path = os.path.join(arguments.build, "bench", "tlc_bench_" + PROGRAMS[group])
        if not os.path.exists(path):
            sys.exit(f"bench: {path} is not built; configure with -DTLC_BUILD_BENCH=ON")
        results += run_program(path, arguments.quick)
    rows = [row for result in results for row in rows_of(result["case"], result["values"])]
    if PYTHON in groups:
        rows += rows_of_python(arguments.python or sys.executable, arguments.build, arguments.quick)
    if arguments.json:
        json.dump({"machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
                   "quick": arguments.quick, "measured": results, "rows": [row.as_dict() for row in rows]},
                  sys.stdout, indent=1)
        print()
    else:
        print_table(rows)
        print(f"{sum(row.met for row in rows)} of {len(rows)} met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
