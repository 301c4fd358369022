# SPDX-License-Identifier: MIT
"""Frameworks that use this cache in place of their own, unmodified.

Each is a module here, `tlcache.integrations.NAME`, that can be imported without the framework. It
has

    activate() -> None               turns it on in this process; raises nothing, warns at most once
    state() -> tuple[bool, str]      whether it is on in this process, and why or why not; imports
                                     neither the framework nor the library

`status()` says which there are; `activate(name)` turns one on. Nothing here loads libtlcache: with
the library missing a framework has to go on with its own cache.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._registry import (
        INTEGRATIONS,
        VARIABLE,
        Integration,
        Status,
        activate,
        report,
        status,
    )

__all__ = ["INTEGRATIONS", "VARIABLE", "Integration", "Status", "activate", "report", "status"]


def __getattr__(name: str) -> Any:
    """Loaded when asked for: a framework imports its own module here, and pays for this one too."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("._registry", __name__), name)
