# SPDX-License-Identifier: MIT
"""Requests: what is wanted, as typed fields.

Python                      type of the library
None                        null
bool                        bool
int (any Integral)          int, -2**63 to 2**64 - 1
float (numpy's too)         f64
str                         text
bytes, bytearray, memoryview  bytes
Digest                      digest
list, tuple                 list
Mapping with str keys       map
"""

from __future__ import annotations

import enum
import math
import numbers
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from ._errors import UncacheableError, check, make_error
from ._key import Digest, Key
from ._native import ffi, lib, owned, text


class _NoToolchain(enum.Enum):
    NO_TOOLCHAIN = "NO_TOOLCHAIN"

    def __repr__(self) -> str:
        return "tlcache.NO_TOOLCHAIN"


#: States that nothing compiles this artifact, so that its key needs no toolchain.
NO_TOOLCHAIN: Final = _NoToolchain.NO_TOOLCHAIN

_INT_MIN, _INT64_MAX, _INT_MAX = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1


class Request:
    """What is wanted: typed fields, target, engine, toolchain. Immutable; any thread may use it."""

    __slots__ = ("_ptr", "engine", "fields", "label", "namespace", "target", "toolchain")

    def __init__(
        self,
        namespace: str,
        target: str | None = None,
        engine: str | None = None,
        toolchain: bytes | str | _NoToolchain | None = None,
        label: str | None = None,
        fields: Mapping[str, Any] | None = None,
        *,
        digest_only: Iterable[str] = (),
        require: Iterable[str] = (),
    ) -> None:
        """A request.

        Args:
            namespace: 1 to 128 of [A-Za-z0-9._/+-]; listing and clearing go by it.
            target: `kind[:arch[:feature...]]`; None: for no particular target.
            engine: what compiles for the target; None: the default of the target's kind.
            toolchain: identity of what compiles (version and build, a digest); NO_TOOLCHAIN where
                nothing does; None where a registered backend knows.
            label: for people; never in the key.
            fields: what determines the artifact. See this module for the types.
            digest_only: names of fields of which only type, length and digest are kept.
            require: names of members without which an artifact is incomplete.

        Raises:
            UncacheableError: a field's value has no type in a key; the message names the field.
            InvalidError: a name is wrong.
        """
        self.namespace = namespace
        self.target = target
        self.engine = engine
        self.toolchain = toolchain
        self.label = label
        self.fields: Mapping[str, Any] = MappingProxyType(dict(fields or {}))
        out, error = ffi.new("tlc_request**"), lib.tlcpy_error()
        check(lib.tlc_request_create(text(namespace), out, error), error)
        self._ptr = request = owned(out[0], lib.tlc_request_destroy)
        if target is not None:
            check(lib.tlc_request_set_target(request, text(target), error), error)
        if engine is not None:
            check(lib.tlc_request_set_engine(request, text(engine), error), error)
        if isinstance(toolchain, _NoToolchain):
            check(lib.tlc_request_set_no_toolchain(request, error), error)
        elif toolchain is not None:
            data = toolchain.encode() if isinstance(toolchain, str) else bytes(toolchain)
            check(
                lib.tlc_request_set_toolchain(request, ffi.from_buffer(data), len(data), error),
                error,
            )
        if label is not None:
            check(lib.tlc_request_set_label(request, text(label), error), error)
        for member in (require,) if isinstance(require, str) else require:
            check(lib.tlc_request_require_member(request, text(member), error), error)
        self._add_fields(digest_only)

    _ptr: Any

    def _add_fields(self, digest_only: Iterable[str]) -> None:
        hidden = {digest_only} if isinstance(digest_only, str) else set(digest_only)
        unknown = hidden - self.fields.keys()
        if unknown:
            raise ValueError(f"digest_only names {sorted(unknown)}, which are not among the fields")
        for name, value in self.fields.items():
            if not isinstance(name, str):
                raise UncacheableError(f"field name {name!r} is not text")
            flags = lib.TLC_FIELD_DIGEST_ONLY if name in hidden else 0
            _add(self._ptr, name, value, flags, name)

    def _add_prepared(self, prepared: Prepared) -> None:
        """Adds fields that many requests have. Only before the request is handed to anybody."""
        check(
            lib.tlcpy_add_prepared(self._ptr, prepared.encoded, len(prepared.encoded)),
            lib.tlcpy_last_error(),
        )

    def key(self) -> Key:
        """The key, without a cache or a backend: target, engine and toolchain must be stated."""
        out, error = ffi.new("tlc_key**"), lib.tlcpy_error()
        check(lib.tlc_request_key(self._ptr, out, error), error)
        return Key._own(out[0])

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={value!r}"
            for name in ("target", "engine", "label")
            if (value := getattr(self, name)) is not None
        )
        return f"<tlcache.Request {self.namespace!r} {shown} fields={sorted(self.fields)}>"


class Prepared:
    """Fields that many requests have, written down so that one call of the library adds them.

    Of text, digests, None, and maps of them: what an identity is made of.
    """

    __slots__ = ("encoded",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.encoded = b"".join(_written(name, value) for name, value in fields.items())


def _written(name: str, value: Any) -> bytes:
    """One field, as tlcpy_add_prepared reads it."""
    data = name.encode()
    head = len(data).to_bytes(2, sys.byteorder) + data
    if value is None:
        return b"n" + head
    if isinstance(value, Digest):
        return b"d" + head + value
    if isinstance(value, str):
        text_of = value.encode()
        return b"t" + head + len(text_of).to_bytes(4, sys.byteorder) + text_of
    if isinstance(value, Mapping):
        inner = b"".join(_written(one, item) for one, item in value.items())
        return b"{" + head + inner + b"}"
    raise UncacheableError(f"field {name!r}: {type(value).__qualname__} cannot be prepared")


def _encode(value: str, path: str) -> tuple[Any, int]:
    try:
        return text(value)
    except UnicodeEncodeError as error:
        raise UncacheableError(f"field {path!r}: text cannot be encoded: {error}") from None


def _check(status: int, error: Any, path: str) -> None:
    if status != 0:
        raise make_error(status, error, prefix=f"field {path!r}: ")


def _add(request: Any, name: str, value: Any, flags: int, path: str) -> None:
    """Adds a value under a name (empty in a list). path: how the value is called in an error."""
    label = _encode(name, path)
    error = lib.tlcpy_error()
    if value is None:
        status = lib.tlc_request_add_null(request, label, flags, error)
    elif isinstance(value, bool):
        status = lib.tlc_request_add_bool(request, label, value, flags, error)
    elif isinstance(value, str):
        status = lib.tlc_request_add_text(request, label, _encode(value, path), flags, error)
    elif isinstance(value, numbers.Integral):
        status = _add_integer(request, label, int(value), flags, error, path)
    elif isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational):
        number = float(value)
        if number != value and not math.isnan(number):
            raise UncacheableError(f"field {path!r}: {value!r} is not a 64-bit float")
        status = lib.tlc_request_add_f64(request, label, number, flags, error)
    elif isinstance(value, Digest):
        status = lib.tlc_request_add_digest(
            request, label, ffi.from_buffer("uint8_t[]", value), flags, error
        )
    elif isinstance(value, bytes | bytearray | memoryview):
        data = value if not isinstance(value, memoryview) or value.c_contiguous else value.tobytes()
        raw = ffi.from_buffer(data)
        status = lib.tlc_request_add_bytes(request, label, raw, len(raw), flags, error)
    elif isinstance(value, list | tuple):
        status = lib.tlc_request_begin_list(request, label, flags, error)
        _check(status, error, path)
        for index, item in enumerate(value):
            _add(request, "", item, 0, f"{path}[{index}]")
        error = lib.tlcpy_error()
        status = lib.tlc_request_end(request, error)
    elif isinstance(value, Mapping):
        status = lib.tlc_request_begin_map(request, label, flags, error)
        _check(status, error, path)
        for entry, item in value.items():
            if not isinstance(entry, str):
                raise UncacheableError(f"field {path!r}: the map's key {entry!r} is not text")
            _add(request, entry, item, 0, f"{path}.{entry}")
        error = lib.tlcpy_error()
        status = lib.tlc_request_end(request, error)
    else:
        raise UncacheableError(
            f"field {path!r}: a value of type {type(value).__qualname__} has no place in a key; "
            "give None, bool, int, float, str, bytes, Digest, list or dict"
        )
    _check(status, error, path)


def _add_integer(request: Any, label: Any, value: int, flags: int, error: Any, path: str) -> int:
    if not _INT_MIN <= value <= _INT_MAX:
        raise UncacheableError(f"field {path!r}: {value} is out of range (-2**63 to 2**64 - 1)")
    if value > _INT64_MAX:
        return int(lib.tlc_request_add_uint(request, label, value, flags, error))
    return int(lib.tlc_request_add_int(request, label, value, flags, error))


__all__ = ["NO_TOOLCHAIN", "Request"]
