# SPDX-License-Identifier: MIT
"""Descriptions of TileLang's execution backends, and what is kept by them. Needs no TileLang."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tlcache
from tlcache.integrations._tilelang import _engines, _kernels, _keys, _store

NEWEST = "0.1.15"
PAIRS = [(engine, kind) for engine, one in _engines.ENGINES.items() for kind in sorted(one.kinds)]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tlcache.Cache]:
    with tlcache.Cache(tmp_path / "store") as cache:
        monkeypatch.setattr(_store, "_cache", cache)
        yield cache


class OwnCache:
    """TileLang's cache of an engine, as far as it is asked."""

    def __init__(self, *files: str) -> None:
        self._files = files

    def _get_complete_cache_files(self, folder: str) -> list[str]:
        return [f"{folder}/{name}" for name in self._files]


def named(engine: str, kind: str, version: str = NEWEST, cache: object = None) -> _store.Named:
    """A key of an engine's, as _keys.kernel makes it."""
    request = tlcache.Request(
        "test", target=kind, engine=engine, toolchain="none", fields={"version": version}
    )
    files = _engines.demanded(engine, kind, version, cache)
    name = _keys.names.add(request.key(), None, files)
    known = _keys.names.get(name)
    assert known is not None
    return known


def folder_of(place: Path, *names: str) -> Path:
    place.mkdir()
    for name in names:
        (place / name).write_bytes(b"\x7fELF\0" + name.encode() * 3)
    return place


def test_the_engines_serve_the_targets_that_tilelang_has() -> None:
    served = {kind: {one for one, other in PAIRS if other == kind} for _, kind in PAIRS}
    assert served == {
        "cuda": {"tvm_ffi", "cython", "nvrtc", "cutedsl"},
        "hip": {"tvm_ffi", "cython"},
        "metal": {"tvm_ffi", "torch"},
        "c": {"tvm_ffi", "cython"},
        "llvm": {"tvm_ffi"},
        "webgpu": {"tvm_ffi"},
    }
    bound = {engine for engine, kind in PAIRS if _engines.host_bound(engine, kind)}
    assert bound == {"tvm_ffi", "cython", "cutedsl"}
    assert _engines.host_bound("cython", "ascend") and _engines.host_bound("tileir", "cuda")


@pytest.mark.parametrize(
    ("version", "common"),
    [
        ("0.1.9", {"params.pkl"}),
        ("0.1.13+cuda.gitabc", {"params.pkl"}),
        ("0.1.14", {"params.pkl", "manifest.json"}),
        ("0.1.15", {"params.json", "manifest.json"}),
        ("0.1.15.post1", {"params.json", "manifest.json"}),
    ],
)
def test_a_complete_entry_has_the_files_of_its_version(version: str, common: set[str]) -> None:
    sources = {"device_kernel.cu", "host_kernel.cu"}
    complete = _engines.complete
    assert complete("tvm_ffi", "webgpu", version) == common | sources | {"executable.so"}
    assert complete("cython", "c", version) == common | sources | {"kernel_lib.so"}
    assert complete("nvrtc", "cuda", version) == common | sources | {"kernel.cubin", "kernel.py"}
    assert complete("cutedsl", "cuda", version) == common | {
        "device_kernel.py", "host_kernel.py", "kernel.py", "launcher_lib.so",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "kind", "version"),
    [
        ("torch", "metal", NEWEST),  # writes no files
        ("tileir", "cuda", NEWEST),
        ("cython", "ascend", NEWEST),
        ("tvm_ffi", "cuda", "0.1.16"),
        ("tvm_ffi", "cuda", "1.0.0"),
        ("tvm_ffi", "cuda", "0.1.8"),
        ("tvm_ffi", "cuda", "unknown"),
        ("tvm_ffi", "cuda", "0.1"),
    ],
)
def test_what_is_not_described_is_stored_all_the_same(
    engine: str, kind: str, version: str, store: tlcache.Cache, tmp_path: Path
) -> None:
    assert _engines.complete(engine, kind, version) is None
    known = named(engine, kind, version)
    folder = folder_of(tmp_path / "entry", "kernel.new", "params.other")
    assert _kernels._publish(known, folder)
    artifact = store.get(known.key)
    assert artifact is not None
    assert {name: bytes(artifact[name]) for name in artifact} == {
        one.name: one.read_bytes() for one in folder.iterdir()
    }


def test_a_tilelang_with_other_files_than_its_version_says_is_not_judged(
    store: tlcache.Cache, tmp_path: Path
) -> None:
    other = OwnCache("kernel.new", "params.new")
    assert _engines.demanded("cython", "c", NEWEST, other) == frozenset()
    assert _kernels._publish(
        named("cython", "c", cache=other), folder_of(tmp_path / "entry", "kernel.new")
    )
    files = _engines.complete("cython", "c", NEWEST)
    assert files is not None
    assert _engines.demanded("cython", "c", NEWEST, OwnCache(*files)) == files
    assert _engines.demanded("cython", "c", NEWEST, object()) == files  # it says nothing


DESCRIBED = [(engine, kind) for engine, kind in PAIRS if engine != "torch"]


@pytest.mark.parametrize(("engine", "kind"), DESCRIBED)
def test_an_entry_is_published_with_all_its_files_only(
    engine: str, kind: str, store: tlcache.Cache, tmp_path: Path
) -> None:
    known = named(engine, kind)
    for missing in known.files:
        folder = folder_of(tmp_path / missing, *(known.files - {missing}))
        assert not _kernels._publish(known, folder)
        assert store.get(known.key) is None
    assert _kernels._publish(known, folder_of(tmp_path / "all", *known.files, "launcher.cpp"))
    artifact = store.get(known.key)
    assert artifact is not None
    assert set(artifact) == known.files | {"launcher.cpp"}


class Late:
    """A cache whose entries are loaded from where they lie."""


@pytest.mark.parametrize(("engine", "kind"), DESCRIBED)
def test_an_entry_without_one_of_its_files_is_not_served(
    engine: str, kind: str, store: tlcache.Cache, tmp_path: Path
) -> None:
    known = named(engine, kind)
    missing = min(known.files)
    bundle = _store.bundle_of(folder_of(tmp_path / "cut", *(known.files - {missing})))
    assert bundle is not None
    assert store.put(known.key, bundle).stored  # somebody else's
    artifact = store.get(known.key)
    assert artifact is not None

    def load() -> object:
        raise AssertionError("given to TileLang")

    assert _kernels._load_from(Late(), "name", artifact, load, known.files) is None
    assert store.get(known.key) is None  # taken out: the next compile makes it anew
    whole = _store.bundle_of(folder_of(tmp_path / "whole", *known.files))
    assert whole is not None
    assert store.put(known.key, whole).stored
    artifact = store.get(known.key)
    assert artifact is not None
    kernel = object()
    assert _kernels._load_from(Late(), "name", artifact, lambda: kernel, known.files) is kernel
    _kernels._folders.pop("name")
