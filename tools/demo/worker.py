# SPDX-License-Identifier: MIT
"""A process of tools/demo, in Python: the same as worker.c does, and the same keys.

    worker.py KERNELS TILE BIAS

Takes the package `tlcache`; where there is none, plain_ctypes.py beside this file.
"""

from __future__ import annotations

import array
import ctypes
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

try:
    import tlcache
except ImportError:
    import plain_ctypes as tlcache  # type: ignore[no-redef]

M, N, K, ROWS, COLUMNS = 61, 53, 47, 37, 129
POINTER, INT = ctypes.c_void_p, ctypes.c_int


def request_for(kernels: Path, name: str, defines: dict[str, str]) -> tlcache.Request:
    """As `tlcache compile KERNELS/NAME.c -t cpu:native -n demo -O 3 --option=-lm` asks."""
    fields: dict[str, Any] = {
        "source": (kernels / f"{name}.c").read_text("utf-8"),
        "language": "c",
        "options": ["-O3", "-lm", "-iquote", str(kernels)],
    }
    if defines:
        fields["defines"] = defines
    return tlcache.Request("demo", target="cpu:native", label=name, fields=fields)


def fill(count: int, seed: int) -> array.array[float]:
    """Numbers to compute with."""
    return array.array("f", [((i * 7 + seed) % 23 - 11) / 8 for i in range(count)])


def near(got: float, wanted: float, what: str) -> None:
    """Ends the process when a kernel is wrong."""
    if not abs(got - wanted) <= 1e-4 * (1 + abs(wanted)):
        sys.exit(f"{what}: gave a wrong result: {got}, not {wanted}")


def check_matmul(matmul: Any, bias: float) -> None:
    """Against the sum of products."""
    a, b, c = fill(M * K, 1), fill(K * N, 5), array.array("f", bytes(4 * M * N))
    matmul(*(x.buffer_info()[0] for x in (a, b, c)), M, N, K)
    near_matmul(a, b, c, bias)


def near_matmul(a: array.array[float], b: array.array[float], c: array.array[float], bias: float) -> None:
    """Ends the process unless c = a b + bias."""
    columns = [b[j::N] for j in range(N)]
    for i in range(M):
        row = a[i * K : (i + 1) * K]
        for j in range(N):
            near(c[i * N + j], bias + sum(map(float.__mul__, row, columns[j])), "matmul")


def check_softmax(softmax: Any) -> None:
    """Against its definition."""
    x, y = fill(ROWS * COLUMNS, 3), array.array("f", bytes(4 * ROWS * COLUMNS))
    softmax(x.buffer_info()[0], y.buffer_info()[0], ROWS, COLUMNS)
    near_softmax(x, y)


def near_softmax(x: array.array[float], y: array.array[float]) -> None:
    """Ends the process unless each row of y is the softmax of that of x."""
    for first in range(0, ROWS * COLUMNS, COLUMNS):
        powers = [math.exp(value) for value in x[first : first + COLUMNS]]
        for i, power in enumerate(powers):
            near(y[first + i], power / sum(powers), "softmax")


def main() -> None:
    """Command line."""
    kernels, tile, bias = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    print("ready", flush=True)
    if not sys.stdin.readline():
        sys.exit(1)

    started = time.perf_counter()
    with tlcache.Cache(strict=True) as cache:
        compiled, functions = [], []
        for name, defines, types in (
            ("matmul", {"TILE": tile}, (POINTER, POINTER, POINTER, INT, INT, INT)),
            ("softmax", {}, (POINTER, POINTER, INT, INT)),
        ):
            artifact = cache.get_or_compile(request_for(kernels, name, defines))
            functions.append(cache.load(artifact).function(name, None, types))
            if artifact.log is not None:
                compiled.append(name)
        ready = (time.perf_counter() - started) * 1e3

        check_matmul(functions[0], bias)
        check_softmax(functions[1])
    print(json.dumps({"language": "Python", "ready_ms": ready, "compiled": compiled}))


if __name__ == "__main__":
    main()
