# SPDX-License-Identifier: MIT
"""Fixtures for tests of frameworks on tlcache.

A test whose framework is not installed is skipped, and says so; `tools/dev dropins` installs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dropin_tools import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A place for one test."""
    made = Place(tmp_path)
    yield made
    made.end()
