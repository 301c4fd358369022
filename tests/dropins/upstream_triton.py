#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Triton's own cache tests, as far as they go without a device: with its own manager, and with tlcache's.

    python tests/dropins/upstream_triton.py PATH/python/test/unit/runtime/test_cache.py

The file comes from Triton's sources, of the version that is installed. A driver that launches nothing and a few names of PyTorch
stand in, so tests that look at a kernel's result fail, with both managers alike; those of asynchronous compiles are left out,
since they wait for results. Ends with 1 if tlcache fails one more.
"""

import os
import subprocess
import sys
import tempfile
import types

import pytest

MANAGER = "tlcache.integrations.triton:TLCacheManager"


class dtype:
    """A type of numbers, as Triton asks for it."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


dtype.__module__ = "torch"


class Tensor:
    """Memory that is not there."""

    def __init__(self, *shape, dtype=None, device=None):
        self.shape = tuple(shape[0]) if shape and isinstance(shape[0], tuple) else shape
        self.dtype = dtype or sys.modules["torch"].float32
        self.device = types.SimpleNamespace(type="cuda", index=0)

    def data_ptr(self):
        return 1 << 20

    def __getitem__(self, _index):
        return self


def stand_in_torch():
    """The names of PyTorch that the tests use."""
    torch = types.ModuleType("torch")
    torch.dtype, torch.Tensor = dtype, Tensor
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16",
                 "float8_e4m3fn", "float8_e5m2"):
        setattr(torch, name, dtype(name))
    for name in ("empty", "zeros", "ones", "randn", "full", "tensor"):
        setattr(torch, name, Tensor)
    torch.ones_like = torch.zeros_like = torch.empty_like = lambda one: Tensor(one.shape, dtype=one.dtype)
    torch.cuda = types.SimpleNamespace(
        current_device=lambda: 0, is_available=lambda: False, get_device_capability=lambda *_: (9, 0),
        synchronize=lambda *_: None)
    torch.version = types.SimpleNamespace(hip=None, cuda="0")
    sys.modules["torch"] = torch


class Utilities:
    """What a driver does with binaries: nothing."""

    def load_binary(self, *_given):
        return None, None, 0, 0, 1024

    def unload_module(self, *_given):
        return None

    def get_device_properties(self, _device):
        return {"max_shared_mem": 1 << 18, "multiprocessor_count": 132, "warpSize": 32, "max_num_regs": 1 << 16}


def make_driver():
    """A driver of an sm_90 that launches nothing."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase

    class Driver(DriverBase):
        utils = Utilities()

        def __init__(self):
            self.launcher_cls = lambda *_given: lambda *_arguments: None

        @classmethod
        def is_active(cls):
            return True

        def get_current_target(self):
            return GPUTarget("cuda", 90, 32)

        def get_active_torch_device(self):
            return "cuda"

        def get_current_device(self):
            return 0

        def set_current_device(self, _device):
            return None

        def get_current_stream(self, _device=None):
            return 0

        def map_python_to_cpp_type(self, name):
            return name

        def get_benchmarker(self):
            raise NotImplementedError

    Driver.__abstractmethods__ = frozenset()
    return Driver()


class Fixtures:
    """The fixtures of Triton's tests."""

    @pytest.fixture
    def device(self):
        """Its type."""
        return "cuda"

    @pytest.fixture
    def fresh_triton_cache(self, tmp_path, monkeypatch):
        """An empty folder of Triton's."""
        folder = tmp_path / "triton"
        monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
        return str(folder)

    @pytest.fixture
    def fresh_knobs(self):
        """Triton's settings, put back after the test."""
        from triton import knobs

        groups = [one for one in vars(knobs).values() if isinstance(one, knobs.base_knobs)]
        before = [dict(vars(group)) for group in groups]
        yield knobs
        for group, values in zip(groups, before):
            vars(group).clear()
            vars(group).update(values)

    def pytest_runtest_logreport(self, report):
        """One line for each test."""
        if report.when == "call" or report.failed:
            print(f"\nOUTCOME {report.nodeid.split('::')[-1]} {report.outcome}")


def outcomes(path, ours):
    """Which tests pass in a process of their own."""
    with tempfile.TemporaryDirectory() as top:
        environment = {**os.environ, "TRITON_CACHE_DIR": f"{top}/triton", "TLC_DIR": f"{top}/store"}
        environment.pop("TRITON_CACHE_MANAGER", None)
        if ours:
            environment["TRITON_CACHE_MANAGER"] = MANAGER
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--run", path], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=top)
    found = dict(line.split()[1:3] for line in done.stdout.splitlines() if line.startswith("OUTCOME "))
    if not found:
        sys.exit(done.stdout)
    return found


def main():
    """Command line."""
    if len(sys.argv) == 3 and sys.argv[1] == "--run":
        stand_in_torch()
        import triton

        triton.runtime.driver.set_active(make_driver())
        return pytest.main(["-q", "-p", "no:cacheprovider", "-s", "-k", "not async_compile", sys.argv[2]], plugins=[Fixtures()])
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = os.path.abspath(sys.argv[1])
    own, ours = outcomes(path, False), outcomes(path, True)
    passed = {name for name, outcome in own.items() if outcome == "passed"}
    lost = sorted(name for name in passed if ours.get(name) != "passed")
    print(f"{len(own)} tests; pass with Triton's own manager: {len(passed)}; with tlcache's: "
          f"{sum(outcome == 'passed' for outcome in ours.values())}")
    for name in sorted(own):
        print(f"  {own[name]:8} {ours.get(name, 'missing'):8} {name}")
    if lost:
        print("fail with tlcache only: " + ", ".join(lost))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
