# SPDX-License-Identifier: MIT
"""The cache for asyncio: the same names, awaited.

    from tlcache import aio

    async with aio.Cache() as cache:
        artifact = await cache.get_or_compile(request, compile)

The compile function may be a coroutine function.

No call blocks the event loop. Short ones run in the loop's own executor. One that may wait for a
compile has a thread of its own for as long as it lasts, so that waits never take the executor from
the compiles that they wait for.

Cancelling the task ends its wait at once, and cancels the coroutine that compiles for it; the next
one that wants the key compiles then. A compile function that is not a coroutine cannot be stopped:
it goes on to its end, and what it made is kept.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar

from ._artifact import Artifact
from ._cache import Cache as SyncCache
from ._errors import TimeoutError
from ._flow import Members
from ._key import Key
from ._lock import CompileLock, Hit
from ._module import Module
from ._request import Request
from ._wait import Cancel

T = TypeVar("T")
P = ParamSpec("P")
CompileFunction = Callable[[Request, Key], Members | Awaitable[Members]]

# Keys that a coroutine compiles around here: it would wait for itself.
_compiling: contextvars.ContextVar[frozenset[bytes]] = contextvars.ContextVar(
    "tlcache.aio", default=frozenset()
)


class Cache:
    """An open cache, for coroutines; `sync` is the same one for threads.

    What is not here runs by `await asyncio.to_thread(cache.sync.verify)`.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Opens the cache; takes what tlcache.Cache takes, or a tlcache.Cache that is open."""
        given = arguments[0] if len(arguments) == 1 and not options else None
        self.sync = given if isinstance(given, SyncCache) else SyncCache(*arguments, **options)

    async def close(self) -> None:
        """Closes the cache, when the calls that other tasks and threads are in have ended."""
        await asyncio.to_thread(self.sync.close)

    async def __aenter__(self) -> Cache:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _exception: BaseException | None,
        _traceback: TracebackType | None,
    ) -> Literal[False]:
        await self.close()
        return False

    async def key(self, request: Request) -> Key:
        """As tlcache.Cache.key."""
        return await asyncio.to_thread(self.sync.key, request)

    async def get(self, key: Key) -> Artifact | None:
        """As tlcache.Cache.get."""
        return await asyncio.to_thread(self.sync.get, key)

    async def get_many(self, keys: Iterable[Key]) -> list[Artifact | None]:
        """As tlcache.Cache.get_many."""
        return await asyncio.to_thread(self.sync.get_many, keys)

    async def put(
        self,
        key: Key,
        members: Members,
        *,
        compile_time: float | None = None,
        label: str | None = None,
        types: Mapping[str, int] | None = None,
    ) -> Artifact:
        """As tlcache.Cache.put."""
        return await asyncio.to_thread(
            self.sync.put, key, members, compile_time=compile_time, label=label, types=types
        )

    async def remove(self, key: Key) -> bool:
        """As tlcache.Cache.remove."""
        return await asyncio.to_thread(self.sync.remove, key)

    async def load(
        self, artifact: Artifact, device: int | None = None, *, member: str | None = None
    ) -> Module:
        """As tlcache.Cache.load."""
        return await asyncio.to_thread(self.sync.load, artifact, device, member=member)

    async def begin(self, key: Key, timeout: float | None = None) -> Hit | CompileLock:
        """As tlcache.Cache.begin: `with await cache.begin(key) as turn: ...`."""
        try:
            return await _cancelled_late(self.sync.begin, _abandon, key, 0)
        except TimeoutError:
            if timeout == 0:
                raise

        def wait(cancel: Cancel) -> Hit | CompileLock:
            return self.sync.begin(key, timeout, cancel=cancel)

        return await _waiting(wait, _abandon)

    async def get_or_compile(
        self,
        request: Request,
        compile: CompileFunction | None = None,
        timeout: float | None = None,
        keep_failure: bool = False,
        *,
        closed: bool = False,
    ) -> Artifact:
        """As tlcache.Cache.get_or_compile.

        `compile` runs on the event loop where it is a coroutine function, else in a thread. One
        that asks for its own key gets a compile of its own.
        """
        key = await self.key(request)
        if key.digest in _compiling.get() and compile is not None:
            made = await _made(compile, request, key)
            return await self.put(key, made)
        found = await asyncio.to_thread(self.sync.look, request, closed=closed)
        if found is not None:
            return found
        loop = asyncio.get_running_loop()

        def work(cancel: Cancel) -> Artifact:
            bridge = None if compile is None else _Bridge(loop, compile, cancel, key)
            return self.sync.get_or_compile(
                request, bridge, timeout, keep_failure, closed=closed, cancel=cancel
            )

        return await _waiting(work, lambda _artifact: None)


async def _made(compile: CompileFunction, request: Request, key: Key) -> Members:
    made = await asyncio.to_thread(compile, request, key)
    return await made if inspect.isawaitable(made) else made


async def _awaited(made: Awaitable[Members]) -> Members:
    return await made


class _Bridge:
    """A compile function for the library's thread; a coroutine that it makes runs on the loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        compile: CompileFunction,
        cancel: Cancel,
        key: Key,
    ) -> None:
        self.loop, self.compile, self.cancel, self.digest = loop, compile, cancel, key.digest

    def __call__(self, request: Request, key: Key) -> Members:
        # The task that is made below has this context.
        _compiling.set(_compiling.get() | {self.digest})
        made = self.compile(request, key)
        if not inspect.isawaitable(made):
            return made
        future = asyncio.run_coroutine_threadsafe(_awaited(made), self.loop)
        self.cancel.on_trigger(future.cancel)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise asyncio.CancelledError from None


def _abandon(turn: Hit | CompileLock) -> None:
    if isinstance(turn, CompileLock):
        turn.abandon()


async def _cancelled_late(
    function: Callable[P, T], discard: Callable[[T], None], *arguments: P.args, **named: P.kwargs
) -> T:
    """In the loop's executor; a result that comes after the task was cancelled is let go."""
    task = asyncio.ensure_future(asyncio.to_thread(function, *arguments, **named))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(
            lambda done: None if done.cancelled() or done.exception() else discard(done.result())
        )
        raise


async def _waiting(work: Callable[[Cancel], T], discard: Callable[[T], None]) -> T:
    """The result of work, in a thread of its own; cancelling triggers what work was given."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    cancel = Cancel()

    def deliver(result: T | None, exception: BaseException | None) -> None:
        if exception is not None:
            if not done.cancelled():
                done.set_exception(exception)
        elif done.cancelled():
            discard(result)  # type: ignore[arg-type]
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: T | None = None
        exception: BaseException | None = None
        try:
            result = work(cancel)
        except StopIteration as stopped:  # a future takes none
            exception = RuntimeError("the compile function raised StopIteration")
            exception.__cause__ = stopped
        except BaseException as raised:
            exception = raised
        try:
            loop.call_soon_threadsafe(deliver, result, exception)
        except RuntimeError:  # the loop was closed
            if exception is None:
                discard(result)  # type: ignore[arg-type]

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="tlcache", daemon=True).start()
    try:
        return await done
    except asyncio.CancelledError:
        cancel.trigger()
        if done.done() and not done.cancelled() and done.exception() is None:
            discard(done.result())
        raise


__all__ = ["Cache", "CompileFunction"]
