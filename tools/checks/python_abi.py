#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what the Python package uses of the library with the ABI's description (tests/abi/abi.json), without building it.

Its declarations are the headers themselves (bindings/python/generate_ffi.py), so they cannot differ. What its code says of them can:

  calls      each lib.tlc_...(...), and each call in the files of C: the function is there, and gets as many arguments as it has
             parameters
  constants  each lib.TLC_...
  structs    each ffi.new("tlc_...") and each member of one made so in the same function
  callbacks  the prototypes of callbacks.cdef are those of the callback types

usage: python_abi.py [--package FOLDER] [--abi FILE]      exit code: 1 and file:line of each fault. Standard library only.
"""
import argparse
import ast
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Callback of the package -> its type in the headers.
CALLBACKS = {"tlcpy_on_compile": "tlc_compile_fn", "tlcpy_on_entry": "tlc_entry_fn", "tlcpy_on_progress": "tlc_progress_fn",
             "tlcpy_on_log": "tlc_log_fn"}


class Reader(ast.NodeVisitor):
    """The uses in one file."""

    def __init__(self, path, abi):
        self.path, self.faults, self.uses = path, [], 0
        self.functions = {f["name"]: len(f["params"]) for f in abi["functions"]}
        self.constants = {c["name"] for c in abi["constants"]}
        self.members = {s["name"]: {m["name"] for m in s["members"]} for s in abi["structs"]}
        self.types = set(self.members) | set(abi["opaque"])
        self.made = [{}]  # name of a variable -> struct, by the functions around

    def fault(self, node, text):
        self.faults.append(f"{self.path}:{node.lineno}: {text}")

    def visit_FunctionDef(self, node):
        self.made.append({})
        self.generic_visit(node)
        self.made.pop()

    def visit_Assign(self, node):
        names, values = [node.targets[0]], [node.value]
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            names, values = node.targets[0].elts, node.value.elts
        for name, value in zip(names, values):
            struct = self.struct_of(value)
            if struct and isinstance(name, ast.Name):
                self.made[-1][name.id] = struct
        self.generic_visit(node)

    @staticmethod
    def struct_of(value):
        """tlc_x of ffi.new("tlc_x*"); of an out parameter ("tlc_x**", "tlc_x[]") none of whose members are used."""
        is_new = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "new"
        if is_new and value.args and isinstance(value.args[0], ast.Constant):
            found = re.fullmatch(r"(tlc_\w+) ?\*", str(value.args[0].value))
            return found and found[1]
        return None

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in self.functions and not any(isinstance(a, ast.Starred) for a in node.args):
            self.uses += 1
            if len(node.args) != self.functions[name]:
                self.fault(node, f"{name} is called with {len(node.args)} arguments, in the headers it has {self.functions[name]}")
        if name == "new" and node.args and isinstance(node.args[0], ast.Constant):
            found = re.match(r"tlc_\w+", str(node.args[0].value))
            if found and found[0] not in self.types:
                self.fault(node, f"{found[0]} is not in the headers")
        self.generic_visit(node)

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id == "lib":
            known = {"tlc_": self.functions, "TLC_": self.constants}.get(node.attr[:4])
            self.uses += known is not None
            if known is not None and node.attr not in known:
                self.fault(node, f"{node.attr} is not in the headers")
        if isinstance(node.value, ast.Name):
            struct = next((made[node.value.id] for made in reversed(self.made) if node.value.id in made), None)
            if struct in self.members:
                self.uses += 1
                if node.attr not in self.members[struct]:
                    self.fault(node, f"{struct} has no member {node.attr}")
        self.generic_visit(node)


def callback_faults(path, abi):
    """Callbacks that are declared otherwise than their type."""
    types = {c["name"]: c for c in abi["callbacks"]}
    text = re.sub(r"/\*.*?\*/", " ", path.read_text("utf-8"), flags=re.DOTALL)
    for name, kind in CALLBACKS.items():
        found = re.search(name + r"\(([^)]*)\)", text)
        if not found or kind not in types:
            yield f"{path}: {name} or {kind} is not there"
            continue

        ours = [re.sub(r"\s*\*\s*", "*", re.sub(r"\w+$", "", one.strip())).strip() for one in found[1].split(",")]
        theirs = [re.sub(r"\s*\*\s*", "*", p["type"]) for p in types[kind]["params"]]
        if ours != theirs:
            yield f"{path}: {name} takes ({', '.join(ours)}), {kind} of the headers ({', '.join(theirs)})"


def c_faults(path, abi):
    """Calls in a file of C with another number of arguments. A compiler finds the rest."""
    functions = {f["name"]: len(f["params"]) for f in abi["functions"]}
    blank = lambda match: re.sub(r"[^\n]", " " if match[0][0] == "/" else "x", match[0])  # noqa: E731
    text = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", blank, path.read_text("utf-8"), flags=re.DOTALL)
    for found in re.finditer(r"\b(tlc_\w+)\(", text):
        depth, commas, end = 1, 0, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            commas += depth == 1 and text[end] == ","
            end += 1
        given = commas + 1 if text[found.end():end - 1].strip() else 0
        if functions.get(found[1]) != given:
            line = text.count("\n", 0, found.start()) + 1
            yield f"{path}:{line}: {found[1]} is called with {given} arguments, in the headers it has {functions.get(found[1])}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, default=ROOT / "bindings/python")
    parser.add_argument("--abi", type=Path, default=ROOT / "tests/abi/abi.json")
    options = parser.parse_args(arguments)
    abi = json.loads(options.abi.read_text("utf-8"))
    faults, uses = list(callback_faults(options.package / "callbacks.cdef", abi)), 0
    for path in sorted(options.package.glob("*.c")):
        faults += c_faults(path, abi)
    for path in sorted((options.package / "tlcache").rglob("*.py")):
        reader = Reader(path, abi)
        reader.visit(ast.parse(path.read_text("utf-8")))
        faults += reader.faults
        uses += reader.uses
    print("\n".join(faults + [f"{uses} uses: {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
