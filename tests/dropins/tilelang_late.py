# SPDX-License-Identifier: MIT
"""One kernel of CuTeDSL for sm_90a, with TileLang's and NVIDIA's real packages, up to its launch; reports as JSON.

    python tilelang_late.py compile|load

`compile`: TileLang makes the entry; then the kernel is called, which has NVIDIA's compiler make the cubin, and TileLang save
it. What is not run is the launch: the function of the launcher that would call the driver is put aside. `load`: the entry of
another process, called in the same way; a cubin that has to be made is counted.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

# Without a device the package would ask the driver for one.
os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")

import tlcache.integrations.tilelang  # noqa: F401


def compiled():
    """The kernel: b = a * 2."""
    import tilelang
    import tilelang.language as T

    @T.prim_func
    def double(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(8, threads=128) as block:
            for i in T.Parallel(128):
                B[block * 128 + i] = A[block * 128 + i] * 2.0

    return tilelang.compile(double, target={"kind": "cutedsl", "arch": "sm_90a"}, execution_backend="cutedsl")


def files() -> dict[str, str]:
    """What is stored for the one kernel there is: names, and hashes."""
    import tilelang

    with tlcache.Cache() as cache:
        (entry,) = cache.list(f"tilelang/{tilelang.__version__}/kernels")
        stored = cache.find(entry.digest.hex())
        return {name: hashlib.sha256(stored[name]).hexdigest() for name in stored}


def main() -> None:
    import torch

    adapter = compiled().adapter
    module, made = adapter.pymodule, []
    before = files()
    generate = module._generate_cubin_if_needed

    def counted(*arguments):
        made.append(1)
        return generate(*arguments)

    module._generate_cubin_if_needed = counted
    module._load_cpp_launcher = lambda: lambda *arguments: 0
    tensors = [torch.zeros(1024) for _ in range(2)]
    adapter._forward_from_prebuild_lib(*tensors, stream=0, device_id=0)
    cubin = Path(module._cubin_path).read_bytes()
    print(
        json.dumps(
            {"what": sys.argv[1], "made": len(made), "before": before, "after": files(), "elf": cubin[:4] == b"\x7fELF",
             "machine": int.from_bytes(cubin[18:20], "little"), "cubin": hashlib.sha256(cubin).hexdigest(), "size": len(cubin)}
        )
    )


if __name__ == "__main__":
    main()
