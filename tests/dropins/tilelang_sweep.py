# SPDX-License-Identifier: MIT
"""A sweep of TileLang's autotuner, from its start to its best, without a device: what would be measured is made up.

    python tilelang_sweep.py CONFIGS --wait FILE

Configurations are compiled for the host, by TileLang's own threads. Prints the best, and how often a kernel was compiled
here.
"""

from __future__ import annotations

import argparse
import json
import os
import time

import tlcache.integrations.tilelang  # noqa: F401
import tilelang.language as T
from gpu_tilelang import count_compiles


def scale(factor: float = 0.0):
    """What is tuned; a function in a function would have TileLang read the module T from its closure."""

    @T.prim_func
    def scaled(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1) as _:
            for i in T.serial(64):
                B[i] = A[i] * factor

    return scaled


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("configs", type=int)
    parser.add_argument("--wait", required=True)
    arguments = parser.parse_args()
    from tilelang.autotuner.tuner import AutoTuner

    AutoTuner._benchmark_target = lambda self, jit_kernel, *given, **named: (float(len(jit_kernel.get_kernel_source())), None)
    compiled = count_compiles()
    tuner = AutoTuner(scale, configs=[{"factor": 10.0**one} for one in range(arguments.configs)])
    tuner.set_compile_args(out_idx=[-1], target="c", execution_backend="cython")
    tuner.set_profile_args()
    print("READY", flush=True)
    while not os.path.exists(arguments.wait):
        time.sleep(0.001)
    result = tuner.run()
    print("REPORT " + json.dumps({"best": result.config, "compiled": len(compiled)}))


if __name__ == "__main__":
    main()
