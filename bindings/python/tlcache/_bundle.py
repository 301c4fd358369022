# SPDX-License-Identifier: MIT
"""Bundles: the members that a compile makes, before they are published."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from typing import Any

from ._errors import check
from ._key import Digest, Key
from ._native import NULL, ffi, lib, owned, text

BytesLike = bytes | bytearray | memoryview
PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class MemberType(enum.IntEnum):
    """What a member is. The library keeps values that it does not know."""

    OPAQUE = lib.TLC_MEMBER_OPAQUE
    SHARED_OBJECT = lib.TLC_MEMBER_SHARED_OBJECT
    DEVICE_BINARY = lib.TLC_MEMBER_DEVICE_BINARY
    DEVICE_IR = lib.TLC_MEMBER_DEVICE_IR
    SOURCE = lib.TLC_MEMBER_SOURCE
    JSON = lib.TLC_MEMBER_JSON
    OBJECT = lib.TLC_MEMBER_OBJECT


class Bundle:
    """Members to publish, with what the library should know about them.

    A plain mapping of names to bytes does where there is no more to say. A bundle is only a list:
    nothing happens before it is published, and it may be published more than once.

    Attributes:
        label: for people; overrides the request's.
        compile_time: seconds the compile took; None: measured where the library saw it.
        log: the compiler's output (handed out as `Artifact.log`).
    """

    def __init__(
        self,
        members: Mapping[str, BytesLike] | None = None,
        *,
        types: Mapping[str, int] | None = None,
        label: str | None = None,
        compile_time: float | None = None,
        log: str = "",
    ) -> None:
        """A bundle; `types` gives a MemberType by a member's name, the default is OPAQUE."""
        self.label = label
        self.compile_time = compile_time
        self.log = log
        self._members: dict[str, tuple[BytesLike, int]] = {}
        self._guards: list[tuple[bytes, Digest | None]] = []
        self._absent: list[bytes] = []
        self._requirements: list[Key] = []
        types = types or {}
        unknown = types.keys() - (members or {}).keys()
        if unknown:
            raise ValueError(f"types names {sorted(unknown)}, which are not among the members")
        for name, data in (members or {}).items():
            self.add(name, data, types.get(name, MemberType.OPAQUE))

    def add(self, name: str, data: BytesLike, type: int = MemberType.OPAQUE) -> Bundle:
        """Adds a member. Its name is that of a file in a folder and unique in the bundle."""
        if not isinstance(name, str):
            raise TypeError(f"a member's name is a str, not {name!r}")
        if isinstance(data, str):
            raise TypeError(f"member {name!r} is a str; encode it to bytes")
        if name in self._members:
            raise ValueError(f"member {name!r} is in the bundle already")
        if not isinstance(data, bytes):
            try:
                view = memoryview(data)
            except TypeError:
                raise TypeError(
                    f"member {name!r} is of type {data.__class__.__qualname__}; it is bytes"
                ) from None
            data = view if view.c_contiguous else view.tobytes()
        self._members[name] = (data, int(type))
        return self

    def guard(self, path: PathLike, digest: BytesLike | None = None) -> Bundle:
        """A file the compile read: the artifact is found only while it has this content.

        `digest` is BLAKE2b-256 of the content the compile saw; None: it is read at publishing.
        """
        self._guards.append(
            (os.path.abspath(os.fsencode(path)), None if digest is None else Digest(digest))
        )
        return self

    def absent(self, path: PathLike) -> Bundle:
        """A path where the compile found nothing: the artifact is found only while it is free."""
        self._absent.append(os.path.abspath(os.fsencode(path)))
        return self

    def require(self, key: Key) -> Bundle:
        """Another key that must be present for a closed look-up to find this artifact."""
        self._requirements.append(key)
        return self

    def _filled(self) -> bool:
        return bool(self._members or self._guards or self._absent or self._requirements)

    def _fill(self, bundle: Any, borrow: bool) -> None:
        """Adds everything to a native bundle. borrow: this object outlives it."""
        error = lib.tlcpy_error()
        for name, (data, kind) in self._members.items():
            # Only bytes cannot change while they are borrowed.
            flags = lib.TLC_BUNDLE_BORROW if borrow and isinstance(data, bytes) else 0
            raw = ffi.from_buffer(data)
            check(lib.tlc_bundle_add(bundle, text(name), kind, raw, len(raw), flags, error), error)
        if self.compile_time is not None:
            if not self.compile_time >= 0:
                raise ValueError(f"compile_time is {self.compile_time!r}; it is seconds, 0 or more")
            check(
                lib.tlc_bundle_set_compile_time(bundle, round(self.compile_time * 1e6), error),
                error,
            )
        if self.label is not None:
            check(lib.tlc_bundle_set_label(bundle, text(self.label), error), error)
        for path, digest in self._guards:
            raw = NULL if digest is None else ffi.from_buffer("uint8_t[]", digest)
            check(lib.tlc_bundle_add_guard(bundle, text(path), raw, error), error)
        for path in self._absent:
            check(lib.tlc_bundle_add_absent(bundle, text(path), error), error)
        for key in self._requirements:
            check(lib.tlc_bundle_add_requirement(bundle, key._ptr, error), error)

    def _native(self) -> Any:
        """A native bundle with everything in it; keep this object alive as long."""
        out, error = ffi.new("tlc_bundle**"), lib.tlcpy_error()
        check(lib.tlc_bundle_create(out, error), error)
        bundle = owned(out[0], lib.tlc_bundle_destroy)
        self._fill(bundle, borrow=True)
        return bundle


def as_bundle(
    members: Mapping[str, BytesLike] | Bundle,
    *,
    compile_time: float | None = None,
    label: str | None = None,
    types: Mapping[str, int] | None = None,
) -> Bundle:
    """A Bundle of what a caller gave; arguments override what a Bundle says itself."""
    if isinstance(members, Bundle):
        if types is not None:
            raise TypeError("types goes with a mapping; a Bundle says its types itself")
        bundle = Bundle.__new__(Bundle)
        bundle.__dict__.update(members.__dict__)
        bundle.label = members.label if label is None else label
        bundle.compile_time = members.compile_time if compile_time is None else compile_time
        return bundle
    if not isinstance(members, Mapping):
        raise TypeError(f"members are a mapping of names to bytes, or a Bundle, not {members!r}")
    return Bundle(members, types=types, label=label, compile_time=compile_time)
