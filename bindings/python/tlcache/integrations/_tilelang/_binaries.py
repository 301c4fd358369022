# SPDX-License-Identifier: MIT
"""Device binaries, which TileLang keeps apart from kernels as well: bytes in, bytes out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..._api import Bundle, MemberType, UncacheableError
from . import _keys, _store
from ._seams import Seams, guarded, log, own_methods

_NEEDED = ("load", "make_key", "save")


def _make_key(original: Callable[..., str]) -> Callable[..., str]:
    signature = inspect.signature(original)

    def wrapper(cls: Any, *args: Any, **kwargs: Any) -> str:
        own = original(cls, *args, **kwargs)

        def name() -> str | None:
            bound = signature.bind(cls, *args, **kwargs)
            bound.apply_defaults()
            named = dict(bound.arguments)
            named.pop(next(iter(signature.parameters)), None)
            kind = str(getattr(cls, "binary_kind", None) or cls.__name__)
            try:
                return _keys.binary(kind, named)
            except UncacheableError as refused:
                log.info("not in tlcache: %s", refused)
                return None

        return guarded("key a device binary", name) or own

    return wrapper


def _load(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(cls: Any, key: str, compile_format: str, *args: Any, **kwargs: Any) -> Any:
        from tilelang import env

        known = _keys.names.get(key)
        if known is not None and env.is_cache_enabled():
            artifact = guarded("look a device binary up", lambda: _store.get(known[0]))
            if artifact is not None and f"kernel.{compile_format}" in artifact:
                return bytes(artifact[f"kernel.{compile_format}"])
        return original(cls, key, compile_format, *args, **kwargs)

    return wrapper


def _save(original: Callable[..., None]) -> Callable[..., None]:
    def wrapper(
        cls: Any, key: str, compile_format: str, data: bytes, *args: Any, **kwargs: Any
    ) -> None:
        from tilelang import env

        known = _keys.names.get(key)
        if known is not None and data and env.is_cache_enabled():
            name = f"kernel.{compile_format}"
            bundle = Bundle(label=known[1]).add(name, bytes(data), MemberType.DEVICE_BINARY)
            if guarded("store a device binary", lambda: _store.put(known[0], bundle)) is not None:
                return
            guarded(
                "save into TileLang's folder",
                lambda: original(cls, key, compile_format, data, *args, **kwargs),
            )
            return
        original(cls, key, compile_format, data, *args, **kwargs)

    return wrapper


def install(seams: Seams) -> None:
    """Wraps the binary caches there are; TileLang before 0.1.12 has none, and misses nothing."""
    try:
        from tilelang.cache.cuda_binary_cache import CUDABinaryCache
    except ImportError:
        return
    if seams.lacks("device binaries", CUDABinaryCache, _NEEDED):
        return
    # The class that has them all, from which those of other devices are derived too.
    base = next(one for one in reversed(CUDABinaryCache.__mro__) if hasattr(one, "load"))
    for name, make in (("make_key", _make_key), ("load", _load), ("save", _save)):
        for owner in own_methods(base, name):
            seams.wrap(owner, name, make)
    seams.parts.append("device binaries")


__all__ = ["install"]
