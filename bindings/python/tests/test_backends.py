# SPDX-License-Identifier: MIT
"""Backends written in Python: each slot, and what it is given."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import pytest
import tlcache
from backend_tools import SOURCE, Whole, declare, request, stated

# Not tlcache.Cache: mypy takes a memoryview to be equal to no bytes.
Cache = Any
FIELDS = {
    "none": None,
    "yes": True,
    "int": -5,
    "big": (1 << 63) - 1,
    "float": 1.5,
    "text": "ä",
    "empty": "",
    "bytes": b"\0\xff",
    "digest": tlcache.Digest(bytes(range(32))),
    "list": [1, "two", [3.0, None]],
    "map": {"a": {"b": [False]}, "c": b""},
}


def test_every_slot_is_called(cache: Cache, register: Any) -> None:
    made = register(declare(Whole(), name="The whole", host_bound=True))
    wanted = request("pycpu:native", source=SOURCE)
    artifact = cache.get_or_compile(wanted)
    assert artifact.log == "compiling ü\n"
    assert cache.get_or_compile(wanted).log is None
    assert artifact.type("code") is tlcache.MemberType.SOURCE
    assert artifact.info.label == "made"
    described = cache.key(wanted).describe()
    assert described["target"] == "pycpu:resolved"
    assert ("compile", "pycpu:resolved", "l") in made.seen
    assert "toolchain" in str(described)

    module = cache.load(artifact, 3, member="code")
    options = tlcache.LoadOptions(device=3, context=None, member="code")
    assert ("validate", ["code", "meta"], options) in made.seen
    assert cache.load(artifact, 3, member="code").symbol("number") == 77
    assert module.object("twice")(21) == 42
    assert module.object("number") == 77
    assert module.object()["number"] == 77
    assert module.native == 4711
    assert artifact.describe(cache) == {"members": {"code": {"format": "python", "lines": 2}}}
    [listed] = [one for one in cache.backends()["backends"] if one["engine"] == "py"]
    assert listed["name"] == "The whole"
    assert listed["found"] == {"numbers": [1, 2], "ü": None}
    assert (listed["host_bound"], listed["survives_fork"]) == (True, False)

    del module
    gc.collect()
    assert made.seen[-1] == ("unload", "m")
    tlcache.unregister_backend(made)
    assert made.seen[-1] == "close"


def test_slots_that_are_not_there_are_not_supported(cache: Cache, register: Any) -> None:
    register(declare({"load": lambda artifact, options: "module"}))
    with pytest.raises(tlcache.UnsupportedError, match=r"has no compile"):
        cache.get_or_compile(stated(a=1))
    with pytest.raises(tlcache.UncacheableError):
        cache.key(request(a=1))
    module = cache.load(cache.put(cache.key(stated(a=1)), {"m": b"1"}))
    with pytest.raises(tlcache.UnsupportedError, match="has no describe"):
        cache.get(cache.key(stated(a=1))).describe(cache)
    with pytest.raises(tlcache.UnsupportedError, match="has no symbol"):
        module.symbol("f")
    # Without `native` the module is its own handle, and without `probe` nothing was found.
    assert module.native
    assert module.object() == "module"
    [listed] = [one for one in cache.backends()["backends"] if one["engine"] == "py"]
    assert listed["available"] is True


def test_a_compile_without_a_load(cache: Cache, register: Any) -> None:
    register(declare({"compile": lambda *_: {"m": b"1"}}))
    artifact = cache.get_or_compile(stated(a=1))
    with pytest.raises(tlcache.UnsupportedError, match="has no load"):
        cache.load(artifact)


def test_the_request_is_readable_in_slots(cache: Cache, register: Any) -> None:
    fields: dict[str, Any] = FIELDS
    seen: dict[str, Any] = {}
    kept: list[Any] = []

    def identify(request: Any, target: str) -> bytes:
        for name in FIELDS:
            seen[name] = request[name]
        kept.append(request)
        seen["about"] = (request.namespace, request.target, request.engine, request.label, target)
        assert "text" in request
        assert "absent" not in request
        assert 5 not in request
        assert request.get("absent", 7) == 7
        with pytest.raises(KeyError, match="absent"):
            request["absent"]
        with pytest.raises(TypeError):
            list(request)
        return b"1"

    register(declare({"identify": identify}))
    cache.key(request(**fields))
    assert seen.pop("about") == ("pytest", "pycpu:x", "py", "l", "pycpu:x")
    assert seen == FIELDS
    assert {name: type(value) for name, value in seen.items()} == {
        name: type(value) for name, value in FIELDS.items()
    }
    with pytest.raises(tlcache.InvalidError, match="ended with the slot"):
        kept[0]["text"]


def test_a_number_that_cannot_be_read_is_named(cache: Cache, register: Any) -> None:
    register(declare({"identify": lambda request, target: bytes(request["n"][1])}))
    with pytest.raises(tlcache.InvalidError, match=r"field 'n\[1\]' is above"):
        cache.key(request(n=[1, 1 << 63]))


# ---------------------------------------------------------------- compile


@pytest.mark.parametrize("way", ["bundle", "mapping", "own", "both"])
def test_ways_to_hand_members_over(cache: Cache, register: Any, way: str) -> None:
    def compile(request: Any, target: str, bundle: tlcache.Bundle, log: Any) -> Any:
        if way in ("bundle", "both"):
            bundle.add("m", b"1")
        if way == "own":
            return tlcache.Bundle({"m": b"1", "n": bytearray(b"2")}, log="words")
        log.write("words")
        return {"n": b"2"} if way in ("mapping", "both") else None

    register(declare({"compile": compile}))
    artifact = cache.get_or_compile(stated(way=way))
    assert artifact.log == "words"
    assert {"bundle": "m", "mapping": "n"}.get(way, "mn") == "".join(sorted(artifact))


def test_a_compile_may_have_guards(cache: Cache, register: Any, tmp_path: Any) -> None:
    header = tmp_path / "header"
    header.write_text("1")

    def compile(request: Any, target: str, bundle: tlcache.Bundle, log: Any) -> None:
        bundle.add("m", header.read_bytes()).guard(header)

    register(declare({"compile": compile}))
    assert cache.get_or_compile(stated(a=1))["m"] == b"1"
    assert cache.get_or_compile(stated(a=1)).log is None
    header.write_text("22")
    assert cache.get_or_compile(stated(a=1))["m"] == b"22"


def test_a_compile_error_has_its_log(cache: Cache, register: Any) -> None:
    def compile(request: Any, target: str, bundle: Any, log: Any) -> None:
        log.write("first. ")
        raise tlcache.CompileError("line 3", log="then é")

    register(declare({"compile": compile}))
    with pytest.raises(tlcache.CompileError, match=r"^line 3$") as caught:
        cache.get_or_compile(stated(a=1))
    assert caught.value.log == "first. then é"
    assert isinstance(caught.value.__cause__, tlcache.CompileError)


def test_a_compile_may_use_the_cache(cache: Cache, register: Any) -> None:
    def compile(request: Any, target: str, bundle: tlcache.Bundle, log: Any) -> None:
        depth = request["depth"]
        with pytest.raises(tlcache.UncacheableError):
            stated(a={1})
        if depth == 0:
            bundle.add("m", b"0")
        elif depth == 9:
            raise ValueError("the innermost")
        else:
            inner = cache.get_or_compile(stated(depth=depth - 1))
            bundle.add("m", bytes(inner["m"]) + b"%d" % depth)

    register(declare({"compile": compile}))
    assert cache.get_or_compile(stated(depth=3))["m"] == b"0123"
    assert cache.get(stated(depth=2).key())["m"] == b"012"
    # Through two levels the cause is that of its own level.
    with pytest.raises(tlcache.CallbackError) as caught:
        cache.get_or_compile(stated(depth=10))
    middle = caught.value.__cause__
    assert isinstance(middle, tlcache.CallbackError)
    assert isinstance(middle.__cause__, ValueError)


def test_a_cancelled_compile_sees_it(folder: Any, python: Any) -> None:
    code = """
import os, signal, sys, threading, time, tlcache
seen = []
@tlcache.backend(engine="py", target_kinds=["pycpu"])
class Slow:
    def compile(self, request, target, bundle, log, call):
        assert not call.cancelled
        os.kill(os.getpid(), signal.SIGINT)
        started = time.monotonic()
        while not call.cancelled:
            assert time.monotonic() - started < 30
            time.sleep(0.01)
        seen.append(call)
        raise tlcache.CancelledError("gave up")
signal.signal(signal.SIGINT, lambda *_: None)
tlcache.register_backend(Slow)
cache = tlcache.Cache(sys.argv[1])
request = tlcache.Request("p", target="pycpu:x", engine="py", toolchain=b"1")
try:
    cache.get_or_compile(request)
except tlcache.CancelledError as error:
    print(error, type(error.__cause__).__name__)
try:
    seen[0].cancelled
except tlcache.InvalidError:
    print("ended")
"""
    assert python(code, folder).finish() == "gave up CancelledError\nended"


def test_ctrl_c_in_a_slot_is_the_callers(folder: Any, python: Any) -> None:
    code = """
import os, signal, sys, time, tlcache
class Slow:
    def identify(self, request, target):
        return self.interrupt(b"1") if request["where"] == "identify" else b"1"
    def compile(self, request, target, bundle, log):
        bundle.add("m", self.interrupt(b"1") if request["where"] == "compile" else b"2")
    def load(self, artifact, options):
        return self.interrupt("m")
    def interrupt(self, value):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
Slow._interrupt = Slow.interrupt
del Slow.interrupt
Slow.interrupt = property(lambda self: self._interrupt)
tlcache.register_backend(tlcache.backend(engine="py", target_kinds=["pycpu"])(Slow)())
cache = tlcache.Cache(sys.argv[1])
for where in ("identify", "compile", "load"):
    request = tlcache.Request("p", target="pycpu:x", engine="py", fields={"where": where})
    try:
        cache.load(cache.get_or_compile(request))
    except KeyboardInterrupt:
        print(where)
"""
    assert python(code, folder).finish() == "identify\ncompile\nload"


# ---------------------------------------------------------------- what the store remembers


def test_facts_are_remembered(cache: Cache, register: Any, tmp_path: Any) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_bytes(b"version 1")
    probes: list[int] = []

    class Remembering:
        def identify(self, request: Any, target: str, call: tlcache.BackendCall) -> bytes:
            identity = call.file_identity(compiler)
            assert len(call.file_digest(str(compiler))) == 32
            version = call.remembered(identity)
            if version is None:
                probes.append(1)
                version = compiler.read_bytes()
                call.remember(identity, version)
            with pytest.raises(tlcache.TLCacheError, match="nothing_here"):
                call.file_identity(tmp_path / "nothing_here")
            with pytest.raises(tlcache.InvalidError, match="64 KiB"):
                call.remember(b"k", bytes(1 << 17))
            return version

    register(declare(Remembering))
    first = cache.key(request(a=1))
    assert cache.key(request(a=1)) == first
    assert len(probes) == 1
    compiler.write_bytes(b"version 2.0")
    assert cache.key(request(a=1)) != first
    assert len(probes) == 2


# ---------------------------------------------------------------- load


def test_validate_rejects(cache: Cache, register: Any) -> None:
    def validate(artifact: Any, options: Any) -> None:
        raise tlcache.Rejected("for another device")

    register(declare({"validate": validate, "load": lambda artifact, options: 1}))
    artifact = cache.put(cache.key(stated(a=1)), {"m": b"1"})
    with pytest.raises(tlcache.LoadError, match=r"^for another device$") as caught:
        cache.load(artifact)
    assert caught.value.status is tlcache.Status.REJECTED
    assert isinstance(caught.value.__cause__, tlcache.Rejected)
    # It is whole: only not for here.
    assert cache.get(cache.key(stated(a=1))) is not None


def test_a_load_error_takes_the_artifact_out(cache: Cache, register: Any) -> None:
    def load(artifact: Any, options: Any) -> Any:
        raise tlcache.LoadError("no kernel image", backend_code=209)

    register(declare({"load": load}))
    key = cache.key(stated(a=1))
    with pytest.raises(tlcache.LoadError, match="no kernel image") as caught:
        cache.load(cache.put(key, {"m": b"1"}))
    assert caught.value.backend_code == 209
    assert cache.get(key) is None


def test_modules_keep_their_objects(cache: Cache, register: Any) -> None:
    class Thing:
        pass

    events: list[str] = []
    things: list[Any] = []

    def load(artifact: Any, options: Any) -> Any:
        thing = Thing()
        things.append(weakref.ref(thing, lambda _: events.append("gone")))
        return thing

    def symbol(module: Any, name: str) -> Any:
        return Thing()

    given = {"load": load, "symbol": symbol, "unload": lambda module: events.append("unload")}
    made = register(declare(given))
    artifact = cache.put(cache.key(stated(a=1)), {"m": b"1"})
    module = cache.load(artifact)
    again = cache.load(artifact)
    del artifact
    gc.collect()
    assert len(things) == 1
    assert module.object() is again.object() is things[0]()
    # An object is asked for once and stays where it is.
    address = module.symbol("f")
    assert module.object("f") is again.object("f")
    assert again.symbol("f") == address != module.symbol("g")
    symbols = [weakref.ref(module.object(name)) for name in ("f", "g")]
    with pytest.raises(tlcache.InvalidError, match="object of Python"):
        module.function("f")
    with pytest.raises(tlcache.BusyError, match="modules are alive"):
        tlcache.unregister_backend(made)
    del module
    gc.collect()
    assert events == []
    del again
    gc.collect()
    assert events == ["unload", "gone"]
    assert [one() for one in symbols] == [None, None]


def test_a_symbol_of_ctypes_is_its_address(cache: Cache, register: Any) -> None:
    made = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x + 1)
    register(declare({"load": lambda a, o: made, "symbol": lambda module, name: module}))
    module = cache.load(cache.put(cache.key(stated(a=1)), {"m": b"1"}))
    assert module.function("plus", ctypes.c_int, [ctypes.c_int])(41) == 42
    assert module.object("plus") is made


def test_a_symbol_that_is_absent(cache: Cache, register: Any) -> None:
    register(declare({"load": lambda a, o: {}, "symbol": lambda module, name: module.get(name)}))
    module = cache.load(cache.put(cache.key(stated(a=1)), {"m": b"1"}))
    with pytest.raises(tlcache.NotFoundError, match="no symbol 'f'"):
        module.symbol("f")
    with pytest.raises(tlcache.NotFoundError, match="no symbol 'f'"):
        module.object("f")


def test_what_unload_and_native_raise_is_logged(
    cache: Cache, register: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(module: Any) -> int:
        raise ValueError("not today")

    register(declare({"load": lambda a, o: 1, "unload": fail, "native": fail}, name="weak"))
    module = cache.load(cache.put(cache.key(stated(a=1)), {"m": b"1"}))
    assert module.native is None
    assert "backend 'weak': native raised" in caplog.text
    del module
    gc.collect()
    assert "backend 'weak': unload raised" in caplog.text
    assert "not today" in caplog.text


def test_a_module_of_another_backend_has_no_objects(cache: Cache) -> None:
    wanted = tlcache.Request(
        "pytest", target="cpu:native", engine="cc", fields={"source": "int f(void){return 1;}"}
    )
    module = cache.load(cache.get_or_compile(wanted))
    for name in (None, "f"):
        with pytest.raises(tlcache.UnsupportedError, match="not written in Python"):
            module.object(name)
