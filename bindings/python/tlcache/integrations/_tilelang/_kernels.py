# SPDX-License-Identifier: MIT
"""Kernels of every execution backend: bundles of whatever files TileLang writes for them.

_generate_key           gives our key's name, so that TileLang finds and names entries by it
cached                  holds the compile lock from the miss to the end
_load_kernel_from_disk  on a hit, has TileLang load from the artifact's folder
_save_kernel_to_disk    has TileLang save into a folder of its own, and publishes what is there
"""

from __future__ import annotations

import inspect
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..._api import Artifact, CompileLock, Hit, Key, TLCacheError, UncacheableError
from . import _engines, _keys, _late, _store
from ._seams import Seams, guarded, log, own_methods, say_once

_NEEDED = (
    "cached",
    "_generate_key",
    "_get_cache_path",
    "_load_kernel_from_disk",
    "_save_kernel_to_disk",
)
#: Names that stand for nothing: their kernel goes into no cache.
_NOWHERE = "uncacheable-"

_thread = threading.local()
#: Where a loaded kernel's files are. The artifact keeps the folder.
_folders: dict[str, tuple[Path, Artifact]] = {}


class _Call:
    """One call of `cached`: the compile lock that it holds, if any."""

    def __init__(self) -> None:
        self.lock: CompileLock | None = None
        self.nowhere: str | None = None

    def end(self, error: BaseException | None) -> None:
        """Gives the lock back. Threads that wait compile for themselves, to see the error too."""
        lock, self.lock = self.lock, None
        if lock is None:
            return
        if isinstance(error, Exception):
            try:
                lock.fail(f"{type(error).__name__}: {error}"[:2000])
                return
            except TLCacheError:
                pass
        lock.abandon()


def _calls() -> list[_Call]:
    if not hasattr(_thread, "calls"):
        _thread.calls = []
    calls: list[_Call] = _thread.calls
    return calls


@contextmanager
def _inside(what: str) -> Iterator[bool]:
    """Whether this is the outermost call of its kind: overridden methods call their base's."""
    outer = not getattr(_thread, what, False)
    setattr(_thread, what, True)
    try:
        yield outer
    finally:
        if outer:
            setattr(_thread, what, False)


# ---------------------------------------------------------------- keys


def _generate_key(original: Callable[..., str]) -> Callable[..., str]:
    signature = inspect.signature(original)

    def wrapper(self: Any, *args: Any, **kwargs: Any) -> str:
        with _inside("keying") as outer:
            if not outer:
                return original(self, *args, **kwargs)
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            if bound.arguments.get("func") is not None:
                bound.arguments["func"] = _keys.Printed(bound.arguments["func"])
            error: Exception | None = None
            own: str | None = None
            try:
                own = original(*bound.args, **bound.kwargs)
            except (TypeError, ValueError) as failure:
                error = failure  # a value that TileLang cannot write down; we may be able to
            named = dict(bound.arguments)
            named.pop("self", None)
            return _named(self, named, own, error)

    return wrapper


def _named(self: Any, named: dict[str, Any], own: str | None, error: Exception | None) -> str:
    try:
        base = self._get_base_key() if hasattr(self, "_get_base_key") else {}
        return _keys.kernel(named, own, base, self)
    except UncacheableError as refused:
        log.info("not in tlcache: %s", refused)
    except Exception as failure:
        say_once("key a kernel", f"cannot key a kernel ({type(failure).__name__}: {failure})")
    if own is not None:
        return own  # TileLang's own cache keeps it
    calls = _calls()
    if not calls and error is not None:
        raise error
    name = _NOWHERE + uuid.uuid4().hex
    if calls:
        calls[-1].nowhere = name
    return name


# ---------------------------------------------------------------- the whole call


def _cached(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        from tilelang import env

        enabled = env.is_cache_enabled()
        call = _Call()
        _calls().append(call)
        error: BaseException | None = None
        try:
            return original(self, *args, **kwargs)
        except BaseException as raised:
            error = raised
            raise
        finally:
            _calls().pop()
            call.end(error)
            if call.nowhere is not None:
                getattr(self, "_memory_cache", {}).pop(call.nowhere, None)
            if enabled and not env.is_cache_enabled() and _engine(kwargs) == "torch":
                # An engine without files turns the cache off for all the others.
                env.enable_cache()

    return wrapper


def _engine(kwargs: dict[str, Any]) -> str:
    context = kwargs.get("backend_context")
    name = getattr(getattr(context, "execution_backend", None), "name", None)
    return str(name or kwargs.get("execution_backend"))


def _begin(key: Key) -> Hit | CompileLock | None:
    """A hit, the compile lock, or None: compile without."""
    store = _store.cache()
    if store is None:
        return None
    try:
        return store.begin(key)
    except TLCacheError as error:
        # Nobody published in time; or a thread failed on it, and this one is to see how.
        log.info("compiling without waiting any longer: %s", error)
        return None


# ---------------------------------------------------------------- load


def _load(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, key: str, *args: Any, **kwargs: Any) -> Any:
        with _inside("loading") as outer:
            if outer and key.startswith(_NOWHERE):
                return None
            known = _keys.names.get(key) if outer else None
            if known is None:
                return original(self, key, *args, **kwargs)

            def load() -> Any:
                return original(self, key, *args, **kwargs)

            # Twice: an artifact that cannot be used is taken out, and then there is a lock to take.
            for _attempt in range(2):
                found = guarded("look a kernel up", lambda: _look_up(known[0]))
                if found is None:
                    break
                kernel = _load_from(self, key, found, load, known.files)
                if kernel is not None:
                    return kernel
            return _load_own(self, key, known, load)

    return wrapper


def _look_up(key: Key) -> Artifact | None:
    """What is stored; at a miss inside of `cached` this thread gets the lock if it can."""
    calls = _calls()
    if not calls or calls[-1].lock is not None:
        return _store.get(key)
    turn = _begin(key)
    if isinstance(turn, CompileLock):
        calls[-1].lock = turn
        return None
    return turn.artifact if turn is not None else None


def _load_from(
    self: Any, key: str, artifact: Artifact, load: Callable[[], Any], files: frozenset[str]
) -> Any:
    """TileLang's own loader on the artifact's files; None if it cannot use them."""
    late = _late.is_late(self)
    if lacking := _engines.lacking(files, artifact):
        _take_out(artifact, f"it has no {', '.join(lacking)}")
        return None
    try:
        folder = _store.scratch() if late else artifact.folder()
        if late:
            _store.copy_out(artifact, folder)
        _folders[key] = (folder, artifact)
        _thread.verified = None if late else str(folder)
        try:
            kernel = load()
        finally:
            _thread.verified = None
        if kernel is not None:
            if late:
                _late.watch(kernel, key, folder)
            return kernel
        why = "TileLang did not take it"
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    _folders.pop(key, None)
    _take_out(artifact, why)
    return None


def _take_out(artifact: Artifact, why: str) -> None:
    log.warning("an entry cannot be loaded, and is made again: %s", why)
    store = _store.cache()
    if store is not None:
        guarded("take an entry out", lambda: store.invalidate(artifact))


def _load_own(self: Any, key: str, known: _store.Named, load: Callable[[], Any]) -> Any:
    """From TileLang's own folder, where an entry lies that could not be published once."""
    kernel = load()
    if kernel is not None:
        path = Path(self._get_cache_path(key))
        guarded("publish a kernel", lambda: _publish(known, path))
    return kernel


def _get_cache_path(original: Callable[..., str]) -> Callable[..., str]:
    def wrapper(self: Any, key: str) -> str:
        held = _folders.get(key)
        return str(held[0]) if held is not None else original(self, key)

    return wrapper


def _verify(original: Callable[..., bool]) -> Callable[..., bool]:
    """Files of the store's own folder were compared with the verified artifact just now."""

    def wrapper(self: Any, cache_path: Any, *args: Any, **kwargs: Any) -> bool:
        if getattr(_thread, "verified", None) == str(cache_path):
            return True
        return original(self, cache_path, *args, **kwargs)

    return wrapper


# ---------------------------------------------------------------- save


def _save(original: Callable[..., None]) -> Callable[..., None]:
    def wrapper(self: Any, key: str, *args: Any, **kwargs: Any) -> None:
        with _inside("saving") as outer:
            if outer and key.startswith(_NOWHERE):
                return
            known = _keys.names.get(key) if outer else None
            if known is None:
                original(self, key, *args, **kwargs)
                return
            kernel = args[0] if args else kwargs.get("kernel")

            def save() -> None:
                original(self, key, *args, **kwargs)

            if not guarded("publish a kernel", lambda: _save_and_publish(self, key, known, save)):
                # Not kept: in TileLang's own folder then, if that can be.
                guarded("save into TileLang's folder", save)
            if _late.is_late(self):
                _late.watch(kernel, key, None)

    return wrapper


def _save_and_publish(self: Any, key: str, known: _store.Named, save: Callable[[], None]) -> bool:
    """Whether what TileLang saves is in the store now."""
    if _store.cache() is None:
        return False
    if not hasattr(type(self), "_get_namespace_root"):  # before 0.1.9: one flat folder
        save()
        return _publish(known, Path(self._get_cache_path(key)))
    with _store.Scratch() as scratch:
        _thread.root = scratch
        try:
            save()
            return _publish(known, Path(self._get_cache_path(key)))
        finally:
            _thread.root = None


def _publish(known: _store.Named, folder: Path) -> bool:
    """Publishes a folder's files, through the lock if this thread has it."""
    bundle = _store.bundle_of(folder, known.label) if folder.is_dir() else None
    if bundle is None:
        return False
    if lacking := _engines.lacking(known.files, os.listdir(folder)):
        log.warning("not stored: an entry without %s is not complete", ", ".join(lacking))
        return False
    calls = _calls()
    lock = calls[-1].lock if calls else None
    if lock is None:
        return _store.put(known[0], bundle) is not None
    calls[-1].lock = None
    return lock.publish(bundle).stored


def _get_namespace_root(original: Callable[[], str]) -> Callable[[], str]:
    def wrapper() -> str:
        root = getattr(_thread, "root", None)
        return str(root) if root is not None else original()

    return wrapper


def _create_dirs(original: Callable[[], None]) -> Callable[[], None]:
    def wrapper() -> None:
        try:
            original()
        except OSError:
            if getattr(_thread, "root", None) is None:
                raise
            # TileLang's folder cannot be written to, but this save goes elsewhere.
            from tilelang.cache.kernel_cache import KernelCache

            for name in ("_get_cache_root", "_get_staging_root"):
                Path(getattr(KernelCache, name)()).mkdir(parents=True, exist_ok=True)

    return wrapper


def install(seams: Seams) -> None:
    """Wraps KernelCache, and the methods that classes derived from it define themselves."""
    from tilelang.cache.kernel_cache import KernelCache

    if seams.lacks("kernels", KernelCache, _NEEDED):
        return
    wrappers: dict[str, Callable[[Any], Any]] = {
        "cached": _cached,
        "_generate_key": _generate_key,
        "_get_cache_path": _get_cache_path,
        "_load_kernel_from_disk": _load,
        "_save_kernel_to_disk": _save,
    }
    if hasattr(KernelCache, "_verify_cache_dir_integrity"):
        wrappers["_verify_cache_dir_integrity"] = _verify
    for name, make in wrappers.items():
        for owner in own_methods(KernelCache, name):
            seams.wrap(owner, name, make)
    if hasattr(KernelCache, "_get_namespace_root"):
        seams.wrap(KernelCache, "_get_namespace_root", _get_namespace_root)
    if hasattr(KernelCache, "_create_dirs"):
        seams.wrap(KernelCache, "_create_dirs", _create_dirs)
    _late.install(seams)
    seams.parts.append("kernels")


__all__ = ["install"]
