# SPDX-License-Identifier: MIT
"""Something to do once TileLang has been imported, without importing it."""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.machinery
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

FRAMEWORK = "tilelang"
_finder: _Finder | None = None


def imported() -> bool:
    """Whether TileLang is there, with its cache; it may still be about to end its import."""
    return FRAMEWORK in sys.modules and f"{FRAMEWORK}.cache" in sys.modules


def after_import(action: Callable[[], None]) -> None:
    """Calls the action when TileLang's import has ended well."""
    global _finder
    if _finder is None:
        _finder = _Finder(action)
        sys.meta_path.insert(0, _finder)


def forget() -> None:
    """Takes the action back."""
    global _finder
    if _finder is not None and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    _finder = None


def waiting() -> bool:
    """Whether the import is still to come."""
    return _finder is not None


def give_writable_folder() -> None:
    """TileLang makes its cache's folder when it is imported, and cannot be without one."""
    folder = os.environ.get("TILELANG_CACHE_DIR") or os.path.expanduser("~/.tilelang/cache")
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError:
        replacement = tempfile.mkdtemp(prefix="tlcache-tilelang-")
        os.environ["TILELANG_CACHE_DIR"] = replacement
        atexit.register(shutil.rmtree, replacement, ignore_errors=True)


class _Finder(importlib.abc.MetaPathFinder):
    """Lets the others find TileLang, and has its loader say when it is done."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != FRAMEWORK:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if find is None or finder is self:
                continue
            spec: importlib.machinery.ModuleSpec | None = find(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self.action)
                return spec
        return None


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, action: Callable[[], None]) -> None:
        self._loader, self._action = loader, action

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        # As if we had never been here, for what asks the module about its loader.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        give_writable_folder()
        self._loader.exec_module(module)
        forget()
        self._action()


__all__ = ["FRAMEWORK", "after_import", "forget", "give_writable_folder", "imported", "waiting"]
