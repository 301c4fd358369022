#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has clang compile the Objective-C++ of backends/metal where there is no macOS, with ARC, against the declarations in
metal_headers; and demands that calls of Metal's that are not declared and an owner that ARC is not told of are errors,
so that a pass means something.

It says that the file is well formed and calls what the headers declare, not that Metal answers as expected: nothing is
linked or run. Skipped (77) without a clang for Objective-C++.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SOURCE = ROOT / "backends/metal/runtime.mm"
NAMES = ("clang++", *(f"clang++-{version}" for version in range(22, 13, -1)))

# What is changed, and what clang must then say.
WRONG = (
    ("newLibraryWithData:data error", "newLibraryWithBytes:data error", "newLibraryWithBytes"),
    ("(__bridge_retained void*)object", "(void*)object", "bridged cast"),
    ("device.registryID", "device.registryNumber", "registryNumber"),
    ("error.localizedFailureReason", "error.failure", "failure"),
)


def compiled(compiler, text, folder):
    path = os.path.join(folder, "runtime.mm")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return subprocess.run(
        [compiler, "-c", "-x", "objective-c++", "-std=c++20", "-fobjc-arc", "-fobjc-exceptions", "-fblocks",
         "-fobjc-runtime=macosx-13.0", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror",
         f"-I{ROOT / 'backends'}", f"-I{ROOT / 'include'}", "-isystem", str(HERE / "metal_headers"),
         "-o", os.path.join(folder, "runtime.o"), path],
        capture_output=True, text=True, check=False, timeout=100)


def main():
    compiler = next((found for name in NAMES if (found := shutil.which(name))), None)
    if compiler is None:
        print("skipped: there is no clang++")
        return 77
    text = SOURCE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        good = compiled(compiler, text, folder)
        if good.returncode != 0:
            print(good.stderr)
            return 1
        for right, wrong, said in WRONG:
            if right not in text:
                print(f"{SOURCE} has no '{right}' any more")
                return 1
            bad = compiled(compiler, text.replace(right, wrong), folder)
            if bad.returncode == 0 or said not in bad.stderr:
                print(f"'{wrong}' was taken:\n{bad.stderr}")
                return 1
    print(f"{compiler}: compiled, and {len(WRONG)} wrong forms refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
