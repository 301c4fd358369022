#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the library is for, shown with real kernels on this machine's CPU. `tools/dev demo` builds and runs it.

    run.py --build DIR      a build folder with the library, the command and tlc_demo_worker

It works in a folder of its own, which it removes; it asks nothing; each wait has a limit. Exit code 0: all went as it
says. The processes are worker.c and worker.py; the compiler is a script that notes each kernel compiled (processes.py).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from processes import Compiler, Failure, Worker, run
from python_package import make_package

ROOT = Path(__file__).resolve().parents[2]
PROCESSES, TILE = 8, 32
# A compile that begins as a file is being written is done twice, to be sure; here that would look like a miscount.
SETTLE_S = 0.1
BOTH = ["matmul", "softmax"]


def say(text: str = "") -> None:
    """One line, at once."""
    print(text, flush=True)


def expect(truth: bool, what: str) -> None:
    """Ends the demo when something is not as it must be."""
    if not truth:
        raise Failure(what)


def indented(text: str) -> str:
    """Output of a command, set off from ours."""
    return "\n".join(f"     {line}".rstrip() for line in text.strip().splitlines())


class Demo:
    """The six steps. All they make lies in `folder`."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.folder = folder
        self.command = build / "tools/tlcache/tlcache"
        self.c_worker = build / "tools/demo/tlc_demo_worker"
        self.library = build / "libtlcache.so"
        for needed in (self.command, self.c_worker, self.library):
            expect(needed.exists(), f"{needed} is missing; `tools/dev demo` builds it")
        self.kernels = folder / "kernels"
        shutil.copytree(ROOT / "examples/kernels", self.kernels)
        self.header = self.kernels / "kernels.h"
        self.store = folder / "cache"
        self.compiler = Compiler(folder / "compiler")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TLC_")}
        (folder / "tmp").mkdir()
        (folder / "pocl").mkdir()
        self.environment |= {
            "TLC_DIR": str(self.store),
            "TLC_CC": str(self.compiler.path),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "TMPDIR": str(folder / "tmp"),
            "DEMO_LIBRARY": str(self.library),
            "TLC_WORKER": str(build / "tlcache-worker"),
            "PYTHONDONTWRITEBYTECODE": "1",
            # PoCL's own cache of programs: out of the way of what is shown, and of the user's.
            "POCL_CACHE_DIR": str(folder / "pocl"),
        }
        time.sleep(SETTLE_S)
        package, reason = make_package(ROOT, build, folder / "python")
        if package:
            self.environment["PYTHONPATH"] = str(package)
            self.python_by = "by the package tlcache"
        else:
            self.environment.pop("PYTHONPATH", None)
            self.python_by = f"by ctypes, because {reason}"
        self.first: list[dict[str, Any]] = []
        self.served = 0

    # ------------------------------------------------------------ pieces

    def workers(self, count: int, tile: int = TILE, bias: float = 0) -> list[Worker]:
        """Processes, C and Python in turn, which wait to be let go."""
        programs = ([str(self.c_worker)], [sys.executable, str(ROOT / "tools/demo/worker.py")])
        arguments = [str(self.kernels), str(tile), str(bias)]
        started = [
            Worker([*programs[i % 2], *arguments], self.environment, self.folder) for i in range(count)
        ]
        for worker in started:
            worker.wait_ready()
        return started

    def finish(self, workers: list[Worker]) -> list[dict[str, Any]]:
        """What each of them reports. A wrong result of a kernel is a failure of its process."""
        results = [worker.result() for worker in workers]
        self.served += len(results)
        return results

    def together(self, count: int, bias: float = 0) -> tuple[list[dict[str, Any]], list[str]]:
        """Lets processes go at once: their reports, and the kernels that the compiler was started for."""
        before = len(self.compiler.started())
        workers = self.workers(count, bias=bias)
        for worker in workers:
            worker.go()
        results = self.finish(workers)
        return results, sorted(start.kernel for start in self.compiler.started()[before:])

    def tlcache(self, *arguments: str, code: int = 0) -> str:
        """Runs the command `tlcache`; another exit code is a failure."""
        return run([str(self.command), *arguments], self.environment, self.folder, code)

    def like_worker(self, name: str, *more: str) -> list[str]:
        """Arguments of `tlcache compile` and `tlcache why` for what the processes ask for."""
        tile = ["-D", f"TILE={TILE}"] if name == "matmul" else []
        options = ["-t", "cpu:native", "-n", "demo", "-O", "3", "--option=-lm"]
        return [f"{self.kernels}/{name}.c", *options, *tile, *more]

    # ------------------------------------------------------------ steps

    def one_compile(self) -> None:
        say(f"1. {PROCESSES} processes want the same two kernels, at once, and the cache is empty")
        say(f"   Half are written in C, half in Python ({self.python_by}).")
        self.first, compiled = self.together(PROCESSES)
        wanted = 2 * PROCESSES
        say(f"   {wanted} kernels were wanted, {len(compiled)} were compiled: the compiler is a script that counts.")
        say(f"   All {PROCESSES} processes got the right numbers from both, checked against a plain computation.")
        expect(compiled == BOTH, f"the compiler was started for {compiled}, not once for each of {BOTH}")
        by = {name: [r["language"] for r in self.first if name in r["compiled"]] for name in BOTH}
        expect(all(len(who) == 1 for who in by.values()), f"not one process says that it compiled: {by}")
        say("   " + "; ".join(f"{name} was compiled by a {who[0]} process" for name, who in by.items()) + ".")

    def killed_leader(self) -> None:
        say("2. The process that compiles is killed half-way (kill -9)")
        tile = TILE + 16
        before = len(self.compiler.started())
        self.compiler.hold()
        workers = self.workers(PROCESSES, tile=tile)
        for worker in workers:
            worker.go()
        leader = self.compiler.wait_for(before + 1)[before].parent
        killed = [worker for worker in workers if worker.pid == leader]
        expect(len(killed) == 1, "the compiler was started by none of the processes")
        os.kill(leader, signal.SIGKILL)
        at = time.monotonic()
        heir = self.compiler.wait_for(before + 2)[before + 1].parent
        took = time.monotonic() - at
        self.compiler.release()
        killed[0].wait_killed()
        rest = self.finish([worker for worker in workers if worker is not killed[0]])
        starts = self.compiler.started()[before:]
        expect(heir != leader and len(starts) == 2, f"the compiler was started {len(starts)} times, not twice")
        say(f"   A new kernel (matmul in blocks of {tile}). The compiler is held up, its process killed.")
        say(f"   {took * 1e3:.0f} ms later another process compiled instead; {len(rest) - 1} more waited for that.")
        say(f"   The {len(rest)} that live got the right numbers. No lock to remove, nothing to clean up.")

    def second_start(self) -> None:
        say("3. The same processes, started a second time")
        second, compiled = self.together(PROCESSES)
        expect(not compiled, f"the compiler was started again, for {compiled}")
        say("   From asking to both kernels ready to be called, median of each kind:")
        say(f"   {'':18}{'first start':>14}{'second start':>15}")
        for language in ("C", "Python"):
            cold, warm = (
                statistics.median(r["ready_ms"] for r in results if r["language"] == language)
                for results in (self.first, second)
            )
            say(f"     {language + ' process':16}{cold:11.1f} ms{warm:12.1f} ms   {cold / warm:.0f} times faster")
        say(f"     {'compiler started':16}{len(BOTH):8} times{0:9} times")

    def edited_header(self) -> None:
        say("4. Somebody edits a header, kernels.h: BIAS becomes 1")
        before = self.header.read_text("utf-8")
        self.header.write_text(before.replace("#define BIAS 0.0f", "#define BIAS 1.0f"), "utf-8")
        time.sleep(SETTLE_S)
        say("   $ tlcache why matmul.c ...")
        why = self.tlcache("why", *self.like_worker("matmul"), code=1)
        say(indented(why))
        expect(str(self.header) in why, "`tlcache why` does not name the header")
        _, compiled = self.together(2, bias=1)
        expect(compiled == BOTH, f"the compiler was started for {compiled}, not once for each of {BOTH}")
        say("   Both kernels were compiled again, once each, and compute with the new header.")
        self.header.write_text(before, "utf-8")
        _, compiled = self.together(2)
        expect(not compiled, f"the compiler was started for {compiled}, though the header is as it was")
        say("   The edit is taken back: what was compiled before is found again, nothing is compiled.")

    def flipped_byte(self) -> None:
        say("5. A byte of a stored kernel is changed on the disk")
        found = json.loads(self.tlcache("compile", *self.like_worker("matmul", "--no-compile"), "--json"))
        file = self.folder / "matmul.so"
        self.tlcache("get", found["digest"], "-o", str(file))
        flip_byte(self.store, file.read_bytes())
        say("   $ tlcache verify")
        verify = self.tlcache("verify", code=1)
        say(indented(verify))
        expect("damaged" in verify and "matmul" in verify, "`tlcache verify` does not name the damaged kernel")
        _, compiled = self.together(2)
        expect(compiled == ["matmul"], f"the compiler was started for {compiled}, not for matmul alone")
        say("   Two processes asked for it all the same. The damaged kernel was never loaded: it was compiled")
        say("   again, once, in its place, and both got the right numbers.")
        say("   $ tlcache verify")
        say(indented(self.tlcache("verify")))

    def saved(self) -> None:
        say("6. What all of them together were spared")
        starts = len(self.compiler.started())
        say(f"   {self.served} processes got {2 * self.served} kernels. The compiler was started {starts} times:")
        say("   2 in step 1, 2 in step 2 (one of them was killed), 0 in step 3, 2 in step 4, 1 in step 5.")
        expect(starts == 7, f"the compiler was started {starts} times, not 7")
        say("   $ tlcache stats -n demo")
        say(indented(self.tlcache("stats", "-n", "demo")))


    def cuda_device(self) -> str | None:
        """What the cuda backend found: the device's name, or nothing, where it cannot compile and load."""
        for backend in json.loads(self.tlcache("backends", "--json"))["backends"]:
            found = backend.get("found", {})
            devices = found.get("load", {}).get("devices", [])
            if "cuda" in backend["kinds"] and backend["available"] and devices and "nvrtc" in found.get("compile", {}):
                return str(devices[0]["name"])
        return None

    def on_device(self, step: int, device: str, program: str, kernels: str) -> None:
        """Eight processes with kernels for a device, twice."""
        say(f"{step}. The same on this machine's {device}: {kernels}, {PROCESSES} processes, empty cache")

        def together() -> tuple[list[dict[str, Any]], list[str]]:
            command = [sys.executable, str(ROOT / "tools/demo" / program), str(self.kernels), "16"]
            workers = [Worker(command, self.environment, self.folder) for _ in range(PROCESSES)]
            for worker in workers:
                worker.wait_ready()
            for worker in workers:
                worker.go()
            results = [worker.result() for worker in workers]
            return results, sorted(name for result in results for name in result["compiled"])

        first, compiled = together()
        expect(compiled == BOTH, f"{compiled} were compiled, not each of {BOTH} once")
        second, again = together()
        expect(not again, f"{again} were compiled at the second start")
        cold, warm = (statistics.median(r["ready_ms"] for r in results) for results in (first, second))
        say("   Each was compiled once; all got the right numbers from it. From asking to both kernels ready:")
        say(f"     first start {cold:.1f} ms, second start {warm:.1f} ms: {cold / warm:.0f} times faster")

    def opencl_device(self) -> str | None:
        """What the opencl backend found: the name of the device that `opencl` stands for, or nothing."""
        for backend in json.loads(self.tlcache("backends", "--json"))["backends"]:
            if "opencl" in backend["kinds"] and backend["available"]:
                found = backend["found"]
                return next(str(one["name"]) for one in found["devices"] if one["target"] == found["native"])
        return None


def flip_byte(store: Path, payload: bytes) -> None:
    """Changes one byte in the middle of the payload, in each file of the store that holds it."""
    flipped = 0
    for path in store.rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        at = content.find(payload)
        if at < 0 or content == payload:
            continue  # a whole file by itself is a copy for the loader; the store is what is meant
        at += len(payload) // 2
        with path.open("r+b") as file:
            file.seek(at)
            file.write(bytes([content[at] ^ 0x40]))
        flipped += 1
    expect(flipped > 0, "the kernel's bytes are in no file of the store")


def remove(folder: Path) -> None:
    """Removes the folder; the cache makes folders in it that nobody may write to."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            inner = Path(path, name)
            if not inner.is_symlink():
                inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="the build folder")
    arguments = parser.parse_args()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="tlcache-demo-")).resolve()
    try:
        demo = Demo(arguments.build.resolve(), folder)
        say("\nTLCache: one cache of compiled kernels for every process and language of a machine.")
        say("The kernels are matmul.c (in blocks) and softmax.c of examples/kernels. The cache is in a folder of")
        say(f"the demo's own, {folder}, which is removed at the end.")
        for step in (
            demo.one_compile,
            demo.killed_leader,
            demo.second_start,
            demo.edited_header,
            demo.flipped_byte,
            demo.saved,
        ):
            say()
            step()
        say()
        if device := demo.cuda_device():
            demo.on_device(7, device, "cuda_worker.py", "matmul.cu and softmax.cu")
        else:
            say("(No CUDA device here, or no NVRTC: `tlcache backends` says what was found. With one, step 7 does it there.)")
        if device := demo.opencl_device():
            say()
            demo.on_device(8, device, "opencl_worker.py", "matmul.cl and softmax.cl by OpenCL")
        else:
            say("(No OpenCL device here. With one, also a CPU by pocl-opencl-icd, step 8 does it there.)")
        say(f"\nAll of it went as it should, in {time.monotonic() - started:.0f} s. README.md says how to begin.")
        return 0
    except (Failure, OSError) as failure:
        print(f"\nThe demo failed: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        Worker.end_all()
        remove(folder)


if __name__ == "__main__":
    sys.exit(main())
