# SPDX-License-Identifier: MIT
"""TileLang, unmodified, on tlcache: what hits, what is compiled, how often. Compiles for the host; needs no device."""

from __future__ import annotations

import os
import shutil
import stat
from importlib import metadata
from pathlib import Path

import pytest
from dropin_tools import HERE

pytest.importorskip("tilelang", reason="tilelang is not installed; tools/dev dropins tilelang installs it")
pytest.importorskip("tlcache")

from tilelang_place import TileLang, report, right  # noqa: E402


@pytest.fixture
def tilelang(place) -> TileLang:
    return TileLang(place)


def test_a_second_process_hits_with_tilelangs_folder_gone(tilelang) -> None:
    first = tilelang.run()
    assert tilelang.compiles() == 3
    assert tilelang.hits() == 0
    shutil.rmtree(tilelang.own)
    second = tilelang.run()
    assert tilelang.compiles() == 3
    assert tilelang.hits() == 3
    assert right(first, second)
    assert [one["source"] for one in first["kernels"]] == [one["source"] for one in second["kernels"]]
    assert first["warnings"] == second["warnings"] == []


def test_tilelangs_folder_does_not_grow(tilelang) -> None:
    tilelang.run()
    assert [path for path in tilelang.own.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("option", "path"),
    [
        (["--flag=-O3"], "compile_flags"),
        (["--config", "tl.disable_safe_memory_legalize=true"], "pass_configs"),
    ],
)
def test_a_changed_option_is_compiled_and_why_names_it(tilelang, option, path) -> None:
    tilelang.run("--kernels", 1)
    before = tilelang.entries()
    changed = tilelang.run("--kernels", 1, *option)
    assert right(changed)
    assert tilelang.compiles() == 2
    (new,) = tilelang.entries().keys() - before.keys()
    told = tilelang.place.tool("why", new)
    assert told["nearest"]["digest"] in before
    assert {one["path"].split(".")[0].split("[")[0] for one in told["nearest"]["differences"]} == {path}


def test_imported_after_tilelang_it_serves_too(tilelang) -> None:
    tilelang.run()
    late = tilelang.run("--late")
    assert tilelang.compiles() == 3
    assert right(late) and late["warnings"] == []


def test_eight_processes_compile_once(tilelang) -> None:
    """A cold kernel, the same in all, begun at the same moment: counted at the compiler."""
    go = tilelang.place.top / "go"
    processes = [tilelang.start("--kernels", 1, "--wait", go) for _ in range(8)]
    go.touch()
    assert right(*[report(process) for process in processes])
    assert tilelang.compiles() == 1


def test_switched_off_tilelang_uses_its_own(tilelang) -> None:
    tilelang.run("--off")
    assert tilelang.entries() == {}
    assert any(path.is_file() for path in tilelang.own.rglob("*.so"))


def test_deactivate_gives_tilelang_its_own_methods_back(tilelang) -> None:
    said = tilelang.place.code(
        """
        import tilelang
        from tilelang.cache.kernel_cache import KernelCache
        from tilelang.autotuner.param import AutotuneResult
        from tilelang.cache.cuda_binary_cache import CUDABinaryCache
        owners = [KernelCache, AutotuneResult, *CUDABinaryCache.__mro__[:-1]]
        before = [dict(vars(one)) for one in owners]
        import tlcache.integrations.tilelang as on
        assert on.state()[0], on.state()
        assert [dict(vars(one)) for one in owners] != before
        on.deactivate()
        assert [dict(vars(one)) for one in owners] == before
        assert not on.state()[0]
        on.activate()
        assert on.state()[0]
        print(on.state()[1])
        """,
        **tilelang.environment,
    )
    assert "kernels, device binaries, tuning results" in said


def test_another_compiler_of_the_same_name_is_another_key(tilelang) -> None:
    """T9: the content of what compiles is in the key, not its version."""
    tilelang.run("--kernels", 1)
    compiler = Path(tilelang.environment["CXX"])
    stamp = compiler.stat()
    os.utime(compiler, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 10**9))
    tilelang.run("--kernels", 1)
    assert tilelang.compiles() == 1  # T8: only touched
    compiler.write_text(compiler.read_text() + "# another build\n")
    tilelang.run("--kernels", 1)
    assert tilelang.compiles() == 2


def test_registry_and_command_know_it(tilelang) -> None:
    told = tilelang.place.tool("integrations")
    (row,) = [one for one in told["integrations"] if one["name"] == "tilelang"]
    assert row["version"] == metadata.version("tilelang")
    assert row["active"] is False and "not turned on" in row["reason"]


def test_the_import_needs_neither_tilelang_nor_the_library(tilelang) -> None:
    said = tilelang.place.code(
        """
        import sys
        import tlcache.integrations.tilelang
        print([name for name in ("tilelang", "torch", "tlcache._native") if name in sys.modules])
        """
    )
    assert said.strip() == "[]"


def test_a_loaded_kernel_lies_in_the_stores_own_folder(tilelang) -> None:
    """Folders handed to TileLang are the store's own, read-only."""
    said = tilelang.place.code(
        f"""
        import sys
        sys.path.insert(0, {str(HERE)!r})
        import tlcache.integrations.tilelang
        import tilelang_compile, os
        kernel = tilelang_compile.scaled(64, 2.0)
        path = getattr(kernel, "_tilelang_cache_path", None)
        print(path)
        """,
        **tilelang.environment,
    )
    assert said.strip()
    again = tilelang.place.code(
        f"""
        import sys, os
        sys.path.insert(0, {str(HERE)!r})
        import tlcache.integrations.tilelang
        import tilelang_compile
        print(tilelang_compile.scaled(64, 2.0)._tilelang_cache_path)
        """,
        **tilelang.environment,
    )
    folder = Path(again.strip().splitlines()[-1])
    assert folder.is_relative_to(tilelang.place.store)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o500


def test_the_variable_turns_it_on(tilelang) -> None:
    """As the wheel tlcache-autoload does at the start of Python."""
    said = tilelang.place.code(
        """
        import tlcache_autoload
        tlcache_autoload.install()
        import tilelang
        from tlcache.integrations import status
        print([(one.active, one.reason) for one in status() if one.name == "tilelang"])
        """,
        TLC_INTEGRATIONS="tilelang",
        PYTHONPATH=str(HERE.parent.parent / "bindings" / "python-autoload"),
        **tilelang.environment,
    )
    assert "(True, 'keeps kernels, device binaries, tuning results')" in said
