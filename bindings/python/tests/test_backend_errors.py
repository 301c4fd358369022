# SPDX-License-Identifier: MIT
"""Errors of backends written in Python: their text, their cause, wrong results."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import tlcache
from backend_tools import Whole, declare, request, stated

# Not tlcache.Cache: mypy takes a memoryview to be equal to no bytes.
Cache = Any


class Broken(Exception):
    """An exception of the backend's own."""


def breaking(slot: str) -> Any:
    """A whole backend, one slot of which raises."""
    whole = Whole()
    if slot:

        def fail(*_: Any) -> Any:
            raise Broken(f"no {slot}")

        setattr(whole, slot, fail)
    return whole


@pytest.mark.parametrize("slot", ["resolve_target", "identify", "compile"])
def test_an_exception_of_the_way_to_the_artifact(cache: Cache, register: Any, slot: str) -> None:
    register(declare(breaking(slot), name="weak"))
    with pytest.raises(tlcache.CallbackError) as caught:
        cache.get_or_compile(request(source=""))
    assert str(caught.value) == f"backend 'weak': {slot} raised Broken: no {slot}"
    assert isinstance(caught.value.__cause__, Broken)
    # Taken once: an error of another kind has no cause.
    with pytest.raises(tlcache.TLCacheError) as other:
        cache.find("zz")
    assert other.value.__cause__ is None


@pytest.mark.parametrize("slot", ["describe", "validate", "place", "load", "symbol"])
def test_an_exception_of_the_way_to_the_symbol(cache: Cache, register: Any, slot: str) -> None:
    register(declare(breaking(slot), name="weak"))
    artifact = cache.get_or_compile(request(source=""))
    with pytest.raises(tlcache.CallbackError, match=f"{slot} raised Broken: no {slot}") as caught:
        artifact.describe(cache)
        cache.load(artifact).symbol("x")
    assert isinstance(caught.value.__cause__, Broken)


def test_an_exception_of_probe_is_a_reason(cache: Cache, register: Any) -> None:
    def probe() -> Any:
        raise tlcache.UnavailableError("no driver")

    register(declare({"probe": probe}))
    [listed] = [one for one in cache.backends()["backends"] if one["engine"] == "py"]
    assert (listed["available"], listed["reason"]) == (False, "no driver")


def test_a_long_message_is_cut_and_has_its_cause(cache: Cache, register: Any) -> None:
    def identify(request: Any, target: str) -> bytes:
        raise OSError(28, "ä" * 1000)

    register(declare({"identify": identify}))
    with pytest.raises(tlcache.CallbackError, match=r"OSError.*ä+$") as caught:
        cache.key(request(a=1))
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.errno == 28


@pytest.mark.parametrize(
    ("slot", "value", "words"),
    [
        ("resolve_target", b"pycpu:x", "returned a value of type bytes; .* a str"),
        ("resolve_target", None, "returned None; .* a str"),
        ("identify", "1.0", "returned a str; it returns bytes: encode it"),
        ("identify", 5, "returned a value of type int; .* bytes"),
        ("compile", 5, "returned a value of type int; .* None, a mapping of names"),
        ("compile", {"m": 5}, "member 'm' is of type int; it is bytes"),
        ("compile", {"m": "text"}, "member 'm' is a str"),
        ("validate", False, "returned a value of type bool; .* or raises"),
        ("place", "0", "returned a value of type str; .* int"),
        ("place", True, "returned a value of type bool; .* int"),
        ("place", -1, "returned a value of type int; .* from 0 to"),
        ("load", None, "returned None; .* the module"),
        ("symbol", 0, "returned 0, which is no address"),
        ("describe", "{}", "returned a value of type str; .* dict"),
        ("describe", {1: object()}, "not JSON serializable"),
        ("probe", [1], "returned a value of type list; .* dict"),
        ("probe", {"a": {1}}, "not JSON serializable"),
    ],
)
def test_a_wrong_result_is_named(
    cache: Cache, register: Any, slot: str, value: Any, words: str
) -> None:
    whole = Whole()
    setattr(whole, slot, lambda *_: value)
    register(declare(whole))
    if slot == "probe":
        [listed] = [one for one in cache.backends()["backends"] if one["engine"] == "py"]
        with pytest.raises(TypeError, match=words):
            raise TypeError(listed["reason"])
        return
    with pytest.raises(tlcache.CallbackError, match=f"{slot} raised .*{words}") as caught:
        artifact = cache.get_or_compile(request(source=""))
        artifact.describe(cache)
        cache.load(artifact).symbol("f")
    assert isinstance(caught.value.__cause__, TypeError | ValueError)


def test_another_thread_gets_the_text_without_the_exception(cache: Cache, register: Any) -> None:
    inside, go = threading.Event(), threading.Event()
    outcome: list[tlcache.TLCacheError] = []

    def compile(*_: Any) -> Any:
        inside.set()
        go.wait(30)
        raise Broken("once for all")

    def ask() -> None:
        with pytest.raises(tlcache.CallbackError) as caught:
            cache.get_or_compile(stated(a=1))
        outcome.append(caught.value)

    register(declare({"compile": compile}))
    threads = [threading.Thread(target=ask) for _ in range(2)]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    threads[1].join(0.3)
    go.set()
    for thread in threads:
        thread.join(30)
    assert ["once for all" in str(one) for one in outcome] == [True, True]
    causes = {type(one.__cause__) for one in outcome}
    assert causes == {Broken, type(None)}
