# SPDX-License-Identifier: MIT
"""Backends written in Python: fork, the end of the interpreter, the example."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PRELUDE = """
import gc, os, sys, threading, time, tlcache
class Base:
    def identify(self, request, target):
        return b"1"
    def compile(self, request, target, bundle, log):
        bundle.add("code", b"number = 77")
    def load(self, artifact, options):
        module = {}
        exec(bytes(artifact["code"]), module)
        return module
    def symbol(self, module, name):
        return module.get(name)
    def unload(self, module):
        print("unload", flush=True)
    def close(self):
        print("close", flush=True)
def declare(given, **options):
    return tlcache.backend(engine="py", target_kinds=["pycpu"], **options)(given)
def request(**fields):
    return tlcache.Request("pytest", target="pycpu:x", engine="py", fields=fields)
cache = tlcache.Cache(sys.argv[1], strict=True)
"""


@pytest.mark.parametrize("scope", ["tlcache", "cache"])
def test_the_interpreter_ends_with_everything_alive(folder: Path, python: Any, scope: str) -> None:
    code = (
        PRELUDE
        + f"""
backend = {scope}.register_backend(declare(Base))
artifact = cache.get_or_compile(request(a=1))
modules = [cache.load(artifact)]
modules.append(modules)
class Late:
    def __init__(self, module):
        self.module = module
    def __del__(self):
        self.module = None
late = Late(cache.load(artifact))
threading.current_thread().late = late
import atexit
atexit.register(lambda: print("last", modules[0].object("number")))
print("end")
"""
    )
    for _ in range(3):
        assert python(code, folder).finish() == "end\nlast 77"


@pytest.mark.parametrize("scope", ["tlcache", "cache"])
def test_the_interpreter_ends_while_threads_are_in_slots(
    folder: Path, python: Any, scope: str
) -> None:
    code = (
        PRELUDE
        + f"""
class Busy(Base):
    def compile(self, request, target, bundle, log):
        inside.release()
        while True:
            time.sleep(0.001)
    def symbol(self, module, name):
        return 5
inside = threading.Semaphore(0)
backend = {scope}.register_backend(declare(Busy))
key = cache.key(request(a=0))
module = cache.load(cache.put(key, {{"code": b""}}))
def spin():
    try:
        while True:
            module.symbol("x")
    except tlcache.UnavailableError:  # the interpreter is ending
        pass
for number in range(1, 4):
    threading.Thread(
        target=lambda: cache.get_or_compile(request(a=number)), daemon=True
    ).start()
    inside.acquire()
    threading.Thread(target=spin, daemon=True).start()
time.sleep(0.05)
print("end")
"""
    )
    for _ in range(5):
        assert python(code, folder).finish() == "end"


def test_slots_after_the_interpreters_end_are_refused(folder: Path, python: Any) -> None:
    code = (
        PRELUDE
        + """
from tlcache import _native
tlcache.register_backend(declare(Base))
module = cache.load(cache.get_or_compile(request(a=1)))
_native.lib.tlcpy_slots_end()
for ask in (lambda: module.symbol("number"), lambda: cache.key(request(a=1))):
    try:
        ask()
    except tlcache.UnavailableError as error:
        print(error)
del module
gc.collect()
"""
    )
    line = "the backend is written in Python, and the interpreter is ending"
    assert python(code, folder).finish() == f"{line}\n{line}"


def test_fork_with_a_backend_and_modules(folder: Path, python: Any) -> None:
    code = (
        PRELUDE
        + """
backend = tlcache.register_backend(declare(Base))
module = cache.load(cache.get_or_compile(request(a=1)))
for round in range(3):
    pid = os.fork()
    if pid == 0:
        try:
            module.symbol("number")
        except tlcache.ForkedError:
            pass
        else:
            os._exit(2)
        mine = cache.load(cache.get_or_compile(request(child=round)))
        assert mine.object("number") == 77
        del module, mine
        gc.collect()
        cache.close()
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert module.object("number") == 77
print("parent", flush=True)
del module
gc.collect()
tlcache.unregister_backend(backend)
"""
    )
    # Each child unloads its own module, not its parent's.
    assert python(code, folder).finish() == "unload\nunload\nunload\nparent\nunload\nclose"


def test_a_module_that_survives_a_fork(folder: Path, python: Any) -> None:
    code = (
        PRELUDE
        + """
tlcache.register_backend(declare(Base, survives_fork=True))
module = cache.load(cache.get_or_compile(request(a=1)))
pid = os.fork()
if pid == 0:
    os._exit(module.object("number"))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    )
    assert python(code, folder).finish() == "77"


def test_a_call_of_another_language_reaches_the_backend(folder: Path, python: Any) -> None:
    """A program that calls the C library itself, on a thread that Python never saw."""
    code = (
        PRELUDE
        + """
import ctypes, glob
from tlcache._native import ffi
tlcache.register_backend(declare(Base))
lib = ctypes.CDLL(glob.glob(os.path.dirname(tlcache.__file__) + "/libtlcache*.so.0")[0])
wanted = request(a=1)
pointer = lambda one: ctypes.c_void_p(int(ffi.cast("uintptr_t", one)))
artifact = ctypes.c_void_p()
status = lib.tlc_cache_get_or_compile(
    pointer(cache._ptr), pointer(wanted._ptr), None, ctypes.byref(artifact), None, None
)
lib.tlc_artifact_release(artifact)
print(status, bytes(cache.get(cache.key(wanted))["code"]).decode())
"""
    )
    assert python(code, folder).finish() == "0 number = 77"


EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "python" / "backend.py"


@pytest.mark.skipif(not EXAMPLE.exists(), reason="only in the repository")
@pytest.mark.skipif(not shutil.which("cc"), reason="no host compiler")
def test_the_example(folder: Path) -> None:
    def run() -> str:
        done = subprocess.run(
            [sys.executable, str(EXAMPLE)],
            env={**os.environ, "TLC_DIR": str(folder)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    first, second = run(), run()
    assert "compiled" in first
    assert "found" in second
    assert "compiled" not in second
    assert first.count("[2.0, 5.0, 10.0]") == second.count("[2.0, 5.0, 10.0]") == 1
