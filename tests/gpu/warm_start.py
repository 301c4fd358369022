#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One start of a program that needs one kernel on the card: by TLCache, Triton, CuPy or cuda.core, each with its own cache.

    warm_start.py FRAMEWORK CACHE_FOLDER

The kernel adds two vectors; its result is checked. Prints one line of JSON, in milliseconds:
    ready   from the first line that is about the kernel to the end of its first launch: the cache's look-up, the load and
            the launch. Imports and the device's context come before.
    whole   from the start of this script to the same point, imports and context included
"""

import time

STARTED = time.perf_counter()

import ctypes  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402

COUNT = 4096
SOURCE = """
extern "C" __global__ void vector_add(const float* x, const float* y, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = x[i] + y[i];
}
"""


def tlcache_arm(folder):
    import tlcache

    driver = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), [ctypes.c_uint64() for _ in range(3)]
    driver.cuInit(0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    values = (ctypes.c_float * COUNT)(*range(COUNT))
    for one in address:
        driver.cuMemAlloc_v2(ctypes.byref(one), ctypes.c_size_t(4 * COUNT))
        driver.cuMemcpyHtoD_v2(one, values, ctypes.c_size_t(4 * COUNT))
    count = ctypes.c_int(COUNT)
    arguments = (ctypes.c_void_p * 4)(*[ctypes.addressof(a) for a in (*address, count)])

    ready = time.perf_counter()
    cache = tlcache.Cache(folder, strict=True)
    artifact = cache.get_or_compile(tlcache.Request("warm-start", target="cuda:auto", fields={"source": SOURCE}))
    module = cache.load(artifact)
    function = ctypes.c_void_p(module.symbol("vector_add"))
    driver.cuLaunchKernel(function, COUNT // 256, 1, 1, 256, 1, 1, 0, None, arguments, None)
    driver.cuCtxSynchronize()
    done = time.perf_counter()

    driver.cuMemcpyDtoH_v2(values, address[2], ctypes.c_size_t(4 * COUNT))
    return ready, done, [values[i] for i in (0, 7, COUNT - 1)]


def triton_arm(folder):
    os.environ["TRITON_CACHE_DIR"] = folder
    import torch

    import warm_start_triton

    x = torch.arange(COUNT, dtype=torch.float32, device="cuda")
    out = torch.empty_like(x)
    torch.cuda.synchronize()
    ready = time.perf_counter()
    warm_start_triton.vector_add[(COUNT // 256,)](x, x, out, COUNT, BLOCK=256)
    torch.cuda.synchronize()
    return ready, time.perf_counter(), [float(out[i]) for i in (0, 7, COUNT - 1)]


def cupy_arm(folder):
    os.environ["CUPY_CACHE_DIR"] = folder
    import cupy

    x = cupy.arange(COUNT).astype(cupy.float32)
    out = cupy.empty(COUNT, cupy.float32)
    cupy.cuda.Device().synchronize()
    ready = time.perf_counter()
    kernel = cupy.RawKernel(SOURCE, "vector_add")
    kernel((COUNT // 256,), (256,), (x, x, out, cupy.int32(COUNT)))
    cupy.cuda.Device().synchronize()
    return ready, time.perf_counter(), [float(out[i]) for i in (0, 7, COUNT - 1)]


def cuda_core_arm(folder):
    import numpy
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    from cuda.core.utils import FileStreamProgramCache

    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    driver = ctypes.CDLL("libcuda.so.1")
    values = (ctypes.c_float * COUNT)(*range(COUNT))
    address = [ctypes.c_uint64() for _ in range(3)]
    for one in address:
        driver.cuMemAlloc_v2(ctypes.byref(one), ctypes.c_size_t(4 * COUNT))
        driver.cuMemcpyHtoD_v2(one, values, ctypes.c_size_t(4 * COUNT))
    ready = time.perf_counter()
    capability = device.compute_capability
    options = ProgramOptions(arch=f"sm_{capability.major}{capability.minor}")
    with FileStreamProgramCache(folder) as cache:
        code = Program(SOURCE, "c++", options).compile("cubin", cache=cache)
    kernel = code.get_kernel("vector_add")
    pointers = [a.value for a in address]
    launch(stream, LaunchConfig(grid=COUNT // 256, block=256), kernel, *pointers, numpy.int32(COUNT))
    stream.sync()
    done = time.perf_counter()
    driver.cuMemcpyDtoH_v2(values, address[2], ctypes.c_size_t(4 * COUNT))
    return ready, done, [values[i] for i in (0, 7, COUNT - 1)]


ARMS = {"tlcache": tlcache_arm, "triton": triton_arm, "cupy": cupy_arm, "cuda.core": cuda_core_arm}


def main():
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    ready, done, sums = ARMS[sys.argv[1]](sys.argv[2])
    if sums != [0.0, 14.0, 2.0 * (COUNT - 1)]:
        sys.exit(f"{sys.argv[1]}: wrong results: {sums}")
    print(json.dumps({"ready": (done - ready) * 1e3, "whole": (done - STARTED) * 1e3}))


if __name__ == "__main__":
    main()
