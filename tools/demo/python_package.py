# SPDX-License-Identifier: MIT
"""The Python package, made of bindings/python and a library that is built: as `pip install .` does, but in seconds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path


def make_package(root: Path, build: Path, folder: Path) -> tuple[Path | None, str]:
    """The folder to import `tlcache` from; or None, and why there is none."""
    headers = sysconfig.get_path("include")
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not os.path.exists(os.path.join(headers, "Python.h")) or compiler is None:
        return None, "Python's headers are not installed"
    package, source = folder / "tlcache", folder / "_ffi.c"
    shutil.copytree(root / "bindings/python/tlcache", package, ignore=shutil.ignore_patterns("__pycache__"))
    extension = package / f"_ffi{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}"
    includes = [f"-I{root / 'include'}", f"-I{headers}"]
    steps = (
        (
            [sys.executable, str(root / "bindings/python/generate_ffi.py")]
            + ["--include", str(root / "include"), "--output", str(source)],
            "cffi is not installed",
        ),
        (
            [compiler, "-std=c11", "-w", "-fPIC", "-shared", *includes, str(source), "-o", str(extension)]
            + [f"-L{build}", "-ltlcache", f"-Wl,-rpath,{build}"],
            "its extension module could not be compiled",
        ),
        ([sys.executable, "-c", "import tlcache"], "it could not be imported"),
    )
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    for command, reason in steps:
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=120,
            )
        except subprocess.TimeoutExpired:
            return None, "building the package took too long"
        if done.returncode != 0:
            return None, reason
    return folder, ""
