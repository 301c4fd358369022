# SPDX-License-Identifier: MIT
"""Compiles kernels for sm_90 in a process of its own, without a device, and prints what came of it as JSON.

    python triton_compile.py [NAME...] [--option NAME=VALUE]...     (NAMEs: those of triton_kernels.py; default: all)
"""

import argparse
import glob
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
                "paths": paths_of(made, name),
            }
        caught = [str(record.message) for record in records]
    print(json.dumps({"version": triton.__version__, "kernels": kernels, "warnings": [text for text in caught if "tlcache" in text]}))


def paths_of(made, name):
    """Where the kernel's files are; before 3.5 the kernel does not tell."""
    if hasattr(made, "metadata_group"):
        return {member: str(path) for member, path in made.metadata_group.items()}
    for described in glob.glob(os.path.join(os.environ["TRITON_CACHE_DIR"], "*", f"{name}.json")):
        with open(described, encoding="utf-8") as file:
            if json.load(file)["hash"] == made.hash:
                return {os.path.basename(path): path for path in glob.glob(described[: -len("json")] + "*")}
    return {}


def count_compiles(path):
    """Counts by the last stage, which only a compile that runs comes to."""

    def count():
        with open(path, "ab", buffering=0) as file:
            file.write(b".")

    before_last_stage(count)


def before_last_stage(function):
    """Calls the function in each compile, before the binary is made."""
    from triton.backends import backends

    backend = backends["nvidia"].compiler
    is_static = isinstance(backend.__dict__["make_cubin"], staticmethod)
    plain = backend.make_cubin

    def make_cubin(*given, **named):
        function()
        return plain(*given, **named)

    backend.make_cubin = staticmethod(make_cubin) if is_static else make_cubin


if __name__ == "__main__":
    main()
