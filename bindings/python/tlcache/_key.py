# SPDX-License-Identifier: MIT
"""Keys: the fields that determine an artifact, encoded, and their digest."""

from __future__ import annotations

from typing import Any

from ._errors import check
from ._native import ffi, lib, owned, take_json


class Digest(bytes):
    """32 bytes of a digest: a field of this type is told apart from plain bytes."""

    SIZE = lib.TLC_DIGEST_SIZE

    __slots__ = ()

    def __new__(cls, value: bytes | bytearray | memoryview | str) -> Digest:
        """From 32 bytes, or from their 64 hex digits."""
        data = bytes.fromhex(value) if isinstance(value, str) else bytes(value)
        if len(data) != cls.SIZE:
            raise ValueError(f"a digest has {cls.SIZE} bytes, not {len(data)}")
        return super().__new__(cls, data)

    def __repr__(self) -> str:
        return f"Digest({self.hex()!r})"


class Key:
    """What names an artifact. Immutable, hashable, equal to another with the same digest.

    Made by `Cache.key`, `Request.key` or `Key.decode`; can be pickled.
    """

    __slots__ = ("_digest", "_ptr")

    def __init__(self) -> None:
        raise TypeError("a Key is made by Cache.key(), Request.key() or Key.decode()")

    @classmethod
    def _own(cls, pointer: Any) -> Key:
        self = object.__new__(cls)
        self._ptr = owned(pointer, lib.tlc_key_release)
        self._digest = None
        return self

    _digest: Digest | None
    _ptr: Any

    @classmethod
    def _copy(cls, pointer: Any) -> Key:
        """A key of its own from one that is lent for the length of a callback."""
        length = ffi.new("size_t*")
        data = lib.tlc_key_encoding(pointer, length)
        return cls.decode(ffi.buffer(data, length[0])[:])

    @classmethod
    def decode(cls, encoding: bytes | bytearray | memoryview) -> Key:
        """The key of an encoding, which must be canonical."""
        out, error = ffi.new("tlc_key**"), lib.tlcpy_error()
        data = ffi.from_buffer(encoding)
        check(lib.tlc_key_decode(data, len(data), out, error), error)
        return cls._own(out[0])

    @property
    def digest(self) -> Digest:
        """The 32 bytes that name the artifact."""
        if self._digest is None:
            self._digest = Digest(ffi.buffer(lib.tlc_key_digest(self._ptr), Digest.SIZE)[:])
        return self._digest

    @property
    def hex(self) -> str:
        """The digest as 64 hex digits."""
        return self.digest.hex()

    @property
    def encoding(self) -> bytes:
        """The key's fields, encoded."""
        length = ffi.new("size_t*")
        data = lib.tlc_key_encoding(self._ptr, length)
        return bytes(ffi.buffer(data, length[0]))

    def describe(self) -> dict[str, Any]:
        """Digest, namespace, target, engine and the fields as text."""
        out, error = ffi.new("tlc_blob**"), lib.tlcpy_error()
        check(lib.tlc_key_describe(self._ptr, out, error), error)
        return dict(take_json(out[0]))

    def diff(self, other: Key) -> list[dict[str, Any]]:
        """What differs in `other`: path, kind, was (here) and now (there) of each difference."""
        out, error = ffi.new("tlc_blob**"), lib.tlcpy_error()
        check(lib.tlc_key_diff(self._ptr, other._ptr, out, error), error)
        return list(take_json(out[0]))

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Key) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<tlcache.Key {self.hex}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Key.decode, (self.encoding,))
