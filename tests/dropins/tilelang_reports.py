# SPDX-License-Identifier: MIT
"""Faults in keys that TileLang's users reported, each tried on tlcache: `python tilelang_reports.py NAME`.

Functions are named by the fault, T1 to T42 of docs/integrations/tilelang.md. Each fails by an
exception. They run in processes of their own because they change what is global in TileLang.
"""

from __future__ import annotations

import os
import re
import sys

import tlcache.integrations.tilelang as integration
import tilelang.language as T
import tvm
from tilelang.cache import _dispatch_map
from tlcache.integrations._tilelang import _keys, _store, _values

assert integration.state()[0], integration.state()
CUDA = {"kind": "cuda", "arch": "sm_90a"}


def function(size=64, factor=2.0, name="scale"):
    @T.prim_func
    def scale(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):
        with T.Kernel(1) as _:
            for i in T.serial(size):
                B[i] = A[i] * factor

    return scale.with_attr("global_symbol", name)


def fields(**changes):
    """Arguments of _generate_key."""
    return {
        "func": function(),
        "out_idx": [1],
        "execution_backend": "tvm_ffi",
        "args": (),
        "target": tvm.target.Target(CUDA),
        "target_host": tvm.target.Target("c"),
        "pass_configs": {},
        "compile_flags": None,
        **changes,
    }


def key(**changes) -> str:
    return _dispatch_map["tvm_ffi"]._generate_key(**fields(**changes))


def named(name: str):
    """The key that a name of ours stands for."""
    known = _keys.names.get(name)
    assert known is not None, "this is TileLang's own key"
    return known[0]


class Fake:
    """A kernel as far as the caches look at one."""

    def __init__(self, *_arguments, **options) -> None:
        self.options, self.params, self.adapter = options, [], None
        self.kernel_source = "// device"


def t1_the_same_key_in_every_process() -> None:
    print(key(pass_configs={"a": 1, "b": 2}), key(target=tvm.target.Target("c")))


def t2_maps_have_no_order() -> None:
    assert key(pass_configs={"a": 1, "b": [1, 2]}) == key(pass_configs={"b": [1, 2], "a": 1})
    assert key(pass_configs={"b": [1, 2]}) != key(pass_configs={"b": [2, 1]})


def t3_metadata_counts() -> None:
    assert key() != key(func=function().with_attr("tl.note", 1))


def t4_each_field_counts() -> None:
    changes = [
        {},
        {"func": function(65)},
        {"out_idx": [0]},
        {"out_idx": None},
        {"execution_backend": "cython"},
        {"args": (1,)},
        {"target": tvm.target.Target("c")},
        {"target_host": None},
        {"pass_configs": {"tl.enable_fast_math": True}},
        {"pass_configs": {"tl.enable_fast_math": False}},
        {"compile_flags": ["-O1"]},
        {"compile_flags": ["-O1", "-g"]},
    ]
    assert len({key(**one) for one in changes}) == len(changes)
    # And what says the same is the same.
    assert key(out_idx=[1]) == key(out_idx=1) == key(out_idx=-1) == key(out_idx=[-1])
    assert key(compile_flags="-O1") == key(compile_flags=["-O1"])


def t5_the_arch_counts_and_auto_is_refused() -> None:
    other = tvm.target.Target({"kind": "cuda", "arch": "sm_86"})
    assert key() != key(target=other)
    assert named(key(target=other)).encoding != named(key()).encoding
    assert _keys.names.get(key(target="auto")) is None


def t6_the_host_counts_for_what_runs_on_it_only() -> None:
    import platform

    def both() -> tuple[str, str]:
        return key(), binary_key()

    kernel, device = both()
    own = platform.machine
    platform.machine = lambda: "aarch64"
    try:
        other_kernel, other_device = both()
    finally:
        platform.machine = own
    assert kernel != other_kernel
    assert device == other_device


def binary_key(**changes) -> str:
    from tilelang.cache.cuda_binary_cache import CUDABinaryCache
    from tilelang.env import CUTLASS_INCLUDE_DIR, TILELANG_TEMPLATE_PATH

    arguments = {
        "code": "__global__ void f() {}",
        "target_kind": "cuda",
        "target_arch": "90a",
        "target_code": ["sm_90a"],
        "compile_format": "cubin",
        "options": ["-std=c++20", "-I" + TILELANG_TEMPLATE_PATH, "-I" + CUTLASS_INCLUDE_DIR],
        **changes,
    }
    return CUDABinaryCache.make_key(**arguments)


def t10_each_layer_has_its_own_inputs() -> None:
    options = ["-std=c++20"]
    keys = {
        binary_key(),
        binary_key(options=options),
        binary_key(options=[*options, "--use_fast_math"]),
        binary_key(target_arch="90"),
        binary_key(compile_format="fatbin"),
        binary_key(code="__global__ void g() {}"),
    }
    assert len(keys) == 6
    # Where TileLang is installed says nothing: headers stand in the key by content.
    os.environ["NVCC_APPEND_FLAGS"] = "--use_fast_math"
    assert binary_key() not in keys


def t11_what_was_keyed_before_does_not_count() -> None:
    before = key()
    for size in range(1, 101):
        key(func=function(size))
    assert key(func=function()) == before
    indices = [-1]
    first = key(out_idx=indices)
    indices[0] = 1  # as TileLang's adapters do to the caller's list
    assert key(out_idx=indices) == first == before


def t13_closures_count() -> None:
    assert key(func=function(128)) != key(func=function(256))
    assert key(func=function(64, 2.0)) != key(func=function(64, 3.0))


def t14_t16_tuning_results_have_all_their_inputs() -> None:
    from tilelang_tune import key_of, tuner_of

    keys = [
        key_of(tuner_of(64, None)),
        key_of(tuner_of(65, None)),
        key_of(tuner_of(64, ["-O3"])),
        key_of(tuner_of(64, ["-O2"])),
        key_of(tuner_of(64, None, skip_check=True)),
        key_of(tuner_of(64, None, rtol=0.5)),
        key_of(tuner_of(64, None, cache_input_tensors=True)),
    ]
    assert None not in keys and len(set(keys)) == len(keys)
    assert key_of(tuner_of(64, None)) == keys[0]
    # TileLang knows no name for a callback, and neither do we.
    assert key_of(tuner_of(64, None, ref_prog=lambda a: a)) is None


def t14_helpers_of_the_tuned_function_count() -> None:
    import tilelang_tune

    before = tilelang_tune.key_of(tilelang_tune.tuner_of(64, None))
    tilelang_tune.HELPER = 4
    assert tilelang_tune.key_of(tilelang_tune.tuner_of(64, None)) != before
    # In a function that is defined in the tuned one, too, which is what TileLang's users write.
    global _factor
    tuner = tilelang_tune.tuner_of(64, None)
    tuner.fn = _tuned_with_kernel_inside
    before = tilelang_tune.key_of(tuner)
    _factor = 3.0
    assert None is not before != tilelang_tune.key_of(tuner)


_factor = 2.0


def _tuned_with_kernel_inside(size, block=None):
    def kernel(value):
        return value * _factor

    return kernel


def t14_how_long_was_measured_counts() -> None:
    from tilelang_tune import key_of, tuner_of

    def measured(**run) -> str | None:
        tuner = tuner_of(64, None)
        tuner._tlcache_run = run
        return key_of(tuner)

    assert measured(warmup=1, rep=1) != measured(warmup=25, rep=100)


def t15_what_has_no_lasting_value_is_not_kept() -> None:
    """And is no error: such a kernel is compiled, and in no cache."""
    import tilelang.cache.kernel_cache as module
    from tilelang.backend.module import create_backend_context

    own, module.JITKernel = module.JITKernel, Fake
    try:
        cache = _dispatch_map["cython"]
        context = create_backend_context("c", None, "cython")
        size = len(cache._memory_cache)
        for _ in range(2):
            made = cache.cached(
                function(), [1], backend_context=context, verbose=False, pass_configs={"x": object()}
            )
            assert isinstance(made, Fake)
        assert len(cache._memory_cache) == size
    finally:
        module.JITKernel = own
    assert not kernels_stored()


def kernels_stored() -> list:
    return _store.cache().list(_keys.namespace("kernels"))


def t15b_configurations_that_hold_functions() -> None:
    from tilelang_tune import key_of, tuner_of

    tuner = tuner_of(64, None)
    tuner.configs = [{"block": lambda: 3}]
    assert key_of(tuner) is not None  # by its text
    tuner.configs = [{"block": object()}]
    assert key_of(tuner) is None


def t17_no_field_vanishes() -> None:
    from tilelang_tune import key_of, tuner_of

    common = {"compilers", "environment", "headers", "libraries", "packages", "python"}
    assert _names(key()) == common | {
        "arguments", "compile_flags", "function", "host", "out_idx", "pass_configs", "target_host", "target_text",
        "tilelang",
    }  # fmt: skip
    assert _names(binary_key()) == common | {
        "cache", "code", "compile_format", "options", "target_arch", "target_code", "target_kind",
    }  # fmt: skip
    assert _names(key_of(tuner_of(64, None))) == common | {
        "closure", "compile", "compile_flags", "configs", "defaults", "device", "function", "host", "parameters",
        "profile", "run", "target_host", "target_text",
    }  # fmt: skip
    described = named(key()).describe()
    text = str(described)
    for name in ("libtilelang.so", "libtvm_compiler.so", "c++", "torch", "apache-tvm-ffi"):
        assert name in text, (name, text)


def _names(name: str) -> set[str]:
    return {re.split(r"[.\[]", field["name"])[0] for field in described_fields(named(name))} - _CORE


_CORE = {"tlc", "namespace", "target", "engine", "toolchain"}


def described_fields(one) -> list:
    told = one.describe()
    return told["fields"] if isinstance(told, dict) else told


def t18_symbolic_sizes_count_by_name() -> None:
    one, other = tvm.tirx.Var("m", "int32"), tvm.tirx.Var("m", "int32")
    assert not one.same_as(other)
    assert _values.plain(one, "m") == _values.plain(other, "m") == ["var", "m", "int32"]
    assert _values.plain(tvm.tirx.Var("m", "int64"), "m") != _values.plain(one, "m")


def t42_defaults_from_the_environment_count() -> None:
    """As `cached` calls it: with what TileLang makes of the environment."""
    from tilelang.transform.pass_config import normalize_pass_configs

    os.environ.pop("TILELANG_LAYOUT_COST_MODEL", None)
    before = key(pass_configs=normalize_pass_configs({}))
    os.environ["TILELANG_LAYOUT_COST_MODEL"] = "bank_conflict"
    try:
        after = key(pass_configs=normalize_pass_configs({}))
    except ValueError:
        os.environ["TILELANG_LAYOUT_COST_MODEL"] = "default"
        after = key(pass_configs=normalize_pass_configs({}))
    assert before != after


def postprocessing_is_not_cached() -> None:
    """The user's code rewrites what is generated: what it does is in no key."""
    from tilelang.engine import register_c_postproc

    assert _keys.names.get(key()) is not None
    register_c_postproc(lambda code, target: code)
    assert _keys.names.get(key()) is None


if __name__ == "__main__":
    globals()[sys.argv[1]]()
