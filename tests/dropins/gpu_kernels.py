# SPDX-License-Identifier: MIT
"""A matrix product, softmax, layer norm and attention for gpu_triton.py, with what they are checked against."""

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        at = start + inner
        left = tl.load(a + rows[:, None] * K + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        right = tl.load(b + at[:, None] * N + columns[None, :], mask=(at[:, None] < K) & (columns[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    result = centred * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(out + row * columns + at, result, mask=inside)


@triton.jit
def attention(q, k, v, out, length, scale, HEAD: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * length * HEAD
    queries = tl.program_id(0) * BQ + tl.arange(0, BQ)
    depth = tl.arange(0, HEAD)
    places = base + queries[:, None] * HEAD + depth[None, :]
    query = tl.load(q + places, mask=queries[:, None] < length, other=0.0)
    top = tl.full((BQ,), -float("inf"), dtype=tl.float32)
    weights = tl.zeros((BQ,), dtype=tl.float32)
    total = tl.zeros((BQ, HEAD), dtype=tl.float32)
    for start in range(0, length, BK):
        keys = start + tl.arange(0, BK)
        inside = keys < length
        key = tl.load(k + base + keys[None, :] * HEAD + depth[:, None], mask=inside[None, :], other=0.0)
        scores = tl.where(inside[None, :], tl.dot(query, key) * scale, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        shrink = tl.exp(top - new_top)
        powers = tl.exp(scores - new_top[:, None])
        value = tl.load(v + base + keys[:, None] * HEAD + depth[None, :], mask=inside[:, None], other=0.0)
        total = total * shrink[:, None] + tl.dot(powers.to(tl.float16), value)
        weights = weights * shrink + tl.sum(powers, axis=1)
        top = new_top
    tl.store(out + places, (total / weights[:, None]).to(tl.float16), mask=queries[:, None] < length)


# name: kernel, types of its arguments, its constants, warps
SIGNATURES = {
    "matmul": (matmul, ["*fp16", "*fp16", "*fp16", "i32", "i32", "i32"], {"BM": 64, "BN": 64, "BK": 32}, 4),
    "softmax": (softmax, ["*fp32", "*fp32", "i32"], {"BLOCK": 1024}, 4),
    "layer_norm": (layer_norm, ["*fp32", "*fp32", "*fp32", "*fp32", "i32", "fp32"], {"BLOCK": 1024}, 4),
    "attention": (attention, ["*fp16", "*fp16", "*fp16", "*fp16", "i32", "fp32"], {"HEAD": 64, "BQ": 64, "BK": 64}, 4),
}


def launches():
    """By name: a function that launches the kernel, and one that gives its result and what it should be."""
    import torch

    torch.manual_seed(0)
    half = {"device": "cuda", "dtype": torch.float16}
    a, b = torch.randn(512, 384, **half), torch.randn(384, 256, **half)
    x = torch.randn(300, 1000, device="cuda")
    weight, bias = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    q, k, v = (torch.randn(2, 4, 500, 64, **half) for _ in range(3))
    product, soft, norm, attended = torch.empty(512, 256, **half), torch.empty_like(x), torch.empty_like(x), torch.empty_like(q)
    constants = {name: one[2] for name, one in SIGNATURES.items()}
    functional = torch.nn.functional
    return {
        "matmul": (
            lambda: matmul[(8, 4)](a, b, product, 512, 256, 384, **constants["matmul"]),
            lambda: (product, (a.float() @ b.float()).half()),
        ),
        "softmax": (
            lambda: softmax[(300,)](x, soft, 1000, **constants["softmax"]),
            lambda: (soft, torch.softmax(x, 1)),
        ),
        "layer_norm": (
            lambda: layer_norm[(300,)](x, weight, bias, norm, 1000, 1e-5, **constants["layer_norm"]),
            lambda: (norm, functional.layer_norm(x, (1000,), weight, bias, 1e-5)),
        ),
        "attention": (
            lambda: attention[(8, 8)](q, k, v, attended, 500, 64**-0.5, **constants["attention"]),
            lambda: (attended, functional.scaled_dot_product_attention(q.float(), k.float(), v.float()).half()),
        ),
    }
