#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes one guard out of the sources and demands that its tests then fail.

    run.py --source DIR --work DIR (PATCH... | --all)

A patch is a unified diff against the sources. Before the diff it says, one a line:

    Guard: what it takes out
    Test: a ctest name, and arguments for its program   (one or more)
    Target: what to build for the test                  (default: tlc_agent)

There is one copy of the sources and one build of them, in DIR; it is brought up to date first. For each patch the tests
must pass without it and each of them must fail with it. A patch that no longer applies is a failure.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

SKIPPED = 77
PARTS = ("CMakeLists.txt", "cmake", "include", "src", "backends", "remotes", "tests", "pkgconfig")


class Failed(Exception):
    pass


def run(*command, cwd=None, environment=None, timeout=1800):
    """Exit code and output."""
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, timeout=timeout, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    except subprocess.TimeoutExpired as expired:
        return 124, str(expired.stdout)
    return done.returncode, done.stdout


def demand(*command, **more):
    code, output = run(*command, **more)
    if code != 0:
        raise Failed(f"{' '.join(command)}\n{output[-4000:]}")


class Patch:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.name = os.path.basename(path).removesuffix(".patch")
        self.guard, self.tests, self.targets = "", [], []
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("--- "):
                    break
                what, _, rest = line.strip().partition(": ")
                if what == "Guard":
                    self.guard = rest
                elif what == "Test":
                    self.tests.append(rest.split())
                elif what == "Target":
                    self.targets.append(rest)
        if not self.guard or not self.tests:
            raise Failed(f"{path}: needs a line `Guard: ...` and a line `Test: ...`")
        self.targets = self.targets or ["tlc_agent", "tlc_errno_shim", "tlc_lying_shim"]


class Tree:
    """The copy of the sources and its build."""

    def __init__(self, source, work):
        self.source, self.tree, self.build = source, os.path.join(work, "tree"), os.path.join(work, "build")
        self.jobs = str(min(os.cpu_count() or 1, int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", "2"))))
        self.programs = None

    def refresh(self):
        """Copies what differs and keeps the times of the rest, so that little is built again."""
        wanted = set()
        for part in PARTS:
            start = os.path.join(self.source, part)
            if os.path.isfile(start):
                wanted.add(part)
            for folder, folders, names in os.walk(start):
                folders[:] = [name for name in folders if name != "__pycache__"]
                wanted.update(os.path.relpath(os.path.join(folder, name), self.source) for name in names)
        for folder, _, names in os.walk(self.tree):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.tree) not in wanted:
                    os.unlink(path)
        for name in wanted:
            path, copy = os.path.join(self.source, name), os.path.join(self.tree, name)
            with open(path, "rb") as file:
                content = file.read()
            if os.path.exists(copy):
                with open(copy, "rb") as file:
                    if file.read() == content:
                        continue
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            with open(copy, "wb") as file:
                file.write(content)
        if os.path.exists(os.path.join(self.build, "CMakeCache.txt")):
            return  # the build asks CMake again when it has to
        # A source archive may lack the license file and the like, which only installing needs.
        demand("cmake", "-S", self.tree, "-B", self.build, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0",
               "-DCMAKE_C_FLAGS_DEBUG=-O0", "-DTLC_BUILD_TESTS=ON", "-DTLC_BUILD_TOOLS=OFF", "-DTLC_BUILD_STATIC=OFF",
               "-DTLC_INSTALL=OFF", *(["-GNinja"] if shutil.which("ninja") else []))

    def make(self, targets):
        demand("cmake", "--build", self.build, "-j", self.jobs, "--target", *targets)

    def test(self, words):
        """Exit code and output of a test of the build, with more arguments."""
        if self.programs is None or "command" not in self.programs.get(words[0], {}):  # which was built just now
            code, output = run("ctest", "--test-dir", self.build, "--show-only=json-v1")
            if code != 0:
                raise Failed(output)
            self.programs = {test["name"]: test for test in json.loads(output)["tests"]}
        test = self.programs.get(words[0])
        if test is None or "command" not in test:
            raise Failed(f"there is no test named {words[0]}")
        environment = dict(os.environ, TLC_TEST_HANG_S="20")
        for one in test.get("properties", []):
            if one["name"] == "ENVIRONMENT":
                environment.update(pair.split("=", 1) for pair in one["value"])
        return run(*test["command"], *words[1:], environment=environment, timeout=300)

    def patch(self, path, *options):
        demand("patch", "--batch", "--forward", "-p1", "--no-backup-if-mismatch", "-r", "-", "-i", path, *options,
               cwd=self.tree)

    def check(self, patch):
        self.make(patch.targets)
        skipped = []
        for words in patch.tests:
            code, output = self.test(words)
            if code == SKIPPED:
                skipped.append(words)
            elif code != 0:
                raise Failed(f"{' '.join(words)} fails without the patch too:\n{output[-4000:]}")
        tests = [words for words in patch.tests if words not in skipped]
        if not tests:
            return SKIPPED
        try:
            self.patch(patch.path)
            self.make(patch.targets)
            for words in tests:
                code, _ = self.test(words)
                if code == 0:
                    raise Failed(f"{' '.join(words)} passes although this was taken out: {patch.guard}")
        finally:
            self.refresh()
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--source", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("patches", nargs="*")
    options = parser.parse_args()
    folder = os.path.dirname(os.path.abspath(__file__))
    paths = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".patch"))
    if not options.all:
        paths = options.patches
    tree = Tree(os.path.abspath(options.source), os.path.abspath(options.work))
    codes = []
    try:
        tree.refresh()
    except Failed as failure:
        print(failure)
        return 1
    for path in paths:
        try:
            code = tree.check(Patch(path))
            said = "skipped" if code else "the tests fail without the guard, as they must"
            print(f"{os.path.basename(path)}: {said}")
        except Failed as failure:
            code = 1
            print(f"{os.path.basename(path)}: FAILED\n{failure}")
        sys.stdout.flush()
        codes.append(code)
    return 1 if 1 in codes else SKIPPED if codes and all(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
