# SPDX-License-Identifier: MIT
"""The cache manager that Triton is given: its files in place, their contents in the store.

What Triton asks of a manager, for one key:

    get_group(name)         paths of a kernel's files, or None; then it compiles
    put(data, name)         a file, to be read at the path that is returned
    put_group(name, paths)  the kernel is complete: this is when it is published
    get_file(name), put     single files: launchers (.so), timings of the autotuner

Two places can answer: the store, and Triton's own folder, which also serves what was there before
tlcache was turned on. Nothing that goes wrong here ends a compile.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import _triton_hit

if TYPE_CHECKING:
    from . import _triton_files as files
    from . import _triton_store as store
    from ._held import HeldLock
else:

    class _Later:
        """A module that a kernel whose files are in place does not need."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, what: str) -> Any:
            return getattr(importlib.import_module(self._name, __package__), what)

    files, store = _Later("._triton_files"), _Later("._triton_store")

#: Folders that were looked at: time of the folder, time of the artifact, paths.
_known: dict[str, _triton_hit.Known] = {}
_warned: set[str] = set()
_warned_lock = threading.Lock()


def warn_once(kind: str, message: str) -> None:
    """One warning of a kind in a process."""
    with _warned_lock:
        if kind in _warned:
            return
        _warned.add(kind)
    warnings.warn(f"tlcache: {message}", RuntimeWarning, stacklevel=4)


class _State:
    """What is known of the store in this process."""

    usable = True
    looked = False


def _look_at_store() -> None:
    """At the first miss: says once where nothing will be kept."""
    if _State.looked:
        return
    _State.looked = True
    reason = store.storage()
    if reason is not None:
        warn_once("store", f"{reason}; Triton's own folder serves")


def _give_up(error: Exception) -> None:
    _State.usable = False
    warn_once("store", f"{type(error).__name__}: {error}; Triton's own folder serves")


def _text(data: Any) -> bytes:
    """As Triton writes it: bytes as they are, a module of the compiler as its text."""
    return data if isinstance(data, bytes) else str(data).encode()


class ManagerMixin:
    """All of the manager but its base class, which is Triton's."""

    #: Set by make_manager: Triton's own manager, the folder of all keys, the keys' namespace.
    _own: Callable[..., Any]
    _root: Callable[[], str]
    _namespace: str

    __slots__ = ("_data", "_folder", "_group", "_held", "_key", "_other", "_started", "key")

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key
        self._key = key
        # Files that people put there or look at are no cache.
        self._other = (
            type(self)._own(key, override=override, dump=dump) if override or dump else None
        )
        self._folder: str | None = None
        self._group: str | None = None
        self._data: dict[str, bytes] = {}
        self._held: HeldLock | None = None
        self._started: float | None = None

    @property
    def cache_dir(self) -> str:
        """The folder of the key's files, as Triton's own manager has it."""
        if self._other is not None:
            return str(self._other.cache_dir)
        if self._folder is None:
            self._folder = os.path.join(type(self)._root(), self._key)
        return self._folder

    # ------------------------------------------------------------ kernels

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The paths of a kernel's files by name; None: there are none, compile."""
        if self._other is not None:
            found: dict[str, str] | None = self._other.get_group(filename)
            return found
        self._group = filename
        if not _State.usable:
            return files.group_in(self.cache_dir, filename)
        try:
            there = self._in_place(None)
            if there is not None and filename in there:
                return there.copy()
            encoding = store.encoding_of(type(self)._namespace, self._key, None)
            artifact, held = store.look(encoding, sys._getframe(1))
            if artifact is None:
                return self._after_miss(held, encoding, filename)
            paths = self._paths(artifact, filename)
            return paths if filename in paths else self._after_miss(None, encoding, filename)
        except Exception as error:
            _give_up(error)
            return files.group_in(self.cache_dir, filename)

    def _after_miss(
        self, held: HeldLock | None, encoding: bytes, group: str
    ) -> dict[str, str] | None:
        """The right to compile is kept with this object, unless Triton's folder has the kernel."""
        self._held, self._started = held, time.monotonic()
        _look_at_store()
        paths = files.group_in(self.cache_dir, group)
        if paths is None:
            return None
        try:
            if files.is_ours(self.cache_dir):
                data = {name: files.read(path) for name, path in paths.items()}
                self._publish(encoding, data, None)
        finally:
            self._end()
        return paths

    def put_group(self, filename: str, group: dict[str, str]) -> str | None:
        """All files of a kernel are there: publishes them."""
        if self._other is not None:
            result: str | None = self._other.put_group(filename, group)
            return result
        try:
            data = {
                name: self._data[name] if name in self._data else files.read(path)
                for name, path in group.items()
            }
            seconds = None if self._started is None else time.monotonic() - self._started
            if _State.usable:
                encoding = store.encoding_of(type(self)._namespace, self._key, None)
                self._publish(encoding, data, seconds)
            files.write_group(self.cache_dir, filename, group)
        except Exception as error:
            warn_once("put", f"a kernel is not kept: {type(error).__name__}: {error}")
        finally:
            self._end()
            self._data = {}
            self._group = None
        return os.path.join(self.cache_dir, files.GROUP_PREFIX + filename)

    # ------------------------------------------------------------ files

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """A file; it can be read at the path that is returned."""
        if self._other is not None:
            return str(self._other.put(data, filename, binary=binary))
        contents = _text(data)
        path = self._write(filename, contents)
        if self._group is not None:
            self._data[filename] = contents
        else:
            self._put_single(filename, contents)
        return path

    def _write(self, filename: str, contents: bytes) -> str:
        try:
            return files.write(self.cache_dir, filename, contents)
        except OSError as error:
            warn_once("files", f"{error}; the files of Triton's kernels go to a temporary folder")
            return files.write(self._move_away(), filename, contents)

    def _move_away(self) -> str:
        """From now on the key's files lie in a folder of this process."""
        self._folder = os.path.join(files.scratch(), self._key)
        return self._folder

    def _put_single(self, filename: str, contents: bytes) -> None:
        try:
            seconds = None if self._started is None else time.monotonic() - self._started
            if _State.usable:
                encoding = store.encoding_of(type(self)._namespace, self._key, filename)
                self._publish(encoding, {filename: contents}, seconds)
        except Exception as error:
            warn_once("put", f"a file is not kept: {type(error).__name__}: {error}")
        finally:
            self._end()

    def has_file(self, filename: str) -> bool:
        """Whether there is such a file (asked by old versions of Triton)."""
        return self.get_file(filename) is not None

    def get_file(self, filename: str) -> str | None:
        """The path of a file; None: there is none."""
        if self._other is not None:
            found: str | None = self._other.get_file(filename)
            return found
        if self._group is not None:  # a file of the kernel that is being compiled
            if self._data.pop(filename, None) is not None:
                return os.path.join(self.cache_dir, filename)  # it may be changed there
            return files.file_in(self.cache_dir, filename)
        if not _State.usable:
            return files.file_in(self.cache_dir, filename)
        try:
            there = self._in_place(filename)
            if there is not None and filename in there:
                return there[filename]
            encoding = store.encoding_of(type(self)._namespace, self._key, filename)
            artifact, held = store.look(encoding, sys._getframe(1))
            if artifact is None:
                return self._file_after_miss(held, encoding, filename)
            return self._paths(artifact, None)[filename]
        except Exception as error:
            _give_up(error)
            return files.file_in(self.cache_dir, filename)

    def _file_after_miss(self, held: HeldLock | None, encoding: bytes, filename: str) -> str | None:
        self._held, self._started = held, time.monotonic()
        _look_at_store()
        path = files.file_in(self.cache_dir, filename)
        if path is not None:
            try:
                if files.is_ours(self.cache_dir):
                    self._publish(encoding, {filename: files.read(path)}, None)
            finally:
                self._end()
        return path

    # ------------------------------------------------------------ both

    def _in_place(self, filename: str | None) -> dict[str, str] | None:
        """The paths of what is stored, if the files lie there as they were written."""
        folder, name = self.cache_dir, filename or ""
        known = _known.get(folder + "/" + name)
        found = _triton_hit.files(type(self)._namespace, self._key, filename, folder, known)
        if found is None:
            return None
        if found is not known:
            _known[folder + "/" + name] = found
        return found[2]

    def _paths(self, artifact: Any, group: str | None) -> dict[str, str]:
        """The artifact's files in their place, or written there; releases the artifact."""
        try:
            return self._place(artifact, group)
        finally:
            store.release(artifact)

    def _place(self, artifact: Any, group: str | None) -> dict[str, str]:
        folder = self.cache_dir
        paths = files.files_in(artifact, folder)
        if paths is not None:
            return paths
        members = store.members_of(artifact)
        when = files.created(artifact)
        try:
            files.materialise(folder, members, when, group)
        except OSError as error:
            warn_once("files", f"{error}; the files of kernels go to a temporary folder")
            folder = self._move_away()
            paths = files.files_in(artifact, folder)
            if paths is not None:
                return paths
            files.materialise(folder, members, when, group)
        return {name: os.path.join(folder, name) for name in members}

    def _publish(self, encoding: bytes, data: dict[str, bytes], seconds: float | None) -> None:
        made = store.publish(type(self)._namespace, encoding, self._key, data, seconds)
        if made.stored:
            files.stamp(self.cache_dir, data, made._ptr)
        elif not _State.looked or store.storage() is None:
            warn_once("kept", f"a kernel is not kept in the store: {made.reason}")

    def _end(self) -> None:
        """Gives the right to compile back."""
        held, self._held = self._held, None
        if held is not None:
            held.end()


def _root_of(cache: ModuleType) -> Callable[[], str]:
    """How this version of Triton names the folder of all keys; asked anew for each manager."""
    try:
        from triton import knobs  # type: ignore[import-untyped,import-not-found,unused-ignore]

        settings = knobs.cache
        if settings.dir:
            return lambda: str(settings.dir)
    except (ImportError, AttributeError):
        pass
    default = getattr(cache, "default_cache_dir", None)
    if default is None:
        default = lambda: os.path.join(os.path.expanduser("~"), ".triton", "cache")  # noqa: E731
    return lambda: os.environ.get("TRITON_CACHE_DIR", "").strip() or str(default())


def make_manager(cache: ModuleType) -> type:
    """The class, for this process's triton.runtime.cache. Raises where that does not fit."""
    import triton  # type: ignore[import-untyped,import-not-found,unused-ignore]

    base = cache.CacheManager
    made = type(
        "TLCacheManager",
        (ManagerMixin, base),
        {
            "__module__": "tlcache.integrations.triton",
            "__doc__": "Triton's cache manager on tlcache.",
            "_own": cache.FileCacheManager,
            "_root": staticmethod(_root_of(cache)),
            "_namespace": f"triton/{triton.__version__}",
        },
    )
    missing = sorted(getattr(made, "__abstractmethods__", ()))
    if missing:
        raise TypeError(f"its CacheManager has methods that are not known here: {missing}")
    return made


__all__ = ["ManagerMixin", "make_manager", "warn_once"]
