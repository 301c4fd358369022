#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the Julia package with the ABI (tests/abi/abi.json), without Julia.

  functions  each `@bind` of src/abi/functions.jl: name, parameters' names and types, result; and `gcsafe` where a call may wait
  structs    each struct of src/abi/types.jl: members, types, offsets, size
  constants  each `const TLC_...` of src/abi/constants.jl: value
  callbacks  each @cfunction: `on_x` has the parameters and the result of `tlc_x_fn`, and so has its definition
  calls      each call of a bound function or struct anywhere: number of arguments
  finalizers take no lock, wait for nothing and print nothing

What the headers have and the package has not must be in the lists below, with the reason. Anything that is written in a way
this reader does not know is an error, and so is a ccall anywhere but in functions.jl.

usage: julia_abi.py [--package FOLDER] [--abi FILE]      exit code: 1 and file:line of each fault. Standard library only.
       julia_abi.py --print NAME...                      what is to be written for functions, structs and constants of the headers
"""
import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IDENTIFIER = r"[A-Za-z_]\w*!?"

UNBOUND = {
    "the package makes texts, options and results itself, from its mirrors": """tlc_str_from tlc_cache_options_init tlc_cache_options_init_sized
        tlc_compile_options_init tlc_load_options_init""",
    "no use: the package has the values it gave itself": """tlc_request_find tlc_value_type tlc_value_text tlc_value_int
        tlc_value_f64 tlc_value_count tlc_value_at tlc_request_target tlc_request_engine tlc_request_namespace
        tlc_request_label""",
    "references are Julia's": "tlc_key_retain tlc_artifact_retain tlc_module_retain",
    "Julia's tasks wait, not C": "tlc_cancel_create tlc_cancel_trigger tlc_cancel_release",
    "TLC_LOG writes to standard error": "tlc_set_log",
    "tlc_artifact_find gives the same": "tlc_artifact_data",
    "tlc_abi_version decides": "tlc_features",
    "backends are not written in Julia": """tlc_host tlc_register_backend tlc_cache_register_backend tlc_unregister_backend
        tlc_register_remote""",
}
UNMIRRORED = "tlc_host_api tlc_backend_ops tlc_plugin_desc tlc_remote_ops tlc_remote_item tlc_call".split()
UNNAMED = re.compile(r"TLC_(VERSION\w*|STRLEN|LOG_\w+|BUNDLE_BORROW|BACKEND_\w+|PLUGIN_MAGIC|REGISTER_\w+|REMOTE_\w+)")
UNUSED_CALLBACKS = {"tlc_log_fn", "tlc_outline_fn", "tlc_plugin_init_fn", "tlc_remote_sink_fn", "tlc_remote_init_fn"}

# A call may wait if it gets a cache, or is one of these.
MAY_WAIT = set("""tlc_cache_open tlc_request_key tlc_artifact_read tlc_artifact_folder tlc_lock_publish tlc_lock_fail
    tlc_lock_abandon tlc_module_symbol tlc_module_native tlc_module_release tlc_load_plugin""".split())

SCALARS = {"int32_t": "Int32", "uint32_t": "UInt32", "int64_t": "Int64", "uint64_t": "UInt64", "size_t": "Csize_t",
           "double": "Float64", "tlc_status": "tlc_status", "void": "Cvoid", "char": "UInt8", "uint8_t": "UInt8"}
SIZES = {"Int32": 4, "UInt32": 4, "Int64": 8, "UInt64": 8, "Csize_t": 8, "Float64": 8, "UInt8": 1, "tlc_status": 4}
INTEGERS = {"Int32": (-2**31, 2**31), "UInt32": (0, 2**32), "Int64": (-2**63, 2**63), "UInt64": (0, 2**64)}
KEYWORDS = set("""baremodule begin break catch const continue do else elseif end export false finally for function global if
    import let local macro module quote return struct true try using while""".split())


class Fault(Exception):
    pass


def blank(text):
    """Comments become spaces, and so does what is in strings and characters; offsets and lines stay."""
    def spaces(m):
        found = m.group()
        inside = re.sub(r"[^\n]", " ", found)
        return inside if found[0] == "#" else found[0] + inside[1:-1] + found[-1]
    return re.sub(r'#=.*?=#|#[^\n]*|"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\])*"|(?<![\w)\]}\'])\'(?:\\.[^\']*|[^\'\\])\'', spaces, text,
                  flags=re.S)


def matching(text, start):
    """Offset of the bracket that closes the one at start."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    stack = []
    for i in range(start, len(text)):
        c = text[i]
        if c in pairs:
            stack.append(pairs[c])
        elif c in ")]}":
            if not stack or stack.pop() != c:
                raise Fault("brackets do not match")
            if not stack:
                return i
    raise Fault("a bracket is not closed")


def split_arguments(text, separator=","):
    """Splits at the separator outside brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "({[") - (c in ")}]")
        if c == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


class Checker:
    def __init__(self, package, abi):
        self.package, self.abi, self.faults = package, abi, []
        self.functions = {f["name"]: f for f in abi["functions"]}
        self.structs = {s["name"]: s for s in abi["structs"]}
        self.constants = {c["name"]: c["value"] for c in abi["constants"]}
        self.callbacks = {c["name"]: c for c in abi["callbacks"]}
        self.bound, self.mirrors, self.known_constants, self.arity = {}, {}, set(), {}
        self.texts = {path: blank(path.read_text("utf-8")) for path in sorted(package.rglob("*.jl"))}

    def fault(self, path, position, message):
        line = self.texts[path].count("\n", 0, position) + 1
        self.faults.append(f"{path.relative_to(self.package)}:{line}: {message}")

    def source(self, name):
        path = self.package / "src" / name
        if path not in self.texts:
            raise Fault(f"src/{name} is missing")
        return path, self.texts[path]

    def julia_type(self, ctype):
        ctype = re.sub(r"\bconst\b", " ", ctype)
        ctype = re.sub(r"\s+", "", ctype)
        if "(*)" in ctype or ctype in self.callbacks:
            return "Ptr{Cvoid}"
        array = re.fullmatch(r"(\w+)\[(\d+)\]", ctype)
        if array:
            return f"NTuple{{{array.group(2)},{self.julia_type(array.group(1))}}}"
        depth = ctype.count("*")
        base = ctype.rstrip("*")
        if base not in SCALARS and base not in self.structs and base not in self.abi["opaque"]:
            raise Fault(f"the type '{ctype}' of the headers is unknown here")
        name = SCALARS.get(base, base)
        return "Ptr{" * depth + name + "}" * depth

    def text_of(self, name):
        """A function, struct or constant as the package has to write it."""
        if name in self.functions:
            f = self.functions[name]
            parts = [p["name"] + ("_" if p["name"] in KEYWORDS else "") + "::" + self.julia_type(p["type"]) for p in f["params"]]
            waits = name in MAY_WAIT or any(part.endswith("::Ptr{tlc_cache}") for part in parts)
            head = f"@bind {'gcsafe ' if waits else ''}{name}("
            line = f"{head}{', '.join(parts)})::{self.julia_type(f['returns'])}"
            return line if len(line) <= 118 else line.replace("(", "(\n    ", 1).replace(")::", "\n)::")
        if name in self.structs:
            members = [f"    {m['name']}::{self.julia_type(m['type'])}" for m in self.structs[name]["members"]]
            return "\n".join([f"struct {name}", *members, "end"])
        if name in self.constants:
            return f"const {name} = {'Int32' if self.constants[name] < 0 else 'UInt32'}({self.constants[name]})"
        raise Fault(f"{name} is not in the headers")

    # ---------------------------------------------------------------- functions

    def check_functions(self):
        path, text = self.source("abi/functions.jl")
        bind = re.compile(rf"^@bind (gcsafe )?({IDENTIFIER})\(", re.M)
        first = bind.search(text)
        if first is None:
            raise Fault("src/abi/functions.jl binds nothing")
        position = first.start()
        while position < len(text):
            if text[position].isspace():
                position += 1
                continue
            m = bind.match(text, position)
            if not m:
                self.fault(path, position, "not a @bind as this check knows it: @bind [gcsafe] name(parameter::Type, ...)::Type")
                return
            close = matching(text, m.end() - 1)
            result = re.compile(r"::([\w{}]+)[ \t]*(?=\n|\Z)").match(text, close + 1)
            if not result:
                self.fault(path, position, f"{m.group(2)} has no result type")
                return
            self.check_function(path, position, m.group(2), bool(m.group(1)), text[m.end():close], result.group(1))
            position = result.end()
        for reason, names in UNBOUND.items():
            for name in names.split():
                if name in self.bound:
                    self.fault(path, 0, f"{name} is bound, and tools/checks/julia_abi.py says it is not: {reason}")
                if name not in self.functions:
                    self.fault(path, 0, f"{name} is in tools/checks/julia_abi.py, and not in the headers")
        unbound = {name for names in UNBOUND.values() for name in names.split()}
        for name in self.functions:
            if name not in self.bound and name not in unbound:
                self.fault(path, 0, f"{name} of the headers is not bound; bind it, or say why not in tools/checks/julia_abi.py")

    def check_function(self, path, position, name, gcsafe, parameters, result):
        header = self.functions.get(name)
        if header is None:
            self.fault(path, position, f"{name} is not in the headers")
            return
        if name in self.bound:
            self.fault(path, position, f"{name} is bound twice")
        given = [tuple(p.strip() for p in part.split("::", 1)) for part in split_arguments(parameters)]
        if any(len(g) != 2 for g in given):
            self.fault(path, position, f"{name} has a parameter without a type")
            return
        self.bound[name] = len(given)
        wanted = [(p["name"] + ("_" if p["name"] in KEYWORDS else ""), self.julia_type(p["type"])) for p in header["params"]]
        if len(given) != len(wanted):
            self.fault(path, position, f"{name} has {len(given)} parameters, in the headers {len(wanted)}")
            return
        for (our_name, our_type), (their_name, their_type) in zip(given, wanted):
            if (our_name, our_type) != (their_name, their_type):
                self.fault(path, position, f"{name} has {our_name}::{our_type}, by the headers {their_name}::{their_type}")
        if result != self.julia_type(header["returns"]):
            self.fault(path, position, f"{name} gives {result}, by the headers {self.julia_type(header['returns'])}")
        waits = name in MAY_WAIT or any(t == "Ptr{tlc_cache}" for _, t in wanted)
        if waits != gcsafe:
            self.fault(path, position, f"{name} {'may wait: it is' if waits else 'is not known to wait: it is not'} gcsafe")

    # ---------------------------------------------------------------- structs and constants

    def check_structs(self):
        path, text = self.source("abi/types.jl")
        if not re.search(r"^const tlc_status = Int32$", text, re.M):
            self.fault(path, 0, "tlc_status is not Int32")
        opaque = set(re.findall(r"^abstract type (\w+) end$", text, re.M))
        for name in set(self.abi["opaque"]) ^ opaque:
            if name not in UNMIRRORED:
                self.fault(path, 0, f"the handle type {name} is only in {'the package' if name in opaque else 'the headers'}")
        found = re.compile(r"^(mutable )?struct (\w+)[ \t]*\n(.*?)^end$", re.M | re.S)
        for m in found.finditer(text):
            mutable, name, body = m.groups()
            members = [line.strip() for line in body.splitlines() if line.strip()]
            bad = [member for member in members if not re.fullmatch(r"\w+::[\w{},]+", member)]
            if mutable or bad:
                self.fault(path, m.start(), f"{name}: a mirror is an immutable struct with one 'member::Type' a line")
                continue
            self.check_struct(path, m.start(), name, [member.split("::") for member in members])
        if len(found.findall(text)) != len(re.findall(r"^\s*(?:mutable )?struct\b", text, re.M)):
            self.fault(path, 0, "a struct is written in a way that this check does not know")
        mirrors = re.search(r"^const MIRRORS = \((.*?)\)", text, re.M | re.S)
        listed = set(split_arguments(mirrors.group(1))) if mirrors else set()
        for name in listed ^ set(self.mirrors):
            self.fault(path, 0, f"MIRRORS and the structs differ in {name}")
        for name in self.structs:
            if (name in self.mirrors) == (name in UNMIRRORED):
                self.fault(path, 0, f"the struct {name} is {'' if name in self.mirrors else 'not '}mirrored, against the list of "
                                    "tools/checks/julia_abi.py")

    def layout(self, julia_type):
        """(size, alignment)"""
        if julia_type.startswith("Ptr{"):
            return 8, 8
        array = re.fullmatch(r"NTuple\{(\d+),(\w+)\}", julia_type)
        if array:
            size, alignment = self.layout(array.group(2))
            return size * int(array.group(1)), alignment
        if julia_type in self.mirrors:
            return self.mirrors[julia_type]
        if julia_type not in SIZES:
            raise Fault(f"the type {julia_type} is unknown to this check")
        return SIZES[julia_type], SIZES[julia_type]

    def check_struct(self, path, position, name, members):
        header = self.structs.get(name)
        offset, alignment, offsets = 0, 1, []
        for _, julia_type in members:
            size, align = self.layout(julia_type)
            offset = -(-offset // align) * align
            offsets.append((offset, size))
            offset, alignment = offset + size, max(alignment, align)
        total = -(-offset // alignment) * alignment
        self.mirrors[name] = (total, alignment)
        self.arity[name] = len(members)
        if header is None:
            self.fault(path, position, f"{name} is not in the headers")
            return
        ours = [(n, t) for n, t in members]
        theirs = [(m["name"], self.julia_type(m["type"])) for m in header["members"]]
        if ours != theirs:
            differ = next((f"{a} here, {b} in the headers" for a, b in zip(ours + [None], theirs + [None]) if a != b), "their number")
            self.fault(path, position, f"{name}: members differ: {differ}")
            return
        for (member, _), at, m in zip(members, offsets, header["members"]):
            if at != (m["offset"], m["size"]):
                self.fault(path, position, f"{name}.{member} is (offset, size) {at}, in C {(m['offset'], m['size'])}")
        if total != header["size"]:
            self.fault(path, position, f"{name} has {total} bytes, in C {header['size']}")

    def check_constants(self):
        path, text = self.source("abi/constants.jl")
        position = 0
        for line in text.splitlines(keepends=True):
            m = re.fullmatch(r"const (TLC_\w+) = (\w+)\((-?\d+)\)\n?", line)
            if m:
                name, julia_type, value = m.group(1), m.group(2), int(m.group(3))
                low, high = INTEGERS.get(julia_type, (0, 0))
                if name not in self.constants:
                    self.fault(path, position, f"{name} is not in the headers")
                elif value != self.constants[name]:
                    self.fault(path, position, f"{name} is {value}, in the headers {self.constants[name]}")
                if not low <= value < high:
                    self.fault(path, position, f"{julia_type}({value}) is no integer")
                if name in self.known_constants:
                    self.fault(path, position, f"{name} is there twice")
                self.known_constants.add(name)
            elif line.strip():
                self.fault(path, position, "not a constant as this check knows it: const TLC_NAME = Type(number)")
            position += len(line)
        for name in self.constants:
            if (name in self.known_constants) == bool(UNNAMED.fullmatch(name)):
                self.fault(path, 0, f"{name} is {'' if name in self.known_constants else 'not '}there, against the list of "
                                    "tools/checks/julia_abi.py")

    # ---------------------------------------------------------------- the rest of the package

    def check_foreign_calls(self):
        allowed = {("ccall", "abi/functions.jl"), ("@ccall", "abi/functions.jl"), ("dlsym", "library.jl"), ("dlopen", "library.jl")}
        word = re.compile(r"@?\b(ccall|threadcall|cglobal|llvmcall|dlsym|dlopen)\b")
        for path, text in self.texts.items():
            inside = path.relative_to(self.package).parts
            is_source = inside[0] in ("src", "ext")
            for m in word.finditer(text):
                name = "/".join(inside[1:])
                if is_source and (m.group(), name) not in allowed and (m.group(1), name) not in allowed:
                    self.fault(path, m.start(), f"{m.group()} belongs into src/abi/functions.jl, where it is checked")
                elif not is_source and re.match(r"\s*\(\s*\(?\s*:tlc_", text[m.end():]):
                    self.fault(path, m.start(), f"{m.group()} of the library's function goes by the binding TLCache.tlc_...")

    def check_callbacks(self):
        used = set()
        for path, text in self.texts.items():
            for m in re.finditer(r"@cfunction\b", text):
                if text[m.end():m.end() + 1] != "(":
                    self.fault(path, m.start(), "write @cfunction(on_x, Result, (Types...))")
                    continue
                close = matching(text, m.end())
                parts = split_arguments(text[m.end() + 1:close])
                name = re.fullmatch(r"on_(\w+)", parts[0])
                callback = self.callbacks.get(f"tlc_{name.group(1)}_fn") if name else None
                if len(parts) != 3 or callback is None or not parts[2].startswith("("):
                    self.fault(path, m.start(), f"@cfunction({parts[0]}, ...): no callback of the headers has this name")
                    continue
                used.add(callback["name"])
                wanted = [self.julia_type(p["type"]) for p in callback["params"]]
                given = split_arguments(parts[2][1:-1])
                if (parts[1], given) != (self.julia_type(callback["returns"]), wanted):
                    self.fault(path, m.start(), f"{parts[0]} is ({', '.join(given)}) -> {parts[1]}, by the headers "
                                                f"({', '.join(wanted)}) -> {self.julia_type(callback['returns'])}")
                definition = re.search(rf"^function {parts[0]}\(", text, re.M)
                if definition is None:
                    self.fault(path, m.start(), f"{parts[0]} is not a function of this file")
                    continue
                end = matching(text, definition.end() - 1)
                types = [p.split("::", 1)[-1].strip() for p in split_arguments(text[definition.end():end])]
                result = re.match(r"::(\w+)", text[end + 1:])
                if types != wanted or not result or result.group(1) != parts[1]:
                    self.fault(path, definition.start(), f"{parts[0]} is defined for other types than its @cfunction says")
        for name in set(self.callbacks) ^ used ^ UNUSED_CALLBACKS:
            self.fault(self.source("TLCache.jl")[0], 0, f"the callback {name}: its use and the list of tools/checks/julia_abi.py differ")

    def check_calls(self):
        self.arity.update(self.bound)
        call = re.compile(r"(?<![\w!.:@])(?:TLCache\.)?(tlc_\w+)\b")
        for path, text in self.texts.items():
            if path.name in ("functions.jl", "types.jl") and path.parent.name == "abi":
                continue
            for m in call.finditer(text):
                name = m.group(1)
                if name not in self.arity and name not in self.abi["opaque"] and name != "tlc_status":
                    self.fault(path, m.start(), f"{name} is not of this package")
                elif text[m.end():m.end() + 1] == "(" and name in self.arity:
                    arguments = split_arguments(text[m.end() + 1:matching(text, m.end())])
                    splat = any(a.endswith("...") for a in arguments)
                    if not splat and len(arguments) != self.arity[name]:
                        self.fault(path, m.start(), f"{name} is called with {len(arguments)} arguments, it has {self.arity[name]}")
            for m in re.finditer(r"(?<![\w:])TLC_[A-Z]\w*\b", text):
                if m.group() not in self.known_constants and m.group() not in ("TLC_DIR", "TLC_LOG"):
                    self.fault(path, m.start(), f"{m.group()} is not among the constants")

    def check_finalizers(self):
        harmful = re.compile(r"\b(lock|locked|wait|sleep|yield|fetch|take!|put!|print|println|show|open|error|throw|flush)\(|@(info|warn|error|debug|async|lock)\b")
        for path, text in self.texts.items():
            if path.relative_to(self.package).parts[0] != "src":
                continue
            for m in re.finditer(r"\bfinalizer\(", text):
                what = split_arguments(text[m.end():matching(text, m.end() - 1)])[0]
                body = re.search(rf"^function {re.escape(what)}\(.*?^end$", text, re.M | re.S)
                if body is None:
                    self.fault(path, m.start(), f"finalizer({what}, ...): its function is to be one of this file, by name")
                elif (found := harmful.search(body.group())):
                    self.fault(path, body.start() + found.start(), f"{what} is a finalizer: it may run anywhere, and must not "
                                                                   f"'{found.group()}'")

    def run(self):
        for check in (self.check_structs, self.check_constants, self.check_functions, self.check_foreign_calls,
                      self.check_callbacks, self.check_calls, self.check_finalizers):
            try:
                check()
            except Fault as fault:
                self.faults.append(f"{check.__name__}: {fault}")
        return self.faults


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path, default=ROOT / "bindings/julia")
    parser.add_argument("--abi", type=Path, default=ROOT / "tests/abi/abi.json")
    parser.add_argument("--print", nargs="+", metavar="NAME", dest="names")
    arguments = parser.parse_args(argv)
    checker = Checker(arguments.package.resolve(), json.loads(arguments.abi.read_text("utf-8")))
    if arguments.names:
        try:
            print("\n".join(checker.text_of(name) for name in arguments.names))
        except Fault as fault:
            print(fault, file=sys.stderr)
            return 1
        return 0
    faults = checker.run()
    for fault in faults:
        print(f"bindings/julia/{fault}", file=sys.stderr)
    print(f"{len(checker.bound)} functions, {len(checker.mirrors)} structs, {len(checker.known_constants)} constants: "
          f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
