# SPDX-License-Identifier: MIT
"""Keys of kernels, device binaries and tuning results.

Each has what TileLang puts into its own key, as fields that can be compared, and what that lacks.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any

from ..._api import Request, UncacheableError
from . import _engines
from ._identity import header_folders, identity
from ._store import Names
from ._values import plain, source_of

#: What stands for a key where TileLang wants a text.
names = Names()

# Variables that compilers read by themselves.
_ENVIRONMENT = (
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "HIPCC_COMPILE_FLAGS_APPEND",
)


def version() -> str:
    """TileLang's."""
    import tilelang

    return str(getattr(tilelang, "__version__", "unknown"))


def namespace(part: str) -> str:
    """`tilelang/VERSION/part`."""
    return f"tilelang/{re.sub(r'[^A-Za-z0-9._+-]', '_', version()) or 'unknown'}/{part}"


def target_kind(target: Any) -> str:
    """The kind of a target, whatever form it has."""
    kind = getattr(getattr(target, "kind", None), "name", None)
    if kind is None and isinstance(target, Mapping):
        kind = target.get("kind")
    return str(kind if kind is not None else str(target).split()[0] if str(target) else "unknown")


def target_text(target: Any) -> str:
    """A target in the library's grammar: kind and, where there is one, arch."""
    if target_kind(target) in ("auto", "native"):
        raise UncacheableError(f"target {target} is not resolved: it means another thing elsewhere")
    attributes = target if isinstance(target, Mapping) else getattr(target, "attrs", None) or {}
    arch = None
    for name in ("arch", "mcpu"):
        try:
            arch = arch or (str(attributes[name]) if name in attributes else None)
        except (KeyError, TypeError):
            continue
    parts = [target_kind(target), *([arch] if arch else [])]
    return ":".join(_percent(part.lower()) for part in parts)


def _percent(text: str) -> str:
    raw = text.encode()
    return "".join(chr(b) if re.match(rb"[a-z0-9_.+-]", bytes([b])) else f"%{b:02x}" for b in raw)


def refuse_postprocessing(target: Any, engine: str, host: Any) -> None:
    """Raises where the user's own code rewrites what TileLang generates: that is in no key."""
    import tvm_ffi

    kinds = {target_kind(target), engine, "c_host", f"{target_kind(host)}_host"}
    for kind in sorted(kinds):
        name = f"tilelang_callback_{kind}_postproc"
        if tvm_ffi.get_global_func(name, allow_missing=True) is not None:
            raise UncacheableError(f"{name} is registered, and what it does is in no key")


def _host() -> str:
    """What the host's code in an entry runs on."""
    return f"{sys.platform} {platform.machine()} {' '.join(platform.libc_ver())}".strip()


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _ENVIRONMENT if os.environ.get(name)}


class Printed:
    """A PrimFunc whose text is made once; in all else the PrimFunc itself."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._texts: dict[Any, str] = {}

    def script(self, *arguments: Any, **options: Any) -> str:
        """As PrimFunc.script."""
        known = (arguments, tuple(sorted(options.items())))
        try:
            return self._texts[known]
        except (KeyError, TypeError):
            text = self._function.script(*arguments, **options)
            self._texts[known] = text
            return str(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def _output_index(given: Any, function: Any) -> Any:
    """Which arguments are results, as numbers from the front: -1 and 2 of three are one thing.

    TileLang rewrites the caller's list in place, so that what it holds depends on what was built
    before.
    """
    if given is None:
        return None
    indices = list(given) if isinstance(given, list | tuple) else [given]
    count = len(getattr(function, "params", None) or ())
    return [one + count if isinstance(one, int) and one < 0 and count else one for one in indices]


def _one_or_many(flags: Any) -> Any:
    """TileLang takes one flag as text, too."""
    return [flags] if isinstance(flags, str) else flags


def kernel(
    arguments: Mapping[str, Any], own: str | None, base: Mapping[str, Any], cache: Any = None
) -> str:
    """The name of a kernel's key.

    Args:
        arguments: of KernelCache._generate_key, by name.
        own: TileLang's key; None where it could not make one.
        base: what TileLang adds to all its keys.
        cache: TileLang's own, of the execution backend.
    """
    known = dict(arguments)
    function = known.pop("func")
    target, host = known.pop("target", None), known.pop("target_host", None)
    engine = str(known.pop("execution_backend", None) or "unknown")
    refuse_postprocessing(target, engine, host)
    text = function.script(show_meta=True)
    kind = target_kind(target)
    fields = {
        "function": text,
        "out_idx": _output_index(known.pop("out_idx", None), function),
        "arguments": plain(known.pop("args", None), "args"),
        "pass_configs": plain(known.pop("pass_configs", None), "pass_configs"),
        "compile_flags": plain(_one_or_many(known.pop("compile_flags", None)), "compile_flags"),
        "target_text": str(target),
        "target_host": str(host) if host else None,
        "tilelang": plain(base, "base"),
        "host": _host() if _engines.host_bound(engine, kind) else None,
        "environment": _environment(),
        **{f"tilelang_{name}": plain(value, name) for name, value in known.items()},
    }
    if own is not None and own != _rebuilt(text, arguments, base):
        # A TileLang whose key has something in it that is not among these.
        fields["tilelang_key"] = own
    label = f"{function_name(function)} for {target_text(target)} ({engine})"
    request = Request(
        namespace("kernels"),
        target=target_text(target),
        engine=engine,
        toolchain=f"tilelang {version()}",
        fields=fields,
    )
    request._add_prepared(identity(kind))
    return names.add(request.key(), label, _engines.demanded(engine, kind, version(), cache))


def _rebuilt(text: str, arguments: Mapping[str, Any], base: Mapping[str, Any]) -> str | None:
    """TileLang's key as of 0.1.13 to 0.1.15, from what is among our fields too."""
    out_idx, host = arguments.get("out_idx"), arguments.get("target_host")
    try:
        data = {
            "func": hashlib.sha256(text.encode()).hexdigest(),
            "out_idx": out_idx if isinstance(out_idx, list | tuple) else [out_idx],
            "args_repr": [repr(one) for one in arguments.get("args") or ()],
            "target": str(arguments.get("target")),
            "target_host": str(host) if host else None,
            "execution_backend": arguments.get("execution_backend"),
            "pass_configs": arguments.get("pass_configs"),
            "compile_flags": arguments.get("compile_flags"),
            **base,
        }
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    except (TypeError, ValueError):
        return None


def function_name(function: Any) -> str:
    """What a PrimFunc is called, for people."""
    try:
        return str(function.attrs["global_symbol"])
    except (AttributeError, KeyError, TypeError):
        return str(getattr(function, "__name__", "kernel"))


def binary(kind: str, arguments: Mapping[str, Any]) -> str:
    """The name of a device binary's key. kind: of what cache of TileLang's; arguments: of make_key.

    Folders of headers stand there by name, and by content in the identity: so two installations in
    different places share.
    """
    known = {name: plain(value, name) for name, value in arguments.items()}
    options = known.pop("options", None)
    if isinstance(options, list):
        known["options"] = [_without_folder(one) for one in options]
    target = str(known.get("target_kind") or kind)
    arch = known.get("target_arch")
    request = Request(
        namespace("binaries"),
        target=":".join(_percent(str(part).lower()) for part in (target, arch) if part),
        engine="tilelang",
        toolchain=f"tilelang {version()}",
        fields={"cache": kind, "environment": _environment(), **known},
    )
    request._add_prepared(identity(target))
    return names.add(request.key(), f"{kind} binary for {target} {arch or ''}".strip())


def _without_folder(option: Any) -> Any:
    for name, folder in header_folders().items():
        if option == "-I" + folder:
            return f"-I<{name}>"
    return option


def tuning(
    tuner: Any, own: str | None, parameters: Any, extra: Any, compile_flags: Any, run: Any
) -> str:
    """The name of a tuning result's key, for an AutoTuner.

    Args:
        tuner: the AutoTuner.
        own: TileLang's key; None where it could not make one.
        parameters: of the tuned function's signature.
        extra: what TileLang read from the closure.
        compile_flags: which it does not know.
        run: arguments of AutoTuner.run that decide what is best.
    """
    import tilelang.backend.module as backends

    compile_args = dict(vars(tuner.compile_args))
    profile_args = dict(vars(tuner.profile_args))
    context = backends.create_backend_context(
        compile_args.pop("target", "auto"),
        compile_args.pop("target_host", None),
        compile_args.pop("execution_backend", "auto"),
    )
    compile_args.pop("verbose", None)  # says more, changes nothing
    kind, engine = target_kind(context.target), context.execution_backend.name
    refuse_postprocessing(context.target, engine, context.target_host)
    fields = {
        "function": source_of(tuner.fn, "the tuned function"),
        "parameters": plain(getattr(tuner, "_kernel_parameters", None), "parameters"),
        "defaults": _defaults(parameters),
        "closure": plain(extra, "closure"),
        "configs": plain(tuner.configs, "configs"),
        "compile": plain(_normalised(compile_args), "compile arguments"),
        "compile_flags": plain(_one_or_many(compile_flags), "compile_flags"),
        "profile": plain(profile_args, "profile arguments"),
        "run": plain(run, "run arguments"),
        "target_text": str(context.target),
        "target_host": str(context.target_host) if context.target_host else None,
        "device": _device(kind),
        "host": _host(),
        "environment": _environment(),
    }
    if own is not None and own != _rebuilt_tuning(tuner, parameters, extra):
        # As for a kernel; and whatever makes a text of TileLang's function of another kind.
        fields["tilelang_key"] = own
    request = Request(
        namespace("autotune"),
        target=target_text(context.target),
        engine=engine,
        toolchain=f"tilelang {version()}",
        fields=fields,
    )
    request._add_prepared(identity(kind))
    name = getattr(tuner.fn, "__qualname__", "function")
    return names.add(request.key(), f"best of {len(tuner.configs)} for {name}")


def _normalised(compile_args: dict[str, Any]) -> dict[str, Any]:
    try:
        from tilelang.transform.pass_config import normalize_pass_configs
    except ImportError:
        return compile_args
    return {**compile_args, "pass_configs": normalize_pass_configs(compile_args["pass_configs"])}


def _defaults(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: plain(one.default, f"default of {name}")
        for name, one in parameters.items()
        if one.default is not inspect.Parameter.empty
    }


def _rebuilt_tuning(tuner: Any, parameters: Mapping[str, Any], extra: Any) -> str | None:
    """TileLang's key as of 0.1.13 to 0.1.15, from what is among our fields too."""
    try:
        from tilelang.autotuner.tuner import _normalize_value

        empty = inspect.Parameter.empty
        given = [one.default for one in parameters.values() if one.default is not empty]
        if tuner._kernel_parameters is not None:
            given += _normalize_value(tuner._kernel_parameters)
        data = {
            "version": version(),
            "op_parameters": given,
            "extra_parameters": extra,
            "func_source": inspect.getsource(tuner.fn),
            "configs": tuner.configs,
            "compile_args": hash(tuner.compile_args),
            "profile_args": hash(tuner.profile_args),
        }
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    except (ImportError, AttributeError, TypeError, ValueError, OSError):
        return None


def _device(kind: str) -> str | None:
    """The device's model: what is best on one is not on another of the same arch."""
    if kind in ("c", "llvm"):
        return platform.processor() or platform.machine()
    try:
        import torch

        return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else None
    except Exception:
        return None


__all__ = ["Printed", "binary", "kernel", "names", "namespace", "target_text", "tuning", "version"]
