# SPDX-License-Identifier: MIT
"""As much of the package `tlcache` as worker.py needs, by ctypes: for machines where it cannot be built.

The library is the file that the variable DEMO_LIBRARY names. Programs should use the package.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

OPEN_STRICT = 1  # TLC_OPEN_STRICT
HANDLE = ctypes.c_void_p


class _Text(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("len", ctypes.c_size_t))


class _Error(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("code", ctypes.c_int32),
        ("sys_errno", ctypes.c_int32),
        ("backend_code", ctypes.c_int64),
        ("message_length", ctypes.c_uint64),
        ("message", ctypes.c_char * 512),
    )


class _CacheOptions(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("directory", _Text),
        ("limit_bytes", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
    )


def _text(value: str) -> _Text:
    data = value.encode()
    return _Text(data, len(data))


_ERROR, _OUT = ctypes.POINTER(_Error), ctypes.POINTER(HANDLE)
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "tlc_cache_open": (ctypes.POINTER(_CacheOptions), _OUT, _ERROR),
    "tlc_request_create": (_Text, _OUT, _ERROR),
    "tlc_request_set_target": (HANDLE, _Text, _ERROR),
    "tlc_request_set_label": (HANDLE, _Text, _ERROR),
    "tlc_request_add_text": (HANDLE, _Text, _Text, ctypes.c_uint32, _ERROR),
    "tlc_request_begin_list": (HANDLE, _Text, ctypes.c_uint32, _ERROR),
    "tlc_request_begin_map": (HANDLE, _Text, ctypes.c_uint32, _ERROR),
    "tlc_request_end": (HANDLE, _ERROR),
    "tlc_cache_get_or_compile": (HANDLE, HANDLE, HANDLE, _OUT, _OUT, _ERROR),
    "tlc_cache_load": (HANDLE, HANDLE, HANDLE, _OUT, _ERROR),
    "tlc_module_symbol": (HANDLE, _Text, _OUT, _ERROR),
}
_lib = ctypes.CDLL(os.environ["DEMO_LIBRARY"])
for _name, _types in _FUNCTIONS.items():
    getattr(_lib, _name).argtypes = _types
    getattr(_lib, _name).restype = ctypes.c_int32
for _name in ("tlc_cache_close", "tlc_blob_release"):
    getattr(_lib, _name).argtypes = (HANDLE,)
    getattr(_lib, _name).restype = None


def _call(name: str, *arguments: Any) -> None:
    error = _Error(struct_size=ctypes.sizeof(_Error))
    if getattr(_lib, name)(*arguments, ctypes.byref(error)) != 0:
        raise RuntimeError(f"{name}: {error.message.decode('utf-8', 'replace')}")


class Request:
    """As tlcache.Request; its fields are text, lists of text and maps of text."""

    def __init__(self, namespace: str, target: str, label: str, fields: dict[str, Any]) -> None:
        """A request."""
        self.handle = HANDLE()
        _call("tlc_request_create", _text(namespace), ctypes.byref(self.handle))
        _call("tlc_request_set_target", self.handle, _text(target))
        _call("tlc_request_set_label", self.handle, _text(label))
        for name, value in fields.items():
            self._add(name, value)

    def _add(self, name: str, value: Any) -> None:
        if isinstance(value, str):
            _call("tlc_request_add_text", self.handle, _text(name), _text(value), 0)
            return
        is_map = isinstance(value, dict)
        begin = "tlc_request_begin_map" if is_map else "tlc_request_begin_list"
        _call(begin, self.handle, _text(name), 0)
        for entry, item in value.items() if is_map else (("", item) for item in value):
            self._add(entry, item)
        _call("tlc_request_end", self.handle)


class Artifact:
    """As tlcache.Artifact: log is None when nothing was compiled."""

    def __init__(self, handle: HANDLE, log: str | None) -> None:
        """Takes the handle; it is kept until the process ends."""
        self.handle, self.log = handle, log


class Module:
    """As tlcache.Module."""

    def __init__(self, handle: HANDLE) -> None:
        """Takes the handle; it is kept until the process ends."""
        self.handle = handle

    def symbol(self, name: str) -> int:
        """Address of a symbol."""
        address = HANDLE()
        _call("tlc_module_symbol", self.handle, _text(name), ctypes.byref(address))
        return address.value or 0

    def function(self, name: str, restype: Any, argtypes: Sequence[Any]) -> Any:
        """A function of the module, to be called."""
        return ctypes.CFUNCTYPE(restype, *argtypes)(self.symbol(name))


class Cache:
    """As tlcache.Cache, in the default folder."""

    def __init__(self, strict: bool) -> None:
        """Opens the cache."""
        self.handle = HANDLE()
        options = _CacheOptions(struct_size=ctypes.sizeof(_CacheOptions), flags=OPEN_STRICT if strict else 0)
        _call("tlc_cache_open", ctypes.byref(options), ctypes.byref(self.handle))

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        _lib.tlc_cache_close(self.handle)

    def get_or_compile(self, request: Request) -> Artifact:
        """What is stored, or else compiled."""
        artifact, log = HANDLE(), HANDLE()
        _call(
            "tlc_cache_get_or_compile",
            self.handle,
            request.handle,
            None,
            ctypes.byref(artifact),
            ctypes.byref(log),
        )
        compiled = log.value is not None
        _lib.tlc_blob_release(log)
        return Artifact(artifact, "" if compiled else None)

    def load(self, artifact: Artifact) -> Module:
        """Loads it."""
        module = HANDLE()
        _call("tlc_cache_load", self.handle, artifact.handle, None, ctypes.byref(module))
        return Module(module)
