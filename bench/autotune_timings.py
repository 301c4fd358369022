#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether writing autotuning results moves what is measured next to it.

    python bench/autotune_timings.py [--results 288] [--own]

Needs tilelang and triton in this Python; no device: what is timed is a kernel that TileLang compiled for the host. For each
result the kernel is timed as a tuner does it (warm-up, then the median of many calls), a result is written, and it is timed
again, so that both timings of a pair are from the same moment of the machine. In turn with that, the same without writing
anything in between. Results are TileLang's AutotuneResult with its kernel, and Triton's files of timings; --own: in the frameworks' own
caches. Exit code 1 where the medians differ by more than 1 % beyond what they differ by without writing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "dropins"))


def timed(kernel, values, calls: int = 60) -> float:
    """The median time of a call, in microseconds."""
    for _ in range(5):
        kernel(values)
    times = []
    for _ in range(calls):
        started = time.perf_counter_ns()
        kernel(values)
        times.append(time.perf_counter_ns() - started)
    return statistics.median(times) / 1e3


def pairs(count: int, measure, writers: dict) -> dict[str, list[tuple[float, float, float]]]:
    """For each writer, (timing before, timing after, ms of the write) of each result; the writers take turns."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in writers}
    for index in range(count):
        for name in list(writers)[:: -1 if index % 2 else 1]:
            before = measure()
            started = time.perf_counter()
            writers[name](index)
            wrote = (time.perf_counter() - started) * 1e3
            found[name].append((before, measure(), wrote))
    return found


def tilelang_writer():
    """Writes one more result of a tuned kernel; and the kernel."""
    from tilelang.autotuner.param import AutotuneResult
    from tilelang_compile import scaled
    from tilelang_tune import key_of, tuner_of

    kernel = scaled(65536, 2.0)
    tuners = [(one := tuner_of(size, None), key_of(one)) for size in range(1, 400)]

    def write(index: int) -> None:
        tuner, key = tuners[index]
        result = AutotuneResult(latency=1.0 + index, config={"block": index}, func=kernel.prim_func, kernel=kernel)
        tuner._save_result_to_disk(key, result)

    return write, kernel


def triton_writer():
    """As triton/runtime/autotuner.py with TRITON_CACHE_AUTOTUNING=1."""
    from triton.runtime.cache import get_cache_manager

    def write(index: int) -> None:
        manager = get_cache_manager(f"{index:064x}")
        if manager.get_file("kernel.autotune.json") is None:
            text = json.dumps({"key": index, "configs_timings": [[{"block": size}, [1.5, 1.4, 1.6]] for size in range(8)]})
            manager.put(text, "kernel.autotune.json", binary=False)

    return write


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--results", type=int, default=288)
    parser.add_argument("--own", action="store_true", help="the frameworks' own caches")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="autotune-timings-") as top:
        os.environ |= {"TLC_DIR": f"{top}/store", "TILELANG_CACHE_DIR": f"{top}/tilelang", "TRITON_CACHE_DIR": f"{top}/triton"}
        os.environ |= {"TILELANG_PRINT_ON_COMPILATION": "0"}
        os.environ.pop("TRITON_CACHE_MANAGER", None)
        if not options.own:
            os.environ["TRITON_CACHE_MANAGER"] = "tlcache.integrations.triton:TLCacheManager"
            import tlcache.integrations.tilelang  # noqa: F401
        else:
            sys.modules["tlcache.integrations.tilelang"] = types.ModuleType("off")  # tilelang_tune imports it
        import torch

        torch.set_num_threads(1)
        write, kernel = tilelang_writer()
        values = torch.arange(65536, dtype=torch.float32)
        writers = {"nothing": lambda index: None, "TileLang's results": write, "Triton's timings": triton_writer()}
        print(f"{options.results} results; a kernel of {timed(kernel, values):.1f} us is timed before and after each\n")
        print("| written in between | median before, us | after, us | ratio of the medians | median of the pairs' ratios | a write, ms |")
        print("|---|---|---|---|---|---|")
        moved = {}
        for name, rows in pairs(options.results, lambda: timed(kernel, values), writers).items():
            before, after, wrote = ([row[column] for row in rows] for column in range(3))
            moved[name] = statistics.median(after) / statistics.median(before)
            pair = statistics.median(b / a for a, b in zip(before, after, strict=True))
            print(f"| {name} | {statistics.median(before):.2f} | {statistics.median(after):.2f} | {moved[name]:.4f} "
                  f"| {pair:.4f} | {statistics.median(wrote):.2f} |", flush=True)
    return 1 if any(abs(one - moved["nothing"]) > 0.01 for one in moved.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
