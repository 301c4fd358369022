# SPDX-License-Identifier: MIT
"""TileLang's autotuner in many processes at once. Compiles for the host; needs no device."""

from __future__ import annotations

import json
import os

import pytest
from dropin_tools import HERE, finish

pytest.importorskip("tilelang", reason="tilelang is not installed; tools/dev dropins tilelang installs it")
pytest.importorskip("tlcache")

from tilelang_place import TileLang  # noqa: E402

PROCESSES = int(os.environ.get("TLC_TEST_SWEEPS", "4"))
CONFIGS = 4


def test_a_cold_sweep_in_many_processes_compiles_each_configuration_once(place) -> None:
    tilelang = TileLang(place)
    go = place.top / "go"
    command = (HERE / "tilelang_sweep.py", CONFIGS, "--wait", go)
    environment = {**tilelang.environment, "TILELANG_AUTO_TUNING_CPU_COUNTS": "2"}
    processes = [place.start(*command, **environment) for _ in range(PROCESSES)]
    for process in processes:
        for line in process.stdout:
            if line == "READY\n":
                break
    go.touch()
    reports = []
    for process in processes:
        (line,) = (line for line in finish(process).splitlines() if line.startswith("REPORT "))
        reports.append(json.loads(line[len("REPORT ") :]))
    # Counted at TileLang's own compile, and at the compiler that it starts.
    assert sum(one["compiled"] for one in reports) == CONFIGS
    assert tilelang.compiles() == CONFIGS
    assert len({json.dumps(one["best"]) for one in reports}) == 1
