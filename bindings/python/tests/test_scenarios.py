# SPDX-License-Identifier: MIT
"""The store scenarios that every language runs; tests/conformance/README.md explains a step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tlcache
from test_conformance import PATH, to_dict

FILE = PATH.with_name("scenarios.json")
DATA: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"scenarios": []}


def request(name: str) -> tlcache.Request:
    given = DATA["requests"][name]
    toolchain = given.get("toolchain")
    return tlcache.Request(
        given["namespace"],
        target=given.get("target"),
        engine=given.get("engine"),
        toolchain=tlcache.NO_TOOLCHAIN
        if toolchain == "none"
        else toolchain and bytes.fromhex(toolchain),
        label=given.get("label"),
        fields=to_dict(given["fields"]),
        require=given.get("require", ()),
    )


def key(name: str) -> tlcache.Key:
    return request(name).key()


def to_bytes(given: Any) -> bytes:
    if isinstance(given, str):
        return given.encode()
    return (
        bytes.fromhex(given["hex"]) if "hex" in given else given["repeat"].encode() * given["times"]
    )


def bundle(step: dict[str, Any]) -> tlcache.Bundle:
    made = tlcache.Bundle(
        {name: to_bytes(given) for name, given in step["members"].items()}, label=step.get("label")
    )
    for name in step.get("requires", ()):
        made.require(key(name))
    return made


class Run:
    """One scenario: caches, artifacts, locks by name. An operation answers one or a status."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.caches: dict[str, tlcache.Cache] = {}
        self.artifacts: dict[str, tlcache.Artifact] = {}
        self.locks: dict[str, tlcache.CompileLock] = {}

    def step(self, step: dict[str, Any]) -> tuple[str, str]:
        """The status's name, and the message that came with it."""
        try:
            answer = getattr(self, "do_" + step["do"])(step)
        except tlcache.TLCacheError as error:
            return f"TLC_{tlcache.Status(error.status).name}", str(error)
        if isinstance(answer, tlcache.Artifact):
            self.artifacts[step.get("as", "")] = answer
            return f"TLC_{tlcache.Status(answer.status).name}", answer.reason
        return answer or "TLC_OK", ""

    def cache(self, step: dict[str, Any]) -> tlcache.Cache:
        return self.caches[step.get("cache", "c")]

    def do_open(self, step: dict[str, Any]) -> None:
        options = {option: True for option in step.get("options", ())}
        self.caches[step.get("cache", "c")] = tlcache.Cache(
            self.folder / "store", limit=step.get("limit"), use_environment=False, **options
        )

    def do_close(self, step: dict[str, Any]) -> None:
        self.caches.pop(step.get("cache", "c")).close()

    def do_file(self, step: dict[str, Any]) -> None:
        (self.folder / step["folder"]).write_text("no folder")

    def do_key(self, step: dict[str, Any]) -> None:
        key(step["request"])

    def do_cache_key(self, step: dict[str, Any]) -> None:
        self.cache(step).key(request(step["request"]))

    def do_get(self, step: dict[str, Any]) -> Any:
        return self.cache(step).get(key(step["key"])) or "TLC_MISS"

    def do_put(self, step: dict[str, Any]) -> Any:
        return self.cache(step).put(key(step["key"]), bundle(step))

    def do_replace(self, step: dict[str, Any]) -> Any:
        seen = None if step["seen"] is None else self.artifacts[step["seen"]]
        return self.cache(step).replace(key(step["key"]), bundle(step), seen=seen)

    def do_amend(self, step: dict[str, Any]) -> Any:
        return self.cache(step).amend(
            key(step["key"]), bundle(step), seen=self.artifacts[step["seen"]]
        )

    def do_remove(self, step: dict[str, Any]) -> str:
        return "TLC_OK" if self.cache(step).remove(key(step["key"])) else "TLC_MISS"

    def do_link(self, step: dict[str, Any]) -> None:
        self.cache(step).link(key(step["from"]), key(step["to"]))

    def do_invalidate(self, step: dict[str, Any]) -> str:
        return (
            "TLC_OK"
            if self.cache(step).invalidate(self.artifacts[step["artifact"]])
            else "TLC_MISS"
        )

    def do_clear(self, step: dict[str, Any]) -> None:
        assert self.cache(step).clear(step["namespace"]) == step["removed"]

    def do_find(self, step: dict[str, Any]) -> Any:
        return self.cache(step).find(key(step["key"]).hex[: step["digits"]]) or "TLC_MISS"

    def do_begin(self, step: dict[str, Any]) -> Any:
        turn = self.cache(step).begin(key(step["key"]))
        if isinstance(turn, tlcache.Hit):
            return turn.artifact
        self.locks[step["lock"]] = turn
        return "TLC_LOCKED"

    def do_publish(self, step: dict[str, Any]) -> Any:
        return self.locks.pop(step["lock"]).publish(bundle(step))

    def do_fail(self, step: dict[str, Any]) -> None:
        status = tlcache.Status[step["status"].removeprefix("TLC_")]
        self.locks.pop(step["lock"]).fail(step["text"], status)

    def do_abandon(self, step: dict[str, Any]) -> None:
        self.locks.pop(step["lock"]).abandon()

    def do_get_or_compile(self, step: dict[str, Any]) -> Any:
        given, compiled = step["compile"], []

        def compile(_request: tlcache.Request, _key: tlcache.Key) -> tlcache.Bundle:
            compiled.append(True)
            if "members" in given:
                made = bundle(given)
                made.log = given.get("log", "")
                return made
            if given["fails"] == "TLC_E_COMPILE":
                raise tlcache.CompileError(given["text"], log=given.get("log", ""))
            raise tlcache.TLCacheError(
                given["text"], status=tlcache.Status[given["fails"].removeprefix("TLC_")]
            )

        log: str | None = None
        try:
            artifact = self.cache(step).get_or_compile(
                request(step["request"]),
                compile,
                keep_failure=step.get("keep_failure", False),
                closed=step.get("closed", False),
            )
            log = artifact.log
            return artifact
        except tlcache.CompileError as error:
            log = error.log
            raise
        finally:
            assert bool(compiled) == step["compiled"]
            if "log" in step:
                assert log == step["log"]

    def do_member(self, step: dict[str, Any]) -> None:
        artifact = self.artifacts[step["artifact"]]
        # artifact[name] raises a mapping's own error; that of its type lists the names.
        with pytest.raises(KeyError):
            artifact[step["name"]]
        artifact.type(step["name"])

    def do_check(self, step: dict[str, Any]) -> None:
        artifact = self.artifacts[step["artifact"]]
        wanted = {name: to_bytes(given) for name, given in step["members"].items()}
        assert {name: bytes(artifact[name]) for name in artifact} == wanted
        assert {name: artifact.read(name) for name in artifact} == wanted
        for name in {"namespace", "label"} & step.keys():
            assert getattr(artifact.info, name) == step[name]

    def do_stats(self, step: dict[str, Any]) -> None:
        stats = self.cache(step).stats(step.get("namespace"))
        assert {name: getattr(stats, name) for name in step["is"]} == step["is"]


@pytest.mark.skipif(not DATA["scenarios"], reason="only in the repository")
@pytest.mark.parametrize("scenario", DATA["scenarios"], ids=lambda scenario: scenario["name"])
def test_scenario(scenario: dict[str, Any], tmp_path: Path) -> None:
    run = Run(tmp_path)
    for number, step in enumerate(scenario["steps"], 1):
        status, message = run.step(step)
        expect = step.get("expect", "TLC_OK")
        place = f"step {number}: {step}: {status} ({message})"
        assert status in ([expect] if isinstance(expect, str) else expect), place
        assert step.get("message", "") in message, place
