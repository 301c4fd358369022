# SPDX-License-Identifier: MIT
"""Log lines of the library, as records of `logging.getLogger("tlcache")`.

They are passed on from INFO upwards, and from DEBUG after `set_log_level(logging.DEBUG)`. Where the
environment sets TLC_LOG, the library writes to standard error itself until `set_log_level` is
called. A handler must not use the cache: the library may be in the middle of a call.
"""

from __future__ import annotations

import atexit
import logging
import os

from . import _callbacks
from ._errors import check
from ._native import NULL, lib

logger = logging.getLogger("tlcache")
logger.addHandler(logging.NullHandler())

_TO_PYTHON = {
    lib.TLC_LOG_ERROR: logging.ERROR,
    lib.TLC_LOG_WARN: logging.WARNING,
    lib.TLC_LOG_INFO: logging.INFO,
    lib.TLC_LOG_DEBUG: logging.DEBUG,
}


def _sink(level: int, component: str, message: str) -> None:
    python_level = _TO_PYTHON.get(level, logging.DEBUG)
    if logger.isEnabledFor(python_level):
        logger.log(python_level, "%s: %s", component, message, extra={"tlc_component": component})


def set_log_level(level: int) -> None:
    """Passes log lines of this severity (`logging.DEBUG` ...) and worse to the logger "tlcache"."""
    wanted = max(
        (ours for ours, theirs in _TO_PYTHON.items() if theirs >= level), default=lib.TLC_LOG_OFF
    )
    _callbacks.set_log_sink(_sink)
    error = lib.tlcpy_error()
    check(lib.tlc_set_log(wanted, lib.tlcpy_on_log, NULL, NULL, error), error)


def _restore() -> None:
    """No line may reach Python once the interpreter is going away."""
    lib.tlc_set_log(lib.TLC_LOG_OFF, NULL, NULL, NULL, NULL)
    _callbacks.set_log_sink(None)


def install() -> None:
    """At import: takes the log over, unless the environment asks for it on standard error."""
    atexit.register(_restore)
    if not os.environ.get("TLC_LOG"):
        set_log_level(logging.INFO)
