# SPDX-License-Identifier: MIT
"""Everything the package offers, loaded with the library behind it; `tlcache` hands it on."""

from __future__ import annotations

import os

from . import _log
from ._artifact import Artifact, ArtifactInfo, Tier
from ._backend import backend, register_backend, unregister_backend
from ._bundle import Bundle, MemberType
from ._cache import Cache
from ._errors import (
    BusyError,
    CallbackError,
    CancelledError,
    CompileError,
    ConflictError,
    CorruptError,
    DeniedError,
    ExistsError,
    ForkedError,
    InvalidError,
    LoadError,
    NotFoundError,
    OutOfMemoryError,
    Rejected,
    Status,
    StoreError,
    TimeoutError,
    TLCacheError,
    UnavailableError,
    UncacheableError,
    UnsupportedError,
    check,
)
from ._key import Digest, Key
from ._lent import BackendCall, BackendLog, BackendRequest, LoadOptions
from ._lock import CompileLock, Hit
from ._log import set_log_level
from ._module import Module
from ._native import check_library, from_c, lib, new_error, text
from ._report import Entry, Stats
from ._request import NO_TOOLCHAIN, Request
from ._wait import Cancel

__all__ = [
    "NO_TOOLCHAIN",
    "Artifact",
    "ArtifactInfo",
    "BackendCall",
    "BackendLog",
    "BackendRequest",
    "Bundle",
    "BusyError",
    "Cache",
    "CallbackError",
    "Cancel",
    "CancelledError",
    "CompileError",
    "CompileLock",
    "ConflictError",
    "CorruptError",
    "DeniedError",
    "Digest",
    "Entry",
    "ExistsError",
    "ForkedError",
    "Hit",
    "InvalidError",
    "Key",
    "LoadError",
    "LoadOptions",
    "MemberType",
    "Module",
    "NotFoundError",
    "OutOfMemoryError",
    "Rejected",
    "Request",
    "Stats",
    "Status",
    "StoreError",
    "TLCacheError",
    "Tier",
    "TimeoutError",
    "UnavailableError",
    "UncacheableError",
    "UnsupportedError",
    "backend",
    "build_info",
    "get_include",
    "load_plugin",
    "register_backend",
    "set_log_level",
    "unregister_backend",
]

__version__: str = from_c(lib.tlc_version_string())


def build_info() -> str:
    """How the library was built: compiler, options, versions of its libraries."""
    return from_c(lib.tlc_build_info())


def get_include() -> str:
    """Folder of the C headers in this package, for `-I`: backends are written with them."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


def load_plugin(path: str | bytes | os.PathLike[str]) -> None:
    """Loads a plugin file with a backend; the path is absolute."""
    error = new_error()
    check(lib.tlc_load_plugin(text(os.fsencode(path)), error), error)


check_library()
_log.install()
