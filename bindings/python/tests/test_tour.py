# SPDX-License-Identifier: MIT
"""The tour, docs/python.md: its blocks of Python run as they stand, one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs/python.md"


def test_the_tour(folder: Path, python: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 8
    monkeypatch.setenv("TLC_DIR", str(folder))
    assert python("\n".join(blocks) + "print('whole')\n").finish() == "whole"
