# SPDX-License-Identifier: MIT
"""The slots that the library calls, and what a backend written in Python answers to them.

No exception leaves a slot: its text goes to the library as the slot's error, and the exception is
noted for this thread, so that the error which the caller gets has it as its cause (_errors.py).
"""

from __future__ import annotations

import atexit
import ctypes
import json
import logging
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from . import _errors
from ._artifact import Artifact
from ._bundle import Bundle
from ._callbacks import failure_status, failure_text
from ._errors import CompileError, NotFoundError, Rejected
from ._lent import BackendCall, BackendLog, BackendRequest, LoadOptions
from ._native import NULL, ffi, from_text, lib, text

logger = logging.getLogger("tlcache")
_host = lib.tlc_host()
_FUNCTION_TYPE: Any = ctypes.CFUNCTYPE(None).__mro__[1]

#: Backends that are registered, by the address of their state: they live until `close`.
states: dict[int, State] = {}
#: Modules that are loaded, by the address the library has for them.
modules: dict[int, LoadedModule] = {}
#: Objects that were given out as symbols, by the address the library has for them.
symbols: dict[int, Any] = {}
_asked = threading.local()


def answers_of(ask: Callable[[], Any]) -> list[Any]:
    """What the `symbol` and `native` that ask() reaches on this thread were about."""
    outer = getattr(_asked, "answers", None)
    answers: list[Any] = []
    _asked.answers = answers
    try:
        ask()
    finally:
        _asked.answers = outer
    return answers


def note_answer(value: Any) -> None:
    """Says what a `symbol` or `native` is about."""
    answers = getattr(_asked, "answers", None)
    if answers is not None:
        answers.append(value)


class State:
    """A backend that is registered once: what its table's `state` points to."""

    def __init__(self, instance: Any, name: str, slots: Mapping[str, Slot]) -> None:
        self.instance = instance
        self.name = name
        self.slots = slots
        self.handle = ffi.new_handle(self)
        self.address = int(ffi.cast("uintptr_t", self.handle))

    def call(self, slot: str, *arguments: Any, call: Any = None) -> Any:
        """Calls a slot, with the call where it asks for one."""
        function, wants_call = self.slots[slot]
        return function(*arguments, call=call) if wants_call else function(*arguments)

    def wrong(self, slot: str, value: Any, wanted: str) -> TypeError:
        """The error for a slot that returns what it should not."""
        return TypeError(f"{slot} returned {_kind(value)}; it returns {wanted}")


#: A slot's function, and whether it has a parameter named `call`.
Slot = tuple[Callable[..., Any], bool]


class LoadedModule:
    """What `load` returned, and what it keeps alive until it is unloaded."""

    def __init__(self, module: Any, artifact: Artifact) -> None:
        self.module = module
        self.artifact = artifact
        self.symbols: dict[str, tuple[Any, int, Any]] = {}
        self.handle = ffi.new_handle(self)
        self.address = int(ffi.cast("uintptr_t", self.handle))


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__qualname__}"


# ---------------------------------------------------------------- what every slot does


def _run(handle: Any, slot: str, error: Any, call: Any, body: Callable[[State, Any], None]) -> int:
    """Runs a slot's body with its call; whatever it raises becomes the slot's error."""
    try:
        state: State = ffi.from_handle(handle)
        lent = None if call is None else BackendCall._lend(call)
        try:
            body(state, lent)
        finally:
            if lent is not None:
                lent._end()
        return int(lib.TLC_OK)
    except BaseException as exception:
        return _failed(state.name, slot, error, exception)


def _failed(name: str, slot: str, error: Any, exception: BaseException) -> int:
    if isinstance(exception, Rejected) and slot in ("validate", "load"):
        status = int(lib.TLC_REJECTED)
    else:
        status = failure_status(exception)
    message = failure_text(exception)
    if not isinstance(exception, _errors.TLCacheError):
        message = f"backend {name!r}: {slot} raised {message}"
    data = message.encode("utf-8", "replace")
    _errors.note_raised(status, data, exception)
    number = getattr(exception, "errno", 0)
    code = getattr(exception, "backend_code", 0)
    return int(
        _host.fail(
            error,
            status,
            number if isinstance(number, int) else 0,
            code if isinstance(code, int) else 0,
            text(data),
        )
    )


def _quietly(handle: Any, slot: str, body: Callable[[State], Any]) -> Any:
    """For slots without a status: what they raise is logged."""
    state: State = ffi.from_handle(handle)
    try:
        return body(state)
    except BaseException:
        # As text: a handler that kept the traceback would keep the module that its frames know.
        what = traceback.format_exc().rstrip()
        logger.error("backend %r: %s raised\n%s", state.name, slot, what)
        return None


def _give(out: Any, data: bytes) -> None:
    """Hands bytes to the library."""
    blob = _host.blob_create(ffi.from_buffer(data), len(data))
    if blob == NULL:
        raise MemoryError
    out[0] = blob


def _artifact(pointer: Any) -> Artifact:
    return Artifact._own(lib.tlc_artifact_retain(ffi.cast("tlc_artifact*", pointer)))


# ---------------------------------------------------------------- keys and compiles


@ffi.def_extern(error=lib.TLC_E_CALLBACK)  # type: ignore[untyped-decorator]
def tlcpy_slot_resolve_target(handle: Any, call: Any, target: Any, out: Any, error: Any) -> int:
    def body(state: State, lent: Any) -> None:
        resolved = state.call("resolve_target", from_text(target), call=lent)
        if not isinstance(resolved, str):
            raise state.wrong("resolve_target", resolved, "the resolved target, a str")
        _give(out, resolved.encode())

    return _run(handle, "resolve_target", error, call, body)


@ffi.def_extern(error=lib.TLC_E_CALLBACK)  # type: ignore[untyped-decorator]
def tlcpy_slot_identify(
    handle: Any, call: Any, request: Any, target: Any, out: Any, error: Any
) -> int:
    def body(state: State, lent: Any) -> None:
        view = BackendRequest._lend(request)
        try:
            identity = state.call("identify", view, from_text(target), call=lent)
        finally:
            view._end()
        if isinstance(identity, str):
            raise TypeError("identify returned a str; it returns bytes: encode it")
        if not isinstance(identity, bytes | bytearray | memoryview):
            raise state.wrong("identify", identity, "the toolchain's identity, bytes")
        _give(out, bytes(identity))

    return _run(handle, "identify", error, call, body)


@ffi.def_extern(error=lib.TLC_E_CALLBACK)  # type: ignore[untyped-decorator]
def tlcpy_slot_compile(
    handle: Any, call: Any, request: Any, target: Any, bundle: Any, log: Any, error: Any
) -> int:
    def body(state: State, lent: Any) -> None:
        view, output = BackendRequest._lend(request), BackendLog._lend(log)
        members = Bundle()
        try:
            made = state.call("compile", view, from_text(target), members, output, call=lent)
            members = _made(state, members, made)
            output.write(members.log)
        except CompileError as failure:
            output.write(failure.log)
            raise
        finally:
            view._end()
            output._end()
        members._fill(bundle, borrow=False)

    return _run(handle, "compile", error, call, body)


def _made(state: State, given: Bundle, made: Any) -> Bundle:
    """The members of a compile: what it put into its bundle, or returned."""
    if made is None or made is given:
        return given
    if isinstance(made, Bundle):
        if given._filled():
            raise TypeError("compile put members into its bundle and returned another one")
        return made
    if not isinstance(made, Mapping):
        raise state.wrong("compile", made, "None, a mapping of names to bytes, or a Bundle")
    for name, data in made.items():
        given.add(name, data)
    return given


# ---------------------------------------------------------------- loading


@ffi.def_extern(error=lib.TLC_E_CALLBACK)  # type: ignore[untyped-decorator]
def tlcpy_slot_validate(handle: Any, call: Any, artifact: Any, options: Any, error: Any) -> int:
    def body(state: State, lent: Any) -> None:
        answer = state.call("validate", _artifact(artifact), LoadOptions._read(options), call=lent)
        if answer is not None:
            raise state.wrong("validate", answer, "None, or raises tlcache.Rejected")

    return _run(handle, "validate", error, call, body)


@ffi.def_extern(error=lib.TLC_E_CALLBACK)  # type: ignore[untyped-decorator]
def tlcpy_slot_place(handle: Any, call: Any, options: Any, out: Any, error: Any) -> int:
    def body(state: State, lent: Any) -> None:
        place = state.call("place", LoadOptions._read(options), call=lent)
        if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < 1 << 64:
            raise state.wrong("place", place, "the place's number, an int from 0 to 2**64 - 1")
        out[0] = place

    return _run(handle, "place", error, call, body)


@ffi.def_extern(error=lib.TLC_E_CALLBACK)  # type: ignore[untyped-decorator]
def tlcpy_slot_load(
    handle: Any, call: Any, artifact: Any, options: Any, out: Any, error: Any
) -> int:
    def body(state: State, lent: Any) -> None:
        held = _artifact(artifact)
        module = state.call("load", held, LoadOptions._read(options), call=lent)
        if module is None:
            raise state.wrong("load", module, "the module, any object")
        loaded = LoadedModule(module, held)
        modules[loaded.address] = loaded
        out[0] = loaded.handle

    return _run(handle, "load", error, call, body)


@ffi.def_extern(error=lib.TLC_E_CALLBACK)  # type: ignore[untyped-decorator]
def tlcpy_slot_symbol(handle: Any, module: Any, name: Any, out: Any, error: Any) -> int:
    def body(state: State, _: Any) -> None:
        loaded: LoadedModule = ffi.from_handle(module)
        wanted = from_text(name)
        known = loaded.symbols.get(wanted)
        if known is None:
            answer = state.call("symbol", loaded.module, wanted)
            if answer is None:
                raise NotFoundError(f"backend {state.name!r}: the module has no symbol {wanted!r}")
            known = _address(state, answer)
            # A number is asked for each time; an object stays what it was, with its address.
            if not isinstance(answer, int):
                known = loaded.symbols.setdefault(wanted, known)
                if known[2] is not None:
                    symbols[known[1]] = known[0]
        note_answer(known[0])
        out[0] = ffi.cast("void*", known[1])

    return _run(handle, "symbol", error, None, body)


def _address(state: State, answer: Any) -> tuple[Any, int, Any]:
    """A symbol with its address, and the handle that stands for it where it has none."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        if not 0 < answer < 1 << 64:
            raise ValueError(f"symbol returned {answer}, which is no address")
        return (answer, answer, None)
    if isinstance(answer, _FUNCTION_TYPE | ctypes.c_void_p):
        address = ctypes.cast(answer, ctypes.c_void_p).value
        if not address:
            raise ValueError("symbol returned a function of ctypes that is NULL")
        return (answer, address, None)
    handle = ffi.new_handle(answer)
    return (answer, int(ffi.cast("uintptr_t", handle)), handle)


@ffi.def_extern(error=NULL)  # type: ignore[untyped-decorator]
def tlcpy_slot_native(handle: Any, module: Any) -> Any:
    def body(state: State) -> Any:
        loaded: LoadedModule = ffi.from_handle(module)
        note_answer(loaded.module)
        native = state.call("native", loaded.module)
        if not isinstance(native, int) or isinstance(native, bool) or not 0 <= native < 1 << 64:
            raise state.wrong("native", native, "the driver's handle, an int from 0 to 2**64 - 1")
        return ffi.cast("void*", native)

    answer = _quietly(handle, "native", body)
    return NULL if answer is None else answer


@ffi.def_extern()  # type: ignore[untyped-decorator]
def tlcpy_slot_unload(handle: Any, module: Any) -> None:
    def body(state: State) -> None:
        loaded: LoadedModule = ffi.from_handle(module)
        try:
            if "unload" in state.slots:
                state.call("unload", loaded.module)
        finally:
            for _, address, stands_for in loaded.symbols.values():
                if stands_for is not None:
                    symbols.pop(address, None)
            modules.pop(loaded.address, None)

    _quietly(handle, "unload", body)


# ---------------------------------------------------------------- the backend itself


@ffi.def_extern(error=lib.TLC_E_CALLBACK)  # type: ignore[untyped-decorator]
def tlcpy_slot_probe(handle: Any, call: Any, out: Any, error: Any) -> int:
    def body(state: State, lent: Any) -> None:
        found = state.call("probe", call=lent)
        if not isinstance(found, Mapping):
            raise state.wrong("probe", found, "what was found, a dict that JSON can say")
        _give(out, json.dumps(dict(found)).encode())

    return _run(handle, "probe", error, call, body)


@ffi.def_extern(error=lib.TLC_E_CALLBACK)  # type: ignore[untyped-decorator]
def tlcpy_slot_describe(handle: Any, call: Any, artifact: Any, out: Any, error: Any) -> int:
    def body(state: State, lent: Any) -> None:
        said = state.call("describe", _artifact(artifact), call=lent)
        if not isinstance(said, Mapping):
            raise state.wrong("describe", said, "what its members are, a dict that JSON can say")
        _give(out, json.dumps(dict(said)).encode())

    return _run(handle, "describe", error, call, body)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def tlcpy_slot_close(handle: Any) -> None:
    def body(state: State) -> None:
        states.pop(state.address, None)
        # Registered in several places, it ends with the last of them.
        others = any(other.instance is state.instance for other in list(states.values()))
        if "close" in state.slots and not others:
            state.call("close")

    _quietly(handle, "close", body)


atexit.register(lib.tlcpy_slots_end)
