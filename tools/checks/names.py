#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that src/ and include/ name no GPU library, no architecture and no framework outside comments.

The core dispatches on whatever target and engine backends register; a name in it would be the first special case. Prints
file:line for each. Exit code 1 if there is one.
"""
import argparse
import re
import sys

from files import ROOT, blank_comments, report, sources

WORDS = {
    "GPU library": "cuda cudart nvrtc nvcc nvidia nvptx ptxas nvjitlink cublas hip hiprtc rocm amdgpu comgr hsa hsaco opencl pocl "
                   "spirv vulkan metal mtl oneapi sycl webgpu cubin fatbin ptx",
    "architecture": "x86 amd64 aarch64 arm64 riscv riscv64 ppc64 ppc64le avx avx2 avx512 neon",
    "framework": "triton tilelang tvm torch pytorch inductor jax jaxlib xla cupy numba tinygrad tensorflow mlir cutlass cutedsl "
                 "cython numpy taichi onnx openxla halide enzyme",
}
KIND_OF = {word: kind for kind, words in WORDS.items() for word in words.split()}
GPU_ARCH = re.compile(r"(?i)(?<![a-z])(sm_?\d{2,3}[af]?|gfx\d\w*|x86_64)(?![a-z0-9])")
TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The words of an identifier: between underscores, and the humps of camel case. hipModuleLoad, kCuda, CUDA_SUCCESS.
HUMP = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*")


def named(line):
    """(kind, word) for each name on a line."""
    for match in GPU_ARCH.finditer(line):
        yield "architecture", match.group()
    for token in TOKEN.findall(line):
        words = {part.lower() for part in token.split("_")} | {hump.lower() for hump in HUMP.findall(token)}
        for word in sorted(words | {w[3:] for w in words if w.startswith("lib")}):
            if word in KIND_OF:
                yield KIND_OF[word], word


# Where a word is meant otherwise: (file, line's text).
ALLOWED = ()


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    wrong = []
    for path in sources("src", "include"):
        for number, line in enumerate(blank_comments((ROOT / path).read_text()).split("\n"), 1):
            if (str(path), line.strip()) not in ALLOWED:
                wrong += [f"{path}:{number}: names the {kind} '{word}'" for kind, word in named(line)]
    return report(wrong)


if __name__ == "__main__":
    sys.exit(main())
