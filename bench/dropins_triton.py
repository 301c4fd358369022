#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Triton's cache manager against tlcache's: put, get_group, and 200 keys first looked up in a fresh process.

    python bench/dropins_triton.py [--keys 200] [--rounds 7] [--cpu] [--json FILE]

Needs triton and tlcache in this Python; no device. Both managers get the same kernels (sizes as of a small matrix product) in
folders of the same file system, in turn, in processes of their own that have imported Triton already: what is timed in a
fresh process begins with the import of the manager and ends with the last byte of the last file. Ratios are Triton's own
time by tlcache's: above 1, tlcache is faster. Medians of the rounds. --cpu counts the processes' own time on processors, for a
machine that does other work meanwhile; what waits for a disk is not in it.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = {"source": 4790, "ttir": 3008, "ttgir": 4353, "llir": 16049, "ptx": 13184, "cubin": 26000, "json": 1125}
clock = time.process_time if "--cpu" in sys.argv else time.perf_counter
OURS = "tlcache.integrations.triton:TLCacheManager"


def members(index):
    """Files of one kernel, different for each."""
    found = {}
    for ending, size in SIZES.items():
        text = (f"kernel {index} {ending} " * (size // 10))[:size]
        found[f"kernel.{ending}"] = text.encode() if ending == "cubin" else text
    target = {"backend": "cuda", "arch": 90, "warp_size": 32}
    told = {"name": "kernel", "target": target, "num_warps": 4, "shared": 0, "index": index, "padding": ""}
    told["padding"] = "x" * (SIZES["json"] - len(json.dumps(told)))
    found["kernel.json"] = json.dumps(told)
    return found


def keys_of(count):
    import hashlib

    return [hashlib.sha256(str(index).encode()).hexdigest() for index in range(count)]


def read_all(group):
    return sum(len(open(path, "rb").read()) for path in group.values())


def step_put(get_manager, keys):
    """Compiles' puts, Triton's own and tlcache's in turn for each kernel; the median of each."""
    from triton.runtime.cache import FileCacheManager, _base32

    top, times = os.environ["TRITON_CACHE_DIR"], ([], [])
    for index, key in enumerate(keys):
        files = members(index)
        for ours in (False, True) if index % 2 else (True, False):
            os.environ["TRITON_CACHE_DIR"] = top if ours else top.replace("ours", "own")
            started = clock()
            manager = get_manager(key) if ours else FileCacheManager(_base32(key))
            assert manager.get_group("kernel.json") is None
            group = {name: manager.put(data, name) for name, data in files.items()}
            manager.put_group("kernel.json", group)
            times[ours].append(clock() - started)
    return [statistics.median(one) for one in times]


def step_fresh(get_manager, keys):
    """All keys once, every file read; the import of the manager is in it."""
    started = clock()
    total = sum(read_all(get_manager(key).get_group("kernel.json")) for key in keys)
    elapsed = clock() - started
    assert total >= len(keys) * sum(SIZES.values()) * 0.9
    return elapsed


def step_first_look(get_manager, keys):
    """get_group of each key once, after one that pays for the import."""
    get_manager(keys[0]).get_group("kernel.json")
    managers = [get_manager(key) for key in keys[1:]]
    started = clock()
    for manager in managers:
        assert manager.get_group("kernel.json")
    return (clock() - started) / len(managers)


def step_get_group(get_manager, keys):
    """get_group again and again, of all keys in turn."""
    managers = [get_manager(key) for key in keys]
    for manager in managers:
        manager.get_group("kernel.json")
    best = []
    for _ in range(5):
        started = clock()
        for manager in managers:
            manager.get_group("kernel.json")
        best.append((clock() - started) / len(managers))
    return statistics.median(best)


STEPS = {
    "put": step_put,
    "fresh": step_fresh,
    "first_look": step_first_look,
    "get_group": step_get_group,
}


def run_step(step, count):
    from triton.runtime.cache import get_cache_manager

    print(json.dumps(STEPS[step](get_cache_manager, keys_of(count))))


def start(step, count, folder, ours):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TRITON_", "TLC_"))}
    environment["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
    if ours:
        environment["TRITON_CACHE_MANAGER"] = OURS
        environment["TLC_DIR"] = os.path.join(folder, "store")
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--step", step, "--keys", str(count),
                           *(["--cpu"] if "--cpu" in sys.argv else [])],
                          env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


ROWS = (
    ("put", "put", "put of a kernel, look-up before it included"),
    ("get_group", "get_group", "get_group, files in place, again"),
    ("first_look", "first_look", "get_group, files in place, first in a process"),
    ("fresh", "fresh", "all keys in a fresh process, import and reading included"),
    ("fresh_empty", "fresh", "the same with Triton's folder removed before (tlcache only)"),
)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--step", choices=sorted(STEPS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        return run_step(arguments.step, arguments.keys)
    times = {}
    with tempfile.TemporaryDirectory() as top:
        for number in range(arguments.rounds):
            for row, step, _ in ROWS:
                for ours in (False, True) if number % 2 else (True, False):
                    folder = os.path.join(top, "ours" if ours else "own")
                    if row == "put":
                        if ours:
                            for name in ("own", "ours"):
                                shutil.rmtree(os.path.join(top, name), ignore_errors=True)
                            both = start(step, arguments.keys, folder, ours)
                            for which in (False, True):
                                times.setdefault((row, which), []).append(both[which])
                        continue
                    if row == "fresh_empty":
                        if not ours:
                            continue
                        shutil.rmtree(os.path.join(folder, "triton"))
                    times.setdefault((row, ours), []).append(start(step, arguments.keys, folder, ours))
    times = {name: statistics.median(values) for name, values in times.items()}
    result = {}
    print(f"{arguments.keys} keys, {arguments.rounds} rounds")
    print(f"{'what':62} {'tlcache':>10} {'Triton':>10} {'ratio':>6}")
    for row, _, told in ROWS:
        own, ours = times.get((row, False), times["fresh", False]), times[row, True]
        result[row] = {"tlcache_us": ours * 1e6, "triton_us": own * 1e6, "ratio": own / ours}
        print(f"{told:62} {ours * 1e6:8.1f}us {own * 1e6:8.1f}us {own / ours:6.2f}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
