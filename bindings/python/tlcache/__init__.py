# SPDX-License-Identifier: MIT
"""One cache of compiled kernels for every backend and every language.

    import tlcache

    with tlcache.Cache() as cache:
        request = tlcache.Request("myapp", target="cpu:native", fields={"source": text})
        artifact = cache.get_or_compile(request)
        scale = cache.load(artifact).function("scale", None, (ctypes.c_void_p, ctypes.c_int))

An artifact is a mapping of member names to read-only memory that stays valid by itself. One store
is shared by all processes of a user, in whatever language they are written.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._api import *  # noqa: F403
    from ._api import __version__ as __version__

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


# Not for type checkers, to whom any name would be there then.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Loads the library when something of it is first used.

        Not sooner: a framework that imports `tlcache.integrations` must go on where the library is
        missing or does not fit; that ImportError comes with the first use.
        """
        if name not in __all__ and name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # Not `from . import`, which asks this function for the module first.
        value = globals()[name] = getattr(importlib.import_module("._api", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
