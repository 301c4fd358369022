# SPDX-License-Identifier: MIT
"""Backends written in Python: each slot, its errors, registering, threads, re-entrancy."""

from __future__ import annotations

import ctypes
import gc
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tlcache

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


@pytest.fixture
def register() -> Iterator[Callable[..., Any]]:
    """Registers for the process; takes it out at the end of the test."""
    registered: list[Any] = []

    def add(given: Any, **options: bool) -> Any:
        registered.append(tlcache.register_backend(given, **options))
        return registered[-1]

    yield add
    gc.collect()
    for one in reversed(registered):
        try:
            tlcache.unregister_backend(one)
        except tlcache.NotFoundError:
            continue


def declare(given: Any, engine: str = "py", kinds: Any = "pycpu", **options: Any) -> Any:
    """A backend of a class or an object, or of functions by their names."""
    given = types.SimpleNamespace(**given) if isinstance(given, dict) else given
    return tlcache.backend(engine=engine, target_kinds=kinds, **options)(given)


def request(target: str = "pycpu:x", engine: str = "py", **fields: Any) -> tlcache.Request:
    return tlcache.Request("pytest", target=target, engine=engine, label="l", fields=fields)


def stated(**fields: Any) -> tlcache.Request:
    """A request that needs no `identify`."""
    return tlcache.Request("pytest", target="pycpu:x", engine="py", toolchain=b"1", fields=fields)


class Whole:
    """A backend with every slot."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def resolve_target(self, target: str) -> str:
        self.seen.append(("resolve_target", target))
        return target.replace("native", "resolved")

    def identify(self, request: tlcache.BackendRequest, target: str) -> bytes:
        self.seen.append(("identify", target))
        return b"toolchain " + target.encode()

    def compile(
        self,
        request: tlcache.BackendRequest,
        target: str,
        bundle: tlcache.Bundle,
        log: tlcache.BackendLog,
    ) -> None:
        self.seen.append(("compile", target, request.label))
        print("compiling ü", file=log)
        bundle.add("code", request["source"].encode(), tlcache.MemberType.SOURCE)
        bundle.add("meta", b"{}", tlcache.MemberType.JSON)
        bundle.label = "made"

    def validate(self, artifact: tlcache.Artifact, options: tlcache.LoadOptions) -> None:
        self.seen.append(("validate", sorted(artifact), options))

    def place(self, options: tlcache.LoadOptions) -> int:
        return options.device or 0

    def load(self, artifact: tlcache.Artifact, options: tlcache.LoadOptions) -> Any:
        module: dict[str, Any] = {"__name__": "m"}
        exec(bytes(artifact["code"]), module)
        module["artifact"] = artifact
        return module

    def symbol(self, module: Any, name: str) -> Any:
        return module.get(name)

    def native(self, module: Any) -> int:
        return 4711

    def unload(self, module: Any) -> None:
        self.seen.append(("unload", module["__name__"]))

    def probe(self) -> dict[str, Any]:
        return {"numbers": [1, 2], "ü": None}

    def close(self) -> None:
        self.seen.append("close")


SOURCE = "def twice(x): return 2 * x\nnumber = 77\n"


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


# ---------------------------------------------------------------- errors


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


@pytest.mark.parametrize("slot", ["validate", "place", "load", "symbol"])
def test_an_exception_of_the_way_to_the_symbol(cache: Cache, register: Any, slot: str) -> None:
    register(declare(breaking(slot), name="weak"))
    artifact = cache.get_or_compile(request(source=""))
    with pytest.raises(tlcache.CallbackError, match=f"{slot} raised Broken: no {slot}") as caught:
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
        cache.load(cache.get_or_compile(request(source=""))).symbol("f")
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


# ---------------------------------------------------------------- declaring and registering


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
    assert "other" not in str(cache.backends())
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


def test_a_backend_is_kept_while_it_is_registered(cache: Cache, register: Any) -> None:
    seen = weakref.ref(register(declare(Whole)))
    gc.collect()
    # The fixture's list is all that is left beside the registration.
    backend = seen()
    assert backend is not None
    assert cache.get_or_compile(request(source="")) is not None


def test_it_goes_when_it_is_taken_out(cache: Cache) -> None:
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
