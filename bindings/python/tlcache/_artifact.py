# SPDX-License-Identifier: MIT
"""Artifacts: what is found. A mapping of member names to read-only memory."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._bundle import MemberType
from ._errors import NotFoundError, Status, check
from ._key import Digest
from ._native import ffi, from_text, lib, new_error, take_bytes, take_json

if TYPE_CHECKING:
    from ._cache import Cache

# What a hit and a member need, without a look-up in a module.
_new, _gc, _buffer = object.__new__, ffi.gc, ffi.buffer
_find, _release = lib.tlcpy_find, lib.tlc_artifact_release


class Tier(enum.IntEnum):
    """Where an artifact came from."""

    MEMORY = lib.TLC_TIER_MEMORY
    STORE = lib.TLC_TIER_STORE
    PACK = lib.TLC_TIER_PACK
    REMOTE = lib.TLC_TIER_REMOTE


@dataclass(frozen=True)
class ArtifactInfo:
    """Facts about an artifact.

    Attributes:
        namespace: of its key.
        label: for people.
        digest: of its key.
        generation: grows with each publish in this store.
        created: seconds since 1970.
        compile_time: seconds its compile took.
        size: bytes of all members.
        member_count: number of members.
        tier: where it came from; an int this version does not know stays an int.
    """

    namespace: str
    label: str
    digest: Digest
    generation: int
    created: float
    compile_time: float
    size: int
    member_count: int
    tier: Tier | int


class Artifact(Mapping[str, memoryview]):
    """A verified, immutable artifact: member names to read-only memoryviews.

    The memory is the store's own, mapped. Each memoryview, each slice of it and each numpy array
    made of it keeps the artifact by itself; nothing has to be closed, and an eviction does no harm.
    """

    # On the way to a hit only _ptr and _views are set; the others are where they are needed.
    __slots__ = ("__weakref__", "_names", "_outcome", "_ptr", "_views")

    def __init__(self) -> None:
        raise TypeError("an Artifact comes from a Cache")

    @classmethod
    def _own(
        cls, pointer: Any, status: Status = Status.OK, reason: str = "", log: str | None = None
    ) -> Artifact:
        self = hit(pointer)
        self._outcome = (status, reason, log)
        return self

    _ptr: Any
    _views: dict[str, memoryview]
    _names: dict[str, tuple[int, int]]
    _outcome: tuple[Status, str, str | None]

    def _how(self) -> tuple[Status, str, str | None]:
        try:
            return self._outcome
        except AttributeError:
            return (Status.OK, "", None)

    @property
    def status(self) -> Status:
        """OK; for what was put also EXISTED, NOT_STORED or TOO_LARGE."""
        return self._how()[0]

    @property
    def reason(self) -> str:
        """Why it was not stored; empty otherwise."""
        return self._how()[1]

    @property
    def log(self) -> str | None:
        """The compiler's output, if this call compiled; else None."""
        return self._how()[2]

    @property
    def stored(self) -> bool:
        """Whether it is kept, beyond this process's memory of it."""
        return self.status in (Status.OK, Status.EXISTED)

    def __getitem__(self, name: str) -> memoryview:
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = self._view(name)
        # A new one each time: the caller may release it.
        return view[:]

    def _view(self, name: str) -> memoryview:
        """A member's memory. It keeps the native handle, not this object: there is no cycle."""
        if not isinstance(name, str):
            raise KeyError(name)
        encoded = name.encode("utf-8", "surrogatepass")
        member = _find(self._ptr, encoded, len(encoded))
        if not member:
            raise KeyError(name)
        size = member.size
        if not size:
            return memoryview(b"")
        # The pointer needs something to hold that keeps the handle and can be called at its end: a
        # bound method of the handle is both, costs least, and does nothing (it compares).
        pointer = _gc(member.data, self._ptr.__eq__)
        return memoryview(_buffer(pointer, size)).toreadonly()

    def _index(self) -> dict[str, tuple[int, int]]:
        """Position and type of each member by name, in the order they were added."""
        try:
            return self._names
        except AttributeError:
            names = {}
            for index in range(lib.tlc_artifact_member_count(self._ptr)):
                member = lib.tlcpy_member(self._ptr, index)
                names[from_text(member.name)] = (index, member.type)
            self._names = names
            return names

    def __iter__(self) -> Iterator[str]:
        return iter(self._index())

    def __len__(self) -> int:
        return int(lib.tlc_artifact_member_count(self._ptr))

    def __contains__(self, name: object) -> bool:
        return name in self._index()

    def type(self, name: str) -> MemberType | int:
        """What the member is; an int that this version does not know stays an int."""
        value = self._locate(name)[1]
        return MemberType(value) if value in MemberType._value2member_map_ else value

    def _locate(self, name: str) -> tuple[int, int]:
        try:
            return self._index()[name]
        except KeyError:
            raise NotFoundError(
                f"the artifact has no member {name!r}; it has {', '.join(map(repr, self._index()))}"
            ) from None

    def read(self, name: str) -> bytes:
        """A copy of a member, read from its file and verified again.

        Faster than the mapping for bytes that are read once, and safe where somebody may truncate
        the store's files.
        """
        buffer = bytearray(self[name].nbytes)
        self.read_into(name, buffer)
        return bytes(buffer)

    def read_into(self, name: str, buffer: bytearray | memoryview) -> int:
        """As `read`, into memory of the caller's; returns the number of bytes."""
        index = self._locate(name)[0]
        raw = ffi.from_buffer(buffer, require_writable=True)
        error = lib.tlcpy_error()
        check(lib.tlc_artifact_read(self._ptr, index, raw, len(raw), error), error)
        return self[name].nbytes

    def folder(self) -> Path:
        """A folder with the members as files, for loaders that want a path.

        Read-only, verified, never changed; there at least as long as this artifact and its cache
        are open in this process.
        """
        out, error = ffi.new("tlc_blob**"), lib.tlcpy_error()
        check(lib.tlc_artifact_folder(self._ptr, out, error), error)
        return Path(os.fsdecode(take_bytes(out[0])))

    @property
    def info(self) -> ArtifactInfo:
        """Facts about the artifact."""
        info, error = ffi.new("tlc_artifact_info*"), lib.tlcpy_error()
        info.struct_size = lib.tlcpy_size_of_info()
        check(lib.tlc_artifact_get_info(self._ptr, info, error), error)
        return ArtifactInfo(
            namespace=from_text(info.name_space),
            label=from_text(info.label),
            digest=Digest(ffi.buffer(info.digest, Digest.SIZE)[:]),
            generation=info.generation,
            created=info.created_ns / 1e9,
            compile_time=info.compile_us / 1e6,
            size=info.size,
            member_count=info.member_count,
            tier=Tier(info.tier) if info.tier in Tier._value2member_map_ else info.tier,
        )

    def describe(self, cache: Cache) -> dict[str, Any]:
        """What its binaries say of themselves, read by the backend of its target and engine.

        `{"members": {name: {"format": ...}}}`, with archs, kernels and symbols where the backend
        reads them; needs no device. UnsupportedError: stored for no target, or the backend cannot
        tell.
        """
        out, error = ffi.new("tlc_blob**"), new_error()
        check(lib.tlc_artifact_describe(self._ptr, cache._handle(), out, error), error)
        return dict(take_json(out[0]))

    @property
    def key_encoding(self) -> bytes | None:
        """The encoding of its key; None where it was stored by digest only."""
        length = ffi.new("size_t*")
        data = lib.tlc_artifact_key_encoding(self._ptr, length)
        return bytes(ffi.buffer(data, length[0])) if data else None

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name!r}: {self[name].nbytes}" for name in self)
        return f"<tlcache.Artifact {self.info.digest.hex()[:16]} {{{sizes}}}>"


def hit(pointer: Any) -> Artifact:
    """The artifact of a native handle; takes the reference over."""
    self = _new(Artifact)
    self._ptr = _gc(pointer, _release)
    self._views = {}
    return self
