# SPDX-License-Identifier: MIT
"""Tuning results of TileLang, saved and loaded without a device: what would be measured is made up.

    python tilelang_tune.py save|load COUNT [--flag F] [--run K=V]

A result is what TileLang makes of one: AutotuneResult with a kernel that was compiled for the host.
"""

from __future__ import annotations

import argparse
import json
import time

import tlcache.integrations.tilelang  # noqa: F401
from tilelang_compile import scaled

HELPER = 3


def tuned(size, block=None):
    """What would be tuned."""
    return scaled(size, float(HELPER))


def tuner_of(size: int, flags: list[str] | None, **profile):
    """An AutoTuner as `tilelang.autotune` makes it."""
    from tilelang.autotuner.tuner import AutoTuner

    tuner = AutoTuner(tuned, configs=[{"block": 32}, {"block": 64}])
    tuner.set_compile_args(out_idx=[-1], target="c", execution_backend="cython")
    tuner.set_profile_args(**profile)
    tuner.set_kernel_parameters(((size,), ()), {})
    if flags is not None:
        tuner._tlcache_compile_flags = flags
    return tuner


def key_of(tuner) -> str | None:
    """As AutoTuner.run asks for it."""
    import inspect

    return tuner.generate_cache_key(inspect.signature(tuner.fn).parameters, {})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["save", "load"])
    parser.add_argument("count", type=int)
    parser.add_argument("--flag", action="append")
    parser.add_argument("--kernels", type=int, default=1)
    arguments = parser.parse_args()
    from tilelang.autotuner.param import AutotuneResult

    kernel = scaled(64, 2.0)
    keys, right, started = set(), 0, time.perf_counter()
    for size in range(1, arguments.count + 1):
        tuner = tuner_of(size, arguments.flag)
        key = key_of(tuner)
        keys.add(key)
        if arguments.what == "save":
            tuner._save_result_to_disk(
                key,
                AutotuneResult(
                    latency=size / 10, config={"block": size}, func=kernel.prim_func, kernel=kernel
                ),
            )
            right += 1
        else:
            result = tuner._load_result_from_disk(key)
            right += result is not None and result.config == {"block": size} and result.latency == size / 10
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "keys": len(keys), "right": right}))


if __name__ == "__main__":
    main()
