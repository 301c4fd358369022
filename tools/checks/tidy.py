#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy (version 14) over src/, backends/ and tools/ with the repository's .clang-tidy.

A file that was clean is not read again until it, a project header it includes, its compile command or .clang-tidy changes
(remembered in .cache/tidy).

usage: tidy.py [--build DIR] [-j N] [FILE...]    DIR holds compile_commands.json (default: build/dev)
Exit code 1 if there is a finding, 77 without clang-tidy 14.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from files import ROOT

CACHE = ROOT / ".cache/tidy"
FOLDERS = ("src", "backends", "tools", "remotes")
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.M)


def find():
    for name in ("clang-tidy-14", "clang-tidy"):
        path = shutil.which(name)
        if path and "version 14." in subprocess.run([path, "--version"], capture_output=True, text=True).stdout:
            return path
    return None


def closure(source, folders):
    """The file and every project header it includes, directly or not."""
    seen, todo = set(), [source]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in INCLUDE.findall(path.read_bytes()):
            for folder in (path.parent, *folders):
                candidate = (folder / os.fsdecode(name)).resolve()
                if candidate.is_file() and ROOT in candidate.parents:
                    todo.append(candidate)
                    break
    return sorted(seen)


def fingerprint(entry, source):
    command = entry.get("command") or " ".join(entry["arguments"])
    folders = [Path(f) for f in re.findall(r"-(?:I|isystem) ?(\S+)", command)]
    digest = hashlib.sha256(command.encode())
    digest.update((ROOT / ".clang-tidy").read_bytes())
    for path in closure(source, folders):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build/dev"))
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1)
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    tool = find()
    if not tool:
        print("skipped: there is no clang-tidy 14")
        return 77
    database = Path(arguments.build, "compile_commands.json")
    if not database.is_file():
        print(f"{database}: missing: configure first (cmake --preset dev)")
        return 2
    only = {Path(f).resolve() for f in arguments.files}
    jobs = {}
    for entry in json.loads(database.read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        if ROOT in source.parents and source.relative_to(ROOT).parts[0] in FOLDERS and (not only or source in only):
            jobs[source] = entry

    def run(source):
        mark = CACHE / fingerprint(jobs[source], source)
        if mark.exists():
            return ""
        done = subprocess.run([tool, "-p", arguments.build, "--quiet", str(source)], capture_output=True, text=True)
        if done.returncode == 0:
            CACHE.mkdir(parents=True, exist_ok=True)
            mark.touch()
            return ""
        return (done.stdout or done.stderr).replace(str(ROOT) + "/", "")

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.j) as pool:
        for text in pool.map(run, sorted(jobs)):
            if text:
                failed += 1
                print(text.strip())
    print(f"clang-tidy: {len(jobs)} files, {failed} with findings")
    return 1 if failed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
