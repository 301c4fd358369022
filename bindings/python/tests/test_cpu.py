# SPDX-License-Identifier: MIT
"""Kernels of the cpu backend: compiled, loaded, called with arrays."""

from __future__ import annotations

import array
import ctypes
import gc
import shutil
from pathlib import Path
from typing import Any

import pytest
import tlcache

SCALE = """
#include "factor.h"
void scale(float* data, int count) {
  for (int i = 0; i < count; ++i) data[i] *= FACTOR;
}
int number(void) { return 42; }
"""

pytestmark = pytest.mark.skipif(
    not (shutil.which("cc") or shutil.which("gcc")), reason="no host compiler"
)


def kernel(source: str, *options: str) -> tlcache.Request:
    return tlcache.Request(
        "pytest",
        target="cpu:native",
        engine="cc",
        label="scale",
        fields={"source": source, "options": ["-O2", *options]},
    )


@pytest.fixture
def scale(tmp_path: Path) -> tlcache.Request:
    (tmp_path / "factor.h").write_text("#define FACTOR 2.0f\n")
    return kernel(SCALE, f"-I{tmp_path}")


def test_a_kernel_is_compiled_loaded_and_called(cache: tlcache.Cache, scale: Any) -> None:
    artifact = cache.get_or_compile(scale)
    assert artifact.log is not None
    assert cache.get_or_compile(scale).log is None
    function = cache.load(artifact).function("scale", None, (ctypes.c_void_p, ctypes.c_int))
    data = array.array("f", [1, 2, 3])
    function(data.buffer_info()[0], len(data))
    assert list(data) == [2, 4, 6]


def test_a_kernel_with_numpy(cache: tlcache.Cache, scale: Any) -> None:
    numpy = pytest.importorskip("numpy")
    function = cache.load(cache.get_or_compile(scale)).function(
        "scale", None, (numpy.ctypeslib.ndpointer(numpy.float32), ctypes.c_int)
    )
    data = numpy.arange(1000, dtype=numpy.float32)
    function(data, data.size)
    assert (data == 2 * numpy.arange(1000)).all()


def test_an_edited_header_compiles_anew(cache: tlcache.Cache, scale: Any, tmp_path: Path) -> None:
    cache.get_or_compile(scale)
    (tmp_path / "factor.h").write_text("#define FACTOR 3.0f\n")
    artifact = cache.get_or_compile(scale)
    assert artifact.log is not None
    function = cache.load(artifact).function("scale", None, (ctypes.c_void_p, ctypes.c_int))
    data = array.array("f", [1])
    function(data.buffer_info()[0], 1)
    assert data[0] == 3


def test_a_function_keeps_its_module(folder: Path) -> None:
    with tlcache.Cache(folder, strict=True) as cache:
        function = cache.load(
            cache.get_or_compile(kernel("int number(void) { return 42; }"))
        ).function("number", ctypes.c_int)
    del cache
    gc.collect()
    assert function() == 42


def test_the_compilers_words_come_back(cache: tlcache.Cache) -> None:
    with pytest.raises(tlcache.CompileError) as caught:
        cache.get_or_compile(kernel("int broken(void) { return nonsense_name; }"))
    assert "nonsense_name" in caught.value.log
    warned = cache.get_or_compile(
        kernel("int warned(void) { int unused_name; return 1; }", "-Wall")
    )
    assert "unused_name" in (warned.log or "")


def test_an_absent_symbol_is_named(cache: tlcache.Cache) -> None:
    module = cache.load(cache.get_or_compile(kernel("int number(void) { return 1; }")))
    assert module.symbol("number") > 0
    assert module.native
    with pytest.raises(tlcache.NotFoundError, match="no_such_symbol"):
        module.symbol("no_such_symbol")


def test_junk_is_never_loaded(cache: tlcache.Cache) -> None:
    key = cache.key(kernel("int other(void) { return 1; }"))
    types = {"kernel.so": tlcache.MemberType.SHARED_OBJECT}
    artifact = cache.put(key, {"kernel.so": b"\x7fELF junk"}, types=types)
    with pytest.raises(tlcache.LoadError):
        cache.load(artifact)


def test_a_module_in_a_forked_child(folder: Path, python: Any) -> None:
    code = """
import ctypes, os, sys, tlcache
cache = tlcache.Cache(sys.argv[1], strict=True)
request = tlcache.Request("pytest", target="cpu:native", engine="cc",
                          fields={"source": "int number(void) { return 42; }"})
function = cache.load(cache.get_or_compile(request)).function("number", ctypes.c_int)
pid = os.fork()
if pid == 0:
    os._exit(function())
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
print(function())
"""
    assert python(code, folder).finish() == "42"
