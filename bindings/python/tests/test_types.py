# SPDX-License-Identifier: MIT
"""The types: strict within the package, right for those who use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tlcache

pytest.importorskip("mypy")
PACKAGE = Path(tlcache.__file__).parent

USE = """
import asyncio
import tlcache
from tlcache import aio

def compile(request: tlcache.Request, key: tlcache.Key) -> dict[str, bytes]:
    return {"m": b"1"}

async def compile_slowly(request: tlcache.Request, key: tlcache.Key) -> tlcache.Bundle:
    return tlcache.Bundle({"m": b"1"})

async def work(cache: aio.Cache, request: tlcache.Request) -> memoryview:
    await cache.get_or_compile(request, compile)
    found = await cache.get_or_compile(request, compile_slowly)
    with await cache.begin(await cache.key(request)) as turn:
        if turn.artifact is None:
            turn.publish({"m": b"1"})
    return found["m"]

with tlcache.Cache("folder", limit="1G") as cache:
    request = tlcache.Request("types", fields={"a": 1})
    key = cache.key(request)
    number: int = cache.get_or_compile(request, compile, cancel=tlcache.Cancel())["m"][0]
    names: list[str] = [name for one in cache.get_many([key]) if one is not None for name in one]
"""

PRELUDE = (
    "import tlcache",
    "cache = tlcache.Cache()",
    "request = tlcache.Request('a')",
    "key = request.key()",
)
#: What is wrong, and a word of mypy's for it.
MISUSES = {
    "cache.get('key')": "arg-type",
    "cache.get(key)['m']": "index",
    "cache.put(key, {'m': 'text'})": "dict-item",
    "cache.get_or_compile(request, lambda request, key: 3)": "arg-type",
    "tlcache.Request('types', target=3)": "arg-type",
    "tlcache.no_such_name": "attr-defined",
    "tlcache.ffi": "attr-defined",
}


def mypy(folder: Path, *arguments: object) -> tuple[int, str]:
    """Exit code and words of mypy."""
    # In site-packages mypy finds the package by itself, and refuses that folder as a path.
    path = {} if PACKAGE.parent.name == "site-packages" else {"MYPYPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "MYPY_CACHE_DIR": str(folder / "cache"), **path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_use_and_misuse(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    code, said = mypy(tmp_path, "use.py")
    assert code == 0, said
    (tmp_path / "misuse.py").write_text("\n".join([*PRELUDE, *MISUSES, ""]))
    _, said = mypy(tmp_path, "misuse.py")
    faults = said.splitlines()
    for line, (text, word) in enumerate(MISUSES.items(), len(PRELUDE) + 1):
        at = f"misuse.py:{line}:"
        assert any(at in fault and f"[{word}]" in fault for fault in faults), f"{text}: {said}"


def test_the_package_is_strict(tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[1] / "tlcache"
    code, said = mypy(tmp_path, "--config-file", source.parents[2] / "pyproject.toml", source)
    assert code == 0, said
