# SPDX-License-Identifier: MIT
"""Tuning results: the best configuration, how fast it was, and its kernel, as one bundle.

There is no waiting for one another here, as there is for kernels: a sweep takes minutes, and
TileLang holds a lock of its process while it looks a result up. The kernels of a sweep are compiled
once all the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..._api import Artifact, UncacheableError
from . import _keys, _store
from ._seams import Seams, guarded, log

#: Arguments of AutoTuner.run that say how the work is spread, not what comes out.
_SCHEDULING = {
    "self",
    "use_pipeline",
    "enable_grouped_compile",
    "group_compile_size",
    "benchmark_devices",
    "benchmark_multi_gpu",
}
_held: dict[str, Artifact] = {}


def _get_tunner(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def wrapper(self: Any) -> Any:
        tuner = original(self)
        # TileLang compiles with these, but does not tell the tuner.
        tuner._tlcache_compile_flags = getattr(self.jit_impl, "compile_flags", None)
        return tuner

    return wrapper


def _run(original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        self._tlcache_run = {k: v for k, v in bound.arguments.items() if k not in _SCHEDULING}
        return original(self, *args, **kwargs)

    return wrapper


def _generate_cache_key(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, parameters: Any, extra_parameters: Any, *args: Any, **more: Any) -> Any:
        own = None
        try:
            own = original(self, parameters, extra_parameters, *args, **more)
            if own is None:
                return None  # TileLang says that this cannot be kept
        except (TypeError, ValueError, OSError) as error:
            log.info("TileLang cannot key this: %s", error)

        def name() -> str | None:
            flags = getattr(self, "_tlcache_compile_flags", None)
            run = getattr(self, "_tlcache_run", None)
            try:
                return _keys.tuning(self, own, parameters, extra_parameters, flags, run)
            except UncacheableError as refused:
                log.info("not in tlcache: %s", refused)
                return None

        # TileLang's own cache keeps what we cannot name; without any key there is no caching.
        return guarded("key a tuning result", name) or own

    return wrapper


def _load_from_disk(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(cls: Any, path: Path, *args: Any, **kwargs: Any) -> Any:
        name = Path(path).name
        known = _keys.names.get(name)
        if known is None:
            return original(cls, path, *args, **kwargs)
        artifact = guarded("look a tuning result up", lambda: _store.get(known[0]))
        if artifact is not None:
            try:
                result = original(cls, artifact.folder(), *args, **kwargs)
                if result is not None:
                    _held[name] = artifact  # its kernel was loaded from the folder
                    return result
                why = "TileLang did not take it"
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
            log.warning("a tuning result cannot be loaded, and is made again: %s", why)
            store = _store.cache()
            if store is not None:
                guarded("take an entry out", lambda: store.invalidate(artifact))
        # TileLang's own folder, where it could not be published once. Damage there is a miss too.
        return guarded(
            "load a tuning result from TileLang's folder",
            lambda: original(cls, path, *args, **kwargs),
        )

    return wrapper


def _save_to_disk(original: Callable[..., None]) -> Callable[..., None]:
    def wrapper(self: Any, path: Path, *args: Any, **kwargs: Any) -> None:
        name = Path(path).name
        known = _keys.names.get(name)
        if known is None:
            original(self, path, *args, **kwargs)
            return
        if getattr(self, "config", None) is None:
            return  # nothing was tuned, so there is no best

        def publish() -> bool:
            with _store.Scratch() as scratch:
                folder = scratch / "autotuner" / name
                original(self, folder, *args, **kwargs)
                bundle = _store.bundle_of(folder, known[1]) if folder.is_dir() else None
                return bundle is not None and _store.put(known[0], bundle) is not None

        if not guarded("publish a tuning result", publish):
            guarded("save into TileLang's folder", lambda: original(self, path, *args, **kwargs))

    return wrapper


def install(seams: Seams) -> None:
    """Wraps AutoTuner and AutotuneResult."""
    part = "tuning results"
    try:
        from tilelang.autotuner import tuner
        from tilelang.autotuner.param import AutotuneResult
    except ImportError as error:
        seams.miss(part, str(error))
        return
    auto_tuner = getattr(tuner, "AutoTuner", None)
    if seams.lacks(part, auto_tuner, ("generate_cache_key", "run")) or seams.lacks(
        part, AutotuneResult, ("load_from_disk", "save_to_disk")
    ):
        return
    seams.wrap(auto_tuner, "generate_cache_key", _generate_cache_key)
    seams.wrap(auto_tuner, "run", _run)
    seams.wrap(AutotuneResult, "load_from_disk", _load_from_disk)
    seams.wrap(AutotuneResult, "save_to_disk", _save_to_disk)
    if hasattr(getattr(tuner, "AutoTuneImpl", None), "get_tunner"):
        seams.wrap(tuner.AutoTuneImpl, "get_tunner", _get_tunner)
    seams.parts.append(part)


__all__ = ["install"]
