# SPDX-License-Identifier: MIT
"""Faults that TileLang's users reported, each as a test; docs/integrations/tilelang.md lists them all."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from dropin_tools import HERE

pytest.importorskip("tilelang", reason="tilelang is not installed; tools/dev dropins tilelang installs it")
pytest.importorskip("tlcache")

from tilelang_place import TileLang  # noqa: E402

KEYS = HERE / "tilelang_reports.py"
ENTRIES = HERE / "tilelang_reports_entries.py"
# Those that a test below runs more than once.
SPECIAL = {
    "t1_the_same_key_in_every_process",
    "t31_a_result_from_a_kernel_that_came_from_the_store",
    "t33_symbolic_sizes_after_a_reload",
}
HELPERS = {"function", "fields", "key", "named", "binary_key", "described_fields", "check", "kernels_stored"}


def cases() -> list[tuple[Path, str]]:
    found = []
    for file in (KEYS, ENTRIES):
        functions = [one.name for one in ast.parse(file.read_text()).body if isinstance(one, ast.FunctionDef)]
        found += [(file, name) for name in functions if not name.startswith("_") and name not in SPECIAL | HELPERS]
    return found


@pytest.fixture
def tilelang(place) -> TileLang:
    return TileLang(place)


@pytest.mark.parametrize(("file", "name"), cases(), ids=lambda one: str(getattr(one, "stem", one)))
def test_reported(tilelang, file, name) -> None:
    tilelang.place.run(file, name, **tilelang.environment)


def test_t1_the_same_key_in_every_process(tilelang) -> None:
    said = {
        tilelang.place.run(
            KEYS, "t1_the_same_key_in_every_process", PYTHONHASHSEED=seed, **tilelang.environment
        )
        for seed in ("0", "1", "77")
    }
    assert len(said) == 1


def test_t31_a_result_from_a_kernel_that_came_from_the_store(tilelang) -> None:
    for size in ("1", "2"):
        tilelang.place.run(
            ENTRIES, "t31_a_result_from_a_kernel_that_came_from_the_store", SIZE=size, **tilelang.environment
        )
    assert tilelang.compiles() == 1


def test_t33_symbolic_sizes_after_a_reload(tilelang) -> None:
    for _ in range(2):
        tilelang.place.run(ENTRIES, "t33_symbolic_sizes_after_a_reload", **tilelang.environment)
    assert tilelang.compiles() == 1
    assert tilelang.hits() == 1


def test_288_tuning_results(tilelang) -> None:
    """A sweep's worth, all found by another process. What writing them costs: bench/autotune_timings.py."""

    def tune(what: str) -> dict:
        said = tilelang.place.run(HERE / "tilelang_tune.py", what, 288, **tilelang.environment)
        return json.loads(said.strip().splitlines()[-1])

    saved = tune("save")
    assert saved["keys"] == 288
    loaded = tune("load")
    assert loaded["right"] == loaded["keys"] == 288
    print(f"save {saved['seconds'] / 288 * 1e3:.1f} ms, load {loaded['seconds'] / 288 * 1e3:.1f} ms each")
