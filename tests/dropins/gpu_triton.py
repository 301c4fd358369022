#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Triton on a device: cold, with its own cache warm, and with tlcache warm; each in fresh processes; as a table in Markdown.

    PYTHONPATH=... python tests/dropins/gpu_triton.py [--rounds 5] [--processes 8] [--compile-only]

Needs Triton, PyTorch and a CUDA device; --compile-only needs neither PyTorch nor a device, and compiles for sm_90 instead of
running. tlcache is taken from PYTHONPATH. Times are milliseconds from the first call of a kernel to its result, so with the
loading of the binary, without Triton's hash of itself; medians of the rounds. Each result is compared with PyTorch's. A warm process must not compile: that is
counted, and anything else ends with an exit code. A second table has what of that was spent in the cache manager, its import
included: what remains is Triton's own, the same in all columns but for the noise. Then 8 processes want the same cold kernels at once: each is compiled once.
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
MANAGER = "tlcache.integrations.triton:TLCacheManager"


def child(compile_only, wait):
    """One fresh process: its times, what it compiled, and the binaries' hashes. wait: begin when this file is there."""
    started = time.perf_counter()
    import triton
    from gpu_kernels import SIGNATURES, launches
    from triton_compile import before_last_stage

    compiled = []
    before_last_stage(lambda: compiled.append(1))
    steps, check = {}, {}
    if compile_only:
        steps = {name: (lambda name=name: compile_one(triton, *SIGNATURES[name])) for name in SIGNATURES}
    else:
        import torch

        torch.zeros(1, device="cuda")
        torch.cuda.synchronize()
        for name, (launch, results) in launches().items():
            steps[name], check[name] = launch, results
        torch.cuda.synchronize()
    hash_compiler()
    # Whoever asks holds the right to compile: those who run at once must ask by themselves.
    spent = [0.0] if wait else watch_managers()
    ready = time.perf_counter()
    if wait:
        print("READY", flush=True)
        while not os.path.exists(wait):
            time.sleep(0.001)
    times, binaries, in_manager = {}, {}, {}
    for name, step in steps.items():
        spent[0] = 0.0
        begun = time.perf_counter()
        made = step()
        if not compile_only:
            torch.cuda.synchronize()
        times[name] = (time.perf_counter() - begun) * 1e3
        in_manager[name] = spent[0] * 1e3
        binaries[name] = hashlib.sha256(made.asm["cubin"]).hexdigest()
        if name in check:
            torch.testing.assert_close(*check[name](), atol=2e-2, rtol=2e-2)
    times["all"] = sum(times.values())
    times["process"] = (time.perf_counter() - started) * 1e3
    device = "sm_90, compiled only" if compile_only else torch.cuda.get_device_name()
    print("RESULT " + json.dumps({
        "times": times, "manager": in_manager, "compiled": len(compiled), "binaries": binaries, "device": device, "triton": triton.__version__,
        "setup": (ready - started) * 1e3,
    }))


def watch_managers():
    """Adds up, in the first item of what is returned, the seconds spent in cache managers: made, asked, written to."""
    import triton.runtime.cache as cache

    spent, own = [0.0], cache.get_cache_manager

    def timed(function):
        def call(*given, **named):
            begun = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                spent[0] += time.perf_counter() - begun

        return call

    class Watched:
        def __init__(self, manager):
            self._manager = manager

        def __getattr__(self, name):
            value = getattr(self._manager, name)
            return timed(value) if callable(value) else value

    def get_cache_manager(key):
        return Watched(timed(own)(key))

    for module in list(sys.modules.values()):
        if getattr(module, "get_cache_manager", None) is own:
            module.get_cache_manager = get_cache_manager
    return spent


def hash_compiler():
    """Triton hashes its own files once in a process, for a quarter of a second; that is not what is compared."""
    import triton.compiler.compiler as compiler
    import triton.runtime.cache as cache

    function = getattr(cache, "triton_key", None) or getattr(compiler, "triton_key", None)
    if function is not None:
        function()


def compile_one(triton, function, types, constants, warps):
    """The kernel compiled for sm_90."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = dict(zip(function.arg_names, types))
    try:
        source = ASTSource(fn=function, signature={**signature, **dict.fromkeys(constants, "constexpr")}, constexprs=constants)
    except TypeError:
        source = ASTSource(fn=function, signature=signature, constants=constants)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})


def start(folder, ours, compile_only, *options):
    """A process that is to print a report."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TLC_", "TRITON_"))}
    environment["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
    if ours:
        environment |= {"TLC_DIR": os.path.join(folder, "store"), "TRITON_CACHE_MANAGER": MANAGER}
    command = [sys.executable, os.path.abspath(__file__), "--child", *(["--compile-only"] if compile_only else []), *options]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def report_of(process):
    """What it reports; it must end well."""
    out, _ = process.communicate(timeout=300)
    if process.returncode != 0:
        raise SystemExit(f"a process ended with {process.returncode}: {out[-2000:]}")
    (line,) = (line for line in out.splitlines() if line.startswith("RESULT "))
    return json.loads(line[len("RESULT "):])


def run(folder, ours, compile_only):
    """A process's report."""
    return report_of(start(folder, ours, compile_only))


def at_once(folder, count, compile_only):
    """Processes that want the same cold kernels at once; returns how many compiles there were, and the longest time."""
    go = os.path.join(folder, "go")
    processes = [start(folder, True, compile_only, "--wait", go) for _ in range(count)]
    try:
        for process in processes:
            if process.stdout.readline() != "READY\n":
                raise SystemExit("a process did not come to its start")
        open(go, "w").close()
        reports = [report_of(process) for process in processes]
    finally:
        for process in processes:
            process.kill()
    if len({json.dumps(one["binaries"], sort_keys=True) for one in reports}) != 1:
        raise SystemExit("the binaries differ between processes that ran at once")
    return sum(one["compiled"] for one in reports), len(reports[0]["binaries"]), max(one["times"]["all"] for one in reports)


# What is measured, in the order in which one makes the next warm.
COLUMNS = (
    ("Triton, cold", False, None),
    ("Triton, warm", False, "warm"),
    ("tlcache, cold", True, None),
    ("tlcache, warm", True, "warm"),
    ("tlcache, warm, Triton's folder removed", True, "removed"),
)


def measure(top, rounds, compile_only):
    """By column, the reports of its processes; raises if one compiled what it should not have."""
    reports = {}
    for number in range(rounds):
        for title, ours, state in COLUMNS:
            folder = os.path.join(top, f"{number}-{'ours' if ours else 'own'}")
            os.makedirs(folder, exist_ok=True)
            if state == "removed":
                shutil.rmtree(os.path.join(folder, "triton"))
            report = run(folder, ours, compile_only)
            expected = len(report["binaries"]) if state is None else 0
            if report["compiled"] != expected:
                raise SystemExit(f"{title}: {report['compiled']} kernels were compiled, not {expected}")
            reports.setdefault(title, []).append(report)
    binaries = {json.dumps(one["binaries"], sort_keys=True) for column in reports.values() for one in column}
    if len(binaries) != 1:
        raise SystemExit("the binaries differ between processes")
    return reports


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--wait", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments.compile_only, arguments.wait)
    with tempfile.TemporaryDirectory() as top:
        reports = measure(top, arguments.rounds, arguments.compile_only)
        many = os.path.join(top, "many")
        os.mkdir(many)
        compiled, kernels, longest = at_once(many, arguments.processes, arguments.compile_only)
    some = next(iter(reports.values()))[0]
    print(f"{some['device']}, Triton {some['triton']}, {arguments.rounds} rounds; milliseconds, medians\n")
    print("| kernel | " + " | ".join(reports) + " |")
    print("|---|" + "---|" * len(reports))
    for name in some["times"]:
        cells = [statistics.median(one["times"][name] for one in column) for column in reports.values()]
        label = {"all": "all four", "process": "whole process"}.get(name, name)
        print(f"| {label} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
    print("\nOf these, in the cache manager:\n\n| kernel | " + " | ".join(reports) + " |")
    print("|---|" + "---|" * len(reports))
    for name in some["manager"]:
        cells = [statistics.median(one["manager"][name] for one in column) for column in reports.values()]
        print(f"| {name} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    print("\nBinaries are byte for byte the same in all processes; warm processes compiled nothing.")
    print(f"{arguments.processes} processes at once, {kernels} cold kernels: {compiled} compiles; the last had all after {longest:.0f} ms")
    return 0 if compiled == kernels else 1


if __name__ == "__main__":
    sys.exit(main())
