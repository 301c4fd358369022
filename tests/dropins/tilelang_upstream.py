#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""TileLang's own tests, from its sources, with its own cache and with tlcache in its place.

    python tests/dropins/tilelang_upstream.py SOURCES [FOLDER...]

SOURCES is an unpacked source archive of TileLang; of the version that is installed, or of the one
before it. Prints a table, and each test whose outcome is another with tlcache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

FOLDERS = ("cache", "jit", "autotune", "cpu", "llvm", "metal")


def run(sources: Path, folder: str, plugin: list[str], seconds: int) -> dict[str, str]:
    """The outcome of each test."""
    with tempfile.TemporaryDirectory() as top:
        report = Path(top, "report.xml")
        environment = {
            **os.environ,
            "HOME": top,
            "TLC_DIR": f"{top}/store",
            "TILELANG_CACHE_DIR": f"{top}/own",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin]
        command += ["--timeout", "120", f"--junitxml={report}", f"testing/python/{folder}"]
        subprocess.run(command, cwd=sources, env=environment, timeout=seconds, capture_output=True, check=False)
        outcomes = {}
        for case in ET.parse(report).iter("testcase"):
            kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            outcomes[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
        return outcomes


def main() -> int:
    """Runs both; 1 if any test passes without and does not with tlcache."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("sources", type=Path)
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    parser.add_argument("--seconds", type=int, default=1200, help="for one folder")
    options = parser.parse_args()
    worse = 0
    print("| folder | own cache: passed, failed, skipped | tlcache: passed, failed, skipped |\n|---|---|---|")
    details = []
    for folder in options.folders:
        own = run(options.sources, folder, [], options.seconds)
        ours = run(options.sources, folder, ["-p", "tlcache.integrations.tilelang"], options.seconds)
        cells = []
        for found in (own, ours):
            values = list(found.values())
            skipped, passed = values.count("skipped"), values.count("passed")
            cells.append(f"{passed}, {len(values) - skipped - passed}, {skipped}")
        print(f"| {folder} | {cells[0]} | {cells[1]} |", flush=True)
        for name in sorted(own.keys() | ours.keys()):
            if own.get(name) != ours.get(name):
                details.append(f"{name}: {own.get(name)} -> {ours.get(name)}")
                worse += own.get(name) == "passed"
    print("\n".join(details))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
