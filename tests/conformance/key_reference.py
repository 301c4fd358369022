#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An encoder of keys written from docs/key-format.md alone; it makes and checks keys.json.

    key_reference.py --write   write keys.json beside this file
    key_reference.py --check   fail if keys.json is not what this encoder makes

It shares no code with the library: the C++ unit test and the bindings compare themselves with the
file, so that a mistake has to be made twice, in two languages, to pass.
"""
import hashlib
import json
import os
import struct
import sys

TAG = b"tlcache-key-1\0"
TYPES = {"null": 0, "bool": 1, "int": 2, "f64": 3, "text": 4, "bytes": 5, "digest": 6, "list": 7,
         "map": 8}
INLINE_LEAF, INLINE_RESERVED, INLINE_CONTAINER = 64, 4096, 4096
MAX_DEPTH, MAX_ENCODING = 16, 1 << 20
WORD = set(b"abcdefghijklmnopqrstuvwxyz0123456789_.+-")
NAME = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+-")
HERE = os.path.dirname(os.path.abspath(__file__))


class Refused(Exception):
    """A request that has no key; the argument is the class of the error."""


def b2(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def hashed(kind, payload):
    return bytes([0x80 | TYPES[kind]]) + struct.pack("<Q", len(payload)) + b2(payload)


def as_utf8(value):
    """Text of a vector: a str, or {"hex": ...} where the bytes are not UTF-8."""
    raw = bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode("utf-8")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("utf8") from None
    return raw


def int_payload(v):
    if not -(1 << 63) <= v < 1 << 64:
        raise Refused("range")
    sign, magnitude = (0, v) if v >= 0 else (0x10, -1 - v)
    size = (magnitude.bit_length() + 7) // 8
    return bytes([sign | size]) + magnitude.to_bytes(size, "big")


def f64_payload(bits):
    if bits & 0x7FF0000000000000 == 0x7FF0000000000000 and bits & 0x000FFFFFFFFFFFFF:
        bits = 0x7FF8000000000000
    return struct.pack("<Q", bits)


def widen(bits32):
    exponent, fraction = (bits32 >> 23) & 0xFF, bits32 & 0x7FFFFF
    if exponent == 0xFF and fraction:
        return 0x7FF8000000000000
    value = struct.unpack("<f", struct.pack("<I", bits32))[0]
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def check_name(raw, top):
    if not 1 <= len(raw) <= 255:
        raise Refused("name")
    if top and raw.startswith(b"tlc."):
        raise Refused("reserved")


def encode_map(entries, depth):
    """The payload of a map, or (depth 0) of the encoding without the library's fields."""
    out = {}
    for entry in entries:
        raw = as_utf8(entry["name"])
        check_name(raw, depth == 0)
        value = encode_value(entry, depth)
        if raw in out:
            raise Refused("duplicate")
        out[raw] = value
    return out


def join(entries):
    return b"".join(bytes([len(n)]) + n + entries[n] for n in sorted(entries))


def encode_value(entry, depth):
    kind, value = entry["type"], entry.get("value")
    secret = "digest_only" in entry.get("flags", [])
    if kind == "f32":
        kind, value = "f64", hex(widen(int(value, 16)))
    if kind in ("list", "map"):
        if depth == MAX_DEPTH:
            raise Refused("depth")
        if kind == "list":
            payload = b"".join(encode_value(e, depth + 1) for e in value)
        else:
            payload = join(encode_map(value, depth + 1))
        if len(payload) > MAX_ENCODING:
            raise Refused("size")
        if secret or len(payload) > INLINE_CONTAINER:
            return hashed(kind, payload)
        return bytes([TYPES[kind]]) + struct.pack("<I", len(payload)) + payload
    if kind in ("text", "bytes"):
        payload = as_utf8(value) if kind == "text" else bytes.fromhex(value)
        if secret or len(payload) > INLINE_LEAF:
            return hashed(kind, payload)
        return bytes([TYPES[kind]]) + struct.pack("<H", len(payload)) + payload
    payload = {"null": lambda: b"", "bool": lambda: bytes([1 if value else 0]),
               "int": lambda: int_payload(int(value)), "f64": lambda: f64_payload(int(value, 16)),
               "digest": lambda: bytes.fromhex(value)}[kind]()
    return hashed(kind, payload) if secret else bytes([TYPES[kind]]) + payload


def library_text(raw):
    return hashed("text", raw) if len(raw) > INLINE_RESERVED else bytes([4]) + struct.pack("<H", len(raw)) + raw


def check_word(raw, limit, code):
    if not 1 <= len(raw) <= limit or any(c not in NAME for c in raw):
        raise Refused(code)


def canonical_word(raw):
    out, i = bytearray(), 0
    while i < len(raw):
        c = raw[i]
        if c == ord("%"):
            digits = raw[i + 1:i + 3]
            if len(digits) != 2 or any(d not in b"0123456789abcdefABCDEF" for d in digits):
                raise Refused("target")
            c = int(digits, 16)
            if c == 0:
                raise Refused("target")
            i += 2
        elif c not in WORD:
            raise Refused("target")
        out += bytes([c]) if c in WORD else b"%%%02X" % c
        i += 1
    if not out:
        raise Refused("target")
    return bytes(out)


def canonical_target(text):
    parts, unresolved = [], False
    if len(text.encode()) > 4096:
        raise Refused("target")
    for part in text.encode().split(b","):
        words = [canonical_word(w) for w in part.split(b":")]
        features = sorted(words[2:])
        if len(set(features)) != len(features) or len(features) > 64:
            raise Refused("target")
        unresolved = unresolved or any(w in (b"auto", b"native") for w in words)
        parts.append(b":".join(words[:2] + features))
    if len(set(parts)) != len(parts) or len(parts) > 64:
        raise Refused("target")
    if unresolved:
        raise Refused("unresolved")
    return b",".join(sorted(parts))


def encode(vector):
    """The encoding of a vector's request, or Refused."""
    out = encode_map(vector["fields"], 0)
    if vector["namespace"] is None:
        raise Refused("namespace")
    raw = vector["namespace"].encode()
    check_word(raw, 128, "namespace")
    if raw.startswith(b"tlc."):
        raise Refused("reserved")
    out[b"tlc.namespace"] = library_text(raw)
    if vector.get("target") is not None:
        out[b"tlc.target"] = library_text(canonical_target(vector["target"]))
    if vector.get("engine") is not None:
        engine = vector["engine"].encode()
        check_word(engine, 128, "engine")
        out[b"tlc.engine"] = library_text(engine)
    tool = vector.get("toolchain")
    if tool == "none":
        out[b"tlc.toolchain"] = bytes([0])
    elif isinstance(tool, list):
        both = {"type": "list", "value": [{"type": "bytes", "value": part} for part in tool]}
        out[b"tlc.toolchain"] = encode_value(both, 0)
    elif tool is not None:
        out[b"tlc.toolchain"] = encode_value({"type": "bytes", "value": tool}, 0)
    if vector.get("host") is not None:
        out[b"tlc.host"] = library_text(vector["host"].encode())
    encoding = join(out)
    if len(encoding) > MAX_ENCODING:
        raise Refused("size")
    return encoding


def build():
    sys.path.insert(0, HERE)
    from key_cases import cases
    vectors = []
    for vector in cases():
        try:
            encoding = encode(vector)
            vector["expect"] = {"encoding": encoding.hex(), "digest": b2(TAG + encoding).hex()}
        except Refused as refused:
            vector["expect"] = {"error": str(refused)}
        vectors.append(vector)
    names = [v["name"] for v in vectors]
    assert len(set(names)) == len(names), "names of vectors are not unique"
    return {"format": "tlcache-key-1", "specification": "docs/key-format.md", "vectors": vectors}


def main():
    path = os.path.join(HERE, "keys.json")
    made = build()
    vectors = made["vectors"]
    text = json.dumps(made, indent=1, ensure_ascii=True) + "\n"
    if sys.argv[1:] == ["--write"]:
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
    elif sys.argv[1:] == ["--check"]:
        page = os.path.join(HERE, "..", "..", "docs", "key-format.md")
        example = encode(next(v for v in vectors if v["name"] == "worked example"))
        with open(page, encoding="utf-8") as specification:
            if b2(TAG + example).hex() not in specification.read():
                sys.exit("the worked example of docs/key-format.md has another digest")
        with open(path, encoding="ascii") as stored:
            if stored.read() != text:
                sys.exit("keys.json differs from what key_reference.py makes; the format changed")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
