# SPDX-License-Identifier: MIT
"""Statuses and exceptions. One exception class for each status that a program may want to catch."""

from __future__ import annotations

import builtins
import enum
import threading
from typing import Any

from ._native import ffi, from_c, lib


class Status(enum.IntEnum):
    """Result of a call of the library: 0, a positive outcome that is no error, a negative error."""

    OK = lib.TLC_OK
    MISS = lib.TLC_MISS
    REJECTED = lib.TLC_REJECTED
    NOT_STORED = lib.TLC_NOT_STORED
    EXISTED = lib.TLC_EXISTED
    CONFLICT = lib.TLC_CONFLICT
    TIMEOUT = lib.TLC_TIMEOUT
    LOCKED = lib.TLC_LOCKED
    TOO_LARGE = lib.TLC_TOO_LARGE
    E_INVALID = lib.TLC_E_INVALID
    E_NOMEM = lib.TLC_E_NOMEM
    E_IO = lib.TLC_E_IO
    E_INTERNAL = lib.TLC_E_INTERNAL
    E_UNSUPPORTED = lib.TLC_E_UNSUPPORTED
    E_ABI = lib.TLC_E_ABI
    E_EXISTS = lib.TLC_E_EXISTS
    E_NOT_FOUND = lib.TLC_E_NOT_FOUND
    E_UNCACHEABLE = lib.TLC_E_UNCACHEABLE
    E_COMPILE = lib.TLC_E_COMPILE
    E_LOAD = lib.TLC_E_LOAD
    E_UNAVAILABLE = lib.TLC_E_UNAVAILABLE
    E_CANCELLED = lib.TLC_E_CANCELLED
    E_FORKED = lib.TLC_E_FORKED
    E_CALLBACK = lib.TLC_E_CALLBACK
    E_DENIED = lib.TLC_E_DENIED
    E_BUSY = lib.TLC_E_BUSY
    E_CORRUPT = lib.TLC_E_CORRUPT


def _status(value: int) -> Status | int:
    try:
        return Status(value)
    except ValueError:
        return value


class TLCacheError(Exception):
    """Base of all errors of this package.

    Attributes:
        status: the library's `Status` (or a plain int that this version does not know).
        errno: the system's error code behind it, or 0.
        backend_code: the backend's or driver's own code, or 0.
    """

    #: The status an instance has when none is given.
    default_status: Status = Status.E_INTERNAL

    def __init__(
        self,
        message: str = "",
        *,
        status: int | None = None,
        errno: int = 0,
        backend_code: int = 0,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status: Status | int = self.default_status if status is None else _status(status)
        self.errno = errno
        self.backend_code = backend_code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in self.__dict__.items() if name != "message"}
        state["errno"] = self.errno
        return (type(self), (self.message,), state)


class InvalidError(TLCacheError, ValueError):
    """An argument is wrong; the message says which and why."""

    default_status = Status.E_INVALID


class UncacheableError(TLCacheError, ValueError):
    """The request cannot be keyed: unresolved target, unknown toolchain, a value of no type."""

    default_status = Status.E_UNCACHEABLE


class CompileError(TLCacheError):
    """The compiler refused the source. A compile callback may raise it too.

    Attributes:
        log: the compiler's whole output.
    """

    default_status = Status.E_COMPILE

    def __init__(
        self,
        message: str = "",
        *,
        log: str = "",
        status: int | None = None,
        errno: int = 0,
        backend_code: int = 0,
    ) -> None:
        super().__init__(message, status=status, errno=errno, backend_code=backend_code)
        self.log = log


class LoadError(TLCacheError):
    """The loader or driver refused the artifact, or it is for another device."""

    default_status = Status.E_LOAD


class Rejected(TLCacheError):
    """What a backend's `validate` raises: the artifact is not whole, or does not fit the device."""

    default_status = Status.REJECTED


class ExistsError(TLCacheError):
    """A backend for this target kind and engine is registered already."""

    default_status = Status.E_EXISTS


class BusyError(TLCacheError):
    """The backend is in use: modules of it are alive, or one of its own slots asks."""

    default_status = Status.E_BUSY


class UnavailableError(TLCacheError):
    """The backend cannot work on this machine; the message says what is missing."""

    default_status = Status.E_UNAVAILABLE


class NotFoundError(TLCacheError, LookupError):
    """No such backend, member, symbol or namespace; the message lists what there is."""

    default_status = Status.E_NOT_FOUND


class DeniedError(TLCacheError):
    """Refused for trust: owner, mode, signature, or plugins not allowed."""

    default_status = Status.E_DENIED


class ForkedError(TLCacheError):
    """The object belongs to the parent process."""

    default_status = Status.E_FORKED


class TimeoutError(TLCacheError, builtins.TimeoutError):  # type: ignore[misc]
    """The deadline passed while another process compiled. Compile for yourself and put."""

    default_status = Status.TIMEOUT


class CancelledError(TLCacheError):
    """A wait was ended from outside."""

    default_status = Status.E_CANCELLED


class CallbackError(TLCacheError):
    """A slot of a backend, or the compile callback of another thread, raised an exception.

    The message has its text; `__cause__` is the exception itself if it was raised on this thread by
    a backend written in Python.
    """

    default_status = Status.E_CALLBACK


class UnsupportedError(TLCacheError):
    """Not supported here, or by this version of the library."""

    default_status = Status.E_UNSUPPORTED


class StoreError(TLCacheError):
    """The store cannot be used for this: it cannot be read or written, or is busy."""

    default_status = Status.E_IO


class CorruptError(StoreError):
    """Stored bytes are not what was stored."""

    default_status = Status.E_CORRUPT


class ConflictError(StoreError):
    """Another generation was published since the one the caller saw."""

    default_status = Status.CONFLICT


class OutOfMemoryError(TLCacheError, MemoryError):
    """Out of memory."""

    default_status = Status.E_NOMEM


_CLASSES: dict[int, type[TLCacheError]] = {
    Status.REJECTED: CorruptError,
    Status.NOT_STORED: StoreError,
    Status.TOO_LARGE: StoreError,
    Status.E_BUSY: StoreError,
    **{
        kind.default_status: kind
        for kind in (
            InvalidError,
            UncacheableError,
            CompileError,
            LoadError,
            ExistsError,
            UnavailableError,
            NotFoundError,
            DeniedError,
            ForkedError,
            TimeoutError,
            CancelledError,
            CallbackError,
            UnsupportedError,
            StoreError,
            CorruptError,
            ConflictError,
            OutOfMemoryError,
        )
    },
}


def error_message(status: int, error: Any) -> str:
    """The message of a tlc_error, or what the status means where it has none."""
    if error != ffi.NULL and error.code == status and error.message[0] != b"\0":
        return from_c(error.message)
    return from_c(lib.tlc_status_message(status))


_raised = threading.local()


def note_raised(status: int, message: bytes, exception: BaseException) -> None:
    """A slot of a backend raised this on this thread; the next error with it has it as cause."""
    _raised.last = (status, message, exception)


def raised_here() -> BaseException | None:
    """What a slot of this thread raised, if no error has taken it since."""
    last = getattr(_raised, "last", None)
    return None if last is None else last[2]


def forget_raised() -> None:
    """For calls that succeed although a slot may have failed."""
    _raised.last = None


def _cause(status: int, error: Any) -> BaseException | None:
    last = getattr(_raised, "last", None)
    if last is None:
        return None
    _raised.last = None
    if error == ffi.NULL or last[0] != status or error.code != status:
        return None
    # The error's text may be cut, at the end of a character.
    said = bytes(ffi.string(error.message))
    return last[2] if said and last[1].startswith(said) else None


def make_error(
    status: int, error: Any, *, kind: type[TLCacheError] | None = None, prefix: str = ""
) -> TLCacheError:
    """The exception for a status and the tlc_error written with it.

    Its cause is what a slot of this thread raised. An interrupt (no Exception) goes on as itself.
    """
    known = error != ffi.NULL and error.code == status
    cause = _cause(status, error)
    if cause is not None and not isinstance(cause, Exception):
        raise cause
    made = (kind or _CLASSES.get(status, TLCacheError))(
        prefix + error_message(status, error),
        status=status,
        errno=error.sys_errno if known else 0,
        backend_code=error.backend_code if known else 0,
    )
    if cause is not None:
        made.__cause__ = cause
    return made


def check(status: int, error: Any) -> None:
    """Raises unless the status is OK."""
    if status != 0:
        raise make_error(status, error)
