# SPDX-License-Identifier: MIT
"""What goes wrong around TileLang on tlcache: it goes on, by compiling."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from dropin_tools import HERE, allowed

pytest.importorskip("tilelang", reason="tilelang is not installed; tools/dev dropins tilelang installs it")
pytest.importorskip("tlcache")

from tilelang_place import KERNELS, TileLang, right  # noqa: E402


@pytest.fixture
def tilelang(place) -> TileLang:
    return TileLang(place)


def test_a_process_killed_while_it_compiles_frees_the_others(tilelang) -> None:
    """kill -9 in the middle of a compile: the next one compiles, and does not wait for the dead."""
    compiler = Path(tilelang.environment["CXX"])
    slow = compiler.read_text().replace("exec ", f'[ -e "{tilelang.place.top}/fast" ] || sleep 60\nexec ')
    compiler.write_text(slow)
    process = tilelang.start("--kernels", 1)
    deadline = time.monotonic() + allowed(60)
    while tilelang.compiles() == 0:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (tilelang.place.top / "fast").touch()
    started = time.monotonic()
    assert right(tilelang.run("--kernels", 1))
    assert time.monotonic() - started < allowed(60)  # a wait for the lock takes ten minutes
    assert tilelang.compiles() == 2
    assert right(tilelang.run("--kernels", 1))
    assert tilelang.compiles() == 2


@pytest.mark.parametrize(("moment", "compiles"), [("before", 2), ("after", 1)])
def test_a_process_killed_while_it_saves(tilelang, moment, compiles) -> None:
    """kill -9 when TileLang has written its files, before they are published, or right after."""
    killed = tilelang.place.start(
        "-c",
        f"""
import os, signal, sys
sys.argv = ["x", "--kernels", "1"]
import tlcache.integrations.tilelang, tilelang
from tlcache.integrations._tilelang import _kernels
publish = _kernels._publish
def die(*arguments):
    if {moment!r} == "after":
        assert publish(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
_kernels._publish = die
import tilelang_compile
tilelang_compile.main()
""",
        **tilelang.environment,
    )
    killed.communicate(timeout=allowed())
    assert killed.returncode == -signal.SIGKILL
    assert right(tilelang.run("--kernels", 1))
    assert tilelang.compiles() == compiles
    assert not [path for path in tilelang.own.rglob("*") if path.is_file()]


def test_a_damaged_entry_is_made_again(tilelang) -> None:
    tilelang.run("--kernels", 1)
    shutil.rmtree(tilelang.place.store / "files", ignore_errors=True)
    for segment in tilelang.place.store.rglob("*"):
        if segment.is_file() and b"\x7fELF" in segment.read_bytes():
            data = bytearray(segment.read_bytes())
            at = data.index(b"\x7fELF")
            data[at + 200] ^= 0x40
            segment.chmod(0o600)
            segment.write_bytes(data)
    assert right(tilelang.run("--kernels", 1))
    assert tilelang.compiles() == 2
    assert right(tilelang.run("--kernels", 1))
    assert tilelang.compiles() == 2


def test_an_entry_that_tilelang_refuses_is_made_again(tilelang) -> None:
    """T27, T28: stored well, but of no use: taken out, and replaced by the next save."""
    tilelang.run("--kernels", 1)
    tilelang.place.code(
        """
        import tlcache, sys
        with tlcache.Cache() as cache:
            (entry,) = cache.list(sys.argv[1])
            old = cache.find(entry.digest.hex())
            key = tlcache.Key.decode(old.key_encoding)
            files = {name: bytes(old[name]) for name in old}
            files["params.json"] = b"not JSON"
            cache.replace(key, files, seen=old)
        """,
        KERNELS,
    )
    assert right(tilelang.run("--kernels", 1))
    assert tilelang.compiles() == 2
    assert right(tilelang.run("--kernels", 1))
    assert tilelang.compiles() == 2


def test_a_home_that_cannot_be_written_to(tilelang) -> None:
    """TileLang makes its folder when it is imported; nobody may write there, nor to the store."""
    home = tilelang.place.top / "file"
    home.write_text("no folder can be made in a file")
    nowhere = {"HOME": str(home), "TILELANG_CACHE_DIR": None, "TLC_DIR": str(home / "store")}
    assert right(tilelang.run("--kernels", 1, **nowhere))
    assert tilelang.compiles() == 1


def test_tilelangs_folder_cannot_be_written_to_but_the_store_can(tilelang) -> None:
    home = tilelang.place.top / "file"
    home.write_text("no folder can be made in a file")
    for _ in range(2):
        assert right(tilelang.run("--kernels", 1, HOME=str(home), TILELANG_CACHE_DIR=None))
    assert tilelang.compiles() == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk(tilelang) -> None:
    """Neither the store nor TileLang's folder takes anything: it compiles, and works."""
    small = tilelang.place.top / "small"
    small.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
    try:
        full = {"TLC_DIR": str(small / "store"), "TILELANG_CACHE_DIR": str(small / "own")}
        assert right(tilelang.run("--kernels", 2, **full))
        assert right(tilelang.run("--kernels", 2, **full))
    finally:
        subprocess.run(["umount", small], check=True)
    assert tilelang.compiles() == 4


def test_without_the_library_tilelang_keeps_its_own_cache(tilelang) -> None:
    """libtlcache removed: said once, and TileLang's own cache serves."""
    import tlcache

    package = Path(tlcache.__file__).parent
    copy = tilelang.place.top / "packages" / "tlcache"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("libtlcache*", "bin", "__pycache__"))
    broken = {"PYTHONPATH": f"{copy.parent}{os.pathsep}{HERE}"}
    first = tilelang.run("--kernels", 2, **broken)
    assert right(first)
    assert len(first["warnings"]) == 1 and "TileLang's own cache serves" in first["warnings"][0]
    assert right(tilelang.run("--kernels", 2, **broken))
    assert tilelang.compiles() == 2  # TileLang's own hits


@pytest.mark.parametrize("name", ["_load_kernel_from_disk", "_generate_key"])
def test_without_a_seam_tilelang_keeps_its_own_cache(tilelang, name) -> None:
    said = tilelang.place.code(
        f"""
        import sys, warnings
        sys.path.insert(0, {str(HERE)!r})
        import tilelang
        from tilelang.cache.kernel_cache import KernelCache
        own = getattr(KernelCache, {name!r})
        # As if a later TileLang had called it something else.
        setattr(KernelCache, "renamed", own)
        delattr(KernelCache, {name!r})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import tlcache.integrations.tilelang as on
        print(len([one for one in caught if "kernels" in str(one.message)]), on.state())
        setattr(KernelCache, {name!r}, own)
        import tilelang_compile
        assert tilelang_compile.scaled(64, 2.0) is not None
        """,
        **tilelang.environment,
    )
    lines = said.strip().splitlines()
    assert any(line.startswith("1 (True") and "device binaries" in line for line in lines), said
    assert tilelang.entries() == {}
    assert any(tilelang.own.rglob("*.so"))


def test_an_import_of_tilelang_that_fails_is_reported_as_ever(tilelang) -> None:
    """The hook neither hides the error nor breaks a second try."""
    broken = tilelang.place.top / "broken"
    (broken / "tilelang").mkdir(parents=True)
    (broken / "tilelang" / "__init__.py").write_text("raise ImportError('its own fault')\n")
    said = tilelang.place.code(
        """
        import tlcache.integrations.tilelang
        for _ in range(2):
            try:
                import tilelang
            except ImportError as error:
                print(error)
        """,
        PYTHONPATH=str(broken),
    )
    assert said.split("\n")[:2] == ["its own fault"] * 2


def test_a_compile_error_is_the_users_and_the_next_thread_goes_on(tilelang) -> None:
    """Eight threads on one kernel whose compiler fails: each sees the error, none waits for ever."""
    said = tilelang.place.code(
        f"""
        import sys, threading
        sys.path.insert(0, {str(HERE)!r})
        import tlcache.integrations.tilelang
        import tilelang_compile
        tilelang_compile.scaled(8, 2.0)  # imports
        seen = []
        def one():
            try:
                tilelang_compile.scaled(64, 2.0, compile_flags=["-no-such-flag"])
            except Exception as error:
                seen.append(type(error).__name__)
        threads = [threading.Thread(target=one) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join(100) for thread in threads]
        print(seen)
        """,
        **tilelang.environment,
    )
    assert said.strip().splitlines()[-1] == str(["RuntimeError"] * 8)
