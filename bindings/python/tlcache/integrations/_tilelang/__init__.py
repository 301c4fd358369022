# SPDX-License-Identifier: MIT
"""TileLang, unmodified, with its kernels, CUDA binaries and tuning results in this cache.

TileLang has no way in for another cache, so methods of its own cache are wrapped where it looks an
entry up and where it saves one. They are found by what they are called and take; one that is
missing leaves that part to TileLang, with one warning. What fails later does so too.
"""

from __future__ import annotations

import importlib
import threading

from . import _hook
from ._seams import Seams, say_once

_lock = threading.Lock()
_seams: Seams | None = None
_reason = "not turned on in this process"


def activate() -> None:
    """Turns it on: now if TileLang is imported, else as soon as it is."""
    global _reason
    with _lock:
        if _seams is not None:
            return
        _reason = "on as soon as tilelang is imported"
    if _hook.imported():
        _install()
    else:
        _hook.after_import(_install)


def deactivate() -> None:
    """Gives TileLang its own cache back, for what it looks up from now on."""
    global _seams, _reason
    _hook.forget()
    with _lock:
        seams, _seams = _seams, None
        _reason = "turned off in this process"
    if seams is not None:
        seams.undo()


def state() -> tuple[bool, str]:
    """Whether it is on in this process, and why or why not."""
    seams = _seams
    if seams is None:
        return _hook.waiting(), _reason
    return True, seams.describe()


def _install() -> None:
    """Wraps what there is to wrap. Raises nothing: TileLang's import goes on whatever happens."""
    global _seams, _reason
    with _lock:
        if _seams is not None:
            return
        seams = Seams()
        try:
            importlib.import_module("tlcache._native")
            for part in ("_kernels", "_binaries", "_autotune"):
                importlib.import_module(f"{__name__}.{part}").install(seams)
        except Exception as error:
            seams.undo()
            _reason = f"{type(error).__name__}: {error}"
            say_once("library", f"cannot be used ({_reason}); TileLang's own cache serves")
            return
        if not seams.parts:
            _reason = "; ".join(seams.missing)
            return
        _seams, _reason = seams, ""


__all__ = ["activate", "deactivate", "state"]
