# SPDX-License-Identifier: MIT
"""The requests of keys.json; key_reference.py adds what is expected of each."""

BASE = {"namespace": "test/1", "target": "cuda:sm_90", "engine": "nvrtc", "toolchain": "0102"}


def field(name, kind, value=None, **more):
    out = {"name": name, "type": kind}
    if kind != "null":
        out["value"] = value
    out.update(more)
    return out


def item(kind, value=None, **more):
    out = field("", kind, value, **more)
    del out["name"]
    return out


def vector(name, fields, **changes):
    return {"name": name, **BASE, **changes, "fields": fields}


def texts(*values):
    return [item("text", v) for v in values]


def nest(kind, depth):
    value = item("int", "1") if kind == "list" else field("x", "int", "1")
    for _ in range(depth - 1):
        value = item("list", [value]) if kind == "list" else field("x", "map", [value])
    return field("f", kind, [value])


def scalars():
    yield vector("no fields", [])
    yield vector("null", [field("f", "null")])
    yield vector("true", [field("f", "bool", True)])
    yield vector("false", [field("f", "bool", False)])
    ints = [0, 1, -1, 127, 128, 255, 256, -256, -257, 65535, 65536, 2**31 - 1, 2**31, -2**31,
            2**32, 2**53 + 1, 2**63 - 1, 2**63, -2**63, 2**64 - 1]
    for value in ints:
        yield vector(f"int {value}", [field("f", "int", str(value))])
    floats = {"0.0": "0x0000000000000000", "-0.0": "0x8000000000000000",
              "1.0": "0x3ff0000000000000", "0.1": "0x3fb999999999999a",
              "inf": "0x7ff0000000000000", "-inf": "0xfff0000000000000",
              "nan": "0x7ff8000000000000", "nan with payload": "0x7ff8000000000001",
              "negative nan": "0xfff8000000000000", "signalling nan": "0x7ff0000000000001",
              "least subnormal": "0x0000000000000001", "greatest": "0x7fefffffffffffff"}
    for name, bits in floats.items():
        yield vector(f"f64 {name}", [field("f", "f64", bits)])
    for name, bits in {"0.1": "0x3dcccccd", "nan": "0x7fc00000", "subnormal": "0x00000001",
                       "-inf": "0xff800000"}.items():
        yield vector(f"f32 {name} widens", [field("f", "f32", bits)])
    yield vector("digest", [field("f", "digest", bytes(range(32)).hex())])


def strings():
    yield vector("text empty", [field("f", "text", "")])
    yield vector("bytes empty", [field("f", "bytes", "")])
    yield vector("text ascii", [field("f", "text", "-O3")])
    yield vector("text with a zero byte", [field("f", "text", "a\0b")])
    yield vector("text composed", [field("f", "text", "\u00e9")])
    yield vector("text decomposed", [field("f", "text", "e\u0301")])
    yield vector("text four-byte", [field("f", "text", "\U0001f680 \u4e2d\u6587")])
    yield vector("text U+10FFFF", [field("f", "text", "\U0010ffff")])
    yield vector("bytes any", [field("f", "bytes", "00ff80fe")])
    for size in (63, 64, 65, 127, 128, 129, 1000):
        yield vector(f"text of {size}", [field("f", "text", "a" * size)])
        yield vector(f"bytes of {size}", [field("f", "bytes", "ab" * size)])
    yield vector("text of 66 in 22 characters", [field("f", "text", "\u4e2d" * 22)])
    bad = {"lone continuation": "80", "cut": "e4b8", "overlong": "c080", "surrogate": "eda080",
           "above U+10FFFF": "f4908080", "latin-1": "e9", "after 40 ASCII": "61" * 40 + "ff"}
    for name, raw in bad.items():
        yield vector(f"text refused: {name}", [field("f", "text", {"hex": raw})])


def names():
    yield vector("name of one byte", [field("a", "int", "1")])
    yield vector("name of 255 bytes", [field("n" * 255, "int", "1")])
    yield vector("name refused: 256 bytes", [field("n" * 256, "int", "1")])
    yield vector("name refused: empty", [field("", "int", "1")])
    yield vector("name unicode", [field("\u00fcber", "int", "1"), field("\U0001f680", "int", "2")])
    yield vector("name refused: invalid UTF-8", [field({"hex": "ff"}, "int", "1")])
    yield vector("name refused: reserved", [field("tlc.x", "int", "1")])
    yield vector("name refused: a reserved one that exists", [field("tlc.target", "text", "cpu")])
    yield vector("name tlc without a dot", [field("tlc", "int", "1"), field("tlcx", "int", "2")])
    yield vector("order a b", [field("a", "int", "1"), field("b", "int", "2")])
    yield vector("order b a", [field("b", "int", "2"), field("a", "int", "1")])
    yield vector("order prefix first", [field("ab", "int", "2"), field("a", "int", "1")])
    yield vector("order by bytes, not letters", [field("a", "int", "1"), field("B", "int", "2"),
                                                 field("_", "int", "3")])
    yield vector("order by bytes, not UTF-16", [field("\U00010000", "int", "1"),
                                                field("\uffff", "int", "2")])
    yield vector("around tlc.", [field("zz", "int", "1"), field("aa", "int", "2"),
                                 field("tl", "int", "3"), field("tlc/", "int", "4")])
    yield vector("duplicate refused", [field("a", "int", "1"), field("a", "int", "1")])
    yield vector("duplicate refused: not adjacent", [field("b", "int", "1"), field("a", "null"),
                                                     field("b", "text", "x")])
    yield vector("duplicate refused: in a map",
                 [field("m", "map", [field("k", "int", "1"), field("k", "int", "2")])])
    yield vector("same name at two levels", [field("m", "map", [field("m", "int", "1")])])
    yield vector("tlc. in a map", [field("m", "map", [field("tlc.x", "int", "1")])])


def containers():
    yield vector("list empty", [field("f", "list", [])])
    yield vector("map empty", [field("f", "map", [])])
    yield vector("list of every type", [field("f", "list", [
        item("null"), item("bool", True), item("int", "-5"), item("f64", "0x4008000000000000"),
        item("text", "x"), item("bytes", "00"), item("digest", "11" * 32), item("list", []),
        item("map", [])])])
    yield vector("list order", [field("f", "list", texts("-a", "-b"))])
    yield vector("list other order", [field("f", "list", texts("-b", "-a"))])
    yield vector("list twice the same", [field("f", "list", texts("-a", "-a"))])
    yield vector("list -a b", [field("f", "list", texts("-a", "b"))])
    yield vector("list -ab", [field("f", "list", texts("-ab"))])
    yield vector("map unsorted", [field("f", "map", [field("b", "int", "1"), field("a", "int", "2"),
                                                     field("aa", "int", "3")])])
    yield vector("map sorted", [field("f", "map", [field("a", "int", "2"), field("aa", "int", "3"),
                                                   field("b", "int", "1")])])
    yield vector("list with a long text", [field("f", "list", texts("-I", "x" * 65))])
    yield vector("map with long bytes", [field("f", "map", [field("k", "bytes", "7f" * 100)])])
    # An element of 62 bytes of text takes 64: 64 of them are 4096, the most that stays inline.
    yield vector("list of 4096 bytes", [field("f", "list", texts(*["y" * 62] * 64))])
    yield vector("list of 4097 bytes",
                 [field("f", "list", texts(*["y" * 62] * 63, "y" * 63))])
    yield vector("map over 4096 bytes", [field("f", "map", [
        field(f"key{i:03}", "text", "z" * 50) for i in reversed(range(80))])])
    yield vector("long list in a list", [field("f", "list", [
        item("list", texts(*["y" * 62] * 65)), item("int", "1")])])
    yield vector("nested map in list in map", [field("f", "map", [field("l", "list", [
        item("map", [field("y", "int", "2"), field("x", "int", "1")])])])])
    for kind in ("list", "map"):
        yield vector(f"{kind} 16 deep", [nest(kind, 16)])
        yield vector(f"{kind} refused: 17 deep", [nest(kind, 17)])


def flags():
    only = {"flags": ["digest_only"]}
    yield vector("digest-only text", [field("f", "text", "secret", **only)])
    yield vector("digest-only empty text", [field("f", "text", "", **only)])
    yield vector("digest-only bytes", [field("f", "bytes", "0102", **only)])
    yield vector("digest-only int", [field("f", "int", "-300", **only)])
    yield vector("digest-only null", [field("f", "null", **only)])
    yield vector("digest-only bool", [field("f", "bool", True, **only)])
    yield vector("digest-only f64", [field("f", "f64", "0x3ff0000000000000", **only)])
    yield vector("digest-only digest", [field("f", "digest", "22" * 32, **only)])
    yield vector("digest-only list", [field("f", "list", texts("a", "b"), **only)])
    yield vector("digest-only map", [field("f", "map", [field("b", "int", "1"),
                                                        field("a", "int", "2")], **only)])
    yield vector("digest-only element", [field("f", "list", [item("text", "s", **only)])])
    yield vector("digest-only long text is the long text", [field("f", "text", "a" * 65, **only)])


def library_fields():
    for name in ("a", "triton/3.6", "My-App_2+x.y", "n" * 128, "tlc", "tlcx.y"):
        yield vector(f"namespace {name[:12]} of {len(name)}", [], namespace=name)
    for name, value in {"empty": "", "129": "n" * 129, "space": "a b", "unicode": "\u00e9"}.items():
        yield vector(f"namespace refused: {name}", [], namespace=value)
    yield vector("namespace refused: reserved", [], namespace="tlc.store")
    yield vector("namespace refused: missing", [], namespace=None)
    for text in ("cpu", "cpu:x86_64", "cuda:sm_90a", "hip:gfx90a:xnack+:sramecc-",
                 "hip:gfx90a:sramecc-:xnack+", "hip:gfx90a:xnack-", "cuda:sm_90,cuda:sm_100",
                 "cuda:sm_100,cuda:sm_90", "opencl:%50ocl", "opencl:%70ocl",
                 "vulkan:a%3ab%2Cc%25", "metal:%e4%b8%ad", "cpu:native2", "my.kind+x-1_2:a"):
        yield vector(f"target {text}", [], target=text)
    for text in ("", ":", "cuda:", "cuda::x", "cuda:sm_90:", ",", "cuda:sm_90,", "cuda sm_90",
                 "cuda:sm_90:x:x", "cpu,cpu", "cpu:%", "cpu:%4", "cpu:%zz", "cpu:%00", "cpu:\u00e9",
                 "opencl:Pocl"):
        yield vector(f"target refused: {text!a}", [], target=text)
    for text in ("auto", "cuda:native", "cuda:auto", "cpu:x86_64:native", "cuda:sm_90,cuda:auto",
                 "cuda:%61uto"):
        yield vector(f"target unresolved: {text}", [], target=text)
    yield vector("long target", [],
                 target=",".join(f"cuda:sm_{i}" for i in range(70, 100)))
    yield vector("target absent", [], target=None)
    yield vector("engine other", [], engine="hiprtc")
    yield vector("engine absent", [], engine=None)
    yield vector("engine refused: empty", [], engine="")
    yield vector("engine refused: space", [], engine="a b")
    yield vector("toolchain none", [], toolchain="none")
    yield vector("toolchain absent", [], toolchain=None)
    yield vector("toolchain long", [], toolchain="5a" * 65)
    yield vector("toolchain identified and declared", [], toolchain=["0102", "03" * 65])
    yield vector("host", [], host="x86_64-linux-gnu")
    yield vector("host of 200", [], host="h" * 200)
    yield vector("everything", [
        field("source", "text", "extern \"C\" __global__ void k() {}\n" * 40),
        field("options", "list", texts("--std=c++17", "-lineinfo", "-DN=4")),
        field("define", "map", [field("N", "int", "4"), field("SCALE", "f64", "0x3fe0000000000000"),
                                field("FAST", "null")]),
        field("headers", "map", [field("a.h", "digest", "33" * 32)]),
        field("licence", "text", "key", flags=["digest_only"]),
        field("debug", "bool", False)], host="x86_64-linux-gnu")


def worked_example():
    yield vector("worked example", [
        field("n", "int", "-2"), field("options", "list", texts("-G", "-O3")),
        field("source", "text", "x" * 65)], namespace="demo", toolchain="none")


def cases():
    for group in (worked_example, scalars, strings, names, containers, flags, library_fields):
        yield from group()
