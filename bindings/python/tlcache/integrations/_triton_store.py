# SPDX-License-Identifier: MIT
"""Triton's kernels in the store: keys, look-ups, publishing.

Triton tells a cache manager a hash of all that determines a kernel, and nothing else. So

    the hash is the key that is looked up: a link
    it leads to the kernel, whose key says what became known when it was compiled (name, target,
    options, intermediate representation), which is what `tlcache why` compares.

An entry whose files are in place is found without this module (_triton_hit). The way to a hit calls
the library without the classes of the package (_api): their import alone takes as long as Triton's
own look-up of a hundred kernels.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any

from .._native import ffi, lib, text
from . import _triton_hit
from ._held import HeldLock, end_abandoned

if TYPE_CHECKING:
    from .. import _api

_cache: Any = None
_templates: dict[tuple[str, int], tuple[bytes, bytes]] = {}

#: Seconds to wait for another's compile while this thread holds a lock itself: two processes that
#: wait for each other's kernels cannot wait longer.
NESTED_WAIT = 30.0

#: What the compiler reports of its result; all else in the metadata went into the compile.
_RESULTS = frozenset(
    {
        "hash",
        "target",
        "name",
        "shared",
        "tmem_size",
        "global_scratch_size",
        "global_scratch_align",
        "profile_scratch_size",
        "profile_scratch_align",
        "tensordesc_meta",
        "triton_version",
    }
)


def native_cache() -> Any:
    """The process's cache, opened once: a tlc_cache*. Raises where even that fails."""
    global _cache
    if _cache is None:
        _cache = ffi.cast("tlc_cache*", _triton_hit.cache())
    return _cache


def cache() -> _api.Cache:
    """The same as an object of the package; for all that is not a hit."""
    from .._api import Cache

    made = object.__new__(Cache)
    made._ptr = native_cache()
    return made


def _check(status: int, error: Any) -> None:
    if status != 0:
        from .._errors import make_error

        raise make_error(status, error)


def _encode(namespace: str, key: str, file: str | None) -> bytes:
    """The encoding of the key of a kernel, or of a single file; as Request(...).key().encoding."""
    made, error = ffi.new("tlc_request**"), lib.tlcpy_error()
    _check(lib.tlc_request_create(text(namespace), made, error), error)
    request = ffi.gc(made[0], lib.tlc_request_destroy)
    toolchain = ffi.from_buffer(namespace.encode())
    _check(lib.tlc_request_set_toolchain(request, toolchain, len(toolchain), error), error)
    fields = {"key": key} if file is None else {"key": key, "file": file}
    for name, value in fields.items():
        _check(lib.tlc_request_add_text(request, text(name), text(value), 0, error), error)
    out, length = ffi.new("tlc_key**"), ffi.new("size_t*")
    _check(lib.tlc_request_key(request, out, error), error)
    native = ffi.gc(out[0], lib.tlc_key_release)
    data = lib.tlc_key_encoding(native, length)
    return bytes(ffi.buffer(data, length[0]))


def encoding_of(namespace: str, key: str, file: str | None) -> bytes:
    """The encoding of the key for a kernel, or for a single file.

    Keys of kernels differ in a text of fixed length only, so the rest is made once.
    """
    parts = _templates.get((namespace, len(key))) if file is None else None
    if parts is not None:
        return parts[0] + key.encode() + parts[1]
    encoding = _encode(namespace, key, file)
    if file is None and key.isascii() and 8 <= len(key) <= 64:
        before, found, after = encoding.partition(key.encode())
        if found:
            _templates[(namespace, len(key))] = (before, after)
    return encoding


def look(encoding: bytes, caller: FrameType) -> tuple[Any, HeldLock | None]:
    """Looks up: an artifact (a native handle, which the caller releases), or None.

    After a miss, which may have waited for another's compile, the lock is the right to compile;
    without it (None) that was not to be had in time, and the caller compiles all the same.
    """
    artifact = lib.tlcpy_begin(_cache or native_cache(), encoding, len(encoding))
    if artifact:
        return artifact, None
    status = lib.tlcpy_status()
    if status == lib.TLC_LOCKED:
        lock = ffi.gc(lib.tlcpy_lock(), lib.tlc_lock_abandon)
        from .._api import CompileLock

        ffi.gc(lock, None)
        taken = CompileLock(lock)
        end_abandoned()
        return None, HeldLock(taken, caller)
    if status < 0:
        _check(status, lib.tlcpy_last_error())
    return _wait(encoding, caller)


def _wait(encoding: bytes, caller: FrameType) -> tuple[Any, HeldLock | None]:
    """Another thread or process compiles it: for its result, or for the right to try after it."""
    from .._api import CompileLock, Key, TimeoutError

    nested = end_abandoned()
    try:
        turn = cache().begin(Key.decode(encoding), NESTED_WAIT if nested else None)
    except TimeoutError:
        return None, None
    if isinstance(turn, CompileLock):
        return None, HeldLock(turn, caller)
    found = turn.artifact._ptr
    ffi.gc(found, None)
    return found, None


release = lib.tlc_artifact_release


# ---------------------------------------------------------------- publishing


def members_of(artifact: Any) -> dict[str, Any]:
    """Names and memory of a native artifact's members, valid as long as it is."""
    found = {}
    for index in range(lib.tlc_artifact_member_count(artifact)):
        member = lib.tlcpy_member(artifact, index)
        name = ffi.buffer(member.name.data, member.name.len)[:].decode()
        found[name] = ffi.buffer(member.data, member.size) if member.size else b""
    return found


def publish(
    namespace: str, encoding: bytes, key: str, members: Mapping[str, bytes], seconds: float | None
) -> _api.Artifact:
    """Stores the files of a kernel, or a single file, and lets the key lead there.

    What the key led to before and has other contents gives way: Triton was told to compile anew.
    """
    from .._errors import ConflictError
    from .._key import Key

    here = cache()
    content = _content_request(namespace, key, members)
    target = content.key()
    label = content.label
    types = {name: _type(name) for name in members}
    made = here.put(target, members, compile_time=seconds, label=label, types=types)
    if not made.stored:
        return made
    if made.status != 0 and not _same(made, members):
        try:
            made = here.replace(
                target, members, seen=made, compile_time=seconds, label=label, types=types
            )
        except ConflictError:  # another process does the same at this moment
            return made
    here.link(Key.decode(encoding), target)
    return made


def _same(artifact: _api.Artifact, members: Mapping[str, bytes]) -> bool:
    return artifact.keys() == members.keys() and all(
        bytes(artifact[name]) == data for name, data in members.items()
    )


def _content_request(namespace: str, key: str, members: Mapping[str, bytes]) -> _api.Request:
    from .._request import Request

    described = next((name for name in members if name.endswith(".json")), None)
    try:
        told = json.loads(members[described]) if described and len(members) > 1 else None
        if told is not None:
            fields = _fields(key, told, members)
            name = fields["name"]
            return Request(
                namespace,
                target=_target(told["target"]),
                engine="triton",
                toolchain=namespace,
                label=name if isinstance(name, str) else None,
                fields=fields,
            )
    except (KeyError, TypeError, ValueError):
        pass  # metadata of a shape that is not known: then the hash is all that is known
    name = next(iter(members))
    return Request(
        namespace, toolchain=namespace, label=name, fields={"key": key, "files": sorted(members)}
    )


def _fields(key: str, told: Mapping[str, Any], members: Mapping[str, bytes]) -> dict[str, Any]:
    source = next(
        (name for ending in (".source", ".ttir") for name in members if name.endswith(ending)), None
    )
    return {
        "key": key,
        "name": told.get("name"),
        "source": members[source] if source else None,
        "options": {name: _plain(value) for name, value in told.items() if name not in _RESULTS},
    }


def _plain(value: Any) -> Any:
    """A value of JSON as a field takes it."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _target(told: Any) -> str | None:
    """A target of Triton's, {"backend": "cuda", "arch": 90}, as the library names it."""
    if isinstance(told, str):  # older ones: the text of a GPUTarget
        return None
    arch = told["arch"]
    arch = f"sm_{arch}" if told["backend"] == "cuda" and isinstance(arch, int) else str(arch)
    return f"{told['backend']}:{arch}"


_TYPES = {
    ".source": "SOURCE",
    ".json": "JSON",
    ".cubin": "DEVICE_BINARY",
    ".hsaco": "DEVICE_BINARY",
    ".spv": "DEVICE_BINARY",
    ".ttir": "DEVICE_IR",
    ".ttgir": "DEVICE_IR",
    ".llir": "DEVICE_IR",
    ".ptx": "DEVICE_IR",
    ".amdgcn": "DEVICE_IR",
    ".so": "SHARED_OBJECT",
}


def _type(name: str) -> int:
    kind = _TYPES.get(os.path.splitext(name)[1], "OPAQUE")
    return int(getattr(lib, f"TLC_MEMBER_{kind}"))


def storage() -> str | None:
    """None where there is a store that can be written; else why not, for people."""
    told = cache().describe()
    if told.get("state") == "store":
        return None
    return str(told.get("reason") or f"its state is {told.get('state')}")


__all__ = ["encoding_of", "look", "members_of", "publish", "release", "storage"]
