# SPDX-License-Identifier: MIT
"""Publishing, finding, and the memory of what is found."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import tlcache

BIG = bytes(range(256)) * 1024


def test_a_put_is_found_again(cache: tlcache.Cache, key_of: Any) -> None:
    assert cache.get(key_of(a=1)) is None
    put = cache.put(key_of(a=1), {"k.so": BIG, "meta.json": b"{}"}, compile_time=1.5, label="mine")
    assert put.stored
    assert put.status == tlcache.Status.OK
    found = cache.get(key_of(a=1))
    assert found is not None
    assert list(found) == ["k.so", "meta.json"]
    assert found["k.so"] == BIG
    assert dict(found) == {"k.so": BIG, "meta.json": b"{}"}
    assert "k.so" in found
    assert "other" not in found
    assert len(found) == 2
    info = found.info
    assert info.label == "mine"
    assert info.namespace == "pytest"
    assert info.compile_time == 1.5
    assert info.size == len(BIG) + 2
    assert info.member_count == 2
    assert info.digest == key_of(a=1).digest
    assert abs(info.created - time.time()) < 60
    assert found.key_encoding == key_of(a=1).encoding
    assert "k.so" in repr(found)


def test_a_second_put_keeps_what_is_there(cache: tlcache.Cache, key_of: Any) -> None:
    cache.put(key_of(a=1), {"m": b"first"})
    again = cache.put(key_of(a=1), {"m": b"second"})
    assert again.status == tlcache.Status.EXISTED
    assert again.stored
    assert again["m"] == b"first"


def test_members_of_every_kind_of_buffer(cache: tlcache.Cache, key_of: Any) -> None:
    members = {
        "bytes": b"abc",
        "array": bytearray(b"def"),
        "view": memoryview(b"-g-h-i-")[1::2],
        "empty": b"",
        "große datei.bin": b"name",
    }
    found = cache.put(key_of(a=1), members)
    assert {name: bytes(found[name]) for name in found} == {
        "bytes": b"abc",
        "array": b"def",
        "view": b"ghi",
        "empty": b"",
        "große datei.bin": b"name",
    }
    assert found.read("empty") == b""
    assert found["bytes"].format == "B"


def test_a_change_after_the_put_changes_nothing(cache: tlcache.Cache, key_of: Any) -> None:
    data = bytearray(b"before" * 1000)
    put = cache.put(key_of(a=1), {"m": data})
    data[:6] = b"after!"
    assert put["m"] == b"before" * 1000
    assert cache.get(key_of(a=1))["m"] == b"before" * 1000


@pytest.mark.parametrize("members", [{}, {"a/b": b""}, {"": b""}, {"..": b""}, {"a\0b": b""}])
def test_wrong_members_are_refused(cache: tlcache.Cache, key_of: Any, members: Any) -> None:
    with pytest.raises(tlcache.InvalidError):
        cache.put(key_of(a=1), members)
    assert cache.get(key_of(a=1)) is None


def test_wrong_python_types_are_type_errors(cache: tlcache.Cache, key_of: Any) -> None:
    for members in ({"a": "text"}, {1: b""}, [("a", b"")], None):
        with pytest.raises(TypeError):
            cache.put(key_of(a=1), members)
    with pytest.raises(ValueError, match="nowhere"):
        cache.put(key_of(a=1), {"a": b""}, types={"nowhere": 1})


def test_types_are_kept(cache: tlcache.Cache, key_of: Any) -> None:
    types = {"a": tlcache.MemberType.SOURCE, "b": 12345}
    found = cache.put(key_of(a=1), {"a": b"", "b": b"", "c": b""}, types=types)
    assert found.type("a") is tlcache.MemberType.SOURCE
    assert found.type("b") == 12345
    assert found.type("c") is tlcache.MemberType.OPAQUE
    with pytest.raises(tlcache.NotFoundError, match="'a', 'b', 'c'"):
        found.type("d")


def test_memory_cannot_be_written(cache: tlcache.Cache, key_of: Any) -> None:
    view = cache.put(key_of(a=1), {"m": b"abc"})["m"]
    assert view.readonly
    with pytest.raises(TypeError):
        view[0] = 1


def test_memory_outlives_everything_else(folder: Path, key_of: Any) -> None:
    cache = tlcache.Cache(folder, strict=True)
    cache.put(key_of(a=1), {"m": BIG})
    artifact = cache.get(key_of(a=1))
    part = artifact["m"][100:200]
    nested = part[10:20][1:]
    cache.clear(None)
    cache.close()
    del artifact, cache
    gc.collect()
    assert part == BIG[100:200]
    del part
    gc.collect()
    assert nested == BIG[111:120]


def test_releasing_a_view_does_not_harm_the_next(cache: tlcache.Cache, key_of: Any) -> None:
    artifact = cache.put(key_of(a=1), {"m": BIG})
    with artifact["m"] as view:
        assert view[0] == 0
    assert artifact["m"] == BIG


def test_numpy_keeps_the_memory(folder: Path, key_of: Any) -> None:
    numpy = pytest.importorskip("numpy")
    with tlcache.Cache(folder, strict=True) as cache:
        array = numpy.frombuffer(cache.put(key_of(a=1), {"m": BIG})["m"], dtype=numpy.uint16)
    gc.collect()
    assert array.tobytes() == BIG
    assert not array.flags.writeable
    assert array.ctypes.data % 64 == 0


def test_a_view_costs_no_copy(cache: tlcache.Cache, key_of: Any) -> None:
    numpy = pytest.importorskip("numpy")
    cache.put(key_of(a=1), {"m": BIG})
    one, two = (numpy.frombuffer(cache.get(key_of(a=1))["m"], numpy.uint8) for _ in range(2))
    assert one.ctypes.data == two.ctypes.data


def test_read_copies(cache: tlcache.Cache, key_of: Any) -> None:
    artifact = cache.put(key_of(a=1), {"m": BIG, "n": b"n"})
    assert artifact.read("m") == BIG
    assert type(artifact.read("n")) is bytes
    buffer = bytearray(len(BIG) + 5)
    assert artifact.read_into("m", buffer) == len(BIG)
    assert buffer[: len(BIG)] == BIG
    with pytest.raises(tlcache.InvalidError):
        artifact.read_into("m", bytearray(3))
    for read in (artifact.read, artifact.__getitem__):
        with pytest.raises(KeyError if read != artifact.read else LookupError):
            read("absent")


def test_the_folder_holds_the_members(cache: tlcache.Cache, key_of: Any) -> None:
    folder = cache.put(key_of(a=1), {"m.bin": BIG, "n": b""}).folder()
    assert isinstance(folder, Path)
    assert sorted(os.listdir(folder)) == ["m.bin", "n"]
    assert (folder / "m.bin").read_bytes() == BIG


def test_replace_sees_what_it_replaces(cache: tlcache.Cache, key_of: Any) -> None:
    key = key_of(a=1)
    first = cache.replace(key, {"m": b"1"}, seen=None)
    second = cache.replace(key, {"m": b"2"}, seen=first)
    assert second.info.generation > first.info.generation
    assert first["m"] == b"1"
    assert cache.get(key)["m"] == b"2"
    for seen in (first, None):
        with pytest.raises(tlcache.ConflictError) as caught:
            cache.replace(key, {"m": b"3"}, seen=seen)
        assert caught.value.status == tlcache.Status.CONFLICT
    assert cache.get(key)["m"] == b"2"


def test_amend_adds_members(cache: tlcache.Cache, key_of: Any) -> None:
    first = cache.put(key_of(a=1), {"m": b"1", "keep": b"k"})
    cache.amend(key_of(a=1), {"m": b"2", "more": b"x"}, seen=first)
    found = cache.get(key_of(a=1))
    assert {name: bytes(found[name]) for name in found} == {"m": b"2", "keep": b"k", "more": b"x"}


def test_remove_invalidate_clear(cache: tlcache.Cache, key_of: Any) -> None:
    one = cache.put(key_of(a=1), {"m": b"1"})
    assert cache.remove(key_of(a=1))
    assert not cache.remove(key_of(a=1))
    assert cache.get(key_of(a=1)) is None
    assert one["m"] == b"1"
    two = cache.put(key_of(a=2), {"m": b"2"})
    assert cache.invalidate(two)
    assert cache.get(key_of(a=2)) is None
    for value in range(5):
        cache.put(key_of(b=value), {"m": b"x"})
    with pytest.raises(tlcache.InvalidError):
        cache.clear("")
    assert cache.clear("pytest") == 5
    assert cache.list() == []


def test_link_and_find(cache: tlcache.Cache, key_of: Any) -> None:
    cache.put(key_of(a=1), {"m": b"1"})
    cache.link(key_of(frontend=1), key_of(a=1))
    assert cache.get(key_of(frontend=1))["m"] == b"1"
    assert cache.find(key_of(a=1).hex[:8])["m"] == b"1"
    assert cache.find("0123456789abcdef") is None


def test_a_guard_makes_a_miss(cache: tlcache.Cache, key_of: Any, tmp_path: Path) -> None:
    header = tmp_path / "a.h"
    header.write_text("#define A 1\n")
    bundle = tlcache.Bundle({"m": b"1"}).guard(header).absent(tmp_path / "b.h")
    cache.put(key_of(a=1), bundle)
    assert cache.get(key_of(a=1)) is not None
    (tmp_path / "b.h").write_text("")
    assert cache.get(key_of(a=1)) is None
    (tmp_path / "b.h").unlink()
    assert cache.get(key_of(a=1)) is not None
    header.write_text("#define A 2\n")
    assert cache.get(key_of(a=1)) is None
    assert str(header) in str(cache.explain(key_of(a=1)))


def test_what_is_too_large_is_usable_all_the_same(folder: Path, key_of: Any) -> None:
    with tlcache.Cache(folder, limit="64M", strict=True) as cache:
        assert cache.stats().limit_bytes == 64 << 20
        large = bytes(16 << 20)
        put = cache.put(key_of(a=1), {"m": large})
        assert put.status == tlcache.Status.TOO_LARGE
        assert not put.stored
        assert put.reason
        assert put["m"] == large


def test_a_required_member(cache: tlcache.Cache) -> None:
    request = tlcache.Request(
        "pytest", toolchain=tlcache.NO_TOOLCHAIN, fields={"a": 1}, require=("k.so",)
    )
    with pytest.raises(tlcache.CompileError, match=r"k\.so"):
        cache.get_or_compile(request, lambda *_: {"other": b"x"})
    assert cache.get(cache.key(request)) is None
    assert cache.get_or_compile(request, lambda *_: {"k.so": b"x"})["k.so"] == b"x"


def test_stats_list_and_reports(cache: tlcache.Cache, key_of: Any) -> None:
    cache.put(key_of(a=1), {"m": b"1"}, compile_time=2, label="one")
    assert cache.get(key_of(a=2)) is None
    assert cache.get(key_of(a=1)) is not None
    stats = cache.stats()
    assert stats.puts == 1
    assert stats.hits >= 1
    assert stats.misses >= 1
    assert stats.entries == 1
    assert stats.disk_bytes > 0
    assert cache.stats("pytest").puts == 1
    with pytest.raises(tlcache.NotFoundError):
        cache.stats("nobody")
    (entry,) = cache.list("pytest")
    assert entry.kind == "artifact"
    assert entry.label == "one"
    assert entry.digest == key_of(a=1).digest
    assert tlcache.Key.decode(entry.key_encoding) == key_of(a=1)
    assert cache.list("nobody") == []
    assert cache.explain(key_of(a=1))["outcome"] == "hit"
    assert cache.explain(key_of(a=3))["outcome"] == "never"
    assert cache.verify()["damaged"] == []
    assert "freed" in str(cache.gc())
    assert cache.describe()
    assert "cpu" in str(cache.backends())
    assert cache.report()


def test_progress_can_stop_and_raise(cache: tlcache.Cache, key_of: Any) -> None:
    for value in range(10):
        cache.put(key_of(a=value), {"m": BIG})
    seen: list[tuple[int, int]] = []
    cache.verify(progress=lambda done, total: seen.append((done, total)))
    assert seen
    with pytest.raises(tlcache.CancelledError):
        cache.verify(progress=lambda done, total: False)
    with pytest.raises(ZeroDivisionError):
        cache.verify(progress=lambda done, total: 1 // 0)


def test_configure_changes_the_limit(cache: tlcache.Cache) -> None:
    cache.configure("limit", "128M")
    assert cache.stats().limit_bytes == 128 << 20
    with pytest.raises(tlcache.InvalidError):
        cache.configure("limit", "lots")


def test_threads_put_and_get(cache: tlcache.Cache, key_of: Any) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for value in range(40):
                key = key_of(v=value)
                found = cache.get(key) or cache.put(key, {"m": b"%d" % value * 100})
                assert found["m"] == b"%d" % value * 100
                if value % 10 == number:
                    cache.remove(key)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_close_while_threads_work(folder: Path, key_of: Any) -> None:
    cache = tlcache.Cache(folder, strict=True)
    key = key_of(a=1)
    cache.put(key, {"m": BIG})
    ends: list[str] = []

    def work() -> None:
        try:
            while True:
                found = cache.get(key)
                assert found is not None
                assert found["m"] == BIG
        except tlcache.InvalidError as error:
            ends.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    cache.close()
    for thread in threads:
        thread.join(30)
    assert ends == ["the cache is closed"] * 4


def test_a_closed_cache_answers_clearly(folder: Path, key_of: Any, request_of: Any) -> None:
    cache = tlcache.Cache(folder)
    artifact = cache.put(key_of(a=1), {"m": b"1"})
    cache.close()
    cache.close()
    for call in (
        lambda: cache.get(key_of(a=1)),
        lambda: cache.put(key_of(a=1), {"m": b""}),
        lambda: cache.key(request_of(a=1)),
        lambda: cache.begin(key_of(a=1)),
        lambda: cache.load(artifact),
        cache.stats,
        cache.list,
        cache.__enter__().describe,
    ):
        with pytest.raises(tlcache.InvalidError, match="closed"):
            call()
    assert artifact["m"] == b"1"


def test_opening(tmp_path: Path, key_of: Any) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(tlcache.TLCacheError) as caught:
        tlcache.Cache(blocked / "store", strict=True)
    assert str(blocked) in str(caught.value)
    with tlcache.Cache(blocked / "store") as cache:
        assert cache.put(key_of(a=1), {"m": b"1"})["m"] == b"1"
        assert str(blocked) in str(cache.describe())
    with tlcache.Cache(memory=True) as cache:
        cache.put(key_of(a=1), {"m": b"1"})
        assert cache.get(key_of(a=1))["m"] == b"1"
        assert cache.get(key_of(a=1)).info.tier == tlcache.Tier.MEMORY
    for limit in (0, -1, "ten", "", "1.5G", "G"):
        with pytest.raises(tlcache.InvalidError):
            tlcache.Cache(tmp_path / "s", limit=limit)
    with pytest.raises(tlcache.InvalidError):
        tlcache.Cache("")


def test_read_only(folder: Path, key_of: Any) -> None:
    with tlcache.Cache(folder, strict=True) as cache:
        cache.put(key_of(a=1), {"m": b"1"})
    with tlcache.Cache(folder, read_only=True, strict=True) as cache:
        assert cache.get(key_of(a=1))["m"] == b"1"
        put = cache.put(key_of(a=2), {"m": b"2"})
        assert put.status == tlcache.Status.NOT_STORED
        assert put.reason
        assert put["m"] == b"2"
        with pytest.raises(tlcache.StoreError):
            cache.remove(key_of(a=1))
