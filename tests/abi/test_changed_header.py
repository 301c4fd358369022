# SPDX-License-Identifier: MIT
"""Whether a changed header is noticed for every binding: each change, made in a copy of the tree, must fail the check of the ABI's
description; and, once that is written anew, the checks of Python, Rust and Julia.

usage: test_changed_header.py
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("include", "tools/checks", "tests/abi/abi.json", "cmake/tlcache.map", "src/capi/abi_tables.cpp", "bindings/julia",
         "bindings/rust/generate_sys.py", "bindings/rust/tlcache-sys/src", "bindings/python/callbacks.cdef",
         "bindings/python/shim.c", "bindings/python/slots.c", "bindings/python/tlcache")
DESCRIPTION = ("tools/checks/abi_tables.py", "--check")
BINDINGS = (("tools/checks/python_abi.py",), ("bindings/rust/generate_sys.py", "--check"), ("tools/checks/julia_abi.py",))
# (what, text of tlcache.h, its replacement)
CHANGES = [
    ("a parameter more", "tlc_cache_get(tlc_cache* cache, const tlc_key* key, ",
     "tlc_cache_get(tlc_cache* cache, const tlc_key* key, uint64_t flags, "),
    ("a function less", "TLC_API void tlc_blob_release(tlc_blob* blob);", ""),
    ("a member of another name", "  int64_t timeout_ms; ", "  int64_t timeout_us; "),
    ("a constant less", "  TLC_OPEN_MEMORY = ", "  TLC_OPEN_VOLATILE = "),
    ("a parameter more of a callback", "typedef tlc_status (*tlc_compile_fn)(const tlc_request* request, ",
     "typedef tlc_status (*tlc_compile_fn)(uint64_t call, const tlc_request* request, "),
]


def run(tree, command):
    done = subprocess.run([sys.executable, tree / command[0], *command[1:]], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def main():
    failed = []

    def expect(what, tree, command, wanted):
        code, said = run(tree, command)
        if code != wanted or "Traceback" in said:
            failed.append(f"{what}: {command[0]} ended with {code}, not {wanted}:\n{said}")

    with tempfile.TemporaryDirectory() as folder:
        for number, (what, old, new) in enumerate([("nothing", "", ""), *CHANGES]):
            tree = Path(folder, str(number))
            for part in PARTS:
                (tree / part).parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / part).is_dir():
                    shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / part, tree / part)
            header = tree / "include/tlcache/tlcache.h"
            text = header.read_text("utf-8")
            if old not in text:
                failed.append(f"{what}: '{old}' is not in the header: bring this test along")
                continue
            header.write_text(text.replace(old, new, 1), "utf-8")
            expect(what, tree, DESCRIPTION, 1 if old else 0)
            if old:
                expect(what, tree, DESCRIPTION[:1], 0)
            for check in BINDINGS:
                expect(what, tree, check, 1 if old else 0)
    print("\n".join(failed))
    print(f"{len(CHANGES)} changes, {len(failed)} not noticed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
