#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether tools/checks/julia_abi.py finds what it is for: each fault, put into a copy of the Julia package or of the ABI's
description, is named at its place. Needs no Julia.

usage: test_julia_abi.py [--show]
"""
import contextlib
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/checks"))
import julia_abi  # noqa: E402
FUNCTIONS, TYPES, CONSTANTS = "src/abi/functions.jl", "src/abi/types.jl", "src/abi/constants.jl"

# (what, file, text, its replacement, words of the fault)
IN_THE_PACKAGE = [
    ("a parameter is missing", FUNCTIONS, "tlc_key_diff(was::Ptr{tlc_key}, ", "tlc_key_diff(", "tlc_key_diff has 3 parameters"),
    ("a parameter too many", FUNCTIONS, "tlc_version()", "tlc_version(a::Int32)", "tlc_version has 1 parameters"),
    ("a narrower integer", FUNCTIONS, "value::Int64, flags", "value::Int32, flags", "by the headers value::Int64"),
    ("a sign", FUNCTIONS, "value::UInt64, flags", "value::Int64, flags", "by the headers value::UInt64"),
    ("a C string where a length counts", FUNCTIONS, "label::tlc_str", "label::Cstring", "by the headers label::tlc_str"),
    ("a pointer too few", FUNCTIONS, "artifact::Ptr{Ptr{tlc_artifact}}", "artifact::Ptr{tlc_artifact}", "Ptr{Ptr{tlc_artifact}}"),
    ("another handle", FUNCTIONS, "from::Ptr{tlc_key}", "from::Ptr{tlc_lock}", "by the headers from::Ptr{tlc_key}"),
    ("parameters exchanged", FUNCTIONS, "from::Ptr{tlc_key}, to::Ptr{tlc_key}", "to::Ptr{tlc_key}, from::Ptr{tlc_key}", "has to::"),
    ("another result", FUNCTIONS, "@bind tlc_version()::UInt32", "@bind tlc_version()::UInt64", "gives UInt64"),
    ("no result", FUNCTIONS, "@bind tlc_version()::UInt32", "@bind tlc_version()", "no result type"),
    ("an unknown function", FUNCTIONS, "@bind tlc_version()", "@bind tlc_versions()", "tlc_versions is not in the headers"),
    ("a function is missing", FUNCTIONS, "@bind tlc_version()::UInt32\n", "", "tlc_version of the headers is not bound"),
    ("bound twice", FUNCTIONS, "@bind tlc_version()::UInt32\n", "@bind tlc_version()::UInt32\n" * 2, "bound twice"),
    ("may wait, and stops the garbage collector", FUNCTIONS, "@bind gcsafe tlc_cache_put", "@bind tlc_cache_put", "tlc_cache_put may wait"),
    ("an unknown option", FUNCTIONS, "@bind gcsafe tlc_cache_put", "@bind blocking tlc_cache_put", "not a @bind"),
    ("something else among the bindings", FUNCTIONS, "@bind tlc_version()::UInt32\n", "@bind tlc_version()::UInt32\nf(x) = 1\n", "not a @bind"),
    ("a member of another type", TYPES, "backend_code::Int64", "backend_code::Int32", "tlc_error: members differ"),
    ("members exchanged", TYPES, "data::Ptr{UInt8}\n    len::Csize_t", "len::Csize_t\n    data::Ptr{UInt8}", "tlc_str: members differ"),
    ("a member is missing", TYPES, "    tier::UInt32\n", "", "tlc_artifact_info: members differ"),
    ("a shorter text", TYPES, "NTuple{512,UInt8}", "NTuple{256,UInt8}", "tlc_error: members differ"),
    ("a mutable mirror", TYPES, "struct tlc_member", "mutable struct tlc_member", "tlc_member: a mirror is an immutable struct"),
    ("a mirror that is not compared", TYPES, "tlc_stats, tlc_entry,", "tlc_stats,", "MIRRORS and the structs differ in tlc_entry"),
    ("a constant's value", CONSTANTS, "TLC_E_IO = Int32(-3)", "TLC_E_IO = Int32(-4)", "TLC_E_IO is -4, in the headers -3"),
    ("a constant is missing", CONSTANTS, "const TLC_E_IO = Int32(-3)\n", "", "TLC_E_IO is not there"),
    ("an unknown constant", CONSTANTS, "TLC_E_IO", "TLC_E_IOU", "TLC_E_IOU is not in the headers"),
    ("a constant of no such type", CONSTANTS, "Int32(-3)", "UInt32(-3)", "UInt32(-3) is no integer"),
    ("a constant by an expression", CONSTANTS, "Int32(-3)", "-Int32(3)", "not a constant as this check knows it"),
    ("a ccall somewhere else", "src/key.jl", "tlc_key_release(key.ptr)", "ccall(:tlc_key_release, Cvoid, (Ptr{Cvoid},), key.ptr)",
     "belongs into src/abi/functions.jl"),
    ("a callback of another type", "src/reports.jl", "(UInt64, UInt64, Ptr{Cvoid})", "(UInt64, Int64, Ptr{Cvoid})", "on_progress is"),
    ("a callback's definition", "src/reports.jl", "on_progress(done::UInt64", "on_progress(done::Int64", "defined for other types"),
    ("a call with too many arguments", "src/key.jl", "tlc_key_diff(was, now, out, err)", "tlc_key_diff(was, now, out, err, 0)",
     "tlc_key_diff is called with 5 arguments"),
    ("a struct made of too few", "src/artifact.jl", "EMPTY_STR, C_NULL, 0, 0))", "EMPTY_STR, C_NULL, 0))", "tlc_member is called with 4"),
    ("a function that is not bound", "src/key.jl", "tlc_key_diff(was", "tlc_key_difference(was", "tlc_key_difference is not of this package"),
    ("a constant that is not there", "src/flow.jl", "TLC_WAIT_NONE", "TLC_WAIT_NEVER", "TLC_WAIT_NEVER is not among the constants"),
    ("a finalizer that waits", "src/cache.jl", "    Threads.@spawn tlc_cache_close(ptr)", "    wait(Threads.@spawn tlc_cache_close(ptr))",
     "close_later is a finalizer"),
    ("a finalizer without a name", "src/cache.jl", "finalizer(close_later, cache)", "finalizer(c -> print(c), cache)", "by name"),
]


def function(abi, name):
    return next(f for f in abi["functions"] if f["name"] == name)


def struct(abi, name):
    return next(s for s in abi["structs"] if s["name"] == name)


# (what, change of the description, words of the fault)
IN_THE_HEADERS = [
    ("a parameter more", lambda a: function(a, "tlc_cache_get")["params"].insert(2, {"name": "flags", "type": "uint32_t"}), "tlc_cache_get has 4 parameters"),
    ("another parameter type", lambda a: function(a, "tlc_cache_gc")["params"][1].update(type="int64_t"), "max_bytes::Int64"),
    ("a function more", lambda a: a["functions"].append(dict(function(a, "tlc_version"), name="tlc_new")), "tlc_new of the headers is not bound"),
    ("a function less", lambda a: a["functions"].remove(function(a, "tlc_key_diff")), "tlc_key_diff is not in the headers"),
    ("a type that is new", lambda a: function(a, "tlc_version").update(returns="float"), "'float' of the headers is unknown"),
    ("a member more", lambda a: struct(a, "tlc_stats")["members"].append({"name": "new", "type": "uint64_t", "offset": 136, "size": 8}), "tlc_stats: members differ"),
    ("a member moved", lambda a: struct(a, "tlc_entry")["members"][3].update(offset=32), "tlc_entry.key_length is (offset, size)"),
    ("a larger struct", lambda a: struct(a, "tlc_layout").update(size=40), "tlc_layout has 32 bytes, in C 40"),
    ("a struct more", lambda a: a["structs"].append(dict(struct(a, "tlc_layout"), name="tlc_new_options")), "tlc_new_options is not mirrored"),
    ("a handle more", lambda a: a["opaque"].append("tlc_pack"), "tlc_pack is only in the headers"),
    ("a constant's value", lambda a: next(c for c in a["constants"] if c["name"] == "TLC_OPEN_MEMORY").update(value=64), "TLC_OPEN_MEMORY is 32, in the headers 64"),
    ("a constant more", lambda a: a["constants"].append({"name": "TLC_E_NEW", "value": -19, "header": "tlcache.h"}), "TLC_E_NEW is not there"),
    ("a callback's parameter", lambda a: next(c for c in a["callbacks"] if c["name"] == "tlc_entry_fn")["params"].pop(0), "on_entry is"),
    ("a callback more", lambda a: a["callbacks"].append({"name": "tlc_new_fn", "returns": "void", "params": []}), "the callback tlc_new_fn"),
]


def check(package, abi):
    """(exit code, what it said)"""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = julia_abi.main(["--package", str(package), "--abi", str(abi)])
    return code, said.getvalue()


def main():
    show = "--show" in sys.argv[1:]
    abi = ROOT / "tests/abi/abi.json"
    failed = []

    def expect(what, package, description, words):
        code, said = check(package, description)
        if show:
            print(f"{what}:\n  {said.strip()}")
        if code != 1 or words not in said or "Traceback" in said:
            failed.append(f"{what}: exit code {code}, without '{words}':\n{said}")

    with tempfile.TemporaryDirectory() as folder:
        good = Path(folder, "package")
        shutil.copytree(ROOT / "bindings/julia", good)
        code, said = check(good, abi)
        if code != 0:
            failed.append(f"the package as it is: exit code {code}:\n{said}")
        for what, name, old, new, words in IN_THE_PACKAGE:
            path = good / name
            text = path.read_text("utf-8")
            if old not in text:
                failed.append(f"{what}: '{old}' is not in {name}: bring this test along")
                continue
            path.write_text(text.replace(old, new, 1), "utf-8")
            expect(what, good, abi, words)
            path.write_text(text, "utf-8")
        for what, change, words in IN_THE_HEADERS:
            description = json.loads(abi.read_text("utf-8"))
            change(description)
            changed = Path(folder, "abi.json")
            changed.write_text(json.dumps(description), "utf-8")
            expect(f"headers: {what}", good, changed, words)
    print("\n".join(failed))
    print(f"{len(IN_THE_PACKAGE) + len(IN_THE_HEADERS)} faults, {len(failed)} not found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
