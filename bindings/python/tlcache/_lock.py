# SPDX-License-Identifier: MIT
"""What `Cache.begin` gives: the artifact, or the right to compile it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal

from ._artifact import Artifact
from ._bundle import Bundle, BytesLike, as_bundle
from ._callbacks import failure_status, failure_text
from ._errors import InvalidError, Status, error_message, make_error
from ._native import ffi, lib, owned, text

_PUBLISHED = (Status.OK, Status.EXISTED, Status.NOT_STORED, Status.TOO_LARGE)


def published(status: int, out: Any, error: Any) -> Artifact:
    """The artifact that a publishing call handed out, or its error."""
    if status not in _PUBLISHED or not out[0]:
        raise make_error(status, error)
    stored = status in (Status.OK, Status.EXISTED)
    return Artifact._own(out[0], Status(status), "" if stored else error_message(status, error))


class Hit:
    """The key was found: `artifact` is set, there is nothing to do."""

    __slots__ = ("artifact",)

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact

    def __enter__(self) -> Hit:
        return self

    def __exit__(self, *_exception: object) -> Literal[False]:
        return False

    def publish(self, members: object, **_more: object) -> Artifact:
        """There is nothing to publish."""
        raise InvalidError("the key was found already; look at .artifact before publishing")


class CompileLock:
    """You compile: `artifact` is None until you publish.

    As a context manager: leaving the block with an exception fails, without publishing abandons.
    """

    __slots__ = ("_holder", "_started", "artifact")

    def __init__(self, pointer: Any) -> None:
        self.artifact: Artifact | None = None
        # A list, because pop() takes the handle exactly once whatever threads do.
        self._holder = [owned(pointer, lib.tlc_lock_abandon)]
        self._started = time.monotonic()

    def _take(self) -> Any:
        """The native lock, which the caller ends."""
        try:
            handle = self._holder.pop()
        except IndexError:
            raise InvalidError("the compile lock was ended already") from None
        ffi.gc(handle, None)
        return handle

    def publish(
        self,
        members: Mapping[str, BytesLike] | Bundle,
        *,
        compile_time: float | None = None,
        label: str | None = None,
        types: Mapping[str, int] | None = None,
    ) -> Artifact:
        """Publishes the members and ends the lock; as `Cache.put`.

        compile_time: seconds; None: the time since the lock was given.
        """
        bundle = as_bundle(members, compile_time=compile_time, label=label, types=types)
        if bundle.compile_time is None:
            bundle.compile_time = time.monotonic() - self._started
        native = bundle._native()
        handle = self._take()
        out, error = ffi.new("tlc_artifact**"), lib.tlcpy_error()
        status = lib.tlc_lock_publish(handle, native, out, error)
        self.artifact = published(status, out, error)
        return self.artifact

    def fail(self, message: str, status: int = Status.E_COMPILE) -> None:
        """Ends the lock: threads of this process that wait get this, other processes compile."""
        lib.tlc_lock_fail(self._take(), status, text(message.encode("utf-8", "replace")))

    def abandon(self) -> None:
        """Ends the lock: the next that waits compiles. Does nothing where it was ended already."""
        try:
            lib.tlc_lock_abandon(self._take())
        except InvalidError:
            return

    def __enter__(self) -> CompileLock:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        exception: BaseException | None,
        _traceback: TracebackType | None,
    ) -> Literal[False]:
        if self._holder:
            if isinstance(exception, Exception):
                self.fail(failure_text(exception), failure_status(exception))
            else:
                self.abandon()
        return False
