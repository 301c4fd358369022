# SPDX-License-Identifier: MIT
"""Triton's kernels in this cache: TRITON_CACHE_MANAGER=tlcache.integrations.triton:TLCacheManager

Triton 3.0 and newer, unmodified. Triton imports this module and takes the class by its name. The
class is made then, since its base is Triton's; importing this module needs neither Triton nor the
library. Where one of them is not as expected, what Triton gets is its own FileCacheManager.
"""

from __future__ import annotations

import os
from typing import Any

VARIABLE = "TRITON_CACHE_MANAGER"
VALUE = "tlcache.integrations.triton:TLCacheManager"


def activate() -> None:
    """Turns it on in this process and those that it starts, unless another manager is chosen."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        os.environ[VARIABLE] = VALUE
    elif chosen != VALUE:
        _warn(f"{VARIABLE} is {chosen}, which is kept; unset it for tlcache to take its place")


def deactivate() -> None:
    """Turns it off for kernels that are looked up from now on."""
    if os.environ.get(VARIABLE) == VALUE:
        del os.environ[VARIABLE]


def state() -> tuple[bool, str]:
    """Whether Triton would use it in this process, and why or why not."""
    chosen = os.environ.get(VARIABLE)
    if chosen == VALUE:
        broken = _library_error()
        if broken is not None:
            return False, f"{VARIABLE} names it, but {broken}; Triton's own cache serves"
        return True, f"{VARIABLE} names it"
    if chosen:
        return False, f"{VARIABLE} names another manager, {chosen}"
    return False, f"{VARIABLE} is not set"


def _library_error() -> str | None:
    try:
        from . import _triton_hit  # noqa: F401
    except Exception as error:
        return f"libtlcache cannot be used ({error})"
    return None


def _warn(message: str) -> None:
    import warnings

    warnings.warn(f"tlcache: {message}", RuntimeWarning, stacklevel=3)


def _make_manager() -> Any:
    """The class for this Triton; its own one where something is missing, with one warning."""
    # Triton asks for the class, so it is there.
    from triton.runtime import cache  # type: ignore[import-untyped,import-not-found,unused-ignore]

    own = cache.FileCacheManager
    broken = _library_error()
    if broken is None:
        try:
            from ._triton_manager import make_manager

            return make_manager(cache)
        except Exception as error:
            broken = f"this Triton is not as expected ({type(error).__name__}: {error})"
    _warn(f"{broken}; Triton's own cache serves")
    return own


def __getattr__(name: str) -> Any:
    if name != "TLCacheManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = _make_manager()
    return made


__all__ = ["VALUE", "VARIABLE", "activate", "deactivate", "state"]
