# SPDX-License-Identifier: MIT
"""Several processes on one store; fork; signals; the end of the interpreter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tlcache

PRELUDE = """
import os, sys, time, tlcache
folder = sys.argv[1]
cache = tlcache.Cache(folder, strict=True)
def request(**fields):
    return tlcache.Request("pytest", toolchain=tlcache.NO_TOOLCHAIN, fields=fields)
"""


def test_what_one_process_puts_another_gets(folder: Path, python: Any) -> None:
    writer = PRELUDE + "cache.put(request(a=1).key(), {'m': b'from one'})"
    reader = PRELUDE + "print(bytes(cache.get(request(a=1).key())['m']).decode())"
    python(writer, folder).finish()
    assert python(reader, folder).finish() == "from one"


def test_a_live_process_sees_what_another_changes(
    cache: tlcache.Cache, folder: Path, key_of: Any, python: Any
) -> None:
    code = (
        PRELUDE
        + """
key = request(a=1).key()
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""
    )
    other = python(code, folder)

    def tell(line: str) -> None:
        other.process.stdin.write(line + "\n")
        other.process.stdin.flush()
        assert other.line() == "done"

    tell("seen = cache.put(key, {'m': b'1'})")
    held = cache.get(key_of(a=1))
    assert held["m"] == b"1"
    tell("seen = cache.replace(key, {'m': b'2'}, seen=seen)")
    assert cache.get(key_of(a=1))["m"] == b"2"
    tell("cache.remove(key)")
    assert cache.get(key_of(a=1)) is None
    assert held["m"] == b"1"


def test_eight_processes_compile_a_cold_key_once(folder: Path, tmp_path: Path, python: Any) -> None:
    code = (
        PRELUDE
        + """
def compile(_request, _key):
    with open(sys.argv[2], "a") as counter:
        counter.write("x")
    time.sleep(1)
    return {"m": b"made"}
sys.stdin.read()
print(bytes(cache.get_or_compile(request(a=1), compile)["m"]).decode())
"""
    )
    count = tmp_path / "count"
    processes = [python(code, folder, count) for _ in range(8)]
    for one in processes:
        one.process.stdin.close()
        one.process.stdin = None
    assert [one.finish() for one in processes] == ["made"] * 8
    assert count.read_text() == "x"


def test_a_killed_leader_frees_the_rest(folder: Path, python: Any, cache: Any, key_of: Any) -> None:
    leader = python(
        PRELUDE
        + "turn = cache.begin(request(a=1).key())\nprint('locked', flush=True)\ntime.sleep(600)",
        folder,
    )
    assert leader.line() == "locked"
    with pytest.raises(tlcache.TimeoutError):
        cache.begin(key_of(a=1), timeout=0.2)
    leader.process.kill()
    started = time.monotonic()
    with cache.begin(key_of(a=1)) as turn:
        assert turn.artifact is None
    assert time.monotonic() - started < 2


def test_the_command_sees_the_same_store(cache: tlcache.Cache, folder: Path, key_of: Any) -> None:
    cache.put(key_of(a=1), {"m": b"1"}, label="from python")

    def command(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "tlcache", *arguments],
            env={**os.environ, "TLC_DIR": str(folder)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout

    assert "from python" in command("ls")
    assert json.loads(command("stats", "--json"))
    assert key_of(a=1).hex[:8] in command("show", key_of(a=1).hex[:12])


def test_keys_are_the_same_in_every_process(python: Any, tmp_path: Path, key_of: Any) -> None:
    code = PRELUDE + "print(request(z={'b': 1, 'a': [2.5, None]}, a='ü').key().hex)"
    keys = {python(code, tmp_path / "s").finish() for _ in range(3)}
    assert keys == {key_of(z={"b": 1, "a": [2.5, None]}, a="ü").hex}


def test_the_interpreter_ends_with_everything_alive(folder: Path, python: Any) -> None:
    code = (
        PRELUDE
        + """
import threading
key = request(a=1).key()
artifact = cache.put(key, {"m": b"x" * 100000})
view = artifact["m"][5:]
turn = cache.begin(request(a=2).key())
bundle = tlcache.Bundle({"m": view})
module_level = [artifact, view, key, turn]
module_level.append(module_level)
def spin():
    while True:
        cache.get(key)["m"][0]
for _ in range(4):
    threading.Thread(target=spin, daemon=True).start()
time.sleep(0.1)
print("end")
"""
    )
    for _ in range(5):
        assert python(code, folder).finish() == "end"


def test_any_order_of_release(folder: Path, python: Any) -> None:
    code = (
        PRELUDE
        + """
import gc, itertools
key = request(a=1).key()
cache.put(key, {"m": b"x" * 1000})
for order in itertools.permutations(range(5)):
    mine = tlcache.Cache(folder)
    held = [mine, mine.get(key), None, None, mine.begin(request(b=1).key())]
    held[2] = held[1]["m"]
    held[3] = held[2][3:7]
    del mine
    for index in order:
        held[index] = None
        gc.collect(0)
        if held[3] is not None:
            assert held[3] == b"xxxx"
print("end")
"""
    )
    assert python(code, folder).finish() == "end"


def test_fork_with_a_live_artifact(folder: Path, python: Any) -> None:
    code = (
        PRELUDE
        + """
import gc
key = request(a=1).key()
artifact = cache.put(key, {"m": b"x" * 100000})
view = artifact["m"]
for round in range(5):
    pid = os.fork()
    if pid == 0:
        assert view[:3] == b"xxx"
        assert cache.get(key)["m"] == view
        cache.put(request(child=round).key(), {"m": b"child"})
        del artifact, view
        gc.collect()
        cache.close()
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert cache.get(request(child=round).key())["m"] == b"child"
    assert view[:3] == b"xxx"
print("end")
"""
    )
    assert python(code, folder).finish() == "end"


def test_a_compile_lock_stays_with_the_parent(folder: Path, python: Any) -> None:
    code = (
        PRELUDE
        + """
turn = cache.begin(request(a=1).key())
pid = os.fork()
if pid == 0:
    try:
        turn.publish({"m": b"child"})
    except tlcache.ForkedError:
        os._exit(7)
    os._exit(8)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
assert turn.publish({"m": b"parent"}).stored
print(bytes(cache.get(request(a=1).key())["m"]).decode())
"""
    )
    assert python(code, folder).finish() == "parent"


def test_ctrl_c_ends_a_wait(folder: Path, python: Any, cache: tlcache.Cache, key_of: Any) -> None:
    code = (
        PRELUDE
        + """
print("waiting", flush=True)
try:
    if sys.argv[2] == "begin":
        cache.begin(request(a=1).key())
    else:
        cache.get_or_compile(request(a=1), lambda *_: {"m": b"2"})
    print("went on")
except KeyboardInterrupt:
    print("interrupted")
"""
    )
    with cache.begin(key_of(a=1)):
        for way in ("begin", "get_or_compile"):
            waiter = python(code, folder, way)
            assert waiter.line() == "waiting"
            time.sleep(0.5)
            waiter.process.send_signal(signal.SIGINT)
            started = time.monotonic()
            assert waiter.finish() == "interrupted"
            assert time.monotonic() - started < 5


def test_a_handler_that_returns_does_not_end_a_wait(
    folder: Path, python: Any, cache: tlcache.Cache, key_of: Any
) -> None:
    code = (
        PRELUDE
        + """
import signal
signal.signal(signal.SIGINT, lambda *_: print("handled", flush=True))
print("waiting", flush=True)
with cache.begin(request(a=1).key()) as turn:
    print(bytes(turn.artifact["m"]).decode())
assert signal.getsignal(signal.SIGINT)
os.kill(os.getpid(), signal.SIGINT)
"""
    )
    with cache.begin(key_of(a=1)) as turn:
        waiter = python(code, folder)
        assert waiter.line() == "waiting"
        time.sleep(0.5)
        waiter.process.send_signal(signal.SIGINT)
        assert waiter.line() == "handled"
        turn.publish({"m": b"published"})
    assert waiter.finish() == "published\nhandled"


def test_ctrl_c_in_a_callback_is_the_callers(folder: Path, python: Any) -> None:
    code = (
        PRELUDE
        + """
import signal
def compile(*_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
try:
    cache.get_or_compile(request(a=1), compile)
except KeyboardInterrupt:
    print("interrupted")
print(bytes(cache.get_or_compile(request(a=1), lambda *_: {"m": b"later"})["m"]).decode())
"""
    )
    assert python(code, folder).finish() == "interrupted\nlater"


def test_another_language_by_the_c_functions(folder: Path, python: Any, key_of: Any) -> None:
    """A program that calls the C library itself, here by ctypes, finds what Python published."""
    with tlcache.Cache(folder, strict=True) as cache:
        cache.put(key_of(a=1), {"m": b"from python"})
    code = """
import ctypes, os, sys
class Str(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("len", ctypes.c_size_t)]
class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("directory", Str),
                ("limit", ctypes.c_uint64), ("flags", ctypes.c_uint64)]
lib = ctypes.CDLL(sys.argv[2])
lib.tlc_artifact_data.restype = ctypes.c_void_p
options = Options()
lib.tlc_cache_options_init(ctypes.byref(options))
folder = os.fsencode(sys.argv[1])
options.directory = Str(folder, len(folder))
cache, key, artifact = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert lib.tlc_cache_open(ctypes.byref(options), ctypes.byref(cache), None) == 0
encoding = bytes.fromhex(sys.argv[3])
assert lib.tlc_key_decode(encoding, ctypes.c_size_t(len(encoding)), ctypes.byref(key), None) == 0
assert lib.tlc_cache_get(cache, key, ctypes.byref(artifact), None) == 0
size = ctypes.c_size_t()
data = lib.tlc_artifact_data(artifact, ctypes.c_size_t(0), ctypes.byref(size))
print(ctypes.string_at(data, size.value).decode())
lib.tlc_artifact_release(artifact)
lib.tlc_key_release(key)
lib.tlc_cache_close(cache)
"""
    library = next(Path(tlcache.__file__).parent.glob("libtlcache*.so.0"))
    encoding = key_of(a=1).encoding.hex()
    assert python(code, folder, library, encoding).finish() == "from python"


def test_two_stores_share_a_folder_as_a_remote(tmp_path: Path, request_of: Any) -> None:
    request = request_of(name="kernel")
    for store, compiles in (("a", 1), ("b", 0)):
        remote = f"dir:{tmp_path / 'net'}?host={store}"
        with tlcache.Cache(tmp_path / store, strict=True, remotes=remote) as cache:
            artifact = cache.get_or_compile(request, lambda _request, _key: {"code": b"bytes"})
            assert bytes(artifact["code"]) == b"bytes"
            stats = cache.stats()
            assert (stats.compiles, stats.remote_hits, stats.remote_errors) == (compiles, 1 - compiles, 0)
            assert cache.describe()["remotes"][0]["state"] == "ready"
