# SPDX-License-Identifier: MIT
"""Processes of TileLang in folders of their own, with the compiler that they run counted."""

from __future__ import annotations

import json
import shutil
from importlib import metadata

from dropin_tools import HERE, finish

COMPILE = HERE / "tilelang_compile.py"
KERNELS = f"tilelang/{metadata.version('tilelang')}/kernels"


class TileLang:
    """What a test has: a place, a compiler, what was counted."""

    def __init__(self, place) -> None:
        self.place = place
        self.own = place.top / "own"
        self.count = place.top / "count"
        self.count.touch()
        compiler = place.top / "counted-c++"
        compiler.write_text(f'#!/bin/sh\nprintf x >>"{self.count}"\nexec {shutil.which("g++")} "$@"\n')
        compiler.chmod(0o755)
        self.environment = {"TILELANG_CACHE_DIR": str(self.own), "CXX": str(compiler)}

    def start(self, *arguments: object, **environment: str | None):
        return self.place.start(COMPILE, *arguments, **{**self.environment, **environment})

    def run(self, *arguments: object, **environment: str | None) -> dict:
        return report(self.start(*arguments, **environment))

    def compiles(self) -> int:
        return self.count.stat().st_size

    def hits(self) -> int:
        return self.counters()["hits"]

    def counters(self) -> dict:
        found = [one for one in self.place.tool("stats")["namespaces"] if one["namespace"] == KERNELS]
        return found[0] if found else {"hits": 0, "misses": 0}

    def entries(self) -> dict[str, dict]:
        return {one["digest"]: one for one in self.place.tool("ls")["entries"] if one["namespace"] == KERNELS}


def report(process) -> dict:
    lines = finish(process).strip().splitlines()
    return json.loads(lines[-1])


def right(*reports: dict) -> bool:
    """Whether each kernel gave what it should."""
    return all(kernel["right"] for one in reports for kernel in one["kernels"])
