# SPDX-License-Identifier: MIT
"""The table of reported faults names tests that are there. Needs no framework."""

from __future__ import annotations

import re

from dropin_tools import HERE

PAGE = HERE.parents[1] / "docs" / "integrations" / "tilelang.md"


def test_each_test_that_the_page_names_is_there() -> None:
    known = {name for file in HERE.glob("*.py") for name in re.findall(r"^def (\w+)", file.read_text(), re.MULTILINE)}
    rows = [line.strip("|").split("|") for line in PAGE.read_text().splitlines() if re.match(r"\| T\d", line)]
    assert len(rows) >= 40
    named = [(row[0].strip(), name) for row in rows for name in re.findall(r"`((?:t\d|test_)\w+…?)`", row[3])]
    assert len(named) >= 30
    assert [one for one in named if not any(name.startswith(one[1].rstrip("…")) for name in known)] == []
