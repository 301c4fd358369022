#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parses every .jl file of the repository with tree-sitter's grammar of Julia, where Python has it (the packages tree-sitter
and tree-sitter-julia); else exit code 77. It finds what is no Julia at all, where there is no Julia.

usage: julia_syntax.py [FILE...]
"""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def faults(parser, path):
    def walk(node):
        if node.type == "ERROR" or node.is_missing:
            yield node.start_point[0] + 1
            return
        for child in node.children:
            yield from walk(child)

    return sorted(set(walk(parser.parse(path.read_bytes()).root_node)))


def main():
    try:
        import tree_sitter
        import tree_sitter_julia
    except ImportError:
        print("Python has no tree-sitter-julia")
        return 77
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_julia.language()))
    paths = [Path(p) for p in sys.argv[1:]] or sorted((ROOT / "bindings/julia").rglob("*.jl"))
    failed = 0
    for path in paths:
        for line in faults(parser, path):
            print(f"{path}:{line}: cannot be parsed")
            failed = 1
    print(f"{len(paths)} files")
    return failed


if __name__ == "__main__":
    sys.exit(main())
