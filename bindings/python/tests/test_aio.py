# SPDX-License-Identifier: MIT
"""The cache for asyncio: no call blocks the loop, cancelling ends waits, nothing is left behind."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import tlcache
from tlcache import aio


def run(work: Callable[[aio.Cache], Coroutine[Any, Any, None]], folder: Path) -> None:
    """Runs work on a cache; no thread of the package's may be left then."""

    async def whole() -> None:
        async with aio.Cache(folder, strict=True) as cache:
            await asyncio.wait_for(work(cache), 60)

    asyncio.run(whole())
    deadline = time.monotonic() + 10
    while any(thread.name == "tlcache" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "a thread is left"
        time.sleep(0.01)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def stays_responsive(work: Awaitable[Any]) -> Any:
    """The result of work; the loop must turn meanwhile."""
    task = asyncio.ensure_future(work)
    turns = 0
    while not task.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert turns > 5
    return task.result()


def test_the_same_calls(folder: Path, key_of: Any, request_of: Any) -> None:
    async def work(cache: aio.Cache) -> None:
        key = await cache.key(request_of(a=1))
        assert key == key_of(a=1)
        assert await cache.get(key) is None
        assert (await cache.put(key, {"m": b"1"}, label="one")).stored
        found = await cache.get(key)
        assert found is not None and found["m"] == b"1"
        missed, again = await cache.get_many([key_of(a=2), key])
        assert missed is None and again is not None and again["m"] == b"1"
        assert await cache.remove(key)
        assert not await cache.remove(key)

    run(work, folder)


def test_an_open_cache_is_taken_as_it_is(cache: tlcache.Cache, key_of: Any) -> None:
    async def work() -> None:
        cache.put(key_of(a=1), {"m": b"1"})
        assert await aio.Cache(cache).get(key_of(a=1)) is not None

    asyncio.run(work())


@pytest.mark.parametrize("kind", ["coroutine", "function", "object"])
def test_many_tasks_compile_once(folder: Path, request_of: Any, kind: str) -> None:
    ran: list[int] = []

    async def compile(_request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
        ran.append(threading.get_ident())
        await asyncio.sleep(0.2)
        # The loop's own executor must have room for it, however many tasks wait.
        return {"m": await asyncio.to_thread(lambda: b"made")}

    def blocking(_request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
        ran.append(threading.get_ident())
        time.sleep(0.2)
        return {"m": b"made"}

    class Compiler:
        async def __call__(self, request: tlcache.Request, key: tlcache.Key) -> dict[str, bytes]:
            return await compile(request, key)

    function: Any = {"coroutine": compile, "function": blocking, "object": Compiler()}[kind]

    async def work(cache: aio.Cache) -> None:
        tasks = [cache.get_or_compile(request_of(a=1), function) for _ in range(64)]
        found = await stays_responsive(asyncio.gather(*tasks))
        assert {bytes(artifact["m"]) for artifact in found} == {b"made"}
        assert len(ran) == 1
        on_loop = ran[0] == threading.get_ident()
        assert on_loop == (kind != "function")

    run(work, folder)


def test_many_keys_at_once_with_the_executor_in_use(folder: Path, request_of: Any) -> None:
    """Compiles that need the loop's executor, more of them than it has threads."""

    async def compile(request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
        await asyncio.to_thread(time.sleep, 0.01)
        return {"m": str(request.fields["n"]).encode()}

    async def work(cache: aio.Cache) -> None:
        tasks = [cache.get_or_compile(request_of(n=n), compile) for n in range(100)]
        found = await asyncio.gather(*tasks)
        assert [bytes(artifact["m"]) for artifact in found] == [str(n).encode() for n in range(100)]

    run(work, folder)


@pytest.mark.parametrize("is_coroutine", [True, False])
def test_what_compile_raises_is_the_callers(
    folder: Path, request_of: Any, is_coroutine: bool
) -> None:
    class Odd(Exception):
        pass

    async def compile(_request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
        raise Odd("here")

    def blocking(_request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
        raise Odd("here")

    async def work(cache: aio.Cache) -> None:
        with pytest.raises(Odd, match="here"):
            await cache.get_or_compile(request_of(a=1), compile if is_coroutine else blocking)
        with pytest.raises(RuntimeError):
            await cache.get_or_compile(request_of(a=1), lambda *_: next(iter(())))
        with pytest.raises(TypeError, match="members"):
            await cache.get_or_compile(request_of(a=1), lambda *_: 3)  # type: ignore[arg-type,return-value]

        async def refused(_request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
            raise tlcache.CompileError("no", log="line 1")

        with pytest.raises(tlcache.CompileError) as caught:
            await cache.get_or_compile(request_of(a=1), refused)
        assert caught.value.log == "line 1"

    run(work, folder)


def test_a_cancelled_compile_makes_another_leader(folder: Path, request_of: Any) -> None:
    ran: list[str] = []

    def compiler(name: str, seconds: float) -> Any:
        async def compile(_request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
            ran.append(name)
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                ran.append(name + " cancelled")
                raise
            return {"m": name.encode()}

        return compile

    async def work(cache: aio.Cache) -> None:
        first = asyncio.create_task(cache.get_or_compile(request_of(a=1), compiler("first", 60)))
        await until(lambda: ran == ["first"])
        second = asyncio.create_task(cache.get_or_compile(request_of(a=1), compiler("second", 0)))
        await asyncio.sleep(0.1)
        assert ran == ["first"]
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert bytes((await second)["m"]) == b"second"
        assert ran == ["first", "first cancelled", "second"]

    run(work, folder)


def test_a_cancelled_wait_ends_at_once(
    folder: Path, cache: tlcache.Cache, key_of: Any, request_of: Any
) -> None:
    async def work(mine: aio.Cache) -> None:
        with cache.begin(key_of(a=1)) as held:
            for wait in (
                lambda: mine.get_or_compile(request_of(a=1), lambda *_: {"m": b"2"}),
                lambda: mine.begin(key_of(a=1)),
            ):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(wait(), 0.3)
            with pytest.raises(tlcache.TimeoutError):
                await mine.begin(key_of(a=1), timeout=0)
            waiting = asyncio.create_task(mine.begin(key_of(a=1)))
            await asyncio.sleep(0.1)
            held.publish({"m": b"1"})
        with await waiting as turn:
            assert turn.artifact is not None and turn.artifact["m"] == b"1"

    run(work, folder)


def test_a_lock_that_comes_too_late_is_let_go(
    folder: Path, cache: tlcache.Cache, key_of: Any
) -> None:
    async def work(mine: aio.Cache) -> None:
        for n in range(20):
            held = cache.begin(key_of(n=n))
            assert isinstance(held, tlcache.CompileLock)
            waiting = asyncio.create_task(mine.begin(key_of(n=n)))
            await asyncio.sleep(0.02)
            held.abandon()
            await asyncio.sleep(n / 1000)
            waiting.cancel()
            try:
                turn = await waiting
                assert n and isinstance(turn, tlcache.CompileLock)
                turn.abandon()
            except asyncio.CancelledError:
                pass
            with await mine.begin(key_of(n=n), timeout=10) as turn:
                assert turn.artifact is None

    run(work, folder)


def test_a_coroutine_may_use_the_cache_and_ask_for_its_own_key(
    folder: Path, request_of: Any
) -> None:
    async def work(cache: aio.Cache) -> None:
        async def inner(_request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
            return {"m": b"inner"}

        async def outer(request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
            other = await cache.get_or_compile(request_of(a=2), inner)
            own = await cache.get_or_compile(request, inner)
            return {"m": bytes(other["m"]) + bytes(own["m"])}

        found = await cache.get_or_compile(request_of(a=1), outer)
        assert bytes(found["m"]) in (b"inner", b"innerinner")

    run(work, folder)


def test_a_kernel_by_the_backend(folder: Path) -> None:
    request = tlcache.Request(
        "pytest", target="cpu:native", fields={"source": "int number(void) { return 42; }"}
    )

    async def work(cache: aio.Cache) -> None:
        import ctypes

        first, second = await asyncio.gather(
            cache.get_or_compile(request), cache.get_or_compile(request)
        )
        assert [first.log, second.log].count(None) == 1
        module = await cache.load(first)
        assert module.function("number", ctypes.c_int)() == 42

    run(work, folder)


def test_the_program_ends_with_tasks_that_wait(folder: Path, python: Any) -> None:
    code = """
import asyncio, sys, tlcache
from tlcache import aio
def request():
    return tlcache.Request("pytest", toolchain=tlcache.NO_TOOLCHAIN, fields={"a": 1})
async def forever(*_):
    await asyncio.sleep(600)
async def main():
    cache = aio.Cache(sys.argv[1])
    tasks = [asyncio.create_task(cache.get_or_compile(request(), forever)) for _ in range(8)]
    await asyncio.sleep(0.3)
    print("end")
asyncio.run(main())
"""
    assert python(code, folder).finish() == "end"
