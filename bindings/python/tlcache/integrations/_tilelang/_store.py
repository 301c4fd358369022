# SPDX-License-Identifier: MIT
"""The process's cache, and folders of files in and out of it."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from ..._api import Artifact, Bundle, Cache, Key, MemberType
from ._seams import log, say_once

_lock = threading.Lock()
_cache: Cache | None = None
_broken = False

#: ELF machines whose files are for a device: NVIDIA and AMD.
_DEVICE_MACHINES = (190, 224)
_SOURCES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".h", ".py", ".hip", ".metal", ".asc")


def cache() -> Cache | None:
    """The cache, opened at its first use; None where that fails, which is said once."""
    global _cache, _broken
    if _cache is None and not _broken:
        with _lock:
            if _cache is None and not _broken:
                try:
                    _cache = Cache()
                    atexit.register(_cache.close)  # what it counted is written then
                except Exception as error:
                    _broken = True
                    say_once("cache", f"cannot be opened ({error}); TileLang's own cache serves")
    return _cache


def scratch() -> Path:
    """A new folder of this process's own to load from, gone when it ends."""
    folder = tempfile.mkdtemp(prefix="tlcache-tilelang-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _place_to_write() -> str | None:
    """Where TileLang writes fastest: in memory, if there is room; None: where folders usually are.

    It syncs each file that it writes, several times. Up to 0.1.13 it writes into a folder of its
    own first and renames from there, which works within one file system only.
    """
    from tilelang import env

    folder = "/dev/shm"
    try:
        if isinstance(own := getattr(env, "TILELANG_TMP_DIR", None), str):
            os.makedirs(own, exist_ok=True)
            return own
        room = os.statvfs(folder)
    except OSError:
        return None
    enough = room.f_bavail * room.f_frsize >= 256 << 20
    return folder if enough and os.access(folder, os.W_OK | os.X_OK) else None


_SAVES = "tlcache-tilelang-save-"


@functools.cache
def _sweep(place: str) -> None:
    """Removes what killed saves left, when it is older than an hour; once a process."""
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if not entry.name.startswith(_SAVES) or not entry.is_dir(follow_symlinks=False):
                    continue
                stat = entry.stat(follow_symlinks=False)
                if stat.st_uid == os.getuid() and stat.st_mtime < time.time() - 3600:
                    shutil.rmtree(entry.path, ignore_errors=True)
    except OSError:
        return


class Scratch:
    """A new folder of this process's own to write into, gone when the block ends."""

    def __enter__(self) -> Path:
        place = _place_to_write() or tempfile.gettempdir()
        _sweep(place)
        self._folder = tempfile.mkdtemp(prefix=_SAVES, dir=place)
        return Path(self._folder)

    def __exit__(self, *_exception: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _type_of(name: str, data: bytes) -> MemberType:
    if data[:4] == b"\x7fELF":
        machine = int.from_bytes(data[18:20], "little")
        device = machine in _DEVICE_MACHINES
        return MemberType.DEVICE_BINARY if device else MemberType.SHARED_OBJECT
    if name.endswith(".json"):
        return MemberType.JSON
    return MemberType.SOURCE if name.endswith(_SOURCES) else MemberType.OPAQUE


def bundle_of(
    folder: Path, label: str | None = None, *, without: Collection[str] = ()
) -> Bundle | None:
    """All files of a folder, whatever they are called; None if there are none to store.

    Hidden ones are somebody's unfinished writes. A folder in the folder has no place in a bundle,
    so nothing of it is stored.
    """
    bundle = Bundle(label=label)
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        if entry.name.startswith(".") or entry.name in ("__pycache__", *without):
            continue
        if not entry.is_file(follow_symlinks=False):
            log.warning("%s is not a plain file; the entry is not stored", entry.path)
            return None
        data = Path(entry.path).read_bytes()
        bundle.add(entry.name, data, _type_of(entry.name, data))
    return bundle if bundle._filled() else None


def copy_out(artifact: Artifact, folder: Path) -> None:
    """Writes an artifact's files into a folder that may be written to."""
    for name in artifact:
        (folder / name).write_bytes(artifact[name])


def put(key: Key, bundle: Bundle) -> Artifact | None:
    """Stores a bundle; None if it could not be kept, for whatever reason."""
    store = cache()
    if store is None:
        return None
    artifact = store.put(key, bundle)
    if not artifact.stored:
        log.info("not stored: %s", artifact.reason)
        return None
    return artifact


def get(key: Key) -> Artifact | None:
    """What the key stands for."""
    store = cache()
    return None if store is None else store.get(key)


class Named(NamedTuple):
    """What a text of ours stands for."""

    key: Key
    label: str | None
    #: Files without which an entry is not complete.
    files: frozenset[str] = frozenset()


class Names:
    """TileLang knows entries by text; this says which key a text of ours stands for.

    Bounded: what falls out is an entry of TileLang's own from then on, that is, a miss.
    """

    def __init__(self, limit: int = 65536) -> None:
        self._limit = limit
        self._keys: dict[str, Named] = {}
        self._guard = threading.Lock()

    def add(self, key: Key, label: str | None, files: frozenset[str] = frozenset()) -> str:
        """The text for a key: 64 hex digits, as TileLang's own."""
        name = key.digest.hex()
        with self._guard:
            while len(self._keys) >= self._limit:
                del self._keys[next(iter(self._keys))]
            self._keys[name] = Named(key, label, files)
        return name

    def get(self, name: object) -> Named | None:
        """What a text stands for; None if it is none of ours."""
        return self._keys.get(name) if isinstance(name, str) else None


__all__ = ["Named", "Names", "Scratch", "bundle_of", "cache", "copy_out", "get", "put", "scratch"]
