# SPDX-License-Identifier: MIT
"""Small kernels for the tests of Triton's drop-in; they are compiled here, not run."""

import triton
import triton.language as tl


@triton.jit
def scaled_add(x, y, out, count, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) * scale + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def row_maximum(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    tl.store(out + row, tl.max(values, axis=0))


@triton.jit
def square_product(a, b, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    places = at[:, None] * SIZE + at[None, :]
    tl.store(out + places, tl.dot(tl.load(a + places), tl.load(b + places)))


KERNELS = {
    "scaled_add": (scaled_add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "count": "i32", "scale": "fp32"}, {"BLOCK": 256}),
    "row_maximum": (row_maximum, {"x": "*fp32", "out": "*fp32", "columns": "i32"}, {"BLOCK": 512}),
    "square_product": (square_product, {"a": "*fp16", "b": "*fp16", "out": "*fp32"}, {"SIZE": 64}),
}
