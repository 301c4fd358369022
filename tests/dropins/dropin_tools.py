# SPDX-License-Identifier: MIT
"""Processes in an environment of their own, for tests of frameworks on tlcache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

#: Seconds that a process may take on a machine that does nothing else. Where more wants to run than there are processors, it
#: may take longer in proportion: one that hangs uses none, and is ended all the same.
SECONDS = float(os.environ.get("TLC_TEST_SECONDS", "120"))


def allowed(seconds: float = SECONDS) -> float:
    """How long what takes these seconds at most may take now, and at most ten times as long."""
    return seconds * min(10.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


class Place:
    """Folders and an environment for some processes."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.store = top / "store"
        self.triton = top / "triton"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("TLC_", "TRITON_"))}
        self.environment |= {
            "HOME": str(top / "home"),
            "TLC_DIR": str(self.store),
            "TRITON_CACHE_DIR": str(self.triton),
            "TRITON_CACHE_MANAGER": "tlcache.integrations.triton:TLCacheManager",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH")))),
        }
        (top / "home").mkdir()
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *command: object, **environment: str | None) -> subprocess.Popen[str]:
        """A process of Python; None as a value takes a variable out."""
        merged = {**self.environment, **environment}
        process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            env={name: value for name, value in merged.items() if value is not None},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.top,
        )
        self.processes.append(process)
        return process

    def run(self, *command: object, **environment: str | None) -> str:
        """What it prints; it must end well."""
        return finish(self.start(*command, **environment))

    def code(self, code: str, *arguments: object, **environment: str | None) -> str:
        """As run, for a text of Python."""
        return self.run("-c", textwrap.dedent(code), *arguments, **environment)

    def compile(self, *arguments: object, **environment: str | None) -> dict:
        """The report of triton_compile.py."""
        return json.loads(self.run(HERE / "triton_compile.py", *arguments, **environment))

    def tool(self, *arguments: object, codes: tuple[int, ...] = (0,)) -> dict:
        """The command's answer as JSON."""
        done = subprocess.run(
            [sys.executable, "-m", "tlcache", "--json", *map(str, arguments)],
            env=self.environment, capture_output=True, text=True, timeout=allowed(60),
        )
        assert done.returncode in codes, done.stderr
        return json.loads(done.stdout)

    def end(self) -> None:
        """Kills what is left."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


def finish(process: subprocess.Popen[str], timeout: float = SECONDS) -> str:
    """What a process printed; it must end well, in the time that is `allowed`."""
    started, limit = time.monotonic(), allowed(timeout)
    while True:
        try:
            out, err = process.communicate(timeout=max(1.0, started + limit - time.monotonic()))
            break
        except subprocess.TimeoutExpired:
            limit = max(limit, allowed(timeout))
            if time.monotonic() >= started + limit:
                raise
    assert process.returncode == 0, f"exit {process.returncode}\n{out}\n{err}"
    return out


def cubins(report: dict) -> dict[str, str]:
    """Hashes of the binaries in a report, by kernel."""
    return {name: kernel["cubin"] for name, kernel in report["kernels"].items()}


def hits(place: Place) -> int:
    """The store's counter."""
    return place.tool("stats")["total"]["hits"]


def artifacts(place: Place) -> dict[str, dict]:
    """What is stored, without links, by digest."""
    return {entry["digest"]: entry for entry in place.tool("ls")["entries"] if entry["kind"] == "artifact"}
