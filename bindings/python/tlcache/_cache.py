# SPDX-License-Identifier: MIT
"""The cache: look up, lock, compile, publish, load."""

from __future__ import annotations

import atexit
import builtins
import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal

from . import _backend, _flow
from ._artifact import Artifact, hit
from ._bundle import PathLike, as_bundle
from ._callbacks import Pending
from ._errors import InvalidError, LoadError, check, forget_raised, make_error
from ._flow import CompileFunction, Members
from ._key import Key
from ._lock import CompileLock, Hit, published
from ._module import Module
from ._native import (
    EMPTY,
    NULL,
    ffi,
    lib,
    milliseconds,
    new_error,
    owned,
    take_json,
    text,
)
from ._report import Entry, Stats
from ._request import Request
from ._wait import Cancel, interruptible

Progress = Callable[[int, int], bool | None]

_get = lib.tlcpy_get
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _bytes(limit: int | str | None) -> int:
    """A limit as the constructor takes it: bytes, or text with K, M, G or T."""
    if limit is None:
        return 0
    if isinstance(limit, str):
        unit = _UNITS.get(limit[-1:].upper(), 1)
        digits = limit[:-1] if unit > 1 else limit
        if not digits.isascii() or not digits.isdigit():
            raise InvalidError(
                f"limit is {limit!r}; it is a number of bytes, or one with K, M, G or T"
            )
        limit = int(digits) * unit
    if not 0 < limit < 1 << 63:
        raise InvalidError(f"limit is {limit}; it is 1 byte or more (None: the default)")
    return limit


class Cache:
    """An open cache. Any thread may use it; several on the same folder share one store.

    Everything taken from it stays valid after `close`, and in a child after a fork.
    """

    __slots__ = ("__weakref__", "_ptr")

    def __init__(
        self,
        directory: PathLike | None = None,
        *,
        limit: int | str | None = None,
        read_only: bool = False,
        strict: bool = False,
        durable: bool = False,
        memory: bool = False,
        verify_strict: bool = False,
        allow_plugins: bool = False,
        use_environment: bool = True,
        remotes: str | None = None,
    ) -> None:
        """Opens the cache; makes the store on first use.

        Args:
            directory: the store's folder. Default: TLC_DIR, else $XDG_CACHE_HOME/tlcache, else
                ~/.cache/tlcache.
            limit: bytes (or "10G") of a store that this call creates.
            read_only: never write to the store.
            strict: fail where the store cannot be used, instead of working from memory.
            durable: sync a payload before it is published.
            memory: no store; keep artifacts in this process only.
            verify_strict: check content hashes as well.
            allow_plugins: load plugin files from TLC_BACKEND_PATH.
            use_environment: whether TLC_* environment variables override the arguments.
            remotes: URLs of remotes with spaces between, or "none". Default: TLC_REMOTES.
        """
        options = ffi.new("tlc_cache_options*")
        lib.tlc_cache_options_init(options)
        folder = EMPTY if directory is None else text(os.fsencode(directory))
        if directory is not None and folder == EMPTY:
            raise InvalidError("directory is empty; give a folder, or None for the default")
        options.directory = folder
        options.limit_bytes = _bytes(limit)
        remote_urls = text(remotes)  # kept for the length of the call
        options.remotes = remote_urls
        for wanted, flag in (
            (strict, lib.TLC_OPEN_STRICT),
            (read_only, lib.TLC_OPEN_READ_ONLY),
            (durable, lib.TLC_OPEN_DURABLE),
            (verify_strict, lib.TLC_OPEN_VERIFY_STRICT),
            (allow_plugins, lib.TLC_OPEN_ALLOW_PLUGINS),
            (memory, lib.TLC_OPEN_MEMORY),
            (not use_environment, lib.TLC_OPEN_NO_ENV),
        ):
            options.flags |= flag if wanted else 0
        out, error = ffi.new("tlc_cache**"), lib.tlcpy_error()
        check(lib.tlc_cache_open(options, out, error), error)
        self._ptr = owned(out[0], lib.tlc_cache_close)

    _ptr: Any

    # ------------------------------------------------------------ life

    def close(self) -> None:
        """Closes the cache, when the calls that other threads are in have ended."""
        self._ptr = None

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _exception: BaseException | None,
        _traceback: TracebackType | None,
    ) -> Literal[False]:
        self.close()
        return False

    def _handle(self) -> Any:
        """The native cache. The caller's reference keeps it open during the call."""
        handle = self._ptr
        if handle is None:
            raise InvalidError("the cache is closed")
        return handle

    # ------------------------------------------------------------ look up and publish

    def key(self, request: Request) -> Key:
        """The request's key: resolves `auto` and `native`, adds engine and toolchain."""
        out, error = ffi.new("tlc_key**"), lib.tlcpy_error()
        check(lib.tlc_cache_key(self._handle(), request._ptr, out, error), error)
        return Key._own(out[0])

    def get(self, key: Key) -> Artifact | None:
        """The artifact of the key; None if there is none, or it is damaged."""
        pointer = _get(self._ptr or self._handle(), key._ptr)
        if pointer:
            return hit(pointer)
        status = lib.tlcpy_status()
        if status < 0:
            raise make_error(status, lib.tlcpy_last_error())
        return None

    def get_many(self, keys: Iterable[Key]) -> builtins.list[Artifact | None]:
        """As `get` for each of the keys, in their order, in one call."""
        wanted = [key._ptr for key in keys]
        count = len(wanted)
        out = ffi.new("tlc_artifact*[]", count)
        done = lib.tlcpy_get_many(self._handle(), ffi.new("tlc_key*[]", wanted), count, out)
        # Taken over before anything can raise.
        found = [hit(pointer) if pointer else None for pointer in out]
        if done < count:
            raise make_error(lib.tlcpy_status(), lib.tlcpy_last_error())
        return found

    def put(
        self,
        key: Key,
        members: Members,
        *,
        compile_time: float | None = None,
        label: str | None = None,
        types: Mapping[str, int] | None = None,
    ) -> Artifact:
        """Publishes members if the key is absent; all or nothing.

        Args:
            key: what they are found by.
            members: names and bytes, or a Bundle.
            compile_time: seconds the compile took: weighs against eviction.
            label: for people.
            types: a MemberType by a member's name.

        Returns:
            What the key stands for now. Its `status` is OK; EXISTED where there was an artifact
            already, which this one then is; NOT_STORED or TOO_LARGE where it could not be kept and
            is in memory, with the `reason`.
        """
        bundle = as_bundle(members, compile_time=compile_time, label=label, types=types)
        native = bundle._native()
        out, error = ffi.new("tlc_artifact**"), lib.tlcpy_error()
        return published(
            lib.tlc_cache_put(self._handle(), key._ptr, native, out, error), out, error
        )

    def replace(
        self,
        key: Key,
        members: Members,
        *,
        seen: Artifact | None,
        compile_time: float | None = None,
        label: str | None = None,
        types: Mapping[str, int] | None = None,
    ) -> Artifact:
        """Publishes a new generation in place of the one that was `seen` (None: there was none).

        Raises ConflictError when another generation stands there.
        """
        bundle = as_bundle(members, compile_time=compile_time, label=label, types=types)
        native = bundle._native()
        out, error = ffi.new("tlc_artifact**"), lib.tlcpy_error()
        old = NULL if seen is None else seen._ptr
        status = lib.tlc_cache_replace(self._handle(), key._ptr, old, native, out, error)
        return published(status, out, error)

    def amend(
        self,
        key: Key,
        members: Members,
        *,
        seen: Artifact,
        compile_time: float | None = None,
        label: str | None = None,
        types: Mapping[str, int] | None = None,
    ) -> Artifact:
        """Publishes a new generation with the members of `seen` and these; raises as `replace`."""
        bundle = as_bundle(members, compile_time=compile_time, label=label, types=types)
        native = bundle._native()
        out, error = ffi.new("tlc_artifact**"), lib.tlcpy_error()
        status = lib.tlc_cache_amend(self._handle(), key._ptr, seen._ptr, native, out, error)
        return published(status, out, error)

    def link(self, source: Key, target: Key) -> None:
        """Lets a look-up of `source` find what `target` stands for."""
        error = lib.tlcpy_error()
        check(lib.tlc_cache_link(self._handle(), source._ptr, target._ptr, error), error)

    def remove(self, key: Key) -> bool:
        """Removes a key; False if it was not there."""
        error = lib.tlcpy_error()
        status = lib.tlc_cache_remove(self._handle(), key._ptr, error)
        if status == lib.TLC_MISS:
            return False
        check(status, error)
        return True

    def invalidate(self, artifact: Artifact) -> bool:
        """Takes this generation out, because it turned out unusable; False if it was gone."""
        error = lib.tlcpy_error()
        status = lib.tlc_cache_invalidate(self._handle(), artifact._ptr, error)
        if status in (lib.TLC_MISS, lib.TLC_CONFLICT):
            return False
        check(status, error)
        return True

    def clear(self, namespace: str | None) -> int:
        """Removes all entries of a namespace, or everything for None; returns how many."""
        if namespace == "":
            raise InvalidError("namespace is empty; give a name, or None to remove everything")
        out, error = ffi.new("uint64_t*"), lib.tlcpy_error()
        check(lib.tlc_cache_clear(self._handle(), text(namespace), out, error), error)
        return int(out[0])

    def find(self, hex_prefix: str) -> Artifact | None:
        """An artifact by the first hex digits (4 or more) of its digest."""
        out, error = ffi.new("tlc_artifact**"), lib.tlcpy_error()
        status = lib.tlc_cache_find(self._handle(), text(hex_prefix), out, error)
        if status == lib.TLC_MISS:
            return None
        check(status, error)
        return Artifact._own(out[0])

    # ------------------------------------------------------------ one compile for many

    def begin(
        self, key: Key, timeout: float | None = None, *, cancel: Cancel | None = None
    ) -> Hit | CompileLock:
        """Looks the key up and, if it is absent, takes its compile lock.

        Waits while another process or thread compiles it.

            with cache.begin(key) as turn:
                if turn.artifact is None:
                    turn.publish({"kernel.so": compile_it()})
            use(turn.artifact)

        Args:
            key: what is wanted.
            timeout: seconds to wait; 0: not at all; None: ten minutes, or less where the compile
                time is known.
            cancel: ends the wait with a CancelledError, when another thread triggers it.

        Raises:
            TimeoutError: the deadline passed: compile for yourself, and put.
            TLCacheError: with what the thread of this process that compiled it failed.
        """
        cache = self._handle()
        artifact, lock = ffi.new("tlc_artifact**"), ffi.new("tlc_lock**")
        error = new_error()
        status = interruptible(
            lambda token, left: lib.tlc_cache_begin(
                cache, key._ptr, left, token, artifact, lock, error
            ),
            milliseconds(timeout, lib.TLC_WAIT_DEFAULT),
            cancel,
        )
        if status == lib.TLC_OK:
            return Hit(Artifact._own(artifact[0]))
        if status == lib.TLC_LOCKED:
            return CompileLock(lock[0])
        raise make_error(status, error)

    def get_or_compile(
        self,
        request: Request,
        compile: CompileFunction | None = None,
        timeout: float | None = None,
        keep_failure: bool = False,
        *,
        closed: bool = False,
        cancel: Cancel | None = None,
    ) -> Artifact:
        """The whole flow: key, look up, lock, compile, publish.

        One compile a key among all processes and threads of the host.

        Args:
            request: what is wanted.
            compile: makes the members, from request and key; None: the backend registered for the
                request's target and engine. What it raises reaches the caller as it is. It raises
                CompileError where the source is at fault.
            timeout: seconds to wait for another's compile, then compile here; None: ten minutes, or
                less where the compile time is known.
            keep_failure: remember a CompileError for a day, and answer it without compiling.
            closed: a hit counts only if everything the artifact requires is there too.
            cancel: ends the wait with a CancelledError, when another thread triggers it.

        Returns:
            The artifact; its `log` has the compiler's output if this call compiled.

        Raises:
            CompileError: with the compiler's `log`.
        """
        flags = (lib.TLC_COMPILE_KEEP_FAILURE if keep_failure else 0) | (
            lib.TLC_COMPILE_CLOSED if closed else 0
        )
        found = _flow.get_or_compile(self._handle(), request, compile, timeout, flags, cancel)
        assert found is not None
        return found

    def look(self, request: Request, *, closed: bool = False) -> Artifact | None:
        """What `get_or_compile` finds without compiling or waiting; None where it would compile."""
        flags = lib.TLC_COMPILE_NEVER | (lib.TLC_COMPILE_CLOSED if closed else 0)
        return _flow.get_or_compile(self._handle(), request, None, None, flags, None)

    # ------------------------------------------------------------ modules

    def load(
        self, artifact: Artifact, device: int | None = None, *, member: str | None = None
    ) -> Module:
        """Checks the artifact for the device and loads it by the backend of its target and engine.

        Args:
            artifact: what to load.
            device: ordinal of the device; None: the backend's current one.
            member: which member; None: the backend chooses.

        Raises:
            LoadError: it is for another device, or the loader refused it.
        """
        options = ffi.new("tlc_load_options*")
        lib.tlc_load_options_init(options)
        options.device = -1 if device is None else device
        name = text(member)
        options.member = name
        out, error = ffi.new("tlc_module**"), new_error()
        status = lib.tlc_cache_load(self._handle(), artifact._ptr, options, out, error)
        if status == lib.TLC_REJECTED:
            raise make_error(status, error, kind=LoadError)
        check(status, error)
        return Module._own(out[0])

    # ------------------------------------------------------------ what is there, and why

    def stats(self, namespace: str | None = None) -> Stats:
        """Counters of all, or of one namespace, across processes."""
        out, error = ffi.new("tlc_stats*"), lib.tlcpy_error()
        out.struct_size = lib.tlcpy_size_of_stats()
        check(lib.tlc_cache_get_stats(self._handle(), text(namespace), out, error), error)
        return Stats._read(out)

    def _json(self, function: Callable[..., int], *arguments: Any) -> Any:
        out, error = ffi.new("tlc_blob**"), new_error()
        check(function(self._handle(), *arguments, out, error), error)
        return take_json(out[0])

    def report(self) -> dict[str, Any]:
        """The stats of all, and of each namespace and backend."""
        return dict(self._json(lib.tlc_cache_stats_json))

    def list(self, namespace: str | None = None) -> list[Entry]:
        """The entries of the store, or of one namespace of it, in no order."""
        entries: builtins.list[Entry] = []
        pending = Pending(lambda entry: entries.append(Entry._read(entry)))
        error = new_error()
        status = lib.tlc_cache_list(
            self._handle(), text(namespace), lib.tlcpy_on_entry, pending.handle, error
        )
        pending.raise_exception()
        check(status, error)
        return entries

    def explain(self, key: Key) -> dict[str, Any]:
        """Why the key hits or misses: outcome, guards that no longer hold, the nearest entry."""
        return dict(self._json(lib.tlc_cache_explain, key._ptr))

    def verify(self, *, repair: bool = False, progress: Progress | None = None) -> dict[str, Any]:
        """Reads everything and checks it. `progress(done, total)` may return False to stop."""
        flags = lib.TLC_VERIFY_REPAIR if repair else 0
        return self._long(lib.tlc_cache_verify, flags, progress)

    def gc(self, max_bytes: int = 0, *, progress: Progress | None = None) -> dict[str, Any]:
        """Evicts down to max_bytes (0: the limit), removes leftovers of killed processes."""
        return self._long(lib.tlc_cache_gc, max_bytes, progress)

    def _long(
        self, function: Callable[..., int], argument: int, progress: Progress | None
    ) -> dict[str, Any]:
        if progress is None:
            return dict(self._json(function, argument, NULL, NULL))
        pending = Pending(progress)
        try:
            return dict(self._json(function, argument, lib.tlcpy_on_progress, pending.handle))
        finally:
            pending.raise_exception()

    def configure(self, name: str, value: str | int) -> None:
        """Sets a property of the store: `configure("limit", "20G")`."""
        error = lib.tlcpy_error()
        check(lib.tlc_cache_configure(self._handle(), text(name), text(str(value)), error), error)

    def describe(self) -> dict[str, Any]:
        """Where the store is and why, settings with their origin, warnings."""
        return dict(self._json(lib.tlc_cache_describe))

    def backends(self) -> Any:
        """Registered backends, what each found on this machine, why one is unavailable."""
        found = self._json(lib.tlc_cache_backends)
        forget_raised()  # a probe that fails is in the answer
        return found

    def register_backend(self, given: Any, *, override: bool = False, default: bool = False) -> Any:
        """Registers a backend for this cache only, before those of the process.

        As `tlcache.register_backend`. It is closed when the cache is closed and its modules have
        ended.
        """
        handle = self._handle()
        # Weakly: a backend that kept its cache would keep it from ever being closed.
        _with_backends.add(self)
        return _backend.register(
            given,
            self,
            override,
            default,
            lambda *arguments: lib.tlc_cache_register_backend(handle, *arguments),
        )


_with_backends: weakref.WeakSet[Cache] = weakref.WeakSet()


def _leave_open() -> None:
    """At exit. Closing a cache waits for its backends' calls; a thread in one may never end."""
    for cache in list(_with_backends):
        if cache._ptr is not None:
            ffi.gc(cache._ptr, None)


atexit.register(_leave_open)


__all__ = ["Cache", "CompileFunction", "Members", "Progress"]
