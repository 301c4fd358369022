# SPDX-License-Identifier: MIT
"""Backends and requests for the tests of backends."""

from __future__ import annotations

import types
from typing import Any

import tlcache


def declare(given: Any, engine: str = "py", kinds: Any = "pycpu", **options: Any) -> Any:
    """A backend of a class or an object, or of functions by their names."""
    given = types.SimpleNamespace(**given) if isinstance(given, dict) else given
    return tlcache.backend(engine=engine, target_kinds=kinds, **options)(given)


def request(target: str = "pycpu:x", engine: str = "py", **fields: Any) -> tlcache.Request:
    return tlcache.Request("pytest", target=target, engine=engine, label="l", fields=fields)


def stated(**fields: Any) -> tlcache.Request:
    """A request that needs no `identify`."""
    return tlcache.Request("pytest", target="pycpu:x", engine="py", toolchain=b"1", fields=fields)


class Whole:
    """A backend with every slot."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def resolve_target(self, target: str) -> str:
        self.seen.append(("resolve_target", target))
        return target.replace("native", "resolved")

    def identify(self, request: tlcache.BackendRequest, target: str) -> bytes:
        self.seen.append(("identify", target))
        return b"toolchain " + target.encode()

    def compile(
        self,
        request: tlcache.BackendRequest,
        target: str,
        bundle: tlcache.Bundle,
        log: tlcache.BackendLog,
    ) -> None:
        self.seen.append(("compile", target, request.label))
        print("compiling ü", file=log)
        bundle.add("code", request["source"].encode(), tlcache.MemberType.SOURCE)
        bundle.add("meta", b"{}", tlcache.MemberType.JSON)
        bundle.label = "made"

    def validate(self, artifact: tlcache.Artifact, options: tlcache.LoadOptions) -> None:
        self.seen.append(("validate", sorted(artifact), options))

    def place(self, options: tlcache.LoadOptions) -> int:
        return options.device or 0

    def load(self, artifact: tlcache.Artifact, options: tlcache.LoadOptions) -> Any:
        module: dict[str, Any] = {"__name__": "m"}
        exec(bytes(artifact["code"]), module)
        module["artifact"] = artifact
        return module

    def symbol(self, module: Any, name: str) -> Any:
        return module.get(name)

    def native(self, module: Any) -> int:
        return 4711

    def unload(self, module: Any) -> None:
        self.seen.append(("unload", module["__name__"]))

    def probe(self) -> dict[str, Any]:
        return {"numbers": [1, 2], "ü": None}

    def describe(self, artifact: tlcache.Artifact) -> dict[str, Any]:
        lines = bytes(artifact["code"]).count(b"\n")
        return {"members": {"code": {"format": "python", "lines": lines}}}

    def close(self) -> None:
        self.seen.append("close")


SOURCE = "def twice(x): return 2 * x\nnumber = 77\n"
