# SPDX-License-Identifier: MIT
"""What is in the package, and that it fits the library."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tlcache
from tlcache import _native

PACKAGE = Path(tlcache.__file__).parent
LIBRARY = PACKAGE / "libtlcache-python.so.0"
HEADERS = sorted((Path(tlcache.get_include()) / "tlcache").glob("*.h"))


def header_text() -> str:
    text = "".join(header.read_text("utf-8") for header in HEADERS)
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def test_the_package_carries_library_headers_and_types() -> None:
    assert LIBRARY.is_file()
    assert (PACKAGE / "py.typed").is_file()
    assert {header.name for header in HEADERS} == {
        "tlcache.h",
        "backend.h",
        "remote.h",
        "version.h",
    }


def test_the_library_in_use_is_the_one_in_the_package() -> None:
    loaded = {
        line.split()[-1]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if "libtlcache" in line
    }
    assert loaded == {str(LIBRARY.resolve())}


def test_the_version_is_that_of_the_headers() -> None:
    assert f'TLC_VERSION_STRING "{tlcache.__version__}"' in (HEADERS[-1].read_text("utf-8"))
    from importlib.metadata import version

    assert version("tlcache") == tlcache.__version__


def test_every_function_and_constant_of_the_headers_is_declared() -> None:
    text = header_text()
    functions = set(re.findall(r"\b(tlc_\w+)\(", "".join(re.findall(r"TLC_API [^;]*;", text))))
    constants = set(re.findall(r"\b(TLC_[A-Z0-9_]+)\s*=", text))
    assert len(functions) > 90
    assert len(constants) > 60
    assert functions | constants <= set(dir(_native.lib))


def test_the_layout_agrees_and_a_moved_member_is_noticed() -> None:
    table = _native.library_layout()
    assert _native.layout_differences(table) == []
    offset, size = table["tlc_error"]["message"]
    table["tlc_error"]["message"] = (offset + 8, size)
    del table["tlc_stats"]
    found = _native.layout_differences(table)
    assert len(found) == 2
    assert "tlc_error.message" in found[0] + found[1]
    assert "tlc_stats" in found[0] + found[1]


def test_a_library_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _native.library_layout()
    table["tlc_member"]["size"] = (0, 4)
    monkeypatch.setattr(_native, "library_layout", lambda: table)
    with pytest.raises(ImportError, match=r"tlc_member\.size.*install"):
        _native.check_library()


def test_a_constant_with_another_value_is_noticed() -> None:
    constants = _native.library_constants()
    assert constants["TLC_E_COMPILE"] == -10
    assert _native.constant_differences(constants) == []
    assert _native.constant_differences({**constants, "TLC_E_LOAD": 5}) == [
        "TLC_E_LOAD is 5, here -11"
    ]


def test_all_that_is_public_says_what_it_is() -> None:
    missing = []
    for name in tlcache.__all__:
        value = getattr(tlcache, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if not inspect.getdoc(value):
            missing.append(name)
        if inspect.isclass(value) and value.__module__.startswith("tlcache"):
            missing += [
                f"{name}.{member}"
                for member, method in vars(value).items()
                if not member.startswith("_")
                and (inspect.isfunction(method) or isinstance(method, property | classmethod))
                and not inspect.getdoc(getattr(value, member))
            ]
    assert missing == []


def test_the_command_runs() -> None:
    for command in (
        [sys.executable, "-m", "tlcache"],
        [str(Path(sys.executable).parent / "tlcache")],
    ):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert tlcache.__version__ in done.stdout


def test_the_build_info_names_no_folder() -> None:
    assert tlcache.build_info()
    assert str(PACKAGE.parent) not in tlcache.build_info()
