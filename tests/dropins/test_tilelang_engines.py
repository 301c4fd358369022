# SPDX-License-Identifier: MIT
"""The files that TileLang writes for each execution backend and target that it can build without a device: stored as they
are, read back byte for byte, served to another process; and the descriptions of engines, compared with TileLang itself."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

import pytest
from dropin_tools import HERE

pytest.importorskip("tilelang", reason="tilelang is not installed; tools/dev dropins tilelang installs it")
pytest.importorskip("tlcache")

from tilelang_place import TileLang, report  # noqa: E402
from tlcache.integrations._tilelang import _engines  # noqa: E402

VERSION = metadata.version("tilelang")
SCRIPT = HERE / "tilelang_engines.py"


def has(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def nvcc() -> bool:
    places = [Path(one) for one in (importlib.util.find_spec("nvidia").submodule_search_locations if has("nvidia") else ())]
    return bool(shutil.which("nvcc")) or any(any(place.glob("*/bin/nvcc")) for place in places)


#: What each pair needs, beside TileLang. Others cannot be built by the wheel of 0.1.15 on Linux: `llvm`, and `c` with
#: tvm_ffi, have no code generator in it; `hip` needs ROCm 6's headers; `metal` a Mac.
PAIRS = {
    ("c", "cython"): lambda: None,
    ("webgpu", "tvm_ffi"): lambda: None,
    ("cuda", "tvm_ffi"): lambda: None if nvcc() else "there is no nvcc (package nvidia-cuda-nvcc)",
    ("cuda", "cython"): lambda: None if nvcc() else "there is no nvcc (package nvidia-cuda-nvcc)",
    ("cuda", "nvrtc"): lambda: None if has("cuda.bindings.nvrtc") else "there is no cuda.bindings",
    ("cutedsl", "cutedsl"): lambda: None if has("cutlass.cute") else "there is no CuTeDSL (package nvidia-cutlass-dsl)",
}


#: Whose entries the wheel writes and cannot load, with its own cache either: it has no runtime for them.
NOT_LOADED = {("webgpu", "tvm_ffi")}


@pytest.fixture
def tilelang(place, tmp_path) -> TileLang:
    """With an empty library for the linker, and the loader, to take for the driver's: nothing here calls it."""
    folder = tmp_path / "driver"
    folder.mkdir()
    subprocess.run(
        ["gcc", "-shared", "-Wl,-soname,libcuda.so.1", "-o", folder / "libcuda.so", "-x", "c", "-"],
        input=b"int tlc_no_driver;\n", check=True,
    )
    (folder / "libcuda.so.1").symlink_to("libcuda.so")
    made = TileLang(place)
    made.environment |= {"LIBRARY_PATH": str(folder), "LD_LIBRARY_PATH": str(folder)}
    return made


def run(tilelang: TileLang, *arguments: object) -> dict:
    return report(tilelang.place.start(SCRIPT, *arguments, **tilelang.environment))


def files(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


def stored(tilelang: TileLang) -> list[dict[str, bytes]]:
    """The members of all kernels in the store, as the command writes them out."""
    out = []
    for digest in tilelang.entries():
        into = Path(tempfile.mkdtemp(dir=tilelang.place.top))
        tilelang.place.tool("get", digest, "-o", f"{into}/")
        out.append(files(into))
    return out


@pytest.mark.parametrize(("kind", "engine"), PAIRS)
def test_an_entry_is_stored_and_read_back_byte_for_byte(tilelang, kind, engine) -> None:
    if why := PAIRS[kind, engine]():
        pytest.skip(why)
    written = tilelang.place.top / "written"
    first = run(tilelang, kind, engine, "--written", written)
    described = _engines.complete(engine, "cuda" if kind == "cutedsl" else kind, VERSION)
    if described is not None:
        assert described <= files(written).keys()
    assert stored(tilelang) == [files(written)]
    assert [one for one in tilelang.own.rglob("*") if one.is_file() and "kernels" in one.parts] == []
    before = tilelang.hits()  # reading by the command counts, too
    second = run(tilelang, kind, engine)
    assert tilelang.hits() == before + 1
    assert second["source"] == first["source"]
    if (kind, engine) in NOT_LOADED:  # refused, made anew, and stored again
        (again,) = stored(tilelang)
        assert again.keys() == files(written).keys()
    else:
        assert {name: bytes.fromhex(data) for name, data in second["files"].items()} == files(written)


def test_the_descriptions_are_of_this_tilelang(tilelang) -> None:
    """Where its version is one that was described; else nothing is demanded."""
    said = tilelang.place.code(
        """
        import json, tilelang
        from tilelang.cache import _dispatch_map
        from tlcache.integrations._tilelang import _engines
        print(json.dumps({name: sorted(_engines.files_of(one)) for name, one in _dispatch_map.items()}))
        """,
        **tilelang.environment,
    )
    own = json.loads(said.strip().splitlines()[-1])
    assert own.keys() == _engines.ENGINES.keys()
    for name, one in _engines.ENGINES.items():
        known = _engines.complete(name, min(one.kinds), VERSION)
        assert known is None or known == set(own[name])


def test_an_incomplete_entry_is_not_published(tilelang) -> None:
    lost = tilelang.place.top / "lost"
    run(tilelang, "c", "cython", "--written", lost, "--drop", "host_kernel.cu")
    assert "kernel_lib.so" in files(lost) and "host_kernel.cu" not in files(lost)
    assert tilelang.entries() == {}
    run(tilelang, "c", "cython")
    assert len(tilelang.entries()) == 1


def test_a_tilelang_with_other_files_is_stored_all_the_same(tilelang) -> None:
    written = tilelang.place.top / "written"
    run(tilelang, "c", "cython", "--written", written, "--other-files")
    assert "host_kernel.other" in files(written) and "host_kernel.cu" not in files(written)
    assert stored(tilelang) == [files(written)]
    before = tilelang.hits()
    run(tilelang, "c", "cython", "--other-files")
    assert tilelang.hits() == before + 1


def test_a_kernel_that_tilelang_cannot_save_is_served_and_not_kept(tilelang) -> None:
    """Metal, where there is no Mac: the code is made, its library is not. Others are kept as ever."""
    told = run(tilelang, "metal", "tvm_ffi")
    assert "#include <metal_stdlib>" in told["source"]
    assert tilelang.entries() == {}
    run(tilelang, "c", "cython")
    assert len(tilelang.entries()) == 1
