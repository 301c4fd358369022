#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One small archive with TileLang and what it needs, for a machine with a card and no network.

    python3.12 tests/dropins/trim_tilelang.py tilelang.tar.xz

There, with torch, numpy and a CUDA toolkit installed:

    mkdir deps && tar -C deps -xJf tilelang.tar.xz
    PYTHONPATH=deps python tests/dropins/gpu_tilelang.py

Run it with the Python version of that machine: some packages are built for one. Left out: sources
and headers that no CUDA kernel reads, debug information, byte code, and torch.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

# What TileLang imports, apart from torch, numpy and what comes with them.
PACKAGES = (
    "tilelang",
    "apache-tvm-ffi>=0.1.11,<0.1.13",
    "z3-solver>=4.13,<4.15.5",
    "cloudpickle",
    "ml-dtypes",
    "psutil",
    "torch-c-dlpack-ext",
    "tqdm",
    "typing-extensions",
)
# Relative to site-packages; a pattern that matches nothing is no error, because versions move.
UNUSED = (
    "tilelang/3rdparty/cutlass/tools",
    "tilelang/3rdparty/composable_kernel",
    "tilelang/src/[!t]*",
    "tilelang/src/t[!l]*",
    "tilelang/src/tl_templates/hip",
    "tilelang/src/tl_templates/rocm",
    "tilelang/src/tl_templates/metal",
    "tvm_ffi/src",
    "tvm_ffi/3rdparty/libbacktrace",
    "tvm_ffi/cython",
    "tvm_ffi/testing",
    "z3/include",
    "bin",
)


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def trim(folder: Path) -> None:
    """Takes out what a CUDA kernel does not need."""
    for pattern in UNUSED:
        for path in sorted(folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in [*folder.rglob("__pycache__")]:
        shutil.rmtree(path, ignore_errors=True)
    # The same library under two names.
    for library in sorted(folder.glob("z3/lib/libz3.so.*")):
        short = library.with_name("libz3.so")
        if short.is_file() and not short.is_symlink():
            short.unlink()
            short.symlink_to(library.name)
    for library in folder.rglob("*.so*"):
        if library.is_file() and not library.is_symlink():
            # One that cannot be stripped stays as it is.
            subprocess.run(["strip", "--strip-debug", library], check=False, capture_output=True)


def main() -> int:
    """Installs, trims, packs; prints what it came to."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("output", type=Path)
    arguments.add_argument("--limit", type=int, default=64, help="MiB; more is an error")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder]
        subprocess.run([*install, *PACKAGES], check=True)
        whole = folder_size(folder)
        trim(folder)
        print(f"{whole >> 20} MiB installed, {folder_size(folder) >> 20} MiB after trimming")
        with tarfile.open(options.output, "w:xz", preset=6) as archive:
            for path in sorted(folder.iterdir()):
                archive.add(path, path.name)
    size = options.output.stat().st_size
    print(f"{options.output}: {size / 2**20:.1f} MiB")
    return 0 if size <= options.limit << 20 else 1


if __name__ == "__main__":
    sys.exit(main())
