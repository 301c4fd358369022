# SPDX-License-Identifier: MIT
"""What goes wrong under Triton on tlcache: it goes on, by compiling, and says so once."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from dropin_tools import artifacts, cubins, hits

pytest.importorskip("triton", reason="triton is not installed; tools/dev dropins installs it")
tlcache = pytest.importorskip("tlcache")


def test_without_the_library_tritons_own_cache_serves(place) -> None:
    package = Path(tlcache.__file__).parent
    copy = place.top / "lib"
    shutil.copytree(package, copy / "tlcache", ignore=shutil.ignore_patterns("libtlcache*", "__pycache__"))
    count = place.top / "count"
    environment = {"PYTHONPATH": f"{copy}:{place.environment['PYTHONPATH']}"}
    first = place.compile("--count", count, **environment)
    assert len(first["warnings"]) == 1
    assert "libtlcache cannot be used" in first["warnings"][0]
    place.compile("--count", count, **environment)
    assert count.stat().st_size == 3
    assert not place.store.exists()


def test_with_no_folder_at_all_kernels_are_compiled(place) -> None:
    """As in a container with a read-only home: neither store nor Triton's folder can be made."""
    nowhere = {"TLC_DIR": "/proc/nowhere", "TRITON_CACHE_DIR": "/proc/nowhere/triton"}
    temporary = place.top / "tmp"
    temporary.mkdir()
    told = place.compile(**nowhere, TMPDIR=str(temporary))
    assert len(told["kernels"]) == 3
    assert sorted(text.split(":")[0] for text in told["warnings"]) == ["tlcache", "tlcache"]
    assert any("Triton's own folder serves" in text for text in told["warnings"])
    assert any("temporary folder" in text for text in told["warnings"])
    assert list(temporary.iterdir()) == []


def test_with_the_store_alone_there_are_hits(place) -> None:
    place.compile()
    count = place.top / "count"
    told = place.compile("--count", count, TRITON_CACHE_DIR="/proc/nowhere/triton")
    assert not count.exists()
    assert len(told["warnings"]) == 1


def test_without_a_store_tritons_folder_is_used(place) -> None:
    count = place.top / "count"
    place.compile("--count", count, TLC_DIR="/proc/nowhere")
    place.compile("--count", count, TLC_DIR="/proc/nowhere")
    assert count.stat().st_size == 3


@pytest.fixture
def small_disk(tmp_path: Path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True
    ).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_on_a_full_disk_kernels_are_compiled(place, small_disk: Path) -> None:
    with open(small_disk / "filler", "wb") as filler, pytest.raises(OSError, match="No space"):
        while True:
            os.write(filler.fileno(), bytes(4096))
    told = place.compile(TLC_DIR=str(small_disk / "store"), TRITON_CACHE_DIR=str(small_disk / "triton"))
    assert len(told["kernels"]) == 3
    assert told["warnings"]
    os.unlink(small_disk / "filler")
    assert place.compile(TLC_DIR=str(small_disk / "store"), TRITON_CACHE_DIR=str(place.triton))["kernels"]


def test_a_disk_that_fills_up_on_the_way(place, small_disk: Path) -> None:
    told = place.compile(TRITON_CACHE_DIR=str(small_disk / "triton"))
    with open(small_disk / "filler", "wb") as filler, pytest.raises(OSError, match="No space"):
        while True:
            os.write(filler.fileno(), bytes(512))
    again = place.compile(TRITON_CACHE_DIR=str(small_disk / "triton2"))
    assert cubins(again) == cubins(told)


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-7], lambda data: data[:99] + b"\x00" + data[100:]])
def test_a_file_that_was_changed_in_place_is_written_again(place, damage) -> None:
    (kernel,) = place.compile("scaled_add")["kernels"].values()
    path = Path(kernel["paths"]["scaled_add.cubin"])
    sound = path.read_bytes()
    path.write_bytes(damage(sound))
    (again,) = place.compile("scaled_add")["kernels"].values()
    assert again["cubin"] == kernel["cubin"]
    assert path.read_bytes() == sound
    assert hits(place) == 1


def test_a_damaged_store_entry_is_compiled_again(place) -> None:
    count = place.top / "count"
    first = place.compile("square_product", "--count", count)
    shutil.rmtree(place.triton)
    segments = [path for path in place.store.rglob("*") if path.is_file() and path.stat().st_size > 60000]
    hurt = 0
    for path in segments:
        data = path.read_bytes()
        at = data.find(b"\x7fELF")
        if at >= 0:
            with open(path, "r+b") as file:
                file.seek(at + 4096)
                file.write(b"damage")
            hurt += 1
    assert hurt == 1
    again = place.compile("square_product", "--count", count)
    assert count.stat().st_size == 2
    assert cubins(again) == cubins(first)
    shutil.rmtree(place.triton)
    place.compile("square_product", "--count", count)
    assert count.stat().st_size == 2


def test_a_removed_entry_is_compiled_again_without_tritons_folder(place) -> None:
    count = place.top / "count"
    place.compile("scaled_add", "--count", count)
    assert len(artifacts(place)) == 1
    place.tool("clear", "--all")
    shutil.rmtree(place.triton)
    place.compile("scaled_add", "--count", count)
    assert count.stat().st_size == 2


def test_what_others_can_write_is_used_but_not_stored(place) -> None:
    count = place.top / "count"
    place.compile("scaled_add", "--count", count, TRITON_CACHE_MANAGER=None)
    for folder in place.triton.iterdir():
        folder.chmod(0o777)
    place.compile("scaled_add", "--count", count)
    assert count.stat().st_size == 1
    assert artifacts(place) == {}


def test_the_module_can_be_imported_without_triton(place) -> None:
    said = place.code(
        """
        import sys
        sys.modules["triton"] = None
        import tlcache.integrations.triton as integration
        from tlcache import integrations
        print(integration.state()[0], [row.name for row in integrations.status()])
        print("tlcache._native" in sys.modules)
        """
    )
    assert said.startswith("True ['tilelang', 'triton']")


def test_a_triton_that_is_otherwise_keeps_its_own_cache(place) -> None:
    said = place.code(
        """
        import warnings
        import triton.runtime.cache as cache
        class Strange(cache.CacheManager):
            def __init_subclass__(cls): raise TypeError("no subclasses")
        cache.CacheManager = Strange
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import tlcache.integrations.triton as integration
            assert integration.TLCacheManager is cache.FileCacheManager
            assert integration.TLCacheManager is cache.FileCacheManager
        print([str(one.message) for one in caught])
        """
    )
    assert said.count("tlcache:") == 1
    assert "not as expected" in said
