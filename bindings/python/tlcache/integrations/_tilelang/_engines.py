# SPDX-License-Identifier: MIT
"""TileLang's execution backends: what each writes for a kernel, and whether that is for this host.

A description serves two ends. An entry that lacks a file which a complete one has is neither
published nor served. And code that is for a device alone is found on hosts of another kind, too.

Nothing depends on a description: an engine, a target or a version that has none, or a TileLang that
writes other files than its version says, is stored with whatever files there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Engine:
    """An execution backend."""

    #: Kinds of targets that it serves.
    kinds: frozenset[str]
    #: Whether its files hold code of the host.
    host_bound: bool
    #: Files of a complete entry, besides those that all engines write; None: it writes none.
    files: frozenset[str] | None


def _engine(kinds: str, files: str | None, *, host_bound: bool) -> Engine:
    wanted = frozenset(files.split()) if files is not None else None
    return Engine(frozenset(kinds.split()), host_bound, wanted)


#: Sources are called .cu whatever the target is. `hip` may add resource_usage.json, `cutedsl`
#: launcher.cpp, and kernel.cubin after the first launch.
ENGINES = {
    "tvm_ffi": _engine(
        "cuda hip metal c llvm webgpu",
        "device_kernel.cu host_kernel.cu executable.so",
        host_bound=True,
    ),
    "cython": _engine(
        "cuda hip c", "device_kernel.cu host_kernel.cu kernel_lib.so", host_bound=True
    ),
    "nvrtc": _engine(
        "cuda", "device_kernel.cu host_kernel.cu kernel.cubin kernel.py", host_bound=False
    ),
    "cutedsl": _engine(
        "cuda", "device_kernel.py host_kernel.py kernel.py launcher_lib.so", host_bound=True
    ),
    "torch": _engine("metal", None, host_bound=False),
}

#: What all engines write, by the first version that does; up to the newest that was looked at.
_COMMON = (
    ((0, 1, 9), frozenset({"params.pkl"})),
    ((0, 1, 14), frozenset({"params.pkl", "manifest.json"})),
    ((0, 1, 15), frozenset({"params.json", "manifest.json"})),
)
_NEWEST = (0, 1, 15)


def _numbers(version: str) -> tuple[int, ...] | None:
    """0.1.15.post1+cuda as (0, 1, 15); None for what is no such version."""
    parts = version.split("+")[0].split(".")[:3]
    return tuple(map(int, parts)) if len(parts) == 3 and all(map(str.isdigit, parts)) else None


def described(engine: str, kind: str) -> Engine | None:
    """The description of an engine for a kind of target."""
    found = ENGINES.get(engine)
    return found if found is not None and kind in found.kinds else None


def host_bound(engine: str, kind: str) -> bool:
    """Whether an entry is for this kind of host only; so it is where that is not known."""
    found = described(engine, kind)
    return found is None or found.host_bound


def complete(engine: str, kind: str, version: str) -> frozenset[str] | None:
    """The files of a complete entry; None where that is not known."""
    found, numbers = described(engine, kind), _numbers(version)
    if found is None or found.files is None or numbers is None or numbers > _NEWEST:
        return None
    common = [files for first, files in _COMMON if numbers >= first]
    return found.files | common[-1] if common else None


def demanded(engine: str, kind: str, version: str, cache: Any = None) -> frozenset[str]:
    """The files without which an entry is not kept.

    Args:
        engine: the execution backend.
        kind: of the target.
        version: TileLang's.
        cache: TileLang's own cache of the engine. If its entries have other files, TileLang is not
            the one that was described, and nothing is demanded.
    """
    files = complete(engine, kind, version) or frozenset()
    said = files_of(cache)
    return files if said is None or said == files else frozenset()


def files_of(cache: Any) -> frozenset[str] | None:
    """The files that TileLang's cache of an engine takes for a complete entry."""
    try:
        return frozenset(map(os.path.basename, cache._get_complete_cache_files("")))
    except Exception:
        return None


def lacking(files: frozenset[str], names: Iterable[str]) -> list[str]:
    """Those of the files that are not there."""
    return sorted(files - frozenset(names))


__all__ = ["ENGINES", "Engine", "complete", "demanded", "described", "host_bound", "lacking"]
