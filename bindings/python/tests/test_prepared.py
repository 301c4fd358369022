# SPDX-License-Identifier: MIT
"""Fields that are written down once for many requests, and the state of folders: what integrations use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import tlcache
from tlcache import Digest
from tlcache._native import NULL, ffi, lib
from tlcache._request import Prepared, Request

FIELDS: dict[str, Any] = {
    "none": None,
    "text": "ä text",
    "empty": "",
    "digest": Digest(bytes(range(32))),
    "map": {"inner": {"digest": Digest(bytes(32)), "none": None}, "b": "2", "a": "1"},
    "nothing": {},
}


def request(fields: dict[str, Any]) -> Request:
    return Request("prepared", toolchain="t", fields=fields)


def test_prepared_fields_give_the_same_key() -> None:
    made = request({"own": 1})
    made._add_prepared(Prepared(FIELDS))
    assert made.key().encoding == request({"own": 1, **FIELDS}).key().encoding


def test_a_field_that_is_there_already_is_refused() -> None:
    made = request({"text": "x"})
    made._add_prepared(Prepared(FIELDS))
    with pytest.raises(tlcache.InvalidError, match="text"):
        made.key()


def test_what_cannot_be_prepared_is_named() -> None:
    with pytest.raises(tlcache.UncacheableError, match="number"):
        Prepared({"number": 1})


def test_text_that_is_cut_off_is_refused() -> None:
    whole = Prepared(FIELDS).encoded
    prepared = Prepared({})
    for size in (1, 2, 5, len(whole) - 1):
        prepared.encoded = whole[:size]
        made = request({})
        with pytest.raises(tlcache.TLCacheError):
            made._add_prepared(prepared)
            made.key()


def state(root: Path, ends: bytes, without: bytes = b"/") -> tuple[set[str], bytes, int]:
    newest, size = ffi.new("int64_t*"), ffi.new("size_t*")
    made = lib.tlcpy_tree_state(os.fsencode(root), ends, without, newest, size)
    assert made != NULL
    text = ffi.buffer(made, size[0])[:]
    lib.tlcpy_free(made)
    paths = {os.fsdecode(line.split(b"\0")[0]) for line in text.splitlines()}
    return {os.path.relpath(path, root) for path in paths if path}, text, newest[0]


def test_the_state_of_a_tree_has_the_files_that_are_asked_for(tmp_path: Path) -> None:
    for name in ("a.py", "b.h", "sub/c.py", "sub/skip/d.py", "skip/e.py", "__pycache__/f.py", "py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "link.py").symlink_to(tmp_path / "b.h")
    os.utime(tmp_path / "sub" / "c.py", ns=(1, 4 * 10**18))
    found, text, newest = state(tmp_path, b"/.py/", b"/skip/")
    assert found == {"a.py", "sub/c.py", "sub/skip/d.py", "link.py"}
    assert newest == 4 * 10**18
    assert state(tmp_path, b"/.py/", b"/skip/")[1] == text
    assert state(tmp_path, b"/.py/.h/")[0] == found | {"b.h", "skip/e.py"}
    # Of equal size, and with its old time.
    stamp = (tmp_path / "a.py").stat().st_mtime_ns
    (tmp_path / "a.py").write_text("A.py")
    os.utime(tmp_path / "a.py", ns=(stamp, stamp))
    assert state(tmp_path, b"/.py/", b"/skip/")[1] != text
    assert state(tmp_path / "missing", b"/.py/") == (set(), b"", 0)
