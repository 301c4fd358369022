#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the golden files of a new version: a store that it wrote, plugin files built with its headers, its interface.

usage: make.py store STORE_PROGRAM FOLDER               STORE_PROGRAM: golden_store, built
       make.py interface LAYOUT_PROGRAM FOLDER LIBRARY  LAYOUT_PROGRAM: golden_layout, built
       make.py plugin INCLUDE_DIR FOLDER [--short]      with gcc, for this machine; named by the headers' ABI

FOLDER is new for each version (0.2, 0.3, ...), and what is in the folder of a released version is never made again. A
check that fails on an old file has found that this library cannot read what people have on their disks. Mend the
library; where the format must change, give the format folder a new name (docs/store-format.md), which old stores then
simply do not have. Running this to make such a check pass hides the break, and is never the answer.
"""
import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from golden import GUARDED, HERE, interface, pack, read, run, sha256


def make_store(program, folder):
    """The store, packed, and a manifest of what is in it."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "guarded.h").write_text(GUARDED)
        keys, wanted = {}, {}
        for line in run(program, "write", work / "store", cwd=work).splitlines():
            entry, outcome, key = line.split(" ")
            keys[entry], wanted[entry] = key, outcome
        # Packed before anybody reads it: what the writer left, no more.
        pack(work / "store", folder / "store.tar.xz")
        found, _ = read(program, work / "store", work, keys)
        for entry, outcome in wanted.items():
            assert found["entries"][entry]["status"] == {"hit": "TLC_OK", "miss": "TLC_MISS"}[outcome], entry
            found["entries"][entry]["key"] = keys[entry]
        files = {str(p.relative_to(work / "store")): p.stat().st_size for p in sorted((work / "store").rglob("*")) if p.is_file()}
    manifest = {"archive": sha256((folder / "store.tar.xz").read_bytes()), "files": files, **found}
    (folder / "store.json").write_text(json.dumps(manifest, indent=1) + "\n")


def make_plugin(include, folder, short):
    """One plugin file, small and with nothing of this machine in it."""
    text = (include / "tlcache" / "version.h").read_text()
    major, minor = (re.search(rf"TLC_ABI_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR"))
    path = folder / f"plugin-abi-{major}.{0 if short else minor}-{platform.machine()}.so"
    source = HERE.parents[1] / "plugins" / "golden.c"
    subprocess.run(["gcc", "-std=c11", "-Os", "-shared", "-fPIC", "-fvisibility=hidden", "-s", "-Wl,-z,nodelete",
                    "-Wl,-z,noseparate-code", "-Wl,--build-id=none", *(["-DGOLDEN_SHORT"] if short else []),
                    "-I", include, "-o", path, source], check=True)
    path.chmod(0o644)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("store", "interface", "plugin"))
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("library", type=Path, nargs="?")
    parser.add_argument("--short", action="store_true", help="a table that ends early, as if of ABI 0.0")
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    if arguments.what == "store":
        make_store(arguments.source.resolve(), arguments.folder)
    elif arguments.what == "interface":
        lines = interface(arguments.library, arguments.source.resolve())
        (arguments.folder / f"interface-{platform.machine()}.txt").write_text("".join(f"{line}\n" for line in lines))
    else:
        make_plugin(arguments.source, arguments.folder, arguments.short)
    return 0


if __name__ == "__main__":
    sys.exit(main())
