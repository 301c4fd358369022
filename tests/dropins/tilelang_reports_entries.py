# SPDX-License-Identifier: MIT
"""Faults in entries that TileLang's users reported, as those in keys are in tilelang_reports.py."""

from __future__ import annotations

import os
import sys
import tempfile

import tilelang
import tilelang.language as T
import tlcache
import tvm
from tilelang.cache import _dispatch_map
from tilelang.cache.kernel_cache import KernelCache
from tilelang_compile import scaled
from tilelang_reports import CUDA, Fake, binary_key, function, key, kernels_stored, named
from tlcache.integrations._tilelang import _store


def t19_what_was_not_tuned_is_not_stored() -> None:
    from tilelang.autotuner.param import AutotuneResult
    from tilelang_tune import key_of, tuner_of

    tuner = tuner_of(64, None)
    kernel = scaled(64, 2.0)
    tuner._save_result_to_disk(key_of(tuner), AutotuneResult(func=kernel.prim_func, kernel=kernel))
    assert tuner._load_result_from_disk(key_of(tuner)) is None


def t26_an_empty_binary_is_refused() -> None:
    from tilelang.cache.cuda_binary_cache import CUDABinaryCache

    name = binary_key()
    assert CUDABinaryCache.load(name, "cubin") is None
    try:
        CUDABinaryCache.save(name, "cubin", b"")
    except ValueError:
        pass
    else:
        raise AssertionError("an empty binary was taken")
    CUDABinaryCache.save(name, "cubin", b"\x7fELF of a device")
    assert CUDABinaryCache.load(name, "cubin") == b"\x7fELF of a device"
    assert CUDABinaryCache.load(name, "fatbin") is None


def t29_files_are_what_they_contain() -> None:
    """A Python file under a library's name, as TileLang's tuner once wrote it."""
    kinds = tlcache.MemberType
    assert _store._type_of("kernel_lib.so", b"import cutlass\n") == kinds.OPAQUE
    assert _store._type_of("x", b"\x7fELF" + bytes(14) + (62).to_bytes(2, "little")) == kinds.SHARED_OBJECT
    assert _store._type_of("x", b"\x7fELF" + bytes(14) + (190).to_bytes(2, "little")) == kinds.DEVICE_BINARY


def t31_a_result_from_a_kernel_that_came_from_the_store() -> None:
    """Run twice: the second time the kernel that is saved with the result was loaded."""
    from tilelang.autotuner.param import AutotuneResult
    from tilelang_tune import key_of, tuner_of

    kernel = scaled(64, 2.0)
    tuner = tuner_of(int(os.environ["SIZE"]), None)
    result = AutotuneResult(latency=1.0, config={"block": 1}, func=kernel.prim_func, kernel=kernel)
    tuner._save_result_to_disk(key_of(tuner), result)
    loaded = tuner._load_result_from_disk(key_of(tuner))
    assert loaded is not None and loaded.config == {"block": 1}
    check(loaded.kernel, 64)


def check(kernel, size: int) -> None:
    import torch

    values = torch.arange(size, dtype=torch.float32)
    assert torch.equal(kernel(values), values * 2.0)


def t33_symbolic_sizes_after_a_reload() -> None:
    import torch

    size = T.dynamic("n")

    @T.prim_func
    def scale(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):
        with T.Kernel(1) as _:
            for i in T.serial(size):
                B[i] = A[i] * 2.0

    kernel = tilelang.compile(scale, out_idx=[1], target="c", execution_backend="cython")
    for count in (3, 64):
        values = torch.arange(count, dtype=torch.float32)
        assert torch.equal(kernel(values), values * 2.0)


def t35_an_engine_without_files_leaves_the_others_alone() -> None:
    import tilelang.cache.kernel_cache as module
    from tilelang import env

    class Torch:
        name = "torch"

    class Context:
        target, target_host, execution_backend = tvm.target.Target("c"), None, Torch

    own, module.JITKernel = module.JITKernel, Fake
    try:
        made = _dispatch_map["torch"].cached(function(), [1], backend_context=Context, verbose=False)
    finally:
        module.JITKernel = own
    assert isinstance(made, Fake)
    assert env.is_cache_enabled()


def an_engine_that_tilelang_does_not_have_yet() -> None:
    """A class of TileLang's future, with files of its own: nothing here knows it."""
    import tilelang.cache.kernel_cache as module
    from tilelang.backend.module import BackendContext

    class TileIRKernelCache(KernelCache):
        _instance = None
        device_kernel_path = "kernel.tileir"
        host_kernel_path = "launcher.py"
        kernel_lib_path = "blob.bin"

        def _save_wrapper_kernel_code_to_disk(self, kernel, cache_path, verbose=False):
            self._safe_write_file(os.path.join(cache_path, "launcher.py"), "w", lambda f: f.write("pass"))

        def _save_so_cubin_to_disk(self, kernel, cache_path, verbose=False):
            self._safe_write_file(os.path.join(cache_path, "blob.bin"), "wb", lambda f: f.write(b"\x00\x01"))

        def _build_kernel(self, *args, **kwargs):
            with open(kwargs["kernel_lib_path"], "rb") as file:
                return Fake(loaded=file.read())

    class Engine:
        name = "tileir"

    class Context:
        target, target_host, execution_backend = tvm.target.Target(CUDA), None, Engine

    assert BackendContext is not None
    own, module.JITKernel = module.JITKernel, Fake
    try:
        for expected in (None, b"\x00\x01"):
            cache = TileIRKernelCache()
            cache._memory_cache.clear()
            made = cache.cached(function(), [1], backend_context=Context, verbose=False)
            assert made.options.get("loaded") == expected
    finally:
        module.JITKernel = own
    (entry,) = kernels_stored()
    artifact = _store.cache().find(entry.digest.hex())
    assert {"kernel.tileir", "launcher.py", "blob.bin"} <= set(artifact)
    assert "tileir" in str(tlcache.Key.decode(artifact.key_encoding).describe())


def a_cubin_that_comes_with_the_first_launch() -> None:
    """CuTeDSL makes its cubin late; the entry gets it then, by whatever name."""
    import pathlib

    from tilelang.jit.adapter.cutedsl.adapter import CuTeDSLKernelAdapter
    from tilelang.jit.adapter.cutedsl.kernel_cache import CuTeDSLKernelCache

    cache = CuTeDSLKernelCache()
    name = key(execution_backend="cutedsl")
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "tmpname.py").write_text("# kernel")
    adapter = object.__new__(CuTeDSLKernelAdapter)
    adapter.libpath = str(folder / "tmpname.py")

    class Kernel:
        params, kernel_source = [], "# source"

    kernel = Kernel()
    kernel.adapter = adapter
    files = {"kernel.py": b"# kernel", "device_kernel.py": b"", "host_kernel.py": b"", "launcher_lib.so": b"\x7fELF"}
    _store.cache().put(named(name), files)
    from tlcache.integrations._tilelang import _late

    assert _late.is_late(cache) and not _late.is_late(_dispatch_map["tvm_ffi"])
    _late.watch(kernel, name, None)
    assert set(_store.get(named(name))) == set(files)
    (folder / "tmpname.cubin").write_bytes(b"\x7fELF cubin")
    adapter._save_cubin_to_cache_if_needed()
    after = _store.get(named(name))
    assert set(after) == {*files, "kernel.cubin"} and bytes(after["kernel.cubin"]) == b"\x7fELF cubin"
    adapter._save_cubin_to_cache_if_needed()  # once


if __name__ == "__main__":
    globals()[sys.argv[1]]()
