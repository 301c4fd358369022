# SPDX-License-Identifier: MIT
"""The functions that C calls. None lets an exception out: it is kept and raised after the call.

Each gets, as user_data, a handle of an object with `exception` and what it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._native import ffi, from_text, lib


class Pending:
    """What a callback needs, and the exception that it met. Keep it until the call returns."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.exception: BaseException | None = None
        self.handle = ffi.new_handle(self)

    def raise_exception(self) -> None:
        """Raises what the callback met, as itself."""
        exception, self.exception = self.exception, None
        if exception is not None:
            raise exception


@ffi.def_extern()  # type: ignore[untyped-decorator]
def tlcpy_on_compile(
    request: Any, key: Any, bundle: Any, log: Any, error: Any, user_data: Any
) -> int:
    pending: Pending = ffi.from_handle(user_data)
    try:
        pending.function(key, bundle, log)
        return int(lib.TLC_OK)
    except BaseException as exception:
        pending.exception = exception
        return fail(error, exception)


def fail(error: Any, exception: BaseException) -> int:
    """Tells the library, and so waiting threads, what went wrong; returns the status for it."""
    status = failure_status(exception)
    message = failure_text(exception).encode("utf-8", "replace")
    return int(lib.tlcpy_fail(error, status, ffi.from_buffer(message), len(message)))


def failure_status(exception: BaseException) -> int:
    """The status for an exception: its own, E_CANCELLED for an interrupt, else E_CALLBACK."""
    own = getattr(exception, "status", None)
    if isinstance(own, int) and own < 0:
        return int(own)
    return int(lib.TLC_E_CALLBACK if isinstance(exception, Exception) else lib.TLC_E_CANCELLED)


def failure_text(exception: BaseException) -> str:
    """An exception as one line."""
    own = hasattr(exception, "status")
    text = str(exception)
    return (
        text
        if own and text
        else f"{type(exception).__name__}: {text}"
        if text
        else type(exception).__name__
    )


@ffi.def_extern()  # type: ignore[untyped-decorator]
def tlcpy_on_entry(entry: Any, user_data: Any) -> int:
    pending: Pending = ffi.from_handle(user_data)
    try:
        pending.function(entry)
        return int(lib.TLC_OK)
    except BaseException as exception:
        pending.exception = exception
        return int(lib.TLC_E_CALLBACK)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def tlcpy_on_progress(done: int, total: int, user_data: Any) -> int:
    pending: Pending = ffi.from_handle(user_data)
    try:
        return 0 if pending.function(done, total) is not False else 1
    except BaseException as exception:
        pending.exception = exception
        return 1


_log_sink: Callable[[int, str, str], None] | None = None


def set_log_sink(sink: Callable[[int, str, str], None] | None) -> None:
    """Where log lines go."""
    global _log_sink
    _log_sink = sink


@ffi.def_extern()  # type: ignore[untyped-decorator]
def tlcpy_on_log(level: int, component: Any, message: Any, _user_data: Any) -> None:
    sink = _log_sink
    if sink is not None:
        sink(level, from_text(component), from_text(message))
