# SPDX-License-Identifier: MIT
"""A process of tools/demo for an OpenCL device: worker.py with matmul.cl and softmax.cl.

    opencl_worker.py KERNELS TILE

Launches through libOpenCL, by ctypes. Prints what worker.py prints.
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

POINTER, SIZE, NUMBER, BITS = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint64
KERNEL_CONTEXT, CONTEXT_DEVICES, COPY_TO_DEVICE = 0x1193, 0x1081, 1 << 0 | 1 << 5


class Device:
    """The context and the device of a loaded kernel."""

    def __init__(self, kernel: int) -> None:
        self._library = ctypes.CDLL("libOpenCL.so.1")
        self._context, device = POINTER(), POINTER()
        self.call("clGetKernelInfo", POINTER(kernel), NUMBER(KERNEL_CONTEXT), SIZE(8), ctypes.byref(self._context), None)
        self.call("clGetContextInfo", self._context, NUMBER(CONTEXT_DEVICES), SIZE(8), ctypes.byref(device), None)
        self._queue = self.create("clCreateCommandQueue", self._context, device, BITS(0))

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function; an error ends the process."""
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            sys.exit(f"{name} failed: {code}")

    def create(self, name: str, *arguments: Any) -> POINTER:
        """Calls a function that makes something."""
        function, code = getattr(self._library, name), INT()
        function.restype = POINTER
        made = function(*arguments, ctypes.byref(code))
        if code.value != 0:
            sys.exit(f"{name} failed: {code.value}")
        return POINTER(made)

    def run(self, kernel: int, size: list[int], group: list[int], arrays: list[array.array[float]], *numbers: int) -> None:
        """The kernel with these matrices, of which the last is the result, and whole numbers."""
        memory = [
            self.create("clCreateBuffer", self._context, BITS(COPY_TO_DEVICE), SIZE(4 * len(one)), POINTER(one.buffer_info()[0]))
            for one in arrays
        ]
        for index, value in enumerate([*memory, *[INT(number) for number in numbers]]):
            self.call("clSetKernelArg", POINTER(kernel), NUMBER(index), SIZE(ctypes.sizeof(value)), ctypes.byref(value))
        sizes, groups = (SIZE * len(size))(*size), (SIZE * len(group))(*group)
        self.call("clEnqueueNDRangeKernel", self._queue, POINTER(kernel), NUMBER(len(size)), None, sizes, groups, NUMBER(0), None,
                  None)  # fmt: skip
        result = arrays[-1]
        self.call("clEnqueueReadBuffer", self._queue, memory[-1], NUMBER(1), SIZE(0), SIZE(4 * len(result)),
                  POINTER(result.buffer_info()[0]), NUMBER(0), None, None)  # fmt: skip
        for one in memory:
            self.call("clReleaseMemObject", one)


def request_for(kernels: Path, name: str, defines: dict[str, str]) -> Any:
    """As `tlcache compile KERNELS/NAME.cl -t opencl -n demo [-D TILE=TILE]` asks."""
    fields: dict[str, Any] = {"source": (kernels / f"{name}.cl").read_text("utf-8")}
    if defines:
        fields["defines"] = defines
    return tlcache.Request("demo", target="opencl", label=name, fields=fields)


def check(matmul: int, softmax: int, tile: int) -> None:
    """Both kernels, against a plain computation."""
    device = Device(matmul)
    a, b, c = worker.fill(M * K, 1), worker.fill(K * N, 5), array.array("f", bytes(4 * M * N))
    blocks = [(N + tile - 1) // tile * tile, (M + tile - 1) // tile * tile]
    device.run(matmul, blocks, [tile, tile], [a, b, c], M, N, K)
    worker.near_matmul(a, b, c, 0.0)
    x, y = worker.fill(ROWS * COLUMNS, 3), array.array("f", bytes(4 * ROWS * COLUMNS))
    Device(softmax).run(softmax, [ROWS], [1], [x, y], COLUMNS)
    worker.near_softmax(x, y)


def main() -> None:
    """Command line."""
    kernels, tile = Path(sys.argv[1]), int(sys.argv[2])
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
        check(matmul, softmax, tile)
    print(json.dumps({"language": "Python", "ready_ms": ready, "compiled": compiled}))


if __name__ == "__main__":
    main()
