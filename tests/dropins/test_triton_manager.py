# SPDX-License-Identifier: MIT
"""The manager itself, asked as Triton asks it: threads, failures, single files, waiting."""

from __future__ import annotations

import json
import random
import shutil
import time

import pytest
from dropin_tools import allowed, finish

pytest.importorskip("triton", reason="triton is not installed; tools/dev dropins installs it")
pytest.importorskip("tlcache")

# What Triton does with a manager, without its compiler.
COMPILE = """
import json, os, sys, threading, time
from triton.runtime.cache import get_cache_manager
KEY = "ab" * 32
def compile_kernel(key=KEY, seconds=0.3, fail=False, count="count"):
    manager = get_cache_manager(key)
    group = manager.get_group("k.json") or {}
    if "k.json" in group:
        return open(group["k.cubin"], "rb").read()
    with open(count, "ab", buffering=0) as file:
        file.write(b".")
    time.sleep(seconds)
    if fail:
        raise RuntimeError("the compiler says no")
    target = {"backend": "cuda", "arch": 90, "warp_size": 32}
    group = {"k.cubin": manager.put(b"code of " + key.encode(), "k.cubin")}
    group["k.json"] = manager.put(json.dumps({"name": "k", "target": target}), "k.json")
    manager.put_group("k.json", group)
    return open(group["k.cubin"], "rb").read()
"""


def count(place) -> int:
    return (place.top / "count").stat().st_size


def test_threads_of_a_process_compile_once(place) -> None:
    said = place.run(
        "-c",
        COMPILE + "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(16) as pool:\n"
        "    print(len(set(pool.map(lambda _: compile_kernel(), range(16)))))",
    )
    assert said == "1\n"
    assert count(place) == 1


def test_a_failed_compile_frees_the_others_though_its_traceback_is_kept(place) -> None:
    failing = place.start(
        "-c",
        COMPILE + "try:\n    compile_kernel(fail=True)\n"
        "except RuntimeError as error:\n    kept = error\n"
        "print('failed', flush=True)\nsys.stdin = open('/dev/null')\ntime.sleep(1000)",
    )
    assert failing.stdout.readline() == "failed\n"
    started = time.monotonic()
    place.run("-c", COMPILE + "compile_kernel(seconds=0)")
    assert time.monotonic() - started < allowed(60)  # a wait for the lock would take ten minutes
    assert failing.poll() is None
    assert count(place) == 2


def test_after_a_failure_the_next_compiles(place) -> None:
    said = place.run(
        "-c",
        COMPILE + "for fail in (True, True, False, False):\n"
        "    try:\n        compile_kernel(seconds=0, fail=fail)\n"
        "    except RuntimeError as error:\n        last = error\n"
        "print('done')",
    )
    assert said == "done\n"
    assert count(place) == 3


def test_a_miss_that_never_puts_holds_nobody_up(place) -> None:
    said = place.run(
        "-c",
        COMPILE + "kept = [get_cache_manager(KEY) for _ in range(3)]\n"
        "def ask(one):\n    return one.get_group('k.json')\n"
        "print([ask(one) for one in kept])\n"
        "thread = threading.Thread(target=compile_kernel)\nthread.start()\nthread.join(200)\n"
        "print(thread.is_alive())",
    )
    assert said == "[None, None, None]\nFalse\n"


def test_a_thread_that_asks_twice_does_not_wait_for_itself(place) -> None:
    place.run(
        "-c",
        COMPILE + "def twice():\n"
        "    first = get_cache_manager(KEY)\n    assert first.get_group('k.json') is None\n"
        "    assert get_cache_manager(KEY).get_group('k.json') is None\n"
        "    return compile_kernel(seconds=0)\n"
        "started = time.monotonic()\ntwice()\nassert time.monotonic() - started < 200",
    )


def test_processes_that_want_each_others_kernels_come_through(place) -> None:
    """Each holds one key and asks for the other's: one of them stops waiting, and compiles."""
    place.environment["PYTHONPATH"] += f":{place.top}"
    (place.top / "shorter.py").write_text("import tlcache.integrations._triton_store as store\nstore.NESTED_WAIT = 1.0\n")
    code = COMPILE + """
import shorter
mine, theirs = sys.argv[1] * 64, sys.argv[2] * 64
def outer():
    manager = get_cache_manager(mine)
    assert manager.get_group("k.json") is None
    print("holds", flush=True)
    while not os.path.exists("go"):
        time.sleep(0.01)
    return compile_kernel(theirs, seconds=0)
started = time.monotonic()
outer()
assert time.monotonic() - started < 200
"""
    both = [place.start("-c", code, "a", "b"), place.start("-c", code, "b", "a")]
    for one in both:
        assert one.stdout.readline() == "holds\n"
    (place.top / "go").touch()
    for one in both:
        finish(one)


def test_killed_at_any_moment_nothing_is_half_there(place) -> None:
    """kill -9 while kernels are looked up, written, published: what others then get is whole, and they wait for nobody."""
    place.environment["TRITON_CACHE_DIR"] = str(place.triton)
    work = COMPILE + """
print("ready", flush=True)
for number in range(100000):
    key = f"{number:064x}"
    assert compile_kernel(key, seconds=0) == b"code of " + key.encode()
"""
    generator = random.Random(2026)
    for _ in range(12):
        process = place.start("-c", work)
        assert process.stdout.readline() == "ready\n"
        time.sleep(generator.uniform(0.0, 0.3))
        process.kill()
        process.communicate()
    made = count(place)
    assert made > 12
    # With Triton's folder, and from the store alone.
    check = COMPILE + f"""
for number in range({made}):
    key = f"{{number:064x}}"
    assert compile_kernel(key, seconds=0) == b"code of " + key.encode(), key
"""
    place.run("-c", check)
    recompiled = count(place) - made
    assert recompiled <= 2 * 12  # those that were being written, one for each kill, and the look behind the last of them
    shutil.rmtree(place.triton)
    place.run("-c", check)
    assert count(place) - made == recompiled


def test_timings_of_the_autotuner_are_kept(place) -> None:
    """As triton/runtime/autotuner.py with TRITON_CACHE_AUTOTUNING=1: get_file, then put, of one file of JSON."""
    code = COMPILE + """
manager = get_cache_manager("cd" * 32)
path = manager.get_file("k.autotune.json")
if path:
    print(open(path).read())
else:
    manager.put(json.dumps({"timings": [1.5]}), "k.autotune.json", binary=False)
    print("measured")
"""
    assert place.run("-c", code) == "measured\n"
    assert json.loads(place.run("-c", code)) == {"timings": [1.5]}
    shutil.rmtree(place.triton)
    assert json.loads(place.run("-c", code)) == {"timings": [1.5]}
    assert place.tool("stats")["total"]["hits"] == 2


def test_two_single_files_of_a_key_are_kept_apart(place) -> None:
    code = COMPILE + """
manager = get_cache_manager("ef" * 32)
print([manager.get_file(name) and open(manager.get_file(name), "rb").read() for name in ("a.so", "b.so")])
manager.put(b"first", "a.so")
manager.put(b"second", "b.so")
"""
    assert place.run("-c", code) == "[None, None]\n"
    assert place.run("-c", code) == "[b'first', b'second']\n"
