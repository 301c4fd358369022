# SPDX-License-Identifier: MIT
"""CuTeDSL on tlcache, with NVIDIA's real package: the cubin that comes with the first call joins the entry. No device."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from dropin_tools import HERE

pytest.importorskip("tilelang", reason="tilelang is not installed; tools/dev dropins tilelang installs it")
pytest.importorskip("tlcache")
pytest.importorskip("cutlass", reason="nvidia-cutlass-dsl is not installed; tools/dev dropins tilelang nvidia-cutlass-dsl nvidia-cuda-nvcc")

from tilelang_place import TileLang  # noqa: E402


def toolkit() -> str | None:
    """A CUDA toolkit with nvcc, which TileLang compiles the launcher with: the system's, or pip's."""
    spec = importlib.util.find_spec("nvidia")
    found: list[object] = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        found += sorted(Path(folder).glob("cu[0-9]*"))
    there = [str(one) for one in found if one and Path(str(one), "bin", "nvcc").exists()]
    return there[0] if there else None


def test_a_late_cubin_joins_the_entry_and_the_next_process_makes_none(place) -> None:
    cuda = toolkit()
    if cuda is None:
        pytest.skip("there is no nvcc (package nvidia-cuda-nvcc, or CUDA_HOME)")
    tilelang = TileLang(place)
    # The launcher is linked with the driver's library, and never loaded here: an empty one will do.
    stubs = place.top / "stubs"
    stubs.mkdir()
    command = [shutil.which("gcc") or "cc", "-shared", "-Wl,-soname,libcuda.so.1", "-o", stubs / "libcuda.so", "-x", "c", "/dev/null"]
    subprocess.run(command, check=True)
    environment = {**tilelang.environment, "CUDA_HOME": cuda, "LIBRARY_PATH": str(stubs)}

    def call(what: str) -> dict:
        return json.loads(place.run(HERE / "tilelang_late.py", what, **environment).strip().splitlines()[-1])

    first = call("compile")
    assert first["made"] == 1
    assert first["elf"] and first["machine"] == 190  # NVIDIA's
    assert "kernel.cubin" not in first["before"]
    assert first["after"] == {**first["before"], "kernel.cubin": first["cubin"]}
    second = call("load")
    assert second["made"] == 0
    assert second["before"] == second["after"] == first["after"]
    assert second["cubin"] == first["cubin"]
    (entry,) = [one for one in place.tool("ls")["entries"] if one["namespace"] == f"tilelang/{metadata.version('tilelang')}/kernels"]
    assert entry["size"] > first["size"]
