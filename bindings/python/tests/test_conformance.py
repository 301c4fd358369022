# SPDX-License-Identifier: MIT
"""The key vectors that every language is tested with: the same bytes from Python."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import tlcache

PATH = Path(__file__).resolve().parents[3] / "tests" / "conformance" / "keys.json"
VECTORS = json.loads(PATH.read_text("utf-8"))["vectors"] if PATH.exists() else []


class NotExpressible(Exception):
    """A vector that Python's types cannot say (a name twice in a dict, say)."""


def to_text(value: Any) -> str:
    """A vector's text; bytes that are no UTF-8 become lone surrogates."""
    if isinstance(value, str):
        return value
    if set(value) == {"hex"}:
        return bytes.fromhex(value["hex"]).decode("utf-8", "surrogateescape")
    raise NotExpressible(f"text given as {sorted(value)}")


def to_dict(fields: list[Any]) -> dict[str, Any]:
    """Fields or map entries."""
    out = {}
    for field in fields:
        name = to_text(field["name"])
        if name in out:
            raise NotExpressible("a name twice")
        out[name] = to_value(field)
    return out


def to_value(field: dict[str, Any]) -> Any:
    """A vector's value as Python's."""
    kind, value = field["type"], field.get("value")
    if kind == "null":
        return None
    if kind == "bool":
        return value
    if kind == "int":
        return int(value)
    if kind == "f64":
        return struct.unpack("<d", struct.pack("<Q", int(value, 16)))[0]
    if kind == "f32":
        return struct.unpack("<f", struct.pack("<I", int(value, 16)))[0]
    if kind == "text":
        return to_text(value)
    if kind == "bytes":
        return bytes.fromhex(value)
    if kind == "digest":
        if len(bytes.fromhex(value)) != 32:
            raise NotExpressible("a digest of another length")
        return tlcache.Digest(value)
    if any(item.get("flags") for item in value):
        raise NotExpressible("flags inside a list or map")
    if kind == "list":
        if any(item.get("name") for item in value):
            raise NotExpressible("a name in a list")
        return [to_value(item) for item in value]
    return to_dict(value)


def to_request(vector: dict[str, Any]) -> tlcache.Request:
    """The vector's request."""
    toolchain = vector["toolchain"]
    if "host" in vector or toolchain is None or isinstance(toolchain, list):
        raise NotExpressible("what a backend adds")
    if vector["namespace"] is None or vector["engine"] is None:
        raise NotExpressible("a key without a namespace, or a target without an engine")
    return tlcache.Request(
        to_text(vector["namespace"]),
        target=None if vector["target"] is None else to_text(vector["target"]),
        engine=None if vector["engine"] is None else to_text(vector["engine"]),
        toolchain=tlcache.NO_TOOLCHAIN if toolchain == "none" else bytes.fromhex(toolchain),
        fields=to_dict(vector["fields"]),
        digest_only=[f["name"] for f in vector["fields"] if "digest_only" in f.get("flags", ())],
    )


@pytest.mark.skipif(not VECTORS, reason="only in the repository")
def test_the_vectors_give_their_bytes() -> None:
    wrong, checked, refused = [], 0, 0
    for vector in VECTORS:
        expect = vector["expect"]
        try:
            key = to_request(vector).key()
        except NotExpressible:
            continue
        except tlcache.TLCacheError as error:
            refused += 1
            if "error" not in expect:
                wrong.append(f"{vector['name']}: {error}")
            continue
        checked += 1
        if (key.encoding.hex(), key.hex) != (expect.get("encoding"), expect.get("digest")):
            wrong.append(vector["name"])
    assert wrong == []
    assert checked > 100
    assert refused > 20
