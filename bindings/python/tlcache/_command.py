# SPDX-License-Identifier: MIT
"""The `tlcache` command: becomes the program that lies in this package.

One word is answered here, since only Python knows the answer: `tlcache integrations`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "bin" / "tlcache"

#: The program's options without a value, which may stand before its command.
_FLAGS = frozenset({"--json", "--quiet", "-q", "--read-only", "--allow-plugins"})


def main() -> int:
    """Runs the program in place of this process; returns only if it cannot be run."""
    arguments = sys.argv[1:]
    if next((word for word in arguments if word not in _FLAGS), None) == "integrations":
        from .integrations._command import main as integrations

        arguments.remove("integrations")
        return integrations([word for word in arguments if word not in _FLAGS - {"--json"}])
    try:
        os.execv(PROGRAM, ["tlcache", *arguments])
    except OSError as error:
        print(f"tlcache: {PROGRAM}: {error.strerror}; install the package again", file=sys.stderr)
    return 126
