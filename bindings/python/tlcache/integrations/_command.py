# SPDX-License-Identifier: MIT
"""`tlcache integrations`: which frameworks can use this cache in place of theirs, and which do."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ._registry import VARIABLE, report


def main(arguments: list[str]) -> int:
    """Prints the report; 0, or 1 if the environment names an integration that there is not."""
    parser = argparse.ArgumentParser(
        prog="tlcache integrations",
        description="Frameworks that can use the cache in place of their own, unmodified: what is "
        "installed, and what is on in a process that starts here.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    told = report()
    if options.json:
        print(json.dumps(told, indent=2))
    else:
        _print(told)
    return 1 if told["unknown"] else 0


def _print(told: dict[str, Any]) -> None:
    for row in told["integrations"]:
        version = row["version"] or "not installed"
        print(f"{row['name']:10} {version:14} {'on' if row['active'] else 'off'}: {row['reason']}")
        if not row["active"] and row["version"]:
            print(f"{'':25} to turn it on: {row['activation']}")
    if told["unknown"]:
        print(f"{VARIABLE} names {', '.join(told['unknown'])}, which there is not")
    elif told["variable"] and told["autoload"] is None:
        print(f"{VARIABLE} is set, but tlcache-autoload, which reads it, is not installed")
