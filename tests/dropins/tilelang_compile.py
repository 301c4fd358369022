# SPDX-License-Identifier: MIT
"""Compiles kernels with TileLang for the host, runs them, and reports as JSON. Needs no device.

    python tilelang_compile.py [--kernels N] [--flag F] [--config K=V] [--wait FILE] [--off]

TileLang's source is not changed; with tlcache it is used as its users would: by an import.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernels", type=int, default=3)
    parser.add_argument("--flag", action="append")
    parser.add_argument("--config", action="append", default=[])
    parser.add_argument("--wait", help="begin when this file is there")
    parser.add_argument("--off", action="store_true", help="without tlcache")
    parser.add_argument("--late", action="store_true", help="import tlcache after tilelang")
    return parser.parse_args()


def scaled(size: int, factor: float, **options):
    """b = a * factor, on the host."""
    import tilelang
    import tilelang.language as T

    @T.prim_func
    def scale(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):
        with T.Kernel(1) as _:
            for i in T.serial(size):
                B[i] = A[i] * factor

    return tilelang.compile(scale, out_idx=[-1], target="c", execution_backend="cython", **options)


def main() -> None:
    arguments = parse()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = run(arguments)
    report["warnings"] = [str(one.message) for one in caught if "tlcache" in str(one.message)]
    print(json.dumps(report))


def run(arguments: argparse.Namespace) -> dict:
    if not arguments.off and not arguments.late:
        import tlcache.integrations.tilelang
    import tilelang  # noqa: F401
    import torch

    if arguments.late:
        import tlcache.integrations.tilelang  # noqa: F811
    options: dict = {"compile_flags": arguments.flag} if arguments.flag else {}
    if arguments.config:
        pairs = (one.split("=", 1) for one in arguments.config)
        options["pass_configs"] = {name: json.loads(value) for name, value in pairs}
    while arguments.wait and not os.path.exists(arguments.wait):
        time.sleep(0.005)
    kernels = []
    for index in range(arguments.kernels):
        started = time.perf_counter()
        kernel = scaled(64 + index, 2.0, **options)
        seconds = time.perf_counter() - started
        values = torch.arange(64 + index, dtype=torch.float32)
        kernels.append(
            {
                "seconds": seconds,
                "right": bool(torch.equal(kernel(values), values * 2.0)),
                "source": kernel.get_kernel_source(),
                "host": kernel.get_host_source() if hasattr(kernel, "get_host_source") else None,
            }
        )
    return {"kernels": kernels}


if __name__ == "__main__":
    main()
