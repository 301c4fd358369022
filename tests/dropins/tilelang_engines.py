# SPDX-License-Identifier: MIT
"""Has TileLang compile one kernel for a target by an execution backend, keeps a copy of the files that it wrote, and reports
as JSON what lies where the kernel was loaded from.

    python tilelang_engines.py KIND ENGINE [--written FOLDER] [--drop FILE] [--other-files]

No device is needed: nothing is launched, and `nvrtc`, which gives what it compiled to the driver at once, gets the answers
of one that takes everything. The compile, the files, and what is read of them are TileLang's own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import types
from pathlib import Path
from typing import Any


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("engine")
    parser.add_argument("--written", type=Path, help="where a copy of what TileLang wrote goes")
    parser.add_argument("--drop", help="a file that TileLang forgets to write, and does not miss")
    parser.add_argument("--other-files", action="store_true", help="a TileLang that writes one file more")
    return parser.parse_args()


SIZE = 256


def scale(kind: str) -> Any:
    """b = a * 2, in the form that the target takes."""
    import tilelang.language as T

    @T.prim_func
    def on_host(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((SIZE,), "float32")):
        with T.Kernel(1) as _:
            for i in T.serial(SIZE):
                B[i] = A[i] * 2.0

    @T.prim_func
    def on_device(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((SIZE,), "float32")):
        with T.Kernel(SIZE // 128, threads=128) as block:
            for i in T.Parallel(128):
                B[block * 128 + i] = A[block * 128 + i] * 2.0

    return on_host if kind in ("c", "llvm") else on_device


def target_of(kind: str) -> Any:
    arch = {"cuda": {"kind": "cuda", "arch": "sm_90"}, "hip": {"kind": "hip", "mcpu": "gfx90a"}}
    return arch.get(kind, kind)


def compiled(kind: str, engine: str) -> Any:
    import tilelang
    from tvm.target import Target

    # nvrtc asks for the arch of the target that it is in.
    inside = Target(target_of(kind)) if engine == "nvrtc" else contextlib.nullcontext()
    with inside:
        return tilelang.compile(
            scale(kind), out_idx=[-1], target=target_of(kind), execution_backend=engine
        )


def keep_what_is_written(folder: Path) -> None:
    """Copies an entry's folder just before it is published."""
    from tlcache.integrations._tilelang import _kernels

    publish = _kernels._publish

    def wrapper(known: Any, written: Path) -> bool:
        if written.is_dir():
            shutil.copytree(written, folder)
        return publish(known, written)

    _kernels._publish = wrapper


def forget(name: str) -> None:
    """A TileLang that loses a file of an entry on the way, and takes the rest for an entry."""
    from tilelang.cache.kernel_cache import KernelCache

    write = KernelCache._write_manifest

    def wrapper(self: Any, folder: str) -> None:
        (Path(folder) / name).unlink()
        write(self, folder)

    KernelCache._write_manifest = wrapper
    KernelCache._get_missing_complete_cache_files = lambda _self, _folder: []


def write_more() -> None:
    """A TileLang with another file in its entries than this version has, instead of one that it has."""
    from tilelang.cache.kernel_cache import KernelCache

    KernelCache.host_kernel_path = "host_kernel.other"


def load_by_a_made_up_driver() -> None:
    """What NVRTC's adapter asks of the driver when it loads a file."""
    from cuda.bindings import driver
    from tilelang.jit.adapter.nvrtc import adapter, libgen

    good = driver.CUresult.CUDA_SUCCESS
    made_up = types.SimpleNamespace(
        CUresult=driver.CUresult,
        cuCtxGetCurrent=lambda: (good, None),
        cuCtxGetApiVersion=lambda _context: (good, 1),
        cuLibraryLoadFromFile=lambda path, *_options: (good, path),
        cuLibraryGetKernel=lambda _library, name: (good, name),
        cuLibraryUnload=lambda _library: (good,),
    )
    adapter.cuda = libgen.cuda = made_up


def main() -> None:
    arguments = parse()
    import tlcache.integrations.tilelang
    import tilelang  # noqa: F401

    assert tlcache.integrations.tilelang.state()[0]
    if arguments.engine == "nvrtc":
        load_by_a_made_up_driver()
    if arguments.written:
        keep_what_is_written(arguments.written)
    if arguments.drop:
        forget(arguments.drop)
    if arguments.other_files:
        write_more()
    kernel = compiled(arguments.kind, arguments.engine)
    folder = Path(getattr(kernel, "_tilelang_cache_path", None) or "/nonexistent")
    files = {one.name: one.read_bytes().hex() for one in folder.iterdir()} if folder.is_dir() else {}
    print(json.dumps({"files": files, "source": kernel.get_kernel_source()}))


if __name__ == "__main__":
    main()
