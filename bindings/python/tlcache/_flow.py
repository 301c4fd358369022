# SPDX-License-Identifier: MIT
"""Get or compile: the whole flow of the library, with a function of Python as the compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._artifact import Artifact
from ._bundle import Bundle, BytesLike, as_bundle
from ._callbacks import Pending
from ._errors import CompileError, check, make_error
from ._key import Key
from ._native import ffi, lib, milliseconds, new_error, take_text, text
from ._request import Request
from ._wait import Cancel, interruptible

Members = Mapping[str, BytesLike] | Bundle
CompileFunction = Callable[[Request, Key], Members]


def get_or_compile(
    cache: Any,
    request: Request,
    compile: CompileFunction | None,
    timeout: float | None,
    flags: int,
    cancel: Cancel | None,
) -> Artifact | None:
    """As Cache.get_or_compile, for the native cache; None: a miss, with TLC_COMPILE_NEVER."""
    pending = None if compile is None else Pending(_Compile(request, compile))
    options = ffi.new("tlc_compile_options*")
    lib.tlc_compile_options_init(options)
    if pending is not None:
        options.compile, options.user_data = lib.tlcpy_on_compile, pending.handle
    options.flags = flags
    artifact, log, error = ffi.new("tlc_artifact**"), ffi.new("tlc_blob**"), new_error()

    def call(token: Any, left: int) -> int:
        options.cancel, options.timeout_ms = token, left
        status = lib.tlc_cache_get_or_compile(cache, request._ptr, options, artifact, log, error)
        # An exception of the callback's ends the wait, whatever the status.
        raised = pending is not None and pending.exception is not None
        return int(lib.TLC_E_CALLBACK if raised else status)

    # For this call 0 is the default, so that "do not wait" is the shortest wait.
    left = max(milliseconds(timeout, 0), 0 if timeout is None else 1)
    status = interruptible(call, left, cancel)
    said = take_text(log[0]) if log[0] else None
    if pending is not None:
        pending.raise_exception()
    if status == lib.TLC_MISS:
        return None
    if status == lib.TLC_E_COMPILE:
        failure = make_error(status, error, kind=CompileError)
        assert isinstance(failure, CompileError)
        failure.log = said or ""
        raise failure
    check(status, error)
    return Artifact._own(artifact[0], log=said)


class _Compile:
    """One compile callback: makes the members, gives them to the library's bundle."""

    __slots__ = ("bundle", "function", "request")

    def __init__(self, request: Request, function: CompileFunction) -> None:
        self.request = request
        self.function = function
        # Borrowed by the native bundle, which ends with the call that this object outlives.
        self.bundle: Bundle | None = None

    def __call__(self, key: Any, native: Any, log: Any) -> None:
        try:
            made = self.function(self.request, Key._copy(key))
        except CompileError as failure:
            lib.tlc_log_append(log, text(failure.log.encode("utf-8", "replace")))
            raise
        self.bundle = bundle = as_bundle(made)
        lib.tlc_log_append(log, text(bundle.log.encode("utf-8", "replace")))
        bundle._fill(native, borrow=True)


__all__ = ["CompileFunction", "Members", "get_or_compile"]
