# SPDX-License-Identifier: MIT
"""The numbered steps: places named TLC_STEP in src, at which a build with tests can be killed (port/step.hpp)."""

import os
import re

from agents import SOURCE


def step_names():
    """All of them, from the sources: a new one needs no list to be known."""
    found = set()
    for folder, _, names in os.walk(os.path.join(SOURCE, "src")):
        for name in names:
            if name.endswith((".cpp", ".hpp")):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found |= set(re.findall(r'TLC_STEP\("([^"]+)"\)', file.read()))
    return sorted(found)
