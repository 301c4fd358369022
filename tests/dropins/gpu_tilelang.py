#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""TileLang on a device: compile, TileLang's own cache, tlcache; each in fresh processes, results checked.

    python tests/dropins/gpu_tilelang.py [--repeat 5] [--engine tvm_ffi --engine cython] [--processes 8] [--markdown FILE]
    python tests/dropins/gpu_tilelang.py --compile-only --arch sm_90a      without a device

tlcache and tilelang are found as Python finds them (PYTHONPATH); docs/integrations/tilelang.md says
how TileLang gets to a machine without a network. For each engine, 8 processes then want the same cold
kernels at once: each must be compiled once, counted at TileLang's compile. Prints a Markdown table, then one line
`N passed, N failed`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOG2_E = 1.4426950408889634


def matmul(m: int, n: int, k: int, block: int = 128, depth: int = 32):
    """C = A B in fp16, summed in fp32."""
    import tilelang.language as T

    @T.prim_func
    def gemm(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        C: T.Tensor((m, n), "float16"),
    ):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=128) as (column, row):
            left = T.alloc_shared((block, depth), "float16")
            right = T.alloc_shared((depth, block), "float16")
            total = T.alloc_fragment((block, block), "float32")
            T.clear(total)
            for step in T.Pipelined(T.ceildiv(k, depth), num_stages=3):
                T.copy(A[row * block, step * depth], left)
                T.copy(B[step * depth, column * block], right)
                T.gemm(left, right, total)
            T.copy(total, C[row * block, column * block])

    return gemm


def attention(heads: int, length: int, width: int, rows: int = 64, columns: int = 64):
    """softmax(Q K^T / sqrt(width)) V, in one pass over K and V with a running maximum."""
    import tilelang.language as T

    factor = LOG2_E / width**0.5

    @T.prim_func
    def flash(
        Q: T.Tensor((heads, length, width), "float16"),
        K: T.Tensor((heads, length, width), "float16"),
        V: T.Tensor((heads, length, width), "float16"),
        Out: T.Tensor((heads, length, width), "float16"),
    ):
        with T.Kernel(T.ceildiv(length, rows), heads, threads=128) as (block, head):
            queries = T.alloc_shared((rows, width), "float16")
            keys = T.alloc_shared((columns, width), "float16")
            values = T.alloc_shared((columns, width), "float16")
            scores = T.alloc_fragment((rows, columns), "float32")
            weights = T.alloc_fragment((rows, columns), "float16")
            result = T.alloc_fragment((rows, width), "float32")
            high = T.alloc_fragment((rows,), "float32")
            before = T.alloc_fragment((rows,), "float32")
            shrink = T.alloc_fragment((rows,), "float32")
            added = T.alloc_fragment((rows,), "float32")
            norm = T.alloc_fragment((rows,), "float32")
            T.copy(Q[head, block * rows : (block + 1) * rows, :], queries)
            T.clear(result)
            T.clear(norm)
            T.fill(high, -T.infinity("float32"))
            for step in T.Pipelined(T.ceildiv(length, columns), num_stages=2):
                T.copy(K[head, step * columns : (step + 1) * columns, :], keys)
                T.clear(scores)
                T.gemm(queries, keys, scores, transpose_B=True)
                T.copy(high, before)
                T.reduce_max(scores, high, dim=1, clear=False)
                for i in T.Parallel(rows):
                    shrink[i] = T.exp2((before[i] - high[i]) * factor)
                for i, j in T.Parallel(rows, columns):
                    scores[i, j] = T.exp2((scores[i, j] - high[i]) * factor)
                T.reduce_sum(scores, added, dim=1)
                for i in T.Parallel(rows):
                    norm[i] = norm[i] * shrink[i] + added[i]
                for i, j in T.Parallel(rows, width):
                    result[i, j] *= shrink[i]
                T.copy(scores, weights)
                T.copy(V[head, step * columns : (step + 1) * columns, :], values)
                T.gemm(weights, values, result)
            for i, j in T.Parallel(rows, width):
                result[i, j] /= norm[i]
            T.copy(result, Out[head, block * rows : (block + 1) * rows, :])

    return flash


KERNELS = {
    "gemm": (lambda: matmul(1024, 1024, 1024), [2]),
    "flash attention": (lambda: attention(16, 1024, 64), [3]),
}


def check(name: str, kernel) -> float:
    """Launches the kernel; how long the first launch took, until its result is there. Raises where that is wrong."""
    import torch

    torch.manual_seed(0)
    if name == "gemm":
        given = [torch.randn(1024, 1024, device="cuda", dtype=torch.float16) for _ in range(2)]
        expected = given[0] @ given[1]
    else:
        given = [torch.randn(16, 1024, 64, device="cuda", dtype=torch.float16) for _ in range(3)]
        expected = torch.nn.functional.scaled_dot_product_attention(*(one[None] for one in given))[0]
    torch.cuda.synchronize()
    started = time.perf_counter()
    result = kernel(*given)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - started
    torch.testing.assert_close(result, expected, rtol=2e-2, atol=2e-2)
    return seconds


def count_compiles() -> list[str]:
    """Gets an entry for each kernel that TileLang compiles in this process."""
    from tilelang.jit.kernel import JITKernel

    compiled: list[str] = []
    plain = JITKernel._compile_and_create_adapter

    def counted(self, *given, **named):
        compiled.append("kernel")
        return plain(self, *given, **named)

    JITKernel._compile_and_create_adapter = counted
    return compiled


def one_process(options: argparse.Namespace) -> None:
    """What is measured: imports, and each kernel until its first result."""
    started = time.perf_counter()
    if options.tlcache:
        import tlcache.integrations.tilelang as integration
    import tilelang

    imported = time.perf_counter() - started
    if options.tlcache:
        on, why = integration.state()
        assert on, why
    target = {"kind": "cuda", "arch": options.arch} if options.arch else "auto"
    if not options.compile_only:
        import torch

        torch.zeros(1, device="cuda")  # the device's own start is in no arm
    compiled = count_compiles()
    functions = {name: make() for name, (make, _) in KERNELS.items()}
    if options.wait:
        print("READY", flush=True)
        while not os.path.exists(options.wait):
            time.sleep(0.001)
    report: dict = {"import": imported, "kernels": {}}
    for name, (_, out_idx) in KERNELS.items():
        function = functions[name]
        started = time.perf_counter()
        kernel = tilelang.compile(function, out_idx=out_idx, target=target, execution_backend=options.engine[0])
        ready = time.perf_counter() - started
        launch = 0.0 if options.compile_only else check(name, kernel)
        report["kernels"][name] = {"ready": ready, "launch": launch}
    report["compiled"] = len(compiled)
    print("REPORT " + json.dumps(report))


class Arm:
    """One way to get the kernels, in processes of its own."""

    def __init__(self, name: str, options: argparse.Namespace, engine: str, top: Path, tlcache: bool, warm: bool):
        self.name, self.top, self.warm = name, top, warm
        self.command = [sys.executable, os.path.abspath(__file__), "--child", "--engine", engine]
        self.command += ["--tlcache"] if tlcache else []
        self.command += ["--compile-only"] if options.compile_only else []
        self.command += ["--arch", options.arch] if options.arch else []
        self.environment = {
            **os.environ,
            "TLC_DIR": str(top / "store"),
            "TILELANG_CACHE_DIR": str(top / "own"),
            "TILELANG_PRINT_ON_COMPILATION": "0",
        }
        self.reports: list[dict] = []

    def run(self, keep: bool = True) -> None:
        """One process. A cold arm begins with nothing."""
        if not self.warm:
            shutil.rmtree(self.top, ignore_errors=True)
        self.top.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(self.command, env=self.environment, capture_output=True, text=True, check=False, timeout=600)
        lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
        if done.returncode != 0 or not lines:
            raise RuntimeError(f"{self.name}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        report = json.loads(lines[0][7:])
        if keep:
            wanted = 0 if self.warm else len(KERNELS)
            if report["compiled"] != wanted:
                raise RuntimeError(f"{self.name}: {report['compiled']} kernels were compiled, {wanted} are right")
            self.reports.append(report)

    def at_once(self, count: int) -> tuple[int, float]:
        """Processes that begin at the same moment: how many compiles there were, and when the last had all."""
        self.top.mkdir(parents=True, exist_ok=True)
        go = self.top / "go"
        environment = {**self.environment, "OMP_NUM_THREADS": "1"}
        command = [*self.command, "--wait", str(go)]
        started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(count)]
        try:
            for process in started:
                while (line := process.stdout.readline()) != "READY\n":
                    if not line:
                        raise RuntimeError("a process did not come to its start")
            go.touch()
            reports = []
            for process in started:
                out, _ = process.communicate(timeout=300)
                lines = [line for line in out.splitlines() if line.startswith("REPORT ")]
                if process.returncode != 0 or not lines:
                    raise RuntimeError(f"a process ended with {process.returncode}: {out[-2000:]}")
                reports.append(json.loads(lines[0][7:]))
        finally:
            for process in started:
                process.kill()
        last = max(sum(kernel["ready"] for kernel in one["kernels"].values()) for one in reports)
        return sum(one["compiled"] for one in reports), last

    def median(self, kernel: str, what: str) -> float:
        """Over the processes, in seconds."""
        return statistics.median(one["kernels"][kernel][what] for one in self.reports)

    def hits(self) -> int | None:
        """What the store counted for kernels."""
        import tlcache

        with tlcache.Cache(self.top / "store", use_environment=False) as cache:
            return sum(
                cache.stats(one["namespace"]).hits
                for one in cache.report()["namespaces"]
                if one["namespace"].endswith("/kernels")
            )


def measure(options: argparse.Namespace, engine: str) -> list[str]:
    """Rows of the table for one engine. Arms take turns, so that a slow minute hits all of them."""
    with tempfile.TemporaryDirectory(prefix="gpu-tilelang-") as folder:
        top = Path(folder)
        arms = [
            Arm("own cache, cold", options, engine, top / "cold", False, False),
            Arm("own cache, warm", options, engine, top / "own", False, True),
            Arm("tlcache, cold", options, engine, top / "store-cold", True, False),
            Arm("tlcache, warm", options, engine, top / "store", True, True),
        ]
        for arm in arms:
            if arm.warm:
                arm.run(keep=False)
        for _ in range(options.repeat):
            for arm in arms:
                arm.run()
        wanted = options.repeat * len(KERNELS)
        hits = arms[3].hits()
        if hits != wanted:
            raise RuntimeError(f"tlcache counted {hits} hits of kernels; {wanted} are right")
        rows = []
        for kernel in KERNELS:
            cold = arms[0].median(kernel, "ready")
            for arm in arms:
                ready, launch = arm.median(kernel, "ready"), arm.median(kernel, "launch")
                rows.append(
                    f"| {engine} | {kernel} | {arm.name} | {ready * 1e3:.1f} | {launch * 1e3:.2f} "
                    f"| {cold / ready:.0f} x | {statistics.median(one['import'] for one in arm.reports):.2f} |"
                )
        if options.processes:
            many = Arm("at once", options, engine, top / "many", True, True)
            compiled, last = many.at_once(options.processes)
            told = f"{engine}: {options.processes} processes at once, {len(KERNELS)} cold kernels: {compiled} compiles"
            print(f"{told}; the last had all after {last:.1f} s")
            if compiled != len(KERNELS):
                raise RuntimeError(told)
        return rows


def main() -> int:
    """Runs the arms of each engine."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--engine", action="append")
    parser.add_argument("--arch", help="such as sm_90a; without it, the device's")
    parser.add_argument("--compile-only", action="store_true", help="launch nothing; needs --arch")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--processes", type=int, default=8, help="that want a cold kernel at once; 0: leave that out")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--wait", help=argparse.SUPPRESS)
    parser.add_argument("--tlcache", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.engine = options.engine or ["tvm_ffi"]
    if options.child:
        one_process(options)
        return 0
    rows, failed = [], 0
    for engine in options.engine:
        try:
            rows += measure(options, engine)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"{engine}: {error}", file=sys.stderr)
    head = "| engine | kernel | | until ready, ms | first launch, ms | against compiling | imports, s |\n|---|---|---|---|---|---|---|"
    table = "\n".join([head, *rows])
    print(table)
    if options.markdown:
        options.markdown.write_text(table + "\n")
    print(f"{len(options.engine) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
