# SPDX-License-Identifier: MIT
"""Files where Triton, and Inductor on top of it, expect them: <TRITON_CACHE_DIR>/<key>/<name>.

A file written from the store has as its time of last change when the artifact was made. Size and
time together tell, without reading, that a file is still what was stored; a file that was cut off
or written by anybody since has another time, and is written again.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from typing import Any

from .._native import ffi, lib

_numbers = itertools.count()
_scratch_lock = threading.Lock()
_scratch_folder: tuple[int, str] | None = None

GROUP_PREFIX = "__grp__"


def _temporary_name() -> str:
    """A name that no other process or thread uses, in the pattern of Triton's own."""
    return f"tmp.pid_{os.getpid()}_{next(_numbers)}_{os.urandom(4).hex()}"


def _write(path: str, data: Any, stamp: int | None) -> None:
    """A new file, whole or not at all."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        left = memoryview(data)
        while len(left):
            left = left[os.write(handle, left) :]
        if stamp is not None:
            os.utime(handle, ns=(stamp, stamp))
    finally:
        os.close(handle)


def write(folder: str, name: str, data: Any, stamp: int | None = None) -> str:
    """Puts a file in its place, in one step for whoever looks; returns its path."""
    path = os.path.join(folder, name)
    temporary = os.path.join(folder, _temporary_name())
    try:
        try:
            _write(temporary, data, stamp)
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)
            _write(temporary, data, stamp)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    return path


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _has(path: str, data: Any) -> bool:
    """Whether the file has these contents already: then it is not replaced, it may be in use."""
    try:
        with open(path, "rb", buffering=0) as file:
            return os.fstat(file.fileno()).st_size == len(data) and file.read() == bytes(data)
    except OSError:
        return False


def _group_text(folder: str, names: list[str]) -> bytes:
    paths = {name: os.path.join(folder, name) for name in names}
    return json.dumps({"child_paths": paths}).encode()


def write_group(folder: str, group: str, paths: Mapping[str, str]) -> None:
    """The file by which Triton's own manager finds a group."""
    text = json.dumps({"child_paths": dict(paths)}).encode()
    write(folder, GROUP_PREFIX + group, text)


def materialise(folder: str, members: Mapping[str, Any], stamp: int, group: str | None) -> None:
    """Makes the folder hold these files; a folder that is not there appears with all of them."""
    if not os.path.isdir(folder) and _make_whole(folder, members, stamp, group):
        return
    for name, data in members.items():
        path = os.path.join(folder, name)
        if _has(path, data):
            os.utime(path, ns=(stamp, stamp))
        else:
            write(folder, name, data, stamp)
    if group is not None:
        text = _group_text(folder, list(members))
        if not _has(os.path.join(folder, GROUP_PREFIX + group), text):
            write(folder, GROUP_PREFIX + group, text)


def _make_whole(folder: str, members: Mapping[str, Any], stamp: int, group: str | None) -> bool:
    """False if the folder has come to be meanwhile."""
    staging = os.path.join(os.path.dirname(folder), _temporary_name())
    os.makedirs(staging)
    try:
        for name, data in members.items():
            _write(os.path.join(staging, name), data, stamp)
        if group is not None:
            text = _group_text(folder, list(members))
            _write(os.path.join(staging, GROUP_PREFIX + group), text, None)
        os.rename(staging, folder)
        return True
    except BaseException as error:
        shutil.rmtree(staging, ignore_errors=True)
        if isinstance(error, OSError) and os.path.isdir(folder):
            return False
        raise


def created(artifact: Any) -> int:
    """When an artifact was made, in ns: the stamp of its files."""
    return int(lib.tlcpy_created_ns(artifact))


def stamp(folder: str, members: Mapping[str, bytes], artifact: Any) -> None:
    """Marks files that were just written as those of the artifact that was made of them."""
    when = created(artifact)
    for name in members:
        os.utime(os.path.join(folder, name), ns=(when, when))


def files_in(artifact: Any, folder: str) -> dict[str, str] | None:
    """Paths by name of the artifact's files, if the folder has them all, unchanged."""
    names = lib.tlcpy_files_in(artifact, os.fsencode(folder))
    if not names:
        return None
    base = folder + "/"
    return {name: base + name for name in ffi.string(names).decode().split("/")[:-1]}


def group_in(folder: str, group: str) -> dict[str, str] | None:
    """A group that Triton's own manager would find here, if each file has something in it."""
    try:
        with open(os.path.join(folder, GROUP_PREFIX + group), "rb") as file:
            paths = json.loads(file.read())["child_paths"]
        if group not in paths or any(os.stat(path).st_size == 0 for path in paths.values()):
            return None
        json.loads(read(paths[group]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return dict(paths)


def is_ours(folder: str) -> bool:
    """Whether only this user puts files here: only then they may go into this user's store."""
    try:
        found = os.stat(folder)
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not found.st_mode & 0o002


def file_in(folder: str, name: str) -> str | None:
    """A file that Triton's own manager would find here, if there is something in it."""
    path = os.path.join(folder, name)
    try:
        return path if os.stat(path).st_size else None
    except OSError:
        return None


def read(path: str) -> bytes:
    """The contents of a file."""
    with open(path, "rb") as file:
        return file.read()


def scratch() -> str:
    """This process's own folder, where Triton's cannot be written. Raises OSError."""
    global _scratch_folder
    with _scratch_lock:
        if _scratch_folder is None or _scratch_folder[0] != os.getpid():
            errors = []
            for parent in (None, "/dev/shm"):
                try:
                    made = tempfile.mkdtemp(prefix="tlcache-triton-", dir=parent)
                    write(made, "probe", b"\0" * 65536)
                    os.unlink(os.path.join(made, "probe"))
                    break
                except OSError as error:
                    errors.append(error)
            else:
                raise errors[0]
            _scratch_folder = (os.getpid(), made)
            atexit.register(_remove_scratch, *_scratch_folder)
        return _scratch_folder[1]


def _remove_scratch(pid: int, folder: str) -> None:
    if pid == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


__all__ = [
    "GROUP_PREFIX",
    "created",
    "file_in",
    "files_in",
    "group_in",
    "is_ours",
    "materialise",
    "read",
    "scratch",
    "stamp",
    "write",
    "write_group",
]
