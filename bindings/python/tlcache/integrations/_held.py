# SPDX-License-Identifier: MIT
"""Compile locks for frameworks that say "miss" and, perhaps, "put" later: nobody says "failed".

A lock that is taken at a miss belongs to the function that asked. It ends with the put, and else

    when what holds it is collected: most failures, at once;
    when that function is no longer running: looked at by every miss of its thread, and twice a
    second by a thread that lives while locks are held. A traceback that somebody keeps (a notebook,
    a debugger) keeps what holds the lock, too;
    with the process.

So no lock outlives its compile by more than half a second, and nobody waits for one for ever.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from types import CodeType, FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._lock import CompileLock

_PERIOD = 0.5

_held: weakref.WeakSet[HeldLock] = weakref.WeakSet()
_guard = threading.Lock()
_watcher: threading.Thread | None = None


class HeldLock:
    """A compile lock, and the call that it is held for."""

    __slots__ = ("__weakref__", "_code", "_frame", "lock", "thread")

    def __init__(self, lock: CompileLock, caller: FrameType) -> None:
        self.lock = lock
        self.thread = threading.get_ident()
        # Not the frame itself, which would keep all that lives in it.
        self._frame: int = id(caller)
        self._code: CodeType = caller.f_code
        _hold(self)

    def running(self, frames: dict[int, FrameType]) -> bool:
        """Whether the function that asked has not returned or raised; frames: by thread."""
        frame: FrameType | None = frames.get(self.thread)
        while frame is not None:
            if id(frame) == self._frame and frame.f_code is self._code:
                return True
            frame = frame.f_back
        return False

    def end(self) -> None:
        """Gives the lock back, published or not."""
        with _guard:
            _held.discard(self)
        self.lock.abandon()


def _hold(one: HeldLock) -> None:
    global _watcher
    with _guard:
        _held.add(one)
        if _watcher is not None:
            return
        _watcher = threading.Thread(target=_watch, name="tlcache locks", daemon=True)
        try:
            _watcher.start()
        except RuntimeError:  # no more threads, or the interpreter ends
            _watcher = None


def _watch() -> None:
    global _watcher
    pause = threading.Event()
    while True:
        pause.wait(_PERIOD)
        end_abandoned()
        with _guard:
            if not len(_held):
                _watcher = None
                return


def end_abandoned() -> bool:
    """Ends the locks of calls that are over; whether this thread holds one that is not."""
    with _guard:
        held = list(_held)
    if not held:
        return False
    frames = sys._current_frames()
    mine = False
    for one in held:
        if one.running(frames):
            mine = mine or one.thread == threading.get_ident()
        else:
            one.end()
    return mine


def _after_fork() -> None:
    """The locks stay the parent's, and its threads are not here."""
    global _guard, _watcher
    _guard = threading.Lock()
    _watcher = None
    _held.clear()


os.register_at_fork(after_in_child=_after_fork)

__all__ = ["HeldLock", "end_abandoned"]
