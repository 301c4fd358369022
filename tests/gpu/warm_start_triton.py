# SPDX-License-Identifier: MIT
"""The kernel of warm_start.py for Triton, which reads the source of a kernel's module."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < count
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)
