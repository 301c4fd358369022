# SPDX-License-Identifier: MIT
"""The demo's processes: its workers, the command, and the compiler that counts. Each wait has a limit."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_S = 60

# Options tell the start that compiles a kernel (-shared) from questions to the compiler, and, where a macro is defined
# for it, which kernel that is. "hold" makes it wait, at most ten seconds.
_COMPILER = """#!/bin/sh
# The compiler of the demo: notes each kernel it compiles, then becomes the real one.
for argument; do
  if [ "$argument" = -shared ]; then
    echo "$PPID $*" >>{starts}
    tries=0
    while [ -e {hold} ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
  fi
done
exec {real} "$@"
"""


class Failure(Exception):
    """The demo did not go as it should; the text says what."""


@dataclass(frozen=True)
class Start:
    """A kernel that the compiler was started for, and the process that started it."""

    parent: int
    kernel: str


class Compiler:
    """A script in place of the real compiler."""

    def __init__(self, folder: Path) -> None:
        real = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
        if real is None:
            raise Failure("there is no C compiler (cc, gcc, clang)")
        folder.mkdir()
        self.path, self._starts, self._hold = folder / "cc", folder / "starts", folder / "hold"
        self._starts.touch()
        paths = {"starts": self._starts, "hold": self._hold, "real": real}
        script = _COMPILER.format(**{name: shlex.quote(str(path)) for name, path in paths.items()})
        self.path.write_bytes(os.fsencode(script))
        self.path.chmod(0o755)

    def started(self) -> list[Start]:
        """All starts so far."""
        starts = []
        for line in self._starts.read_text("utf-8", "replace").splitlines():
            parent, _, options = line.partition(" ")
            starts.append(Start(int(parent), "matmul" if "-DTILE=" in options else "softmax"))
        return starts

    def wait_for(self, count: int) -> list[Start]:
        """Waits until there were so many."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if len(starts := self.started()) >= count:
                return starts
            time.sleep(0.002)
        raise Failure(f"the compiler was not started within {LIMIT_S} s")

    def hold(self) -> None:
        """Makes the compiler wait before it compiles."""
        self._hold.touch()

    def release(self) -> None:
        """Lets it compile."""
        self._hold.unlink()


class Worker:
    """One process that wants both kernels (worker.c, worker.py)."""

    _all: list[Worker] = []

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path) -> None:
        self._process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.pid = self._process.pid
        Worker._all.append(self)

    def wait_ready(self) -> None:
        """Waits until it has started; it then waits for go()."""
        assert self._process.stdout
        end, said = time.monotonic() + LIMIT_S, b""
        while not said.endswith(b"\n"):
            if not select.select([self._process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise Failure(f"a process did not start within {LIMIT_S} s")
            byte = os.read(self._process.stdout.fileno(), 1)
            if not byte:
                raise Failure(f"a process ended at its start:\n{self._output()[1].strip()}")
            said += byte

    def go(self) -> None:
        """Lets it begin."""
        assert self._process.stdin
        self._process.stdin.write(b"go\n")
        self._process.stdin.flush()

    def _output(self) -> tuple[str, str]:
        try:
            out, errors = self._process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Failure(f"a process did not end within {LIMIT_S} s") from None
        return out.decode("utf-8", "replace"), errors.decode("utf-8", "replace")

    def result(self) -> dict[str, Any]:
        """What it reports when it is done."""
        out, errors = self._output()
        if self._process.returncode != 0:
            raise Failure(f"a process ended with {self._process.returncode}:\n{errors.strip()}")
        return dict(json.loads(out))

    def wait_killed(self) -> None:
        """Waits for the end of one that was killed."""
        self._output()
        if self._process.returncode != -signal.SIGKILL:
            raise Failure(f"the killed process ended with {self._process.returncode}")

    @staticmethod
    def end_all() -> None:
        """Ends what still runs."""
        for worker in Worker._all:
            if worker._process.poll() is None:
                worker._process.kill()
                worker._process.wait()


def run(command: list[str], environment: dict[str, str], folder: Path, code: int = 0) -> str:
    """Runs a program to its end; gives what it printed."""
    name = f"`{Path(command[0]).name} {command[1]}`"
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{name} did not end within {LIMIT_S} s") from None
    out = done.stdout.decode("utf-8", "replace")
    if done.returncode != code:
        said = done.stderr.decode("utf-8", "replace")
        raise Failure(f"{name} ended with {done.returncode} instead of {code}:\n{out}{said}".rstrip())
    return out
