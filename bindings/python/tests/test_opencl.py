# SPDX-License-Identifier: MIT
"""Kernels of the opencl backend: compiled in one process, found and launched by another. Skipped without a driver.

In processes of their own, with a driver's own cache in a folder of theirs: tests fork, and drivers do not live through it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = r"""
import array, ctypes, json, sys
import tlcache

SOURCE = "kernel void scale(global float* x, float by) { x[get_global_id(0)] *= by; }"
P, N = ctypes.c_void_p, ctypes.c_uint32


def launch(kernel, values, by):
    cl, code = ctypes.CDLL("libOpenCL.so.1"), ctypes.c_int()
    for name in ("clCreateCommandQueue", "clCreateBuffer"):
        getattr(cl, name).restype = P
    context, device = P(), P()
    assert cl.clGetKernelInfo(P(kernel), N(0x1193), ctypes.c_size_t(8), ctypes.byref(context), None) == 0
    assert cl.clGetContextInfo(context, N(0x1081), ctypes.c_size_t(8), ctypes.byref(device), None) == 0
    queue = P(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(code)))
    size, address = ctypes.c_size_t(4 * len(values)), P(values.buffer_info()[0])
    memory = P(cl.clCreateBuffer(context, ctypes.c_uint64(1 | 32), size, address, ctypes.byref(code)))
    factor, count = ctypes.c_float(by), ctypes.c_size_t(len(values))
    assert cl.clSetKernelArg(P(kernel), N(0), ctypes.c_size_t(8), ctypes.byref(memory)) == 0
    assert cl.clSetKernelArg(P(kernel), N(1), ctypes.c_size_t(4), ctypes.byref(factor)) == 0
    assert cl.clEnqueueNDRangeKernel(queue, P(kernel), N(1), None, ctypes.byref(count), None, N(0), None, None) == 0
    assert cl.clEnqueueReadBuffer(queue, memory, N(1), ctypes.c_size_t(0), size, address, N(0), None, None) == 0


with tlcache.Cache(sys.argv[1], strict=True) as cache:
    [backend] = [one for one in cache.backends()["backends"] if one["engine"] == "opencl"]
    if not backend["available"]:
        print(json.dumps({"skipped": backend.get("reason", "no OpenCL driver")}))
        sys.exit(0)
    request = tlcache.Request("pytest", target="opencl", fields={"source": SOURCE})
    artifact = cache.get_or_compile(request)
    module = cache.load(artifact)
    values = array.array("f", range(64))
    launch(module.symbol("scale"), values, 3.0)
    try:
        cache.get_or_compile(tlcache.Request("pytest", target="opencl", fields={"source": "kernel void k() { nonsense; }"}))
        refused = ""
    except tlcache.CompileError as error:
        refused = str(error)
    print(json.dumps({"compiled": artifact.log is not None, "members": sorted(artifact), "right": list(values) == [3.0 * i for i in range(64)],
                      "refused": refused}))
"""


def in_a_process(folder: Path, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "pocl").mkdir(exist_ok=True)
    environment = {**os.environ, "POCL_CACHE_DIR": str(tmp_path / "pocl"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "skipped" in told:
        pytest.skip(told["skipped"])
    return told


def test_a_kernel_is_compiled_once_and_computes_in_each_process(folder: Path, tmp_path: Path) -> None:
    first, second = in_a_process(folder, tmp_path), in_a_process(folder, tmp_path)
    assert (first["compiled"], second["compiled"]) == (True, False)
    for told in (first, second):
        assert told["right"]
        assert told["members"] == ["program.clbin", "program.json"]
        assert "nonsense" in told["refused"]
