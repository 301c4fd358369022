# SPDX-License-Identifier: MIT
"""Fixtures: a cache in a folder of its own, keys, and other processes of Python."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tlcache

# A shell starts what it puts in the background deaf to Ctrl-C, and the processes of the tests would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("TLC_"):
            monkeypatch.delenv(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def cache(folder: Path) -> Iterator[tlcache.Cache]:
    with tlcache.Cache(folder, strict=True) as opened:
        yield opened


@pytest.fixture
def register() -> Iterator[Callable[..., Any]]:
    """Registers for the process; takes it out at the end of the test."""
    registered: list[Any] = []

    def add(given: Any, **options: bool) -> Any:
        registered.append(tlcache.register_backend(given, **options))
        return registered[-1]

    yield add
    gc.collect()
    for one in reversed(registered):
        try:
            tlcache.unregister_backend(one)
        except tlcache.NotFoundError:
            continue


def make_request(**fields: Any) -> tlcache.Request:
    return tlcache.Request("pytest", toolchain=tlcache.NO_TOOLCHAIN, fields=fields)


@pytest.fixture
def key_of() -> Callable[..., tlcache.Key]:
    """Makes the key of some fields."""
    return lambda **fields: make_request(**fields).key()


@pytest.fixture
def request_of() -> Callable[..., tlcache.Request]:
    """Makes a request of some fields."""
    return make_request


class Process:
    """A process of Python that runs some code, with the store's folder as sys.argv[1]."""

    def __init__(self, code: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def finish(self, timeout: float = 60) -> str:
        """What it printed; it must have ended well, without a word on standard error."""
        out, err = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0, f"exit {self.process.returncode}\n{out}\n{err}"
        assert err == ""
        return out.strip()


@pytest.fixture
def python() -> Iterator[Callable[..., Process]]:
    """Starts a process; what is left at the end of the test is killed."""
    started: list[Process] = []

    def start(code: str, *arguments: object) -> Process:
        started.append(Process(code, *arguments))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            if stream is not None:
                stream.close()
