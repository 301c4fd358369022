# SPDX-License-Identifier: MIT
"""Memory, handles and open files stay flat.

Many gets, artifacts dropped in any order, callbacks that raise, threads that die.

TLC_TEST_LONG=1: a million gets.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest
import tlcache

GETS = 1_000_000 if os.environ.get("TLC_TEST_LONG") else 200_000
KEYS = 16


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


class Round:
    """One round of everything."""

    def __init__(self, cache: tlcache.Cache, request_of: Any) -> None:
        self.cache, self.request_of = cache, request_of
        self.keys = [request_of(n=n).key() for n in range(KEYS)]
        self.random = random.Random(1)

    def get(self, count: int) -> None:
        held: list[Any] = []
        for n in range(0, count, 4):
            number = n % KEYS
            artifact = self.cache.get(self.keys[number])
            assert artifact is not None
            view = artifact["m"]
            assert view[0] == number
            held += [artifact, view, view[100:200]]
            held += self.cache.get_many(self.keys[:3])
            if len(held) > 200:
                self.random.shuffle(held)
                del held[50:]

    def raise_in_callbacks(self, count: int) -> None:
        class Odd(Exception):
            pass

        def refuse(_request: tlcache.Request, _key: tlcache.Key) -> dict[str, bytes]:
            raise Odd("x" * 1000)

        for n in range(count):
            with pytest.raises(Odd):
                self.cache.get_or_compile(self.request_of(missing=n), refuse)

    def die(self, count: int) -> None:
        def work(n: int) -> None:
            held = self.cache.get(self.keys[n % KEYS])
            turn = self.cache.begin(self.request_of(missing=n).key())
            assert held is not None and turn.artifact is None
            raise SystemExit  # with all of that in its frame

        def ended(n: int) -> None:
            # Else pytest keeps the frame, and what is in it, for its report.
            with contextlib.suppress(SystemExit):
                work(n)

        for n in range(count):
            thread = threading.Thread(target=ended, args=(n,))
            thread.start()
            thread.join()

    def all(self, gets: int) -> None:
        self.get(gets)
        self.raise_in_callbacks(gets // 200)
        self.die(gets // 400)
        gc.collect()


def test_nothing_is_kept(cache: tlcache.Cache, request_of: Any) -> None:
    for n in range(KEYS):
        cache.put(request_of(n=n).key(), {"m": bytes([n]) * 4096})
    one = Round(cache, request_of)
    one.all(GETS // 3)  # whatever is made once is made now
    memory, files, objects, before = resident(), open_files(), len(gc.get_objects()), cache.stats()
    one.all(GETS)
    after = cache.stats()
    assert open_files() == files
    assert len(gc.get_objects()) <= objects + 100
    assert (after.mapped_bytes, after.memory_bytes) == (before.mapped_bytes, before.memory_bytes)
    # One handle a get that is not let go would be several megabytes, in the short form too.
    assert resident() < memory + (3 << 20)
