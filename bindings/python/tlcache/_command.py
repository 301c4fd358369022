# SPDX-License-Identifier: MIT
"""The `tlcache` command: becomes the program that lies in this package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "bin" / "tlcache"


def main() -> int:
    """Runs the program in place of this process; returns only if it cannot be run."""
    try:
        os.execv(PROGRAM, ["tlcache", *sys.argv[1:]])
    except OSError as error:
        print(f"tlcache: {PROGRAM}: {error.strerror}; install the package again", file=sys.stderr)
    return 126
