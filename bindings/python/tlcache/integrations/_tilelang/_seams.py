# SPDX-License-Identifier: MIT
"""Wrapping TileLang's methods, and taking the wrappers off again."""

from __future__ import annotations

import functools
import inspect
import logging
import warnings
from collections.abc import Callable
from typing import Any

log = logging.getLogger("tlcache.tilelang")
_said: set[str] = set()
_MISSING = object()


def say_once(what: str, message: str) -> None:
    """One warning of a kind; the rest go to the log."""
    if what in _said:
        log.debug("%s", message)
        return
    _said.add(what)
    warnings.warn(f"tlcache: {message}", RuntimeWarning, stacklevel=3)


def guarded(what: str, function: Callable[[], Any]) -> Any:
    """What the function gives; None where the store failed: TileLang goes on without it."""
    try:
        return function()
    except Exception as error:
        say_once(what, f"cannot {what} ({type(error).__name__}: {error}); TileLang goes on without")
        return None


class Seams:
    """What was wrapped, and what was not there to wrap."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.missing: list[str] = []
        self._wrapped: list[tuple[Any, str, Any]] = []

    def lacks(self, part: str, owner: Any, names: tuple[str, ...]) -> bool:
        """Whether one of the names is missing; says so once."""
        gone = [name for name in names if not callable(getattr(owner, name, None))]
        if gone:
            self.miss(part, f"{getattr(owner, '__name__', owner)} has no {', '.join(gone)}")
        return bool(gone)

    def miss(self, part: str, why: str) -> None:
        """A part stays with TileLang."""
        self.missing.append(f"{part}: {why}")
        say_once(part, f"this TileLang is not as expected ({why}); its own cache keeps {part}")

    def wrap(self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Any]) -> None:
        """Puts make(original) in the place of a method, whether plain, of a class or static."""
        own = owner.__dict__.get(name, _MISSING)
        raw = inspect.getattr_static(owner, name)
        kind = type(raw) if isinstance(raw, classmethod | staticmethod) else None
        function = raw.__func__ if kind is not None else raw
        made: Any = functools.wraps(function)(make(function))
        setattr(owner, name, made if kind is None else kind(made))
        self._wrapped.append((owner, name, own))

    def undo(self) -> None:
        """Takes all wrappers off."""
        while self._wrapped:
            owner, name, own = self._wrapped.pop()
            if own is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)

    def describe(self) -> str:
        """What is on, for people."""
        said = "keeps " + ", ".join(self.parts)
        return said + (f"; not {'; '.join(self.missing)}" if self.missing else "")


def own_methods(base: type, name: str) -> list[type]:
    """The class and those derived from it that define a method themselves."""
    found, todo = [], [base]
    while todo:
        one = todo.pop()
        if name in one.__dict__:
            found.append(one)
        todo.extend(one.__subclasses__())
    return found


__all__ = ["Seams", "guarded", "log", "own_methods", "say_once"]
