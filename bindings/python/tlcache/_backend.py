# SPDX-License-Identifier: MIT
"""Backends written in Python: what a class or object must have to be one, and registering it."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from . import _slots
from ._errors import BusyError, InvalidError, NotFoundError, check, make_error
from ._native import NULL, ffi, lib, new_error
from ._slots import Slot, State

Declared = TypeVar("Declared")
_MARK = "__tlcache_backend__"

#: The slots and what each is called with.
SLOTS: dict[str, tuple[str, ...]] = {
    "resolve_target": ("target",),
    "identify": ("request", "target"),
    "compile": ("request", "target", "bundle", "log"),
    "validate": ("artifact", "options"),
    "place": ("options",),
    "load": ("artifact", "options"),
    "symbol": ("module", "name"),
    "native": ("module",),
    "unload": ("module",),
    "probe": (),
    "close": (),
    "describe": ("artifact",),
}
_WITHOUT_CALL = {"symbol", "native", "unload", "close"}


class _Declaration:
    """What the decorator was told, as C."""

    def __init__(self, engine: str, target_kinds: list[str], name: str, caps: int) -> None:
        for value, what in ((engine, "engine"), (name, "name")):
            _check_text(value, what)
        for kind in target_kinds:
            _check_text(kind, "a target kind")
        if not target_kinds:
            raise InvalidError("target_kinds is empty; name the kinds the backend is for")
        self.name = name
        self._texts = [ffi.new("char[]", one.encode()) for one in (name, engine, *target_kinds)]
        self._kinds = ffi.new("char*[]", [*self._texts[2:], NULL])
        self.ops = ops = ffi.new("tlc_backend_ops*")
        ops.struct_size = lib.tlcpy_size_of_ops()
        ops.abi_major, ops.abi_minor = lib.TLC_ABI_MAJOR, lib.TLC_ABI_MINOR
        ops.name, ops.engine = self._texts[0], self._texts[1]
        ops.target_kinds, ops.caps = self._kinds, caps

    def table(self, slots: Iterable[str]) -> Any:
        """The backend's table. `load` needs an end of its modules, and every backend one of its."""
        wanted = {*slots, "close"} | ({"unload"} if "load" in slots else set())
        table = ffi.new("tlc_backend_ops*", self.ops[0])
        for slot in wanted:
            assert lib.tlcpy_slot_set(table, ffi.new("char[]", slot.encode())), slot
        return table


def _check_text(value: Any, what: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, not {value!r}")
    if not value or "\0" in value:
        raise InvalidError(f"{what} is {value!r}; it is a text without NUL, and not empty")


def backend(
    *,
    engine: str,
    target_kinds: Iterable[str],
    name: str | None = None,
    host_bound: bool = False,
    survives_fork: bool = False,
) -> Callable[[Declared], Declared]:
    """Declares a class (or an object) to be a backend. `register_backend` then makes it serve.

        @tlcache.backend(engine="numpy-jit", target_kinds=["pycpu"])
        class NumpyJit:
            def identify(self, request, target):
                return numpy.__version__.encode()

            def compile(self, request, target, bundle, log):
                bundle.add("kernel.py", generate(request["source"]).encode())

            def load(self, artifact, options):
                return marshal_and_run(artifact["kernel.py"])

            def symbol(self, module, name):
                return module[name]

        tlcache.register_backend(NumpyJit)

    A method is a slot by its name; a slot that is not there is not supported, and none is required.
    Methods that are no slots begin with an underscore. `types.SimpleNamespace(compile=f, load=g)`
    makes a backend of plain functions.

    resolve_target(target: str) -> str
        Makes a target with `auto` or `native` into one without. Runs at every look-up.
    identify(request: BackendRequest, target: str) -> bytes
        Identity of what would really compile this request; enters the key. Runs at every look-up.
    compile(request: BackendRequest, target: str, bundle: Bundle, log: BackendLog)
        Compiles. Adds members and guards to the bundle, or returns a mapping of names to bytes or a
        Bundle of its own. Raises CompileError, with its log, where the source is at fault. May use
        the cache; the other slots must not.
    validate(artifact: Artifact, options: LoadOptions) -> None
        Raises Rejected if the artifact is not whole or does not fit the device.
    place(options: LoadOptions) -> int
        Number of the device or context where a load with these options goes; modules are shared per
        place.
    load(artifact: Artifact, options: LoadOptions) -> object
        Loads; what it returns is the module, and is kept until it is unloaded. Raises LoadError
        where the artifact is unusable: it is then taken out of the cache.
    symbol(module, name: str) -> int | object
        An address, a function of ctypes, or any object, for which a handle then stands
        (`Module.object` gives it back). None: there is none of this name. An object is asked for
        once; it is kept until the module is unloaded.
    native(module) -> int
        The handle that applications know, of a driver's module, say.
    unload(module) -> None
        Ends a module. Runs once, on any thread, and not when the interpreter ends before.
    probe() -> Mapping
        What was found on this machine, as JSON can say it. Raises UnavailableError with a reason
        where the backend cannot work.
    describe(artifact: Artifact) -> Mapping
        What the artifact's binaries say of themselves, as JSON can say it, for people and tools:
        `{"members": {NAME: {"format": ...}}}`, with `archs`, `kernels`, `symbols` where they can be
        read without a device.
    close() -> None
        Ends the backend, after it was taken out.

    A slot that has a parameter named `call` gets a BackendCall with it: whether the caller gave up,
    and what the store remembers of files. That goes for all but symbol, native, unload and close.

    Slots are called from any thread, several at once. What they are given ends with them, but
    artifacts, which live as long as something refers to them.

    An exception of a slot becomes the error of the call it served, with its text. If that call came
    from this thread, the error's `__cause__` is the exception.

    Args:
        engine: what the backend is registered for, with each of the kinds.
        target_kinds: kinds of targets, as in `kind:arch:feature`.
        name: for people; default: the name of the class.
        host_bound: code runs on the machine that compiled it: machine and system enter the key.
        survives_fork: a loaded module still works in a forked child.

    Raises:
        TypeError: a method is no slot, or does not take what its slot is called with.
    """
    kinds = [target_kinds] if isinstance(target_kinds, str) else list(target_kinds)
    caps = (lib.TLC_BACKEND_HOST_BOUND if host_bound else 0) | (
        lib.TLC_BACKEND_SURVIVES_FORK if survives_fork else 0
    )

    def declare(declared: Declared) -> Declared:
        own_name = declared if isinstance(declared, type) else type(declared)
        declaration = _Declaration(engine, kinds, name or own_name.__qualname__, caps)
        _read_slots(declared)
        setattr(declared, _MARK, declaration)
        return declared

    return declare


def _read_slots(declared: Any) -> dict[str, Slot]:
    """The slots of a class or object. Refuses what cannot be one."""
    owner = declared.__qualname__ if isinstance(declared, type) else type(declared).__qualname__
    slots: dict[str, Slot] = {}
    for name in dir(declared):
        static = inspect.getattr_static(declared, name)
        if name not in SLOTS:
            routine = inspect.isroutine(static) or isinstance(static, staticmethod | classmethod)
            if routine and not name.startswith("_"):
                raise TypeError(
                    f"{owner}.{name} is no slot of a backend; the slots are {', '.join(SLOTS)}; "
                    "any other method's name begins with an underscore"
                )
            continue
        function = getattr(declared, name)
        if function is None:  # a subclass takes a slot out
            continue
        if not callable(function):
            raise TypeError(f"{owner}.{name} is {function!r}; a slot is a function")
        is_unbound = isinstance(declared, type) and inspect.isfunction(static)
        slots[name] = (function, _wants_call(f"{owner}.{name}", name, function, is_unbound))
    needless = {"symbol", "native", "unload"} & slots.keys()
    if needless and "load" not in slots:
        raise TypeError(f"{owner} has {', '.join(sorted(needless))}, but no load to make a module")
    return slots


def _wants_call(who: str, name: str, function: Any, is_unbound: bool) -> bool:
    """Whether a slot has a parameter named `call`. Refuses one that cannot be called."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of C does not say
        return False
    given = (["self"] if is_unbound else []) + list(SLOTS[name])
    wants_call = name not in _WITHOUT_CALL and "call" in signature.parameters
    try:
        signature.bind(*given, **({"call": None} if wants_call else {}))
    except TypeError as error:
        optional = ", and call if it wants it" if name not in _WITHOUT_CALL else ""
        raise TypeError(
            f"{who} does not take what its slot is called with "
            f"({', '.join(given) or 'nothing'}{optional}): {error}"
        ) from None
    return wants_call


# ---------------------------------------------------------------- registering


class _Registered(State):
    """A backend that is registered for the process or for one cache."""

    def __init__(self, given: Any, instance: Any, scope: Any) -> None:
        declaration: _Declaration = getattr(instance, _MARK)
        slots = _read_slots(instance)
        super().__init__(instance, declaration.name, slots)
        self.given = given
        self.scope = None if scope is None else weakref.ref(scope)
        self.declaration = declaration
        self.ops = declaration.table(slots)

    def is_for(self, given: Any, scope: Any) -> bool:
        """Whether this is what was registered there, by the class or by the object."""
        same_scope = (None if self.scope is None else self.scope()) is scope
        return same_scope and (self.given is given or self.instance is given)


_lock = threading.RLock()


def _find(given: Any, scope: Any) -> _Registered | None:
    for state in list(_slots.states.values()):
        if isinstance(state, _Registered) and state.is_for(given, scope):
            return state
    return None


def register(given: Any, scope: Any, override: bool, default: bool, function: Any) -> Any:
    """Registers for the process (no scope) or for the scope, a cache; see register_backend."""
    if not isinstance(getattr(given, _MARK, None), _Declaration):
        raise TypeError(
            f"{given!r} is no backend; put @tlcache.backend(engine=..., target_kinds=[...]) above "
            "its class"
        )
    flags = (lib.TLC_REGISTER_OVERRIDE if override else 0) | (
        lib.TLC_REGISTER_DEFAULT if default else 0
    )
    with _lock:
        known = _find(given, scope)
        if known is not None:
            return known.instance
        state = _Registered(given, given() if isinstance(given, type) else given, scope)
        # From here on the library may call it, from any thread.
        _slots.states[state.address] = state
        error = new_error()
        status = function(state.ops, state.handle, flags, error)
        if status != lib.TLC_OK:
            _slots.states.pop(state.address, None)
            failure = make_error(status, error)
            failure.message = failure.message.replace("TLC_REGISTER_OVERRIDE", "override=True")
            raise failure
        return state.instance


def register_backend(given: Any, *, override: bool = False, default: bool = False) -> Any:
    """Registers a backend for this process, for each of its target kinds; all or none.

    Args:
        given: an object of a class with `@backend`, or the class, which is then called without
            arguments.
        override: take the place of the backend that serves there; it comes back when this one is
            unregistered.
        default: make its engine the default of its kinds. (The first one is, otherwise.)

    Returns:
        The object that serves. Registering it again does nothing. It is kept while it is registered
        or modules of it are alive.

    Raises:
        ExistsError: another backend serves there; see `override`.
        InvalidError: engine or kinds are not such names; the message says which.
    """
    return register(given, None, override, default, lib.tlc_register_backend)


def unregister_backend(given: Any) -> None:
    """Takes a backend of this process out, waits for its running calls, then calls its `close`.

    Raises:
        NotFoundError: it is not registered for the process.
        BusyError: modules of it are alive, or this is one of its own slots. Nothing was changed.
    """
    state = _find(given, None)
    if state is None:
        raise NotFoundError(f"{given!r} is not registered for this process")
    error = new_error()
    status = lib.tlc_unregister_backend(state.ops, state.handle, error)
    if status == lib.TLC_E_BUSY:
        raise make_error(status, error, kind=BusyError)
    check(status, error)


__all__ = ["SLOTS", "backend", "register", "register_backend", "unregister_backend"]
