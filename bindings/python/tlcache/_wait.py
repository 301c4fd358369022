# SPDX-License-Identifier: MIT
"""Waits that Ctrl-C ends.

A signal's Python handler runs when the call into C returns, and a wait for another process's
compile may take ten minutes. On the main thread a wait is therefore given a cancel token that
SIGINT triggers (shim.c). A handler that raises, as Python's own does, ends the wait with its
exception; after one that returns the wait goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ._errors import check, forget_raised, raised_here
from ._native import NULL, ffi, lib, owned


def interruptible(call: Callable[[Any, int], int], timeout_ms: int) -> int:
    """Status of call(cancel, timeout_ms), which is repeated when only a signal ended it."""
    if threading.current_thread() is not threading.main_thread():
        return call(NULL, timeout_ms)
    started = time.monotonic()
    left = timeout_ms
    forget_raised()
    while True:
        out, error = ffi.new("tlc_cancel**"), lib.tlcpy_error()
        check(lib.tlc_cancel_create(out, error), error)
        cancel = owned(out[0], lib.tlc_cancel_release)
        outer = lib.tlcpy_guard_begin(cancel)
        try:
            status = call(cancel, left)
        finally:
            lib.tlcpy_guard_end(outer)
        # What a backend written in Python raised, as its compile was interrupted, ends the wait.
        if status != lib.TLC_E_CANCELLED or raised_here() is not None:
            return status
        # The handler has run by now. It did not raise: wait for what is left.
        if timeout_ms > 0:
            left = max(timeout_ms - int((time.monotonic() - started) * 1000), 1)
