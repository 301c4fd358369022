# SPDX-License-Identifier: MIT
"""A C kernel, compiled once for all processes, called from Python.

Run it twice, or several at once: the second start finds what the first compiled.

    python kernel.py
"""

from __future__ import annotations

import array
import ctypes
import time

import tlcache

SOURCE = """
void saxpy(int count, float a, const float* x, float* y) {
  for (int i = 0; i < count; ++i) y[i] += a * x[i];
}
"""


def main() -> None:
    """Compiles or finds the kernel, runs it, says what that cost."""
    with tlcache.Cache() as cache:
        request = tlcache.Request(
            "examples",
            target="cpu:native",
            engine="cc",
            label="saxpy",
            fields={"source": SOURCE, "options": ["-O3"]},
        )
        started = time.perf_counter()
        artifact = cache.get_or_compile(request)
        saxpy = cache.load(artifact).function(
            "saxpy", None, (ctypes.c_int, ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p)
        )
        took = time.perf_counter() - started
        x, y = array.array("f", [1, 2, 3]), array.array("f", [10, 20, 30])
        saxpy(len(x), 2.0, x.buffer_info()[0], y.buffer_info()[0])
        assert list(y) == [12, 24, 36]
        how = "found" if artifact.log is None else "compiled"
        print(f"{how} and loaded in {took * 1e3:.2f} ms; y = {list(y)}")
        print(f"hits saved {cache.stats('examples').saved_time:.2f} s of compiling so far")


if __name__ == "__main__":
    main()
