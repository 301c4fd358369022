# SPDX-License-Identifier: MIT
"""Requests, their types, keys."""

from __future__ import annotations

import copy
import enum
import fractions
import pickle
import threading
from collections import OrderedDict
from typing import Any

import pytest
import tlcache

DIGEST = tlcache.Digest(bytes(range(32)))
VALUES: dict[str, Any] = {
    "null": None,
    "false": False,
    "true": True,
    "zero": 0,
    "least": -(2**63),
    "most": 2**64 - 1,
    "float": 0.5,
    "minus_zero": -0.0,
    "plus_zero": 0.0,
    "infinite": float("inf"),
    "nan": float("nan"),
    "text": "größe",
    "empty_text": "",
    "bytes": b"gr\xff",
    "empty_bytes": b"",
    "digest": DIGEST,
    "digest_as_bytes": bytes(DIGEST),
    "list": [1, "a", None, [2.0]],
    "empty_list": [],
    "map": {"b": 1, "a": {"c": b"x"}},
    "empty_map": {},
    "long": "x" * 100_000,
}


def test_every_type_gives_a_key_of_its_own(key_of: Any) -> None:
    keys = {name: key_of(value=value) for name, value in VALUES.items()}
    assert len(set(keys.values())) == len(VALUES)
    assert key_of() not in keys.values()


def test_order_does_not_matter_but_names_and_list_order_do(key_of: Any) -> None:
    assert key_of(a=1, b=2) == key_of(b=2, a=1)
    assert key_of(m={"a": 1, "b": 2}) == key_of(m=OrderedDict(b=2, a=1))
    assert key_of(a=1, b=2) != key_of(a=2, b=1)
    assert key_of(v=[1, 2]) != key_of(v=[2, 1])
    assert key_of(v=(1, 2)) == key_of(v=[1, 2])


def test_equal_values_of_other_python_types_are_one(key_of: Any) -> None:
    class Level(enum.IntEnum):
        HIGH = 3

    assert key_of(v=Level.HIGH) == key_of(v=3)
    assert key_of(v=bytearray(b"ab")) == key_of(v=b"ab") == key_of(v=memoryview(b"ab"))
    assert key_of(v=memoryview(b"a-b-")[::2]) == key_of(v=b"ab")
    assert key_of(v=True) != key_of(v=1) != key_of(v=1.0)
    assert key_of(v=float("nan")) == key_of(v=-float("nan"))


def test_numbers_of_numpy(key_of: Any) -> None:
    numpy = pytest.importorskip("numpy")
    assert key_of(v=numpy.int32(7)) == key_of(v=7)
    assert key_of(v=numpy.float64(0.1)) == key_of(v=0.1)
    assert key_of(v=numpy.float32(0.5)) == key_of(v=0.5)
    assert key_of(v=numpy.float32("nan")) == key_of(v=float("nan"))
    assert key_of(v=numpy.uint64(2**64 - 1)) == key_of(v=2**64 - 1)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({1, 2}, "'opts'"),
        (object(), "'opts'"),
        (2**64, "'opts'"),
        (-(2**63) - 1, "'opts'"),
        (1j, "'opts'"),
        (fractions.Fraction(1, 3), "'opts'"),
        ("\ud800", "'opts'"),
        ([1, [2, {"deep": {3}}]], r"'opts\[1\]\[1\]\.deep'"),
        ({"a": {1: 2}}, r"'opts\.a'"),
        ({"a": {"b": 2**70}}, r"'opts\.a\.b'"),
    ],
)
def test_a_value_without_a_type_is_named(key_of: Any, value: Any, path: str) -> None:
    with pytest.raises(tlcache.UncacheableError, match=f"field {path}") as caught:
        key_of(opts=value)
    assert caught.value.status == tlcache.Status.E_UNCACHEABLE
    assert isinstance(caught.value, ValueError)


def test_a_value_that_contains_itself_is_refused(key_of: Any) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises((tlcache.InvalidError, tlcache.UncacheableError), match="field 'v"):
        key_of(v=endless)


@pytest.mark.parametrize("name", ["", "x" * 256, "tlc.mine"])
def test_a_wrong_field_name_is_refused(key_of: Any, name: str) -> None:
    with pytest.raises(tlcache.InvalidError):
        key_of(**{name: 1})


@pytest.mark.parametrize("namespace", ["", "has space", "tlc.mine", "x" * 129])
def test_a_wrong_namespace_is_refused(namespace: str) -> None:
    with pytest.raises(tlcache.InvalidError):
        tlcache.Request(namespace)


def test_a_toolchain_must_be_stated() -> None:
    with pytest.raises(tlcache.UncacheableError):
        tlcache.Request("pytest", target="unheard-of", engine="mine", fields={"a": 1}).key()
    with pytest.raises(tlcache.UncacheableError):
        tlcache.Request("pytest", target="unheard-of:native", engine="mine", toolchain=b"1").key()
    one = tlcache.Request("pytest", target="unheard-of", engine="mine", toolchain="cc 1").key()
    two = tlcache.Request("pytest", target="unheard-of", engine="mine", toolchain=b"cc 2").key()
    assert one != two


def test_a_label_is_not_in_the_key() -> None:
    keys = {
        tlcache.Request(
            "pytest", toolchain=tlcache.NO_TOOLCHAIN, label=label, fields={"a": 1}
        ).key()
        for label in (None, "one", "two")
    }
    assert len(keys) == 1


def test_digest_only_hides_the_value_and_keeps_it_apart() -> None:
    def key(value: str, **more: Any) -> tlcache.Key:
        return tlcache.Request(
            "pytest", toolchain=tlcache.NO_TOOLCHAIN, fields={"secret": value}, **more
        ).key()

    assert b"hush" in key("hush").encoding
    hidden = key("hush", digest_only=("secret",))
    assert b"hush" not in hidden.encoding
    assert hidden != key("other", digest_only=("secret",))
    assert tlcache.Key.decode(hidden.encoding) == hidden
    with pytest.raises(ValueError, match="absent"):
        key("hush", digest_only=("absent",))


def test_a_key_is_a_value(key_of: Any) -> None:
    key = key_of(a=1, b="x")
    assert key.hex == key.digest.hex()
    assert len(key.digest) == 32
    assert isinstance(key.digest, tlcache.Digest)
    for other in (
        key_of(b="x", a=1),
        tlcache.Key.decode(key.encoding),
        pickle.loads(pickle.dumps(key)),
        copy.deepcopy(key),
    ):
        assert other == key
        assert hash(other) == hash(key)
        assert other.encoding == key.encoding
    assert key != key_of(a=2, b="x")
    assert key != key.digest
    assert {key: 1}[key_of(a=1, b="x")] == 1
    assert key.hex in repr(key)


def test_a_key_outlives_its_request() -> None:
    request = tlcache.Request("pytest", toolchain=tlcache.NO_TOOLCHAIN, fields={"a": "x" * 1000})
    key = request.key()
    before = key.encoding
    del request
    assert key.encoding == before


def test_describe_and_diff_name_the_fields(key_of: Any) -> None:
    was, now = key_of(flags=["-O2"], n=1), key_of(flags=["-O3"], n=1)
    described = was.describe()
    assert described["digest"] == was.hex
    assert described["namespace"] == "pytest"
    assert was.diff(was) == []
    differences = was.diff(now)
    assert len(differences) == 1
    assert "flags" in differences[0]["path"]
    assert "-O2" in str(differences[0]["was"])
    assert "-O3" in str(differences[0]["now"])


@pytest.mark.parametrize("junk", [b"", b"\0", b"junk" * 100])
def test_a_wrong_encoding_is_refused(junk: bytes) -> None:
    with pytest.raises(tlcache.TLCacheError):
        tlcache.Key.decode(junk)


def test_keys_and_requests_are_not_made_by_hand() -> None:
    for kind in (tlcache.Key, tlcache.Artifact, tlcache.Module):
        with pytest.raises(TypeError):
            kind()


def test_a_digest_has_32_bytes() -> None:
    assert tlcache.Digest("00" * 32) == bytes(32)
    with pytest.raises(ValueError, match="32 bytes"):
        tlcache.Digest(b"short")


def test_threads_make_the_same_key(request_of: Any) -> None:
    request = request_of(a=list(range(100)), b={"c": "x" * 1000})
    keys: list[tlcache.Key] = []
    threads = [
        threading.Thread(target=lambda: keys.extend(request.key() for _ in range(200)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 1600
    assert len(set(keys)) == 1
