# SPDX-License-Identifier: MIT
"""Modules: artifacts loaded on a device."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from . import _slots
from ._errors import InvalidError, UnsupportedError, check
from ._native import ffi, lib, owned, text


class Module:
    """An artifact loaded on a device, shared by all who load it there in this process.

    It is unloaded when nothing refers to it any more. An address from `symbol` is a bare number: it
    is valid while the module is; a function from `function` keeps the module.
    """

    __slots__ = ("__weakref__", "_ptr")

    def __init__(self) -> None:
        raise TypeError("a Module comes from Cache.load()")

    @classmethod
    def _own(cls, pointer: Any) -> Module:
        self = object.__new__(cls)
        self._ptr = owned(pointer, lib.tlc_module_release)
        return self

    _ptr: Any

    def symbol(self, name: str) -> int:
        """Address of a symbol: a function on a CPU, the driver's function handle on a device."""
        out, error = ffi.new("void**"), lib.tlcpy_error()
        check(lib.tlc_module_symbol(self._ptr, text(name), out, error), error)
        return int(ffi.cast("uintptr_t", out[0]))

    def function(self, name: str, restype: Any = None, argtypes: Sequence[Any] = ()) -> Any:
        """A C function of a CPU module, to be called from Python; it keeps the module.

        Args:
            name: the symbol.
            restype: ctypes type of its result; None: void.
            argtypes: ctypes types of its parameters.
        """
        address = self.symbol(name)
        if address in _slots.symbols:
            raise InvalidError(
                f"{name!r} is an object of Python, not a function of C; object({name!r}) gives it"
            )
        function = ctypes.CFUNCTYPE(restype, *argtypes)(address)
        function._tlcache_module = self  # type: ignore[attr-defined]
        return function

    @property
    def native(self) -> int | None:
        """The backend's own handle of the module; None in a child that may not use it."""
        handle = lib.tlc_module_native(self._ptr)
        return int(ffi.cast("uintptr_t", handle)) if handle else None

    def object(self, name: str | None = None) -> Any:
        """What a backend written in Python has: a symbol as its `symbol` answered it.

        Without a name: the module, as its `load` returned it. The object does not keep the module.
        UnsupportedError: the backend is not written in Python.
        """
        if name is not None:
            answers = _slots.answers_of(lambda: self.symbol(name))
        else:
            answers = _slots.answers_of(self._loaded)
        if not answers:
            raise UnsupportedError("the module's backend is not written in Python")
        return answers[-1]

    def _loaded(self) -> None:
        """Lets the backend say which module this is: by `native`, else it is its own handle."""
        handle = self.native
        if handle is None:
            return
        loaded = _slots.modules.get(handle)
        if loaded is not None:
            _slots.note_answer(loaded.module)
