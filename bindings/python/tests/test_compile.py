# SPDX-License-Identifier: MIT
"""One compile for many: begin, get_or_compile, what their callbacks do."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import tlcache


class SourceError(Exception):
    """An exception of the caller's own."""


def test_begin_publishes_once(cache: tlcache.Cache, key_of: Any) -> None:
    with cache.begin(key_of(a=1)) as turn:
        assert isinstance(turn, tlcache.CompileLock)
        assert turn.artifact is None
        time.sleep(0.05)
        published = turn.publish({"m": b"1"}, label="made")
        assert turn.artifact is published
    assert published.info.compile_time >= 0.05
    with cache.begin(key_of(a=1)) as turn:
        assert isinstance(turn, tlcache.Hit)
        assert turn.artifact["m"] == b"1"
        with pytest.raises(tlcache.InvalidError, match="found already"):
            turn.publish({"m": b"2"})


def test_a_lock_ends_once(cache: tlcache.Cache, key_of: Any) -> None:
    turn = cache.begin(key_of(a=1))
    turn.publish({"m": b"1"})
    turn.abandon()
    for end in (lambda: turn.publish({"m": b"1"}), lambda: turn.fail("late")):
        with pytest.raises(tlcache.InvalidError, match="ended already"):
            end()


def test_leaving_the_block_without_publishing_abandons(cache: tlcache.Cache, key_of: Any) -> None:
    with cache.begin(key_of(a=1)):
        pass
    with cache.begin(key_of(a=1), timeout=0) as turn:
        assert turn.artifact is None
    turn = cache.begin(key_of(a=1), timeout=0)
    del turn
    gc.collect()
    with cache.begin(key_of(a=1), timeout=0) as turn:
        assert turn.artifact is None


def test_members_that_cannot_be_published_keep_the_lock(cache: tlcache.Cache, key_of: Any) -> None:
    with cache.begin(key_of(a=1)) as turn:
        with pytest.raises(TypeError):
            turn.publish({"m": "text"})
        turn.publish({"m": b"1"})
    assert cache.get(key_of(a=1))["m"] == b"1"


def test_a_waiting_thread_gets_the_failure(cache: tlcache.Cache, key_of: Any) -> None:
    key = key_of(a=1)
    waiting = threading.Event()
    outcome: list[BaseException] = []

    def wait() -> None:
        waiting.set()
        try:
            cache.begin(key)
        except tlcache.TLCacheError as error:
            outcome.append(error)

    thread = threading.Thread(target=wait)
    with pytest.raises(SourceError), cache.begin(key):
        thread.start()
        waiting.wait()
        time.sleep(0.3)
        raise SourceError("line 3")
    thread.join(30)
    assert [type(error) for error in outcome] == [tlcache.CallbackError]
    assert "SourceError: line 3" in str(outcome[0])


def test_a_waiting_thread_gets_the_artifact(cache: tlcache.Cache, key_of: Any) -> None:
    key = key_of(a=1)
    found: list[Any] = []

    def wait() -> None:
        with cache.begin(key) as turn:
            found.append(turn.artifact)

    threads = [threading.Thread(target=wait) for _ in range(4)]
    with cache.begin(key) as turn:
        for thread in threads:
            thread.start()
        time.sleep(0.2)
        turn.publish({"m": b"1"})
    for thread in threads:
        thread.join(30)
    assert [bytes(one["m"]) for one in found] == [b"1"] * 4


def test_a_wait_ends_at_its_deadline(cache: tlcache.Cache, key_of: Any) -> None:
    key = key_of(a=1)
    result: list[Any] = []

    def wait(timeout: float) -> None:
        started = time.monotonic()
        try:
            cache.begin(key, timeout=timeout)
        except tlcache.TimeoutError as error:
            result.append((error, time.monotonic() - started))

    with cache.begin(key):
        for timeout in (0.0, 0.3):
            thread = threading.Thread(target=wait, args=(timeout,))
            thread.start()
            thread.join(30)
    assert len(result) == 2
    assert result[0][1] < 0.25
    assert 0.3 <= result[1][1] < 3
    assert all(isinstance(error, TimeoutError) for error, _ in result)
    with pytest.raises(ValueError, match="timeout"):
        cache.begin(key, timeout=-1)


def test_get_or_compile(cache: tlcache.Cache, request_of: Any) -> None:
    request = request_of(a=1)
    calls: list[Any] = []

    def compile(given: tlcache.Request, key: tlcache.Key) -> tlcache.Bundle:
        calls.append((given, key))
        return tlcache.Bundle(
            {"m": b"made"}, types={"m": tlcache.MemberType.JSON}, label="l", log="a warning\n"
        )

    first = cache.get_or_compile(request, compile)
    second = cache.get_or_compile(request, compile)
    assert first["m"] == second["m"] == b"made"
    assert first.log == "a warning\n"
    assert second.log is None
    assert second.type("m") is tlcache.MemberType.JSON
    assert second.info.label == "l"
    assert len(calls) == 1
    assert calls[0][0] is request
    assert calls[0][1] == request.key()
    assert request.fields == {"a": 1}


def test_an_exception_of_the_callback_is_the_callers(cache: tlcache.Cache, request_of: Any) -> None:
    own = SourceError("mine")

    def fail(_request: Any, _key: Any) -> Any:
        raise own

    with pytest.raises(SourceError) as caught:
        cache.get_or_compile(request_of(a=1), fail)
    assert caught.value is own
    assert cache.get_or_compile(request_of(a=1), lambda *_: {"m": b"1"})["m"] == b"1"


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (None, TypeError),
        ({"m": "text"}, TypeError),
        ({}, tlcache.CompileError),
        ({"/": b""}, tlcache.InvalidError),
    ],
)
def test_a_callback_that_makes_nonsense(
    cache: tlcache.Cache, request_of: Any, made: Any, kind: Any
) -> None:
    with pytest.raises(kind):
        cache.get_or_compile(request_of(a=1), lambda *_: made)


def test_a_compile_error_has_its_log(cache: tlcache.Cache, request_of: Any) -> None:
    long = "error: é\n" * 1000

    def fail(_request: Any, _key: Any) -> Any:
        raise tlcache.CompileError("no such type", log=long)

    with pytest.raises(tlcache.CompileError, match="no such type") as caught:
        cache.get_or_compile(request_of(a=1), fail)
    assert caught.value.log == long


def test_a_failure_is_kept_if_asked(cache: tlcache.Cache, request_of: Any) -> None:
    calls: list[int] = []

    def fail(_request: Any, _key: Any) -> Any:
        calls.append(1)
        raise tlcache.CompileError("no such type", log="the log")

    for _ in range(3):
        with pytest.raises(tlcache.CompileError, match="no such type"):
            cache.get_or_compile(request_of(a=1), fail, keep_failure=True)
    assert len(calls) == 1
    assert [entry.kind for entry in cache.list()] == ["failure"]


def test_a_callback_may_use_the_cache(cache: tlcache.Cache, request_of: Any, key_of: Any) -> None:
    def inner(_request: Any, _key: Any) -> Any:
        return {"m": b"inner"}

    def outer(_request: Any, key: tlcache.Key) -> Any:
        assert cache.get(key) is None
        with pytest.raises(tlcache.UncacheableError):
            key_of(a={1})
        found = cache.get_or_compile(request_of(a=2), inner)
        return {"m": b"outer of " + bytes(found["m"])}

    assert cache.get_or_compile(request_of(a=1), outer)["m"] == b"outer of inner"
    assert cache.get(key_of(a=2))["m"] == b"inner"


def test_threads_compile_once(cache: tlcache.Cache, request_of: Any) -> None:
    calls: list[int] = []
    found: list[bytes] = []
    start = threading.Barrier(8)

    def compile(_request: Any, _key: Any) -> Any:
        calls.append(1)
        time.sleep(0.2)
        return {"m": b"1"}

    def work() -> None:
        start.wait()
        found.append(bytes(cache.get_or_compile(request_of(a=1), compile)["m"]))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [b"1"] * 8
    assert len(calls) == 1


def test_without_a_backend_the_error_lists_what_there_is(cache: tlcache.Cache) -> None:
    request = tlcache.Request("pytest", target="unheard-of", engine="mine", toolchain=b"1")
    with pytest.raises(tlcache.NotFoundError, match="cpu"):
        cache.get_or_compile(request)


def test_a_required_key_closes_a_look_up(
    cache: tlcache.Cache, request_of: Any, key_of: Any
) -> None:
    calls: list[int] = []

    def compile(_request: Any, _key: Any) -> Any:
        calls.append(1)
        return tlcache.Bundle({"m": b"1"}).require(key_of(needed=1))

    cache.put(key_of(needed=1), {"m": b"n"})
    cache.get_or_compile(request_of(a=1), compile, closed=True)
    cache.get_or_compile(request_of(a=1), compile, closed=True)
    assert len(calls) == 1
    cache.remove(key_of(needed=1))
    cache.get_or_compile(request_of(a=1), compile)
    assert len(calls) == 1
    cache.get_or_compile(request_of(a=1), compile, closed=True)
    assert len(calls) == 2


def test_a_store_that_fails_does_not_fail_the_compile(tmp_path: Path, request_of: Any) -> None:
    (tmp_path / "file").write_text("")
    with tlcache.Cache(tmp_path / "file" / "store") as cache:
        found = cache.get_or_compile(request_of(a=1), lambda *_: {"m": b"1"})
        assert found["m"] == b"1"
