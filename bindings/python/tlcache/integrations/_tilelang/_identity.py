# SPDX-License-Identifier: MIT
"""What compiles: TileLang's libraries and Python code, headers, and compilers, by their content.

A version says too little: of a build from source it stays the same, headers and compilers can be
put in place of the ones that came along. Files are read once; the store remembers their digests.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..._api import NO_TOOLCHAIN, Digest, Request
from ..._native import NULL, ffi, lib
from ..._request import Prepared
from ._store import cache

# What runs for a kind of target. One that is not listed gets all of them.
_TOOLS = {"c": ("host",), "llvm": ("host",), "cuda": ("host", "cuda"), "hip": ("host", "hip")}
_PACKAGES = ("tilelang", "apache-tvm-ffi", "torch", "z3-solver", "nvidia-cutlass-dsl")
_HEADERS = (".h", ".hpp", ".cuh", ".inl", ".hh")


def _read(path: str | bytes) -> Digest:
    digest = hashlib.blake2b(digest_size=32)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return Digest(digest.digest())


def _digests(paths: Iterable[str]) -> dict[str, Digest]:
    """Digests of files by content, by path."""
    files = [(path, os.stat(path)) for path in paths]
    state = "\n".join(
        f"{path}\0{stat.st_dev} {stat.st_ino} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"
        for path, stat in files
    ).encode("utf-8", "surrogateescape")
    newest = max((stat.st_mtime_ns for _, stat in files), default=0)
    raw = _remembered(state, newest, lambda: b"".join(_read(path) for path, _ in files))
    size = Digest.SIZE
    return {path: Digest(raw[size * i : size * i + size]) for i, (path, _) in enumerate(files)}


def _remembered(state: bytes, newest: int, read: Callable[[], bytes]) -> bytes:
    """What `read` makes of files' contents. It is asked again when one of them changed in any way.

    state: paths of the files, and for each what changes with it; newest: their last change, in ns.
    A file that is younger than two seconds may be written once more without its time changing, so
    what it says is not kept.
    """
    store = cache()
    if store is None or newest > time.time_ns() - 2_000_000_000:
        return read()
    digest = Digest(hashlib.blake2b(state, digest_size=32).digest())
    key = Request("tilelang/files", toolchain=NO_TOOLCHAIN, fields={"files": digest}).key()
    known = store.get(key)
    if known is not None:
        return bytes(known["digests"])
    raw = read()
    label = f"{state.count(bytes(1))} files"
    store.put(key, {"digests": raw}, label=label)
    return raw


def _listed(names: tuple[str, ...]) -> bytes:
    return "".join(f"/{name}" for name in names).encode() + b"/"


def _tree(folder: str, suffixes: tuple[str, ...], without: tuple[str, ...] = ()) -> Digest | None:
    """One digest of all files with one of the suffixes, and their places, in a folder and below.

    That walks over some 2,000 files, so it is done by the library's side of the package.
    """
    if not os.path.isdir(folder):
        return None
    root = os.fsencode(folder)
    newest, length = ffi.new("int64_t*"), ffi.new("size_t*")
    made = lib.tlcpy_tree_state(root, _listed(suffixes), _listed(without), newest, length)
    if made == NULL:
        raise MemoryError
    state = ffi.buffer(made, length[0])[:]
    lib.tlcpy_free(made)

    def read() -> bytes:
        digest = hashlib.blake2b(digest_size=32)
        for path in re.findall(rb"([^\0]+)\0[^\n]*\n", state):
            digest.update(path[len(root) :] + b"\0" + _read(path))
        return digest.digest()

    return Digest(_remembered(state, newest[0], read))


def _version_of(package: str) -> str | None:
    """The installed version of a package. Its description, which may be long, is not parsed."""
    try:
        found = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    told = re.search(r"^Version: *(\S+)", found.read_text("METADATA") or "", re.MULTILINE)
    return told[1] if told else found.version


def _packages() -> dict[str, str | None]:
    versions = {name: _version_of(name) for name in _PACKAGES}
    versions["python"] = f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"
    return versions


def _libraries() -> dict[str, Digest]:
    """TileLang's and TVM's shared libraries, whatever they are called."""
    from tilelang import env as env_module

    module = sys.modules.get("tilelang.env", env_module)
    folders = list(getattr(module, "TL_LIBS", None) or [])
    spec = importlib.util.find_spec("tvm_ffi")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        folders.append(os.path.join(root, "lib"))
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted(Path(folder).glob("lib*.so")) if os.path.isdir(folder) else ():
            found.setdefault(path.name, str(path))
    digests = _digests(found.values())
    return {name: digests[path] for name, path in found.items()}


def _program(*candidates: str | None) -> str | None:
    """The first that is there, as the file that runs in the end."""
    for one in candidates:
        path = shutil.which(one.split()[0]) if one else None
        if path is not None:
            return os.path.realpath(path)
    return None


def _host_tools() -> dict[str, str | None]:
    from tilelang.contrib import cc

    find = getattr(cc, "get_cplus_compiler", None) or getattr(cc, "get_cc", None)
    return {"c++": _program(find() if find else None, "c++"), "ld": _program("ld")}


def _cuda_tools() -> dict[str, str | None]:
    try:
        from tilelang.contrib import nvcc

        home = nvcc.find_cuda_path()
    except Exception:
        home = os.environ.get("CUDA_HOME") or ""
    tools = {
        "nvcc": _program(os.path.join(home, "bin", "nvcc"), "nvcc"),
        "ptxas": _program(os.path.join(home, "bin", "ptxas"), "ptxas"),
        "cicc": _program(os.path.join(home, "nvvm", "bin", "cicc")),
    }
    for folder in (os.path.join(home, "lib"), os.path.join(home, "lib64")):
        for library in sorted(Path(folder).glob("libnvrtc.so.*")) if os.path.isdir(folder) else ():
            tools.setdefault("nvrtc", os.path.realpath(library))
    return tools


def _hip_tools() -> dict[str, str | None]:
    try:
        from tilelang.contrib.rocm import find_hipcc

        hipcc = find_hipcc()
    except Exception:
        hipcc = None
    rocm = os.environ.get("ROCM_PATH") or os.environ.get("ROCM_HOME") or "/opt/rocm"
    return {
        "hipcc": _program(hipcc, "hipcc"),
        "amdclang++": _program(os.path.join(rocm, "llvm", "bin", "clang++")),
        "lld": _program(os.path.join(rocm, "llvm", "bin", "ld.lld")),
    }


_FINDERS = {"host": _host_tools, "cuda": _cuda_tools, "hip": _hip_tools}


def _compilers(kind: str) -> dict[str, Any]:
    found: dict[str, str | None] = {}
    for tool in _TOOLS.get(kind, tuple(_FINDERS)):
        found.update(_FINDERS[tool]())
    there = {name: path for name, path in found.items() if path is not None}
    digests = _digests(there.values())
    return {name: digests[path] if (path := there.get(name)) else None for name in found}


def header_folders() -> dict[str, str]:
    """Folders of headers that generated code includes, by a name that says no path."""
    from tilelang import env

    named = {}
    for name in ("TILELANG_TEMPLATE_PATH", "CUTLASS_INCLUDE_DIR"):
        folder = getattr(env, name, None)
        if isinstance(folder, str) and folder:
            named[name] = folder
    return named


@functools.cache
def _headers(kind: str, name: str, folder: str) -> Digest | None:
    if name == "TILELANG_TEMPLATE_PATH":
        # A folder of sources; what is included lies in tl_templates, where there is one.
        templates = os.path.join(folder, "tl_templates")
        return _tree(templates if os.path.isdir(templates) else folder, _HEADERS)
    return None if kind in ("c", "llvm") else _tree(folder, _HEADERS)


@functools.cache
def _fixed() -> dict[str, Any]:
    """What cannot change while the process runs, because it is loaded."""
    import tilelang

    root = os.path.dirname(os.path.abspath(tilelang.__file__))
    # Its passes and code generators are written in Python too.
    python = {"tilelang": _tree(root, (".py",), ("3rdparty", "lib", "src"))}
    spec = importlib.util.find_spec("tvm")
    if spec is not None and spec.origin:
        python["tvm"] = _tree(os.path.dirname(spec.origin), (".py",))
    return {"packages": _packages(), "libraries": _libraries(), "python": python}


def identity(kind: str) -> Prepared:
    """What compiles for a kind of target, as a key's fields."""
    environment = os.environ
    home = environment.get("CUDA_HOME") or environment.get("CUDA_PATH")
    return _identity(kind, environment.get("PATH", ""), home, tuple(header_folders().items()))


@functools.cache
def _identity(
    kind: str, path: str, home: str | None, headers: tuple[tuple[str, str], ...]
) -> Prepared:
    return Prepared(
        {
            **_fixed(),
            "compilers": _compilers(kind),
            "headers": {name: _headers(kind, name, folder) for name, folder in headers},
        }
    )


__all__ = ["header_folders", "identity"]
