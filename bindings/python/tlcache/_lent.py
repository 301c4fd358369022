# SPDX-License-Identifier: MIT
"""What the slot of a backend is given: the call, the request, the log, where to load.

Each belongs to the library and ends with the slot. It may be kept, and used by other threads: after
the end it answers with an error instead of reading memory that is gone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ._bundle import BytesLike, PathLike
from ._errors import InvalidError, check, make_error
from ._key import Digest
from ._native import NULL, ffi, from_text, lib, new_error, take_bytes, text

_host = lib.tlc_host()
Answer = TypeVar("Answer")


class _Lent:
    """A pointer that is valid until the slot returns."""

    __slots__ = ("_lock", "_pointer")

    def __init__(self) -> None:
        raise TypeError(f"a {type(self).__name__} is given to the slots of a backend")

    @classmethod
    def _lend(cls, pointer: Any) -> Any:
        self = object.__new__(cls)
        self._pointer = pointer
        self._lock = threading.Lock()
        return self

    _pointer: Any
    _lock: threading.Lock

    def _with(self, use: Callable[[Any], Answer]) -> Answer:
        """Answers use(pointer); the slot does not end meanwhile."""
        with self._lock:
            if self._pointer is None:
                raise InvalidError(
                    f"this {type(self).__name__} ended with the slot that it was given to"
                )
            return use(self._pointer)

    def _end(self) -> None:
        with self._lock:
            self._pointer = None


class BackendCall(_Lent):
    """One call of a slot: whether the caller gave up, and facts that the store remembers."""

    __slots__ = ()

    @property
    def cancelled(self) -> bool:
        """Whether the caller gave up: end the compile and raise CancelledError."""
        return bool(self._with(_host.cancelled))

    def file_identity(self, path: PathLike) -> Digest:
        """Identity of a file by content: its ELF build id, else a digest of its bytes.

        Remembered in the store, so that asking again costs one stat. Made for `identify`.
        """
        return self._file_fact(_host.file_identity, path)

    def file_digest(self, path: PathLike) -> Digest:
        """BLAKE2b-256 of a file's bytes, remembered likewise; what a guard compares."""
        return self._file_fact(_host.file_digest, path)

    def _file_fact(self, function: Any, path: PathLike) -> Digest:
        name = text(os.fsencode(path))
        out, error = ffi.new("uint8_t[]", Digest.SIZE), new_error()
        check(self._with(lambda call: function(call, name, out, error)), error)
        return Digest(ffi.buffer(out)[:])

    def remembered(self, key: BytesLike) -> bytes | None:
        """What `remember` kept under the key, in whatever process; None: nothing."""
        raw = ffi.from_buffer(key)
        out, error = ffi.new("tlc_blob**"), new_error()
        status = self._with(lambda call: _host.memo_get(call, raw, len(raw), out, error))
        if status == lib.TLC_MISS:
            return None
        check(status, error)
        return take_bytes(out[0])

    def remember(self, key: BytesLike, value: BytesLike) -> None:
        """Keeps a small fact (at most 64 KiB) between processes.

        `key` must name everything that the fact depends on. What cannot be stored is not kept, and
        that is no error.
        """
        raw_key, raw = ffi.from_buffer(key), ffi.from_buffer(value)
        error = new_error()
        status = self._with(
            lambda call: _host.memo_put(call, raw_key, len(raw_key), raw, len(raw), error)
        )
        if status < 0:
            raise make_error(status, error)


class BackendRequest(_Lent):
    """The request as a slot reads it: `request["source"]`, `request.get("options", [])`."""

    __slots__ = ()

    @property
    def namespace(self) -> str:
        """The request's namespace."""
        return self._with(lambda request: from_text(lib.tlc_request_namespace(request)))

    @property
    def target(self) -> str:
        """The target as it was set, unresolved; the slot's own argument is resolved."""
        return self._with(lambda request: from_text(lib.tlc_request_target(request)))

    @property
    def engine(self) -> str:
        """The engine as it was set; empty: the default one."""
        return self._with(lambda request: from_text(lib.tlc_request_engine(request)))

    @property
    def label(self) -> str:
        """The label for people; empty if there is none."""
        return self._with(lambda request: from_text(lib.tlc_request_label(request)))

    def __getitem__(self, name: str) -> Any:
        """The field's value, of the type it was set with. KeyError: there is none."""
        wanted = text(name)

        def find(request: Any) -> Any:
            value = lib.tlc_request_find(request, wanted)
            if value == NULL:
                raise KeyError(name)
            return _value(value, name)

        return self._with(find)

    def get(self, name: str, default: Any = None) -> Any:
        """The field's value, or `default` where there is none."""
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        wanted = text(name)
        return self._with(lambda request: bool(lib.tlc_request_find(request, wanted) != NULL))

    # Without it, Python would try request[0], request[1], ...
    __iter__ = None


def _value(value: Any, path: str) -> Any:
    """A copy of a value as Python's type for it (see _request.py)."""
    kind = lib.tlc_value_type(value)
    if kind in (lib.TLC_TYPE_BOOL, lib.TLC_TYPE_INT):
        out = ffi.new("int64_t*")
        if lib.tlc_value_int(value, out) != lib.TLC_OK:
            raise InvalidError(
                f"field {path!r} is above 2**63 - 1, which a backend has no way to read; "
                "give such a number as text or bytes"
            )
        return bool(out[0]) if kind == lib.TLC_TYPE_BOOL else int(out[0])
    if kind == lib.TLC_TYPE_F64:
        number = ffi.new("double*")
        lib.tlc_value_f64(value, number)
        return float(number[0])
    if kind == lib.TLC_TYPE_LIST:
        return [_value(item, f"{path}[{index}]") for index, (_, item) in enumerate(_items(value))]
    if kind == lib.TLC_TYPE_MAP:
        return {name: _value(item, f"{path}.{name}") for name, item in _items(value)}
    if kind == lib.TLC_TYPE_NULL:
        return None
    content = lib.tlc_value_text(value)
    if kind == lib.TLC_TYPE_TEXT:
        return from_text(content)
    data = bytes(ffi.buffer(content.data, content.len)) if content.len else b""
    return Digest(data) if kind == lib.TLC_TYPE_DIGEST else data


def _items(value: Any) -> list[tuple[str, Any]]:
    name = ffi.new("tlc_str*")
    items = []
    for index in range(lib.tlc_value_count(value)):
        item = lib.tlc_value_at(value, index, name)
        items.append((from_text(name[0]), item))
    return items


class BackendLog(_Lent):
    """The compile's log, which the caller gets. Can be written to as a file: `print(file=log)`."""

    __slots__ = ()

    def write(self, output: str) -> int:
        """Appends the compiler's output."""
        data = output.encode("utf-8", "replace")
        self._with(lambda log: lib.tlc_log_append(log, text(data)))
        return len(output)

    def flush(self) -> None:
        """Does nothing; a file has it."""


@dataclass(frozen=True)
class LoadOptions:
    """Where to load.

    Attributes:
        device: ordinal of the device; None: the backend's current one.
        context: the backend's own context handle; None: its current one.
        member: which member; None: the backend chooses.
    """

    device: int | None
    context: int | None
    member: str | None

    @classmethod
    def _read(cls, options: Any) -> LoadOptions:
        return cls(
            device=None if options.device < 0 else int(options.device),
            context=int(ffi.cast("uintptr_t", options.context)) or None,
            member=from_text(options.member) or None,
        )


__all__ = ["BackendCall", "BackendLog", "BackendRequest", "LoadOptions"]
