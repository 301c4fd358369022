# SPDX-License-Identifier: MIT
"""The C library as this package sees it: the extension module, its check, small conversions.

Everything else in the package reaches the library through here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ._ffi import ffi as ffi
from ._ffi import lib as lib

NULL = ffi.NULL
EMPTY = (NULL, 0)


def text(value: str | bytes | None) -> tuple[Any, int]:
    """A tlc_str for the length of one call. Raises UnicodeEncodeError for a lone surrogate."""
    if not value:
        return EMPTY
    data = value.encode() if isinstance(value, str) else value
    return (ffi.from_buffer(data), len(data))


def from_text(value: Any) -> str:
    """A copy of a tlc_str."""
    return str(ffi.buffer(value.data, value.len)[:], "utf-8", "replace") if value.len else ""


def from_c(value: Any) -> str:
    """A copy of a C string of the library's."""
    return bytes(ffi.string(value)).decode("utf-8", "replace")


def new_error() -> Any:
    """An error for a call in which Python code may run; other calls use lib.tlcpy_error()."""
    error = ffi.new("tlc_error*")
    lib.tlc_error_init(error)
    return error


def owned(pointer: Any, release: Callable[[Any], None]) -> Any:
    """The handle, released when nothing refers to it any more."""
    return ffi.gc(pointer, release)


def take_bytes(blob: Any) -> bytes:
    """The bytes of a blob that the library handed over, which is released."""
    if blob == NULL:
        return b""
    length = ffi.new("size_t*")
    try:
        data = lib.tlc_blob_data(blob, length)
        return bytes(ffi.buffer(data, length[0])) if length[0] else b""
    finally:
        lib.tlc_blob_release(blob)


def take_text(blob: Any) -> str:
    """As take_bytes, as text."""
    return take_bytes(blob).decode("utf-8", "replace")


def take_json(blob: Any) -> Any:
    """As take_bytes, parsed."""
    return json.loads(take_bytes(blob))


def milliseconds(timeout: float | None, default: int) -> int:
    """Seconds as the library takes them: rounded up, so that a short wait does not become none."""
    if timeout is None:
        return default
    if not timeout >= 0:
        raise ValueError(
            f"timeout is {timeout!r}; it is seconds, 0 or more, or None for the default"
        )
    return min(-int(-timeout * 1000 // 1), 1 << 62) if timeout < float("inf") else 1 << 62


def _check_version() -> None:
    running = lib.tlc_abi_version()
    major, minor = running >> 16, running & 0xFFFF
    fits = major == lib.TLC_ABI_MAJOR and (
        minor >= lib.TLC_ABI_MINOR if major else minor == lib.TLC_ABI_MINOR
    )
    if not fits:
        raise ImportError(
            f"tlcache was built for ABI {lib.TLC_ABI_MAJOR}.{lib.TLC_ABI_MINOR} of libtlcache, but "
            f"version {from_c(lib.tlc_version_string())} with ABI {major}.{minor} was loaded; "
            "install the tlcache package again"
        )


def _is_opaque(struct_name: str) -> bool:
    # Not by `.fields is None`: some cffi abort when asked for the fields of an opaque struct.
    try:
        ffi.sizeof(struct_name)
    except ffi.error:
        return True
    return False


def layout_differences(table: dict[str, dict[str | None, tuple[int, int]]]) -> list[str]:
    """What a layout table (struct -> member -> (offset, size)) has otherwise than this module.

    A struct of the library may be longer: members are only ever appended.
    """
    differences = []
    for struct_name in ffi.list_types()[0]:
        if not struct_name.startswith("tlc_"):
            continue
        mirror = ffi.typeof(struct_name)
        if mirror.kind != "struct" or _is_opaque(struct_name):
            continue
        theirs = table.get(struct_name)
        if theirs is None:
            differences.append(f"{struct_name} is unknown to it")
            continue
        for name, field in mirror.fields:
            ours = (field.offset, ffi.sizeof(field.type))
            if theirs.get(name) != ours:
                differences.append(
                    f"{struct_name}.{name} is (offset, size) {theirs.get(name)}, here {ours}"
                )
    return differences


def library_layout() -> dict[str, dict[str | None, tuple[int, int]]]:
    """tlc_abi_layout() as a dict."""
    table: dict[str, dict[str | None, tuple[int, int]]] = {}
    count = ffi.new("size_t*")
    rows = lib.tlc_abi_layout(count)
    for index in range(count[0]):
        row = rows[index]
        member = None if row.member == NULL else from_c(row.member)
        table.setdefault(from_c(row.struct_name), {})[member] = (row.offset, row.size)
    return table


def library_constants() -> dict[str, int]:
    """tlc_abi_constants() as a dict."""
    count = ffi.new("size_t*")
    rows = lib.tlc_abi_constants(count)
    return {from_c(rows[index].name): rows[index].value for index in range(count[0])}


def constant_differences(constants: dict[str, int]) -> list[str]:
    """Constants that have another value in the library than in this module."""
    return [
        f"{name} is {value}, here {getattr(lib, name)}"
        for name, value in constants.items()
        if name.startswith(("TLC_E_", "TLC_OPEN_", "TLC_COMPILE_", "TLC_MEMBER_", "TLC_TYPE_"))
        and getattr(lib, name, value) != value
    ]


def check_library() -> None:
    """Refuses a library that does not fit this module: a wrong offset would corrupt memory."""
    _check_version()
    differences = layout_differences(library_layout()) + constant_differences(library_constants())
    if differences:
        raise ImportError(
            f"libtlcache {from_c(lib.tlc_version_string())} does not fit this tlcache package: "
            + "; ".join(differences[:5])
            + "; install the tlcache package again"
        )


# All that a hit of an integration needs. _api compares the whole layout, before any other use.
_check_version()
