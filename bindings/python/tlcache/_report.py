# SPDX-License-Identifier: MIT
"""Counters and entries of a cache, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._key import Digest
from ._native import ffi, from_text


@dataclass(frozen=True)
class Stats:
    """Counters across processes and since the store was made; sizes are of now.

    Attributes:
        hits, misses, rejections: outcomes of look-ups.
        puts, not_stored: outcomes of publishing.
        compiles: compiles that ran.
        compile_time: seconds spent compiling.
        saved_time: seconds of compiling that hits saved.
        evictions: entries evicted.
        youngest_evicted: least age at eviction in seconds (small: the limit is too small; 0: none).
        entries: live entries (0 in a namespace's stats).
        disk_bytes: allocated under the store's folder.
        limit_bytes: the store's limit.
        mapped_bytes: segments that this process maps.
        unlinked_bytes: of these, no longer in the store's folder.
        memory_bytes: artifacts that this process keeps in memory.
        remote_gets, remote_hits: times a remote was asked, and had what was then used.
        remote_puts: artifacts and links stored at a remote, or removed there.
        remote_errors: calls of remotes that failed or were late, and damaged answers.
    """

    hits: int
    misses: int
    rejections: int
    puts: int
    not_stored: int
    compiles: int
    compile_time: float
    saved_time: float
    evictions: int
    youngest_evicted: int
    entries: int
    disk_bytes: int
    limit_bytes: int
    mapped_bytes: int
    unlinked_bytes: int
    memory_bytes: int
    remote_gets: int
    remote_hits: int
    remote_puts: int
    remote_errors: int

    @classmethod
    def _read(cls, stats: Any) -> Stats:
        return cls(
            hits=stats.hits,
            misses=stats.misses,
            rejections=stats.rejections,
            puts=stats.puts,
            not_stored=stats.not_stored,
            compiles=stats.compiles,
            compile_time=stats.compile_us / 1e6,
            saved_time=stats.saved_us / 1e6,
            evictions=stats.evictions,
            youngest_evicted=stats.youngest_evicted_s,
            entries=stats.entries,
            disk_bytes=stats.disk_bytes,
            limit_bytes=stats.limit_bytes,
            mapped_bytes=stats.mapped_bytes,
            unlinked_bytes=stats.unlinked_bytes,
            memory_bytes=stats.memory_bytes,
            remote_gets=stats.remote_gets,
            remote_hits=stats.remote_hits,
            remote_puts=stats.remote_puts,
            remote_errors=stats.remote_errors,
        )


@dataclass(frozen=True)
class Entry:
    """One entry of the store.

    Attributes:
        digest: of its key.
        key_encoding: its key's fields, encoded; `Key.decode` reads it. Empty if it is not kept.
        namespace, label: of its key; for people.
        kind: "artifact", "link" or "failure".
        size: bytes in the store.
        created: seconds since 1970.
        last_used: seconds since 1970, to the minute; 0: not since it was made.
        compile_time: seconds its compile took.
        generation: grows with each publish in this store.
    """

    digest: Digest
    key_encoding: bytes
    namespace: str
    label: str
    kind: str
    size: int
    created: float
    last_used: int
    compile_time: float
    generation: int

    @classmethod
    def _read(cls, entry: Any) -> Entry:
        has_key = bool(entry.key_encoding) and entry.key_length
        return cls(
            digest=Digest(ffi.buffer(entry.digest, Digest.SIZE)[:]),
            key_encoding=bytes(ffi.buffer(entry.key_encoding, entry.key_length))
            if has_key
            else b"",
            namespace=from_text(entry.name_space),
            label=from_text(entry.label),
            kind=from_text(entry.kind),
            size=entry.size,
            created=entry.created_ns / 1e9,
            last_used=entry.last_used_s,
            compile_time=entry.compile_us / 1e6,
            generation=entry.generation,
        )
