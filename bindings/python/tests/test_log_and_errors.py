# SPDX-License-Identifier: MIT
"""Exceptions, and log lines as records of `logging`."""

from __future__ import annotations

import builtins
import copy
import inspect
import logging
import pickle
import sys
from typing import Any

import pytest
import tlcache
from tlcache import _callbacks, _errors, _native

CLASSES = [
    value
    for value in vars(_errors).values()
    if inspect.isclass(value) and issubclass(value, tlcache.TLCacheError)
]


def test_every_error_status_of_the_library_has_a_member() -> None:
    known = {f"TLC_{status.name}": int(status) for status in tlcache.Status}
    wanted = {
        name: value
        for name, value in _native.library_constants().items()
        if name.startswith("TLC_E_") or name in known
    }
    assert wanted == known


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_survives_pickling(kind: type[tlcache.TLCacheError]) -> None:
    more = {"log": "the log"} if kind is tlcache.CompileError else {}
    error = kind("what went wrong", errno=28, backend_code=7, **more)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is kind
        assert str(other) == "what went wrong"
        assert (other.status, other.errno, other.backend_code) == (kind.default_status, 28, 7)
        assert getattr(other, "log", "the log") == "the log"


def test_builtin_classes_catch_them() -> None:
    assert issubclass(tlcache.TimeoutError, builtins.TimeoutError)
    assert issubclass(tlcache.InvalidError, ValueError)
    assert issubclass(tlcache.NotFoundError, LookupError)
    assert issubclass(tlcache.OutOfMemoryError, MemoryError)


def test_an_error_of_the_library_has_its_parts() -> None:
    error = _native.new_error()
    error.code, error.sys_errno, error.backend_code = -3, 5, 9
    error.message = "größe".encode()
    made = _errors.make_error(-3, error)
    assert isinstance(made, tlcache.StoreError)
    assert (str(made), made.errno, made.backend_code) == ("größe", 5, 9)
    unknown = _errors.make_error(-999, _native.NULL)
    assert type(unknown) is tlcache.TLCacheError
    assert unknown.status == -999


def test_log_lines_become_records(caplog: pytest.LogCaptureFixture) -> None:
    def log(level: int) -> None:
        host = _native.lib.tlc_host()
        host.log(level, _native.text("component"), _native.text("a line"))

    lib = _native.lib
    try:
        with caplog.at_level(logging.DEBUG, logger="tlcache"):
            tlcache.set_log_level(logging.DEBUG)
            for level in (lib.TLC_LOG_DEBUG, lib.TLC_LOG_INFO, lib.TLC_LOG_WARN, lib.TLC_LOG_ERROR):
                log(level)
            tlcache.set_log_level(logging.WARNING)
            log(lib.TLC_LOG_INFO)
            log(lib.TLC_LOG_WARN)
    finally:
        tlcache.set_log_level(logging.INFO)
    assert [record.levelno for record in caplog.records if "a line" in record.message] == [
        logging.DEBUG,
        logging.INFO,
        logging.WARNING,
        logging.ERROR,
        logging.WARNING,
    ]
    assert "component: a line" in caplog.text


def test_a_handler_that_raises_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise ZeroDivisionError

    reported: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: reported.append(what.exc_type.__name__))
    handler = Broken()
    logger = logging.getLogger("tlcache")
    logger.addHandler(handler)
    try:
        _native.lib.tlc_host().log(
            _native.lib.TLC_LOG_ERROR, _native.text("c"), _native.text("line")
        )
    finally:
        logger.removeHandler(handler)
    assert reported == ["ZeroDivisionError"]


def test_tlc_log_still_writes_to_standard_error(python: Any) -> None:
    code = """
import os
os.environ["TLC_LOG"] = "info"
import tlcache
from tlcache import _callbacks
print(_callbacks._log_sink)
"""
    assert python(code).finish() == "None"
    assert _callbacks._log_sink is not None
