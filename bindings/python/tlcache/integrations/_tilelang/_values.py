# SPDX-License-Identifier: MIT
"""Values of TileLang and of its users, as a key can hold them."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import types
from collections.abc import Callable, Mapping
from typing import Any

from ..._api import Digest, UncacheableError

# Modules whose functions are known by the version of what they came with.
_KNOWN = ("tilelang", "tvm", "tvm_ffi", "torch", "numpy", "builtins", "math", "functools", "typing")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+|object at ")
_MAX_DEPTH = 32


def plain(value: Any, where: str, depth: int = 0) -> Any:
    """The value as one of a key's types; UncacheableError where it has no fixed meaning."""
    if depth > _MAX_DEPTH:
        raise UncacheableError(f"{where} is nested too deeply, or contains itself")
    if isinstance(value, enum.Enum):
        return plain(value.value, where, depth + 1)
    if value is None or isinstance(value, bool | int | float | str | bytes | Digest):
        return value
    if isinstance(value, list | tuple):
        return [plain(one, f"{where}[{i}]", depth + 1) for i, one in enumerate(value)]
    if isinstance(value, Mapping):
        return {
            str(plain(name, where, depth + 1)): plain(one, f"{where}.{name}", depth + 1)
            for name, one in value.items()
        }
    if isinstance(value, set | frozenset):
        return sorted((plain(one, where, depth + 1) for one in value), key=repr)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(vars(value), where, depth + 1)
    if callable(value) and not isinstance(value, type) and hasattr(value, "__code__"):
        return source_of(value, where)
    return _described(value, where)


def _described(value: Any, where: str) -> Any:
    """What prints itself in full, with its type: symbolic sizes, data types, slices."""
    name = getattr(value, "name", None)
    dtype = getattr(value, "dtype", None)
    if isinstance(name, str) and dtype is not None:  # a variable: by name, never by identity
        return ["var", name, str(dtype)]
    try:
        text = repr(value)
    except Exception as error:
        raise UncacheableError(f"{where} cannot be printed: {error}") from error
    if _ADDRESS.search(text) or getattr(type(value), "__repr__", None) is object.__repr__:
        raise UncacheableError(f"{where} is {text}, which says nothing that lasts")
    return [f"{type(value).__module__}.{type(value).__qualname__}", text]


def source_of(function: Callable[..., Any], where: str) -> dict[str, Any]:
    """What a function computes: its text, and that of what it uses from outside itself."""
    found: dict[str, Any] = {}
    _collect(function, where, found, set())
    if not found:
        raise UncacheableError(f"{where} is no function whose source can be read")
    return found


def _collect(function: Any, where: str, found: dict[str, Any], seen: set[int]) -> None:
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    if code is None or id(code) in seen:
        return
    seen.add(id(code))
    if len(seen) > 1000:
        raise UncacheableError(f"{where} uses more than 1000 functions")
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError) as error:
        raise UncacheableError(f"the source of {where} cannot be read: {error}") from error
    found[_name(function)] = text
    for name, value in _outside(function).items():
        _note(f"{_name(function)}:{name}", value, where, found, seen)


def _outside(function: Any) -> dict[str, Any]:
    """What a function, and those that are defined in it, take from outside, by name.

    A name of an attribute that happens to be a global's too is among them, which does no harm.
    """
    names: set[str] = set()
    todo = [function.__code__]
    while todo:
        code = todo.pop()
        names.update(code.co_names)
        todo += [one for one in code.co_consts if isinstance(one, types.CodeType)]
    scope = getattr(function, "__globals__", {})
    used = {name: scope[name] for name in sorted(names) if name in scope}
    for name, cell in zip(
        function.__code__.co_freevars, getattr(function, "__closure__", None) or (), strict=False
    ):
        try:
            used[name] = cell.cell_contents
        except ValueError:  # not yet assigned
            continue
    return used


def _note(name: str, value: Any, where: str, found: dict[str, Any], seen: set[int]) -> None:
    """One thing that a function uses: another function, or a value; modules are known."""
    if isinstance(value, types.ModuleType | type):
        return
    module = (getattr(value, "__module__", None) or "").split(".")[0]
    if callable(value):
        inner = getattr(value, "func", None) or getattr(value, "jit_impl", None) or value
        inner = getattr(inner, "func", inner)
        if module not in _KNOWN or inner is not value:
            _collect(getattr(inner, "orig_func", inner), where, found, seen)
        return
    if module in _KNOWN:
        return
    try:
        found[name] = plain(value, name)
    except UncacheableError:
        # TileLang reads closures itself and refuses what it cannot keep; a global that has no
        # lasting value (a logger, an open file) cannot be part of a kernel's text.
        return


def _name(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


__all__ = ["plain", "source_of"]
