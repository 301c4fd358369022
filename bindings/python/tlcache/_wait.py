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


class Cancel:
    """Ends waits: `begin` and `get_or_compile` take one; any thread triggers it.

    A backend sees it in `call.cancelled`. A compile function that runs already goes on to its end.
    On the main thread Ctrl-C triggers it too.
    """

    __slots__ = ("_calls", "_lock", "_ptr", "_triggered")

    def __init__(self) -> None:
        out, error = ffi.new("tlc_cancel**"), lib.tlcpy_error()
        check(lib.tlc_cancel_create(out, error), error)
        self._ptr = owned(out[0], lib.tlc_cancel_release)
        self._lock = threading.Lock()
        self._triggered = False
        self._calls: list[Callable[[], object]] = []

    @property
    def triggered(self) -> bool:
        """Whether it was triggered."""
        return self._triggered

    def trigger(self) -> None:
        """Ends every wait that was given this, now and later, with a CancelledError."""
        with self._lock:
            self._triggered = True
            calls, self._calls = self._calls, []
        lib.tlc_cancel_trigger(self._ptr)
        for call in calls:
            call()

    def on_trigger(self, call: Callable[[], object]) -> None:
        """Calls this when it is triggered; now, if it was."""
        with self._lock:
            if not self._triggered:
                self._calls.append(call)
                return
        call()


def interruptible(
    call: Callable[[Any, int], int], timeout_ms: int, given: Cancel | None = None
) -> int:
    """Status of call(cancel, timeout_ms), which is repeated when only a signal ended it.

    given: the caller's own. A signal triggers that then, and nothing is repeated.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(NULL if given is None else given._ptr, timeout_ms)
    started = time.monotonic()
    left = timeout_ms
    forget_raised()
    while True:
        cancel = (given or Cancel())._ptr
        outer = lib.tlcpy_guard_begin(cancel)
        try:
            status = call(cancel, left)
        finally:
            lib.tlcpy_guard_end(outer)
        if given is not None:
            return status
        # What a backend written in Python raised, as its compile was interrupted, ends the wait.
        if status != lib.TLC_E_CANCELLED or raised_here() is not None:
            return status
        # The handler has run by now. It did not raise: wait for what is left.
        if timeout_ms > 0:
            left = max(timeout_ms - int((time.monotonic() - started) * 1000), 1)
