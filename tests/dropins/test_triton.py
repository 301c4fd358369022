# SPDX-License-Identifier: MIT
"""Triton, unmodified, on tlcache: what hits, what is compiled, how often. Compiles for sm_90; needs no device."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from dropin_tools import HERE, allowed, artifacts, cubins, finish, hits

triton = pytest.importorskip("triton", reason="triton is not installed; tools/dev dropins installs it")
pytest.importorskip("tlcache")

COMPILE = HERE / "triton_compile.py"


def test_a_second_process_hits_with_tritons_folder_gone(place) -> None:
    count = place.top / "count"
    first = place.compile("--count", count)
    assert count.stat().st_size == len(first["kernels"]) == 3
    assert first["warnings"] == []
    assert hits(place) == 0
    shutil.rmtree(place.triton)
    second = place.compile("--count", count)
    assert count.stat().st_size == 3
    assert hits(place) == 3
    assert cubins(second) == cubins(first)
    assert second["warnings"] == []


def test_a_changed_option_is_compiled_and_why_names_it(place) -> None:
    first = place.compile("scaled_add")
    before = artifacts(place)
    changed = place.compile("scaled_add", "--option", "num_warps=8")
    assert cubins(first) != cubins(changed)
    (new,) = artifacts(place).keys() - before.keys()
    told = place.tool("why", new)
    assert told["nearest"]["digest"] in before
    different = {one["path"]: (one["was"], one["now"]) for one in told["nearest"]["differences"]}
    assert different.pop("options.num_warps") == ("4", "8")
    # The hash that Triton gave, and nothing else.
    assert set(different) == {"key"}


def test_files_are_where_inductor_expects_them(place) -> None:
    """Inductor reads <TRITON_CACHE_DIR>/<base32 of the hash>/<name>.cubin, and lists that folder for its bundles."""
    import base64

    place.compile("scaled_add")
    shutil.rmtree(place.triton)
    (kernel,) = place.compile("scaled_add")["kernels"].values()
    digest = bytes.fromhex(kernel["hash"])
    (folder,) = place.triton.iterdir()
    # Newest first: base32, base64 in 3.2, hexadecimal before.
    assert folder.name in (
        base64.b32encode(digest).decode().rstrip("="),
        base64.urlsafe_b64encode(digest).decode().rstrip("="),
        kernel["hash"],
    )
    names = {path.name for path in folder.iterdir()}
    assert {"scaled_add.cubin", "scaled_add.json", "scaled_add.ptx", "__grp__scaled_add.json"} <= names
    assert all(name.startswith(("scaled_add.", "__grp__")) for name in names)
    assert {Path(path).parent for path in kernel["paths"].values()} == {folder}


def test_eight_processes_compile_a_cold_kernel_once(place) -> None:
    count, go = place.top / "count", place.top / "go"
    started = [place.start(COMPILE, "square_product", "--count", count, "--wait", go) for _ in range(8)]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    go.touch()
    reports = [finish(process) for process in started]
    assert count.stat().st_size == 1
    assert len({report.split('"cubin": ')[1][:70] for report in reports}) == 1


def test_what_triton_had_before_is_taken_over_and_stays_its_own(place) -> None:
    count = place.top / "count"
    own = place.compile("--count", count, TRITON_CACHE_MANAGER=None)
    assert count.stat().st_size == 3
    assert cubins(place.compile("--count", count)) == cubins(own)
    assert count.stat().st_size == 3
    shutil.rmtree(place.triton)
    place.compile("--count", count)
    # Off again: Triton reads the files that tlcache put there.
    assert cubins(place.compile("--count", count, TRITON_CACHE_MANAGER=None)) == cubins(own)
    assert count.stat().st_size == 3


def test_told_to_compile_triton_compiles(place) -> None:
    count = place.top / "count"
    first = place.compile("scaled_add", "--count", count)
    again = place.compile("scaled_add", "--count", count, TRITON_ALWAYS_COMPILE="1")
    assert count.stat().st_size == 2
    assert cubins(first) == cubins(again)


@pytest.mark.skipif(not hasattr(triton, "knobs"), reason="this Triton has no TRITON_STORE_BINARY_ONLY")
def test_only_the_binary_is_kept_where_triton_is_told_so(place) -> None:
    place.compile("scaled_add", TRITON_STORE_BINARY_ONLY="1")
    shutil.rmtree(place.triton)
    (kernel,) = place.compile("scaled_add", TRITON_STORE_BINARY_ONLY="1")["kernels"].values()
    assert {name.rsplit(".")[-1] for name in kernel["paths"]} <= {"cubin", "json", "source"}


def test_dumps_and_overrides_stay_tritons_own(place) -> None:
    dump = place.top / "dump"
    place.compile("scaled_add", TRITON_KERNEL_DUMP="1", TRITON_DUMP_DIR=str(dump), HOME=str(place.top / "home"))
    dumped = [*place.top.glob("dump/*/scaled_add.ttir"), *place.top.glob("home/.triton/dump/*/scaled_add.ttir")]
    assert len(dumped) == 1


def test_a_process_that_was_forked_hits_and_publishes(place) -> None:
    said = place.code(
        """
        import os, sys
        sys.argv = ["x"]
        import triton, triton_compile
        from triton.backends.compiler import GPUTarget
        triton_compile.count_compiles("count")
        def build(name, **options):
            return triton.compile(triton_compile.source_of(name), target=GPUTarget("cuda", 90, 32), options=options).asm["cubin"]
        first = build("scaled_add")
        for number in range(4):
            child = os.fork()
            if child == 0:
                same = build("scaled_add") == first
                build("row_maximum", num_warps=1 << number)
                os._exit(0 if same else 1)
            assert os.waitpid(child, 0)[1] == 0
        build("row_maximum", num_warps=2)
        print("done")
        """
    )
    assert said == "done\n"
    assert len(artifacts(place)) == 5
    assert (place.top / "count").stat().st_size == 5


def test_activation_by_the_autoload_variable(place) -> None:
    pytest.importorskip("tlcache_autoload", reason="tlcache-autoload is not installed")
    place.environment["TLC_INTEGRATIONS"] = "triton"
    place.compile("scaled_add", TRITON_CACHE_MANAGER=None)
    assert len(artifacts(place)) == 1
    place.environment["TLC_INTEGRATIONS"] = ""
    place.compile("row_maximum", TRITON_CACHE_MANAGER=None)
    assert len(artifacts(place)) == 1


def test_a_killed_leader_frees_the_rest(place) -> None:
    """kill -9 in the middle of a compile: the next process compiles, at once."""
    killed = place.start(
        "-c",
        "import os, signal, sys; sys.argv = ['x', 'scaled_add']\n"
        "import triton_compile\n"
        "def die():\n    print('there', flush=True); signal.pause()\n"
        "triton_compile.before_last_stage(die)\n"
        "triton_compile.main()",
    )
    assert killed.stdout.readline() == "there\n"
    waiter = place.start(COMPILE, "scaled_add")
    time.sleep(2.5)
    assert waiter.poll() is None
    killed.kill()
    died = time.monotonic()
    assert "cubin" in finish(waiter)
    assert time.monotonic() - died < allowed(30)  # a wait for the lock takes ten minutes
    assert len(artifacts(place)) == 1
