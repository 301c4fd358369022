#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tlcache-sys/src/bindings.rs from tests/abi/abi.json, or (--check) says that it is stale.

abi.json follows the C headers (tools/checks/abi_tables.py), so a changed header fails here too. The declarations are
committed: building the crate needs neither Python nor libclang. The crate's tests compare them with the headers by a C
compiler, and with the library that is running. Standard library only.
"""
import argparse
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ABI = HERE.parents[1] / "tests/abi/abi.json"
OUTPUT = HERE / "tlcache-sys/src/bindings.rs"

PLAIN = {"void": "c_void", "char": "c_char", "double": "f64", "int32_t": "i32", "int64_t": "i64", "uint8_t": "u8", "uint32_t": "u32",
         "uint64_t": "u64", "size_t": "usize"}
STATUSES = {"TLC_OK", "TLC_MISS", "TLC_REJECTED", "TLC_NOT_STORED", "TLC_EXISTED", "TLC_CONFLICT", "TLC_TIMEOUT", "TLC_LOCKED",
            "TLC_TOO_LARGE"}
# The type of what a constant is stored in or compared with, by the beginning of its name; the longest that fits counts.
CONSTANTS = {"TLC_E_": "tlc_status", "TLC_VERSION": "u32", "TLC_ABI_": "u32", "TLC_FEATURE_": "u64", "TLC_LOG_": "i32",
             "TLC_OPEN_": "u64", "TLC_DIGEST_SIZE": "usize", "TLC_FIELD_": "u32", "TLC_TYPE_": "u32", "TLC_MEMBER_": "u32",
             "TLC_BUNDLE_": "u32", "TLC_TIER_": "u32", "TLC_WAIT_": "i64", "TLC_COMPILE_": "u64", "TLC_VERIFY_": "u32",
             "TLC_BACKEND_": "u64", "TLC_BACKEND_OPS_": "usize", "TLC_PLUGIN_MAGIC": "u64", "TLC_REGISTER_": "u32",
             "TLC_REMOTE_": "u64", "TLC_REMOTE_OPS_": "usize", "TLC_STRLEN": "usize"}
FUNCTION = re.compile(r"^(.*)\(\*\)\((.*)\)$")
KEYWORDS = {"type", "match", "ref", "move", "in", "fn", "impl", "loop", "where", "use", "mod", "box", "dyn", "self", "super"}


def name_of(name):
    return f"r#{name}" if name in KEYWORDS else name


class Writer:
    """Rust's words for the types of abi.json."""

    def __init__(self, abi):
        self.known = set(abi["opaque"]) | {s["name"] for s in abi["structs"]} | {"tlc_status"}
        self.callbacks = {c["name"] for c in abi["callbacks"]}

    def type(self, c):
        c = c.strip()
        function = FUNCTION.match(c)
        if function:
            return f"Option<{self.function(function[1], self.parameters(function[2]))}>"
        array = re.fullmatch(r"(\w+)\[(\d+)\]", c)
        if array:
            return f"[{self.type(array[1])}; {array[2]}]"
        if c.endswith("*"):
            return self.pointer(c)
        if c in self.callbacks:
            return f"Option<{c}>"
        if c in self.known:
            return c
        if c in PLAIN:
            return PLAIN[c]
        raise SystemExit(f"generate_sys.py: no type of Rust for '{c}'; add it")

    def pointer(self, c):
        to = c[:-1].rstrip()
        if to.endswith("const"):  # const char* const*
            return "*const " + self.type(to[: -len("const")])
        if to.endswith("*"):
            return "*mut " + self.type(to)
        if to.startswith("const "):
            return "*const " + self.type(to[len("const "):])
        return "*mut " + self.type(to)

    def parameters(self, text):
        """[(name, type)] of a function pointer's parameters, as abi.json spells them."""
        found = []
        for index, one in enumerate(p.strip() for p in text.split(",") if p.strip() not in ("", "void")):
            named = re.fullmatch(r"(.*[\s*])(\w+)", one)
            if named and not named[2].startswith("tlc_") and named[2] not in PLAIN:
                found.append((named[2], named[1].strip()))
            else:
                found.append((f"arg{index}", one))
        return found

    def function(self, returns, parameters):
        given = ", ".join(f"{name_of(n)}: {self.type(t)}" for n, t in parameters)
        back = "" if returns.strip() == "void" else f" -> {self.type(returns)}"
        return f"unsafe extern \"C\" fn({given}){back}"

    def constant(self, name):
        if name in STATUSES:
            return "tlc_status"
        fits = [prefix for prefix in CONSTANTS if name.startswith(prefix)]
        if not fits:
            raise SystemExit(f"generate_sys.py: no type for the constant {name}; add the beginning of its name")
        return CONSTANTS[max(fits, key=len)]


def write(abi):
    w = Writer(abi)
    out = ["// SPDX-License-Identifier: MIT",
           "// Written by bindings/rust/generate_sys.py from tests/abi/abi.json; do not edit.",
           "#![allow(clippy::unnecessary_cast)]",
           "use std::os::raw::{c_char, c_void};", "",
           "/// Result of a call: 0, a positive outcome, or a negative error.", "pub type tlc_status = i32;", ""]
    for name in abi["opaque"]:
        out += [f"/// `{name}` of the C headers: only ever behind a pointer.", "#[repr(C)]", f"pub struct {name} {{", "    _opaque: [u8; 0],",
                "    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,", "}", ""]
    for c in abi["callbacks"]:
        out += [f"/// `{c['name']}` of the C headers.",
                f"pub type {c['name']} = {w.function(c['returns'], [(p['name'], p['type']) for p in c['params']])};", ""]
    for s in abi["structs"]:
        out += [f"/// `{s['name']}` of `{s['header']}`.", "#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {s['name']} {{"]
        out += [f"    pub {name_of(m['name'])}: {w.type(m['type'])}," for m in s["members"]]
        out += ["}", ""]
    for c in abi["constants"]:
        kind = w.constant(c["name"])
        value = "usize::MAX" if c["name"] == "TLC_STRLEN" else c["value"]
        out.append(f"pub const {c['name']}: {kind} = {value};")
    out += ["", 'extern "C" {']
    for f in abi["functions"]:
        given = ", ".join(f"{name_of(p['name'])}: {w.type(p['type'])}" for p in f["params"])
        back = "" if f["returns"] == "void" else f" -> {w.type(f['returns'])}"
        out += [f"    /// Since {f['since']}; see `{f['header']}`.", f"    pub fn {f['name']}({given}){back};"]
    out += ["}", "", "/// Every struct and member as this crate lays them out, for `layout_differences`.",
            "pub(crate) fn layout(add: &mut dyn FnMut(&'static str, Option<&'static str>, usize, usize)) {"]
    for s in abi["structs"]:
        members = ", ".join(name_of(m["name"]) for m in s["members"])
        out.append(f"    layout_of!(add, {s['name']} {{ {members} }});")
    out += ["}", "", "/// Every constant as this crate has it.", "pub(crate) const CONSTANTS: &[(&str, i64)] = &["]
    out += [f"    (\"{c['name']}\", {c['name']} as i64)," for c in abi["constants"]]
    out += ["];", ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the file is stale")
    arguments = parser.parse_args()
    text = write(json.loads(ABI.read_text()))
    if OUTPUT.exists() and OUTPUT.read_text() == text:
        return 0
    if arguments.check:
        print("bindings/rust/tlcache-sys/src/bindings.rs:1: stale: run bindings/rust/generate_sys.py and commit what it writes")
        return 1
    OUTPUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
