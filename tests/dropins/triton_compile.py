# SPDX-License-Identifier: MIT
"""Compiles kernels for sm_90 in a process of its own, without a device, and prints what came of it as JSON.

    python triton_compile.py [NAME...] [--option NAME=VALUE]...     (NAMEs: those of triton_kernels.py; default: all)
"""

import argparse
import hashlib
import json
import os
import sys
import time
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def source_of(name):
    """The kernel's source as triton.compile takes it; the arguments' names changed between versions."""
    from triton.compiler import ASTSource
    from triton_kernels import KERNELS

    function, signature, constants = KERNELS[name]
    try:
        return ASTSource(fn=function, signature={**signature, **dict.fromkeys(constants, "constexpr")}, constexprs=constants)
    except TypeError:
        return ASTSource(fn=function, signature=signature, constants=constants)


def main():
    """Command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--count", help="a file that gets a byte for each compile that ran")
    parser.add_argument("--wait", help="a file whose appearance starts the compiles")
    arguments = parser.parse_args()
    caught = []
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        import triton
        from triton.backends.compiler import GPUTarget
        from triton_kernels import KERNELS

        if arguments.count:
            count_compiles(arguments.count)
        if arguments.wait:
            print("ready", flush=True)
            while not os.path.exists(arguments.wait):
                time.sleep(0.001)
        options = {name: int(value) for name, value in (one.split("=") for one in arguments.option)}
        kernels = {}
        for name in arguments.names or KERNELS:
            started = time.perf_counter()
            made = triton.compile(source_of(name), target=GPUTarget("cuda", 90, 32), options=options)
            kernels[name] = {
                "cubin": hashlib.sha256(made.asm["cubin"]).hexdigest(),
                "hash": made.hash,
                "seconds": time.perf_counter() - started,
                "paths": {member: str(path) for member, path in made.metadata_group.items()},
            }
        caught = [str(record.message) for record in records]
    print(json.dumps({"version": triton.__version__, "kernels": kernels, "warnings": [text for text in caught if "tlcache" in text]}))


def count_compiles(path):
    """Counts by the last stage, which only a compile that runs comes to."""
    from triton.backends.nvidia.compiler import CUDABackend

    plain = CUDABackend.make_cubin

    def counted(*given, **named):
        with open(path, "ab", buffering=0) as file:
            file.write(b".")
        return plain(*given, **named)

    CUDABackend.make_cubin = counted


if __name__ == "__main__":
    main()
