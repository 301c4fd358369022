# SPDX-License-Identifier: MIT
"""A process of tools/demo for a CUDA device: worker.py with matmul.cu and softmax.cu.

    cuda_worker.py KERNELS TILE

Launches through the driver, by ctypes. Prints what worker.py prints.
"""

from __future__ import annotations

import array
import ctypes
import json
import sys
import time
from pathlib import Path
from typing import Any

import worker
from worker import COLUMNS, INT, K, M, N, ROWS, tlcache


class Device:
    """The first device, its primary context current."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver; an error ends the process."""
        code = getattr(self._driver, name)(*arguments)
        if code != 0:
            sys.exit(f"{name} failed: {code}")

    def memory(self, values: array.array[float]) -> ctypes.c_uint64:
        """Device memory with these values."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t(4 * len(values))
        self.call("cuMemAlloc_v2", ctypes.byref(address), size)
        self.call("cuMemcpyHtoD_v2", address, ctypes.c_void_p(values.buffer_info()[0]), size)
        return address

    def launch(self, function: int, grid: tuple[int, int], block: tuple[int, int], *arguments: Any) -> None:
        """Launches and waits for the end."""
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(one) for one in arguments])
        self.call("cuLaunchKernel", ctypes.c_void_p(function), *grid, 1, *block, 1, 0, None, pointers, None)
        self.call("cuCtxSynchronize")

    def kernel(self, function: int, grid: tuple[int, int], block: tuple[int, int], inputs: int) -> Any:
        """A function like the C kernel's: addresses of `inputs` matrices and of the result, then whole numbers."""

        def run(arrays: list[array.array[float]], *numbers: int) -> None:
            memory = [self.memory(one) for one in arrays]
            self.launch(function, grid, block, *memory, *[INT(number) for number in numbers])
            result = arrays[inputs]
            self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(result.buffer_info()[0]), memory[inputs],
                      ctypes.c_size_t(4 * len(result)))  # fmt: skip
            for one in memory:
                self.call("cuMemFree_v2", one)

        return run


def request_for(kernels: Path, name: str, defines: dict[str, str]) -> Any:
    """As `tlcache compile KERNELS/NAME.cu -t cuda:auto -n demo [-D TILE=TILE]` asks."""
    fields: dict[str, Any] = {"source": (kernels / f"{name}.cu").read_text("utf-8")}
    if defines:
        fields["defines"] = defines
    return tlcache.Request("demo", target="cuda:auto", label=name, fields=fields)


def check(device: Device, matmul: int, softmax: int, tile: int) -> None:
    """Both kernels, against a plain computation."""
    a, b, c = worker.fill(M * K, 1), worker.fill(K * N, 5), array.array("f", bytes(4 * M * N))
    grid = ((N + tile - 1) // tile, (M + tile - 1) // tile)
    device.kernel(matmul, grid, (tile, tile), 2)([a, b, c], M, N, K)
    worker.near_matmul(a, b, c, 0.0)
    x, y = worker.fill(ROWS * COLUMNS, 3), array.array("f", bytes(4 * ROWS * COLUMNS))
    device.kernel(softmax, (ROWS, 1), (32, 1), 1)([x, y], COLUMNS)
    worker.near_softmax(x, y)


def main() -> None:
    """Command line."""
    kernels, tile = Path(sys.argv[1]), int(sys.argv[2])
    device = Device()
    print("ready", flush=True)
    if not sys.stdin.readline():
        sys.exit(1)

    started = time.perf_counter()
    with tlcache.Cache(strict=True) as cache:
        compiled, modules = [], []
        for name, defines in (("matmul", {"TILE": str(tile)}), ("softmax", {})):
            artifact = cache.get_or_compile(request_for(kernels, name, defines))
            modules.append(cache.load(artifact))
            if artifact.log is not None:
                compiled.append(name)
        matmul, softmax = (module.symbol(name) for module, name in zip(modules, ("matmul", "softmax")))
        ready = (time.perf_counter() - started) * 1e3
        check(device, matmul, softmax, tile)
    print(json.dumps({"language": "Python", "ready_ms": ready, "compiled": compiled}))


if __name__ == "__main__":
    main()
