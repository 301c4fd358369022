# SPDX-License-Identifier: MIT
"""Declaring backends written in Python, registering them, threads."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest
import tlcache
from backend_tools import SOURCE, Whole, declare, request, stated

# Not tlcache.Cache: mypy takes a memoryview to be equal to no bytes.
Cache = Any


def make(**methods: Any) -> type:
    return type("Mine", (), methods)


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ({"complie": lambda self: 1}, r"Mine\.complie is no slot.*resolve_target.*underscore"),
        ({"load_all": staticmethod(lambda: 1)}, r"Mine\.load_all is no slot"),
        ({"compile": lambda self, request: 1}, r"Mine\.compile does not take .*bundle.*positional"),
        ({"probe": lambda self, more: 1}, r"Mine\.probe does not take .*'more'"),
        ({"identify": 5}, r"Mine\.identify is 5; a slot is a function"),
        ({"symbol": lambda self, module, name: 1}, r"Mine has symbol, but no load"),
    ],
)
def test_what_cannot_be_a_slot_is_refused(methods: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        declare(make(**methods))


def test_a_function_that_is_no_slot_is_refused() -> None:
    with pytest.raises(TypeError, match=r"SimpleNamespace\.complie is no slot"):
        declare({"complie": lambda *_: {}})
    with pytest.raises(TypeError, match=r"SimpleNamespace\.probe does not take .*nothing"):
        declare({"probe": lambda request: {}})


def test_helpers_and_data_are_no_slots() -> None:
    class Fine:
        table: Any = None
        limit = 5

        def _helper(self) -> None:
            pass

        @property
        def size(self) -> int:
            return 1

        @staticmethod
        def probe() -> dict[str, Any]:
            return {}

    assert declare(Fine) is Fine


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"engine": "a b"}, tlcache.InvalidError, "names the engine 'a b'"),
        ({"kinds": ["UPPER"]}, tlcache.InvalidError, "target kind 'UPPER'"),
        ({"kinds": ["a", "a"]}, tlcache.InvalidError, "'a' twice"),
        ({"kinds": []}, tlcache.InvalidError, "target_kinds is empty"),
        ({"kinds": [5]}, TypeError, "a target kind is a str, not 5"),
        ({"engine": ""}, tlcache.InvalidError, "engine is ''"),
        ({"engine": "a\0b"}, tlcache.InvalidError, "engine is .*without NUL"),
    ],
)
def test_names_that_are_none_are_refused(options: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        tlcache.register_backend(declare({}, **options))


def test_what_is_no_backend_is_refused() -> None:
    for given in (object(), int, make(compile=lambda self: 1)):
        with pytest.raises(TypeError, match=r"is no backend; put @tlcache\.backend"):
            tlcache.register_backend(given)
    with pytest.raises(tlcache.NotFoundError, match="not registered"):
        tlcache.unregister_backend(declare({}))


def test_a_pair_has_one_backend_and_an_override_lies_on_top(cache: Cache, register: Any) -> None:
    low = declare({"compile": lambda *_: {"m": b"low"}}, name="low")
    top = declare({"compile": lambda *_: {"m": b"top"}}, name="top", kinds=["pycpu", "other"])
    register(low)
    with pytest.raises(tlcache.ExistsError, match=r"'low'.*override=True"):
        register(top)
    assert all("other" not in one["kinds"] for one in cache.backends()["backends"])
    register(top, override=True)
    assert cache.get_or_compile(stated(a=1))["m"] == b"top"
    tlcache.unregister_backend(top)
    assert cache.get_or_compile(stated(a=2))["m"] == b"low"


def test_registering_again_does_nothing(cache: Cache, register: Any) -> None:
    whole = declare(Whole())
    assert register(whole) is register(whole) is whole
    assert len([one for one in cache.backends()["backends"] if one["engine"] == "py"]) == 1
    tlcache.unregister_backend(whole)
    assert whole.seen == ["close"]
    with pytest.raises(tlcache.NotFoundError):
        tlcache.unregister_backend(whole)
    register(whole)
    assert cache.get_or_compile(request(source="")) is not None


def test_a_class_is_made_once(register: Any) -> None:
    made = register(declare(Whole))
    assert isinstance(made, Whole)
    assert register(Whole) is made
    tlcache.unregister_backend(Whole)
    assert made.seen == ["close"]


def test_a_default_engine(cache: Cache, register: Any) -> None:
    register(declare({"compile": lambda *_: {"m": b"1"}}, engine="py1"))
    register(declare({"compile": lambda *_: {"m": b"2"}}, engine="py2"), default=True)
    wanted = tlcache.Request("pytest", target="pycpu:x", toolchain=b"1")
    assert cache.get_or_compile(wanted)["m"] == b"2"


def test_it_is_kept_until_it_is_taken_out(cache: Cache) -> None:
    class Short:
        def compile(self, *_: Any) -> Any:
            return {"m": b"1"}

    seen = weakref.ref(tlcache.register_backend(declare(Short)))
    gc.collect()
    assert seen() is not None
    assert cache.get_or_compile(stated(a=1))["m"] == b"1"
    tlcache.unregister_backend(Short)
    gc.collect()
    assert seen() is None


def test_a_slot_cannot_take_its_backend_out(cache: Cache, register: Any) -> None:
    def compile(*_: Any) -> Any:
        with pytest.raises(tlcache.BusyError, match="own calls"):
            tlcache.unregister_backend(made)
        return {"m": b"1"}

    made = register(declare({"compile": compile}))
    cache.get_or_compile(stated(a=1))


def test_for_one_cache_only(cache: Cache, tmp_path: Any) -> None:
    whole = declare(Whole())
    with tlcache.Cache(tmp_path / "other", strict=True) as other:
        assert other.register_backend(whole) is other.register_backend(whole) is whole
        artifact = other.get_or_compile(request(source=SOURCE))
        module = other.load(artifact)
        with pytest.raises(tlcache.NotFoundError):
            cache.get_or_compile(request(source=SOURCE))
        with pytest.raises(tlcache.NotFoundError):
            tlcache.unregister_backend(whole)
    # Its modules outlive the cache; the backend ends with the last one.
    assert module.object("twice")(4) == 8
    assert "close" not in whole.seen
    del module
    gc.collect()
    assert whole.seen[-2:] == [("unload", "m"), "close"]


def test_one_object_for_the_process_and_a_cache_is_closed_once(tmp_path: Any) -> None:
    whole = declare(Whole())
    tlcache.register_backend(whole)
    with tlcache.Cache(tmp_path / "other", strict=True) as other:
        other.register_backend(whole)
    assert whole.seen == []
    tlcache.unregister_backend(whole)
    assert whole.seen == ["close"]


def test_a_closed_cache_takes_no_backend(cache: Cache) -> None:
    cache.close()
    with pytest.raises(tlcache.InvalidError, match="closed"):
        cache.register_backend(declare({}))


def test_a_subclass_may_add_and_take_out_slots(cache: Cache, register: Any) -> None:
    class Less(declare(Whole)):  # type: ignore[misc]
        identify = None

        def place(self, options: Any, call: Any) -> int:
            assert call.cancelled is False
            return 5

    register(Less)
    with pytest.raises(tlcache.UncacheableError):
        cache.key(request(source=""))
    assert cache.load(cache.get_or_compile(stated(source=SOURCE))).object("number") == 77


# ---------------------------------------------------------------- threads


def test_eight_threads_at_once(cache: Cache, register: Any) -> None:
    """Different keys run their slots side by side; one key is compiled once."""
    start, together = threading.Barrier(8), threading.Barrier(8)
    compiled: list[int] = []
    failures: list[BaseException] = []
    held: list[Any] = []

    class Parallel(Whole):
        def identify(self, request: Any, target: str) -> bytes:
            return b"1"

        def compile(self, request: Any, target: str, bundle: Any, log: Any) -> None:
            number = request["number"]
            compiled.append(number)
            if number >= 0:
                together.wait(30)  # all eight are in a slot now
            bundle.add("code", f"number = {abs(number) + 1}".encode())

    def work(number: int) -> None:
        try:
            start.wait(30)
            module = cache.load(cache.get_or_compile(request(number=number)))
            shared = cache.load(cache.get_or_compile(request(number=-1000)))
            for _ in range(200):
                assert module.symbol("number") == number + 1
                assert shared.object("number") == 1001
                with pytest.raises(tlcache.NotFoundError):
                    module.symbol("absent")
            held.extend((module, shared))  # so that each is loaded once
        except BaseException as failure:
            failures.append(failure)

    made = register(declare(Parallel))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert sorted(compiled) == [-1000, *range(8)]
    assert ("unload", "m") not in made.seen
    held.clear()
    gc.collect()
    assert made.seen.count(("unload", "m")) == 9


def test_taking_out_waits_for_calls(cache: Cache) -> None:
    inside = threading.Event()
    order: list[str] = []

    def compile(*_: Any) -> Any:
        inside.set()
        threading.Event().wait(0.3)
        order.append("compiled")
        return {"m": b"1"}

    made = declare({"compile": compile, "close": lambda: order.append("closed")})
    tlcache.register_backend(made)
    thread = threading.Thread(target=lambda: cache.get_or_compile(stated(a=1)))
    thread.start()
    assert inside.wait(30)
    tlcache.unregister_backend(made)
    thread.join(30)
    assert order == ["compiled", "closed"]
