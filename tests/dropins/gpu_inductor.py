#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch.compile on a device with tlcache as Triton's cache manager, in fresh processes; as a table in Markdown.

    PYTHONPATH=... python tests/dropins/gpu_inductor.py [--rounds 1]

Needs PyTorch with its Triton and a CUDA device; tlcache is taken from PYTHONPATH. A small model, forwards and backwards, is
compiled by Inductor in its worker processes. Results and gradients are compared with those without torch.compile. Compiles
are counted at ptxas, whatever process starts it: a warm process must start none. Triton's files must lie where Inductor
looks for them. Exit code 1 if anything is not so.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MANAGER = "tlcache.integrations.triton:TLCacheManager"


def child() -> None:
    """One process: compiles, runs, compares."""
    started = time.perf_counter()
    import torch

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(512)
            self.up = torch.nn.Linear(512, 1024)
            self.down = torch.nn.Linear(1024, 512)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            wide = torch.nn.functional.gelu(self.up(self.norm(x)))
            return torch.softmax(x + self.down(wide * torch.sigmoid(wide)), dim=-1)

    model = Block().cuda()
    given = torch.randn(96, 512, device="cuda")
    weights = torch.randn(96, 512, device="cuda")

    def step(run) -> list[torch.Tensor]:
        model.zero_grad()
        out = run(given)
        (out * weights).sum().backward()
        torch.cuda.synchronize()
        return [out.detach(), *(one.grad.clone() for one in model.parameters())]

    expected = step(model)
    ready = time.perf_counter()
    got = step(torch.compile(model))
    seconds = time.perf_counter() - ready
    for mine, reference in zip(got, expected, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-3, atol=1e-4)
    from torch._dynamo.utils import counters

    told = {"seconds": seconds, "process": time.perf_counter() - started, "device": torch.cuda.get_device_name(), "torch": torch.__version__}
    told["fx_hits"] = counters["inductor"].get("fxgraph_cache_hit", 0)
    print("RESULT " + json.dumps(told))


class Folders:
    """One arm's caches, and the compiler that counts."""

    def __init__(self, top: Path, ours: bool) -> None:
        import triton

        self.ours, self.inductor, self.store, self.count = ours, top / "inductor", top / "store", top / "count"
        top.mkdir(parents=True)
        self.count.touch()
        folder = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TLC_", "TRITON_", "TORCHINDUCTOR_", "TORCH_COMPILE"))
        }
        self.environment |= {"TORCHINDUCTOR_CACHE_DIR": str(self.inductor), "HOME": str(top)}
        for name, variable in (("ptxas", "TRITON_PTXAS_PATH"), ("ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH")):
            real = folder / name if (folder / name).exists() else shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
            counted = top / name
            counted.write_text(
                f'#!/bin/sh\ncase "$*" in *--version*) ;; *) printf x >>"{self.count}" ;; esac\nexec "{real}" "$@"\n'
            )
            counted.chmod(0o755)
            self.environment[variable] = str(counted)
        if ours:
            self.environment |= {"TRITON_CACHE_MANAGER": MANAGER, "TLC_DIR": str(self.store)}

    def remove(self, what: str) -> None:
        """graphs: Inductor's caches of graphs and code; triton: the kernels' files; all: both."""
        for path in self.inductor.iterdir():
            if what == "all" or (path.name == "triton") == (what == "triton"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def binaries(self) -> set[str]:
        """Places of kernels' binaries, as Inductor looks for them; empty ones do not count."""
        found = glob.glob(str(self.inductor / "triton" / "*" / "*" / "*.cubin"))
        return {os.path.relpath(path, self.inductor) for path in found if os.path.getsize(path)}

    def counted(self) -> tuple[int, int, int]:
        """Starts of ptxas; the store's hits and misses of kernels."""
        started = self.count.stat().st_size
        if not self.ours or not self.store.exists():
            return started, 0, 0
        import tlcache

        with tlcache.Cache(self.store, use_environment=False) as cache:
            rows = [one for one in cache.report()["namespaces"] if one["namespace"].startswith("triton/")]
        return started, sum(one["hits"] for one in rows), sum(one["misses"] for one in rows)

    def run(self) -> dict:
        """A process, and what changed with it."""
        before = self.counted()
        command = [sys.executable, os.path.abspath(__file__), "--child"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if done.returncode != 0 or not lines:
            raise SystemExit(f"a process failed, exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        report = json.loads(lines[0][len("RESULT ") :])
        changes = (now - was for now, was in zip(self.counted(), before, strict=True))
        report["ptxas"], report["hits"], report["misses"] = changes
        report["binaries"] = self.binaries()
        report["warnings"] = [line for line in done.stderr.splitlines() if "tlcache:" in line]
        return report


# Title, with tlcache, what is removed before.
COLUMNS = (
    ("Triton's own, cold", False, None),
    ("Triton's own, Inductor's graphs removed", False, "graphs"),
    ("tlcache, cold", True, None),
    ("tlcache, Inductor's graphs removed", True, "graphs"),
    ("tlcache, Triton's folder removed", True, "triton"),
    ("tlcache, both removed", True, "all"),
)


def faults(title: str, ours: bool, removed: str | None, report: dict, cold: dict) -> list[str]:
    """What is not as it should be."""
    found = [f"{title}: {line}" for line in report["warnings"]]
    if removed is None:
        if not report["ptxas"]:
            found.append(f"{title}: ptxas was not started, so nothing is shown")
    elif report["ptxas"]:
        found.append(f"{title}: ptxas was started {report['ptxas']} times")
    # With its graphs in place, Inductor brings the files itself, and asks Triton for nothing.
    if ours and removed in ("graphs", "all") and not report["hits"]:
        found.append(f"{title}: the store counted no hit")
    if removed in ("graphs", "all") and report["binaries"] != cold["binaries"]:
        found.append(f"{title}: binaries lie at {sorted(report['binaries'])}, not at {sorted(cold['binaries'])}")
    return found


def main() -> int:
    """Runs all, prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child()
        return 0
    reports: dict[str, list[dict]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="gpu-inductor-") as top:
        for number in range(options.rounds):
            arms = {ours: Folders(Path(top, f"{number}-{'ours' if ours else 'own'}"), ours) for ours in (False, True)}
            cold: dict[bool, dict] = {}
            for title, ours, removed in COLUMNS:
                if removed is not None:
                    arms[ours].remove(removed)
                report = arms[ours].run()
                cold.setdefault(ours, report)
                wrong += faults(title, ours, removed, report, cold[ours])
                reports.setdefault(title, []).append(report)
    some = reports["tlcache, cold"][0]
    print(f"{some['device']}, PyTorch {some['torch']}, {options.rounds} rounds; seconds, medians; counts of the first round\n")
    print("| | first step | process | ptxas | hits | misses | graphs found | binaries in place |\n|---|---|---|---|---|---|---|---|")
    for title, column in reports.items():
        times = [statistics.median(one[what] for one in column) for what in ("seconds", "process")]
        one = column[0]
        counts = [one["ptxas"], one["hits"], one["misses"], one["fx_hits"], len(one["binaries"])]
        print(f"| {title} | {times[0]:.2f} | {times[1]:.2f} | " + " | ".join(map(str, counts)) + " |")
    print("\n" + ("\n".join(wrong) if wrong else "Results and gradients are those without torch.compile in all processes."))
    print(f"inductor: {'FAILED' if wrong else 'passed'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
