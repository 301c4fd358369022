# SPDX-License-Identifier: MIT
"""Integrations without any framework: the list, the command, loading by the variable."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tlcache
from tlcache import integrations

PACKAGE = Path(tlcache.__file__).parent
AUTOLOAD = Path(__file__).resolve().parents[2] / "python-autoload"


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TLC_", "TRITON_", "TILELANG_"))
    }
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=60,
        env={**clean, **environment},
    )


def test_each_integration_says_whether_it_is_on() -> None:
    rows = integrations.status()
    assert [row.name for row in rows] == sorted(integrations.INTEGRATIONS)
    for row in rows:
        assert row.reason
        assert row.activation
        if row.version is None:
            assert not row.active
            assert "not installed" in row.reason


def test_an_unknown_integration_is_refused() -> None:
    with pytest.raises(LookupError, match=r"no integration 'numby'; there are .*triton"):
        integrations.activate("numby")


def test_the_command_lists_them() -> None:
    done = run("-m", "tlcache", "integrations", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {row["name"] for row in told["integrations"]} == set(integrations.INTEGRATIONS)
    assert json.loads(run("-m", "tlcache", "--json", "integrations").stdout) == told
    plain = run("-m", "tlcache", "integrations")
    assert plain.returncode == 0
    assert "triton" in plain.stdout


def test_the_command_names_what_there_is_not() -> None:
    done = run("-m", "tlcache", "integrations", TLC_INTEGRATIONS="triton, numby")
    assert done.returncode == 1
    assert "names numby, which there is not" in done.stdout


def test_triton_is_turned_on_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    from tlcache.integrations import triton

    monkeypatch.delenv(triton.VARIABLE, raising=False)
    assert triton.state() == (False, "TRITON_CACHE_MANAGER is not set")
    triton.activate()
    assert os.environ[triton.VARIABLE] == triton.VALUE
    assert triton.state()[0]
    triton.deactivate()
    assert triton.VARIABLE not in os.environ


def test_another_manager_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from tlcache.integrations import triton

    monkeypatch.setenv(triton.VARIABLE, "their.own:Manager")
    with pytest.warns(RuntimeWarning, match=r"their\.own:Manager, which is kept"):
        triton.activate()
    triton.deactivate()
    assert os.environ[triton.VARIABLE] == "their.own:Manager"
    assert not triton.state()[0]


def test_the_import_loads_no_library_and_works_without_one(tmp_path: Path) -> None:
    loads = "import sys, tlcache.integrations.triton; print('tlcache._native' in sys.modules)"
    assert run("-c", loads).stdout == "False\n"
    ignored = shutil.ignore_patterns("libtlcache*", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "tlcache", ignore=ignored)
    broken = run(
        "-c",
        "import tlcache, tlcache.integrations.triton as triton\n"
        "print(triton.state())\n"
        "try:\n    tlcache.Cache\nexcept ImportError as error:\n    print('refused', error)",
        PYTHONPATH=str(tmp_path),
        TRITON_CACHE_MANAGER="tlcache.integrations.triton:TLCacheManager",
    )
    assert broken.returncode == 0, broken.stderr
    state, refused = broken.stdout.splitlines()
    assert state.startswith("(False")
    assert "libtlcache cannot be used" in state
    assert refused.startswith("refused")
    assert "libtlcache" in refused


# ---------------------------------------------------------------- tlcache-autoload


def autoload(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the line of the .pth as Python does at its start, then the code."""
    line = (AUTOLOAD / "tlcache-autoload.pth").read_text()
    path = os.pathsep.join((str(folder), str(AUTOLOAD)))
    return run("-c", line + code, PYTHONPATH=path, **environment)


@pytest.fixture
def fake_triton(tmp_path: Path) -> Path:
    """A framework of that name, which tells how it was imported."""
    package = tmp_path / "triton"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import os\nseen = os.environ.get('TRITON_CACHE_MANAGER')\n"
    )
    (package / "part.py").write_text("")
    return tmp_path


SHOW = """
import os, sys
print("tlcache" in sys.modules)
import triton, triton.part
print(triton.seen, os.environ.get("TRITON_CACHE_MANAGER"))
print(type(triton.__loader__).__name__, type(triton.__spec__.loader).__name__)
print(any(type(one).__module__ == "tlcache_autoload" for one in sys.meta_path))
"""


def test_a_framework_is_served_from_its_import_on(fake_triton: Path) -> None:
    done = autoload(fake_triton, SHOW, TLC_INTEGRATIONS="triton")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "False",
        "None tlcache.integrations.triton:TLCacheManager",
        "SourceFileLoader SourceFileLoader",
        "False",
    ]


def test_without_the_variable_nothing_is_done(fake_triton: Path) -> None:
    code = SHOW + "print('tlcache_autoload' in sys.modules)"
    done = autoload(fake_triton, code)
    assert done.stdout.splitlines()[:2] == ["False", "None None"]
    assert done.stdout.splitlines()[-1] == "False"


def test_what_is_not_installed_and_what_is_unknown_break_nothing(tmp_path: Path) -> None:
    (tmp_path / "numby.py").write_text("x = 1\n")
    code = """
import warnings
try:
    import triton_is_not_here
except ImportError:
    print("no module")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numby
print(numby.x, [str(one.message) for one in caught])
"""
    done = autoload(tmp_path, code, TLC_INTEGRATIONS="triton_is_not_here,numby")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "no module"
    assert second.startswith('1 ["tlcache: numby keeps its own cache: LookupError')


def test_an_import_error_of_the_framework_stays_its_own(tmp_path: Path) -> None:
    (tmp_path / "triton.py").write_text("raise ImportError('its own fault')\n")
    code = "\ntry:\n    import triton\nexcept ImportError as error:\n    print(error)"
    assert autoload(tmp_path, code, TLC_INTEGRATIONS="triton").stdout == "its own fault\n"


@pytest.mark.parametrize("installed", [True, False])
def test_tritons_variable_goes_where_the_package_is_not(fake_triton: Path, installed: bool) -> None:
    """Triton imports what the variable names, and ends where that cannot be."""
    line = (AUTOLOAD / "tlcache-autoload.pth").read_text()
    code = line + "import triton; print(triton.seen); print('tlcache' in sys.modules)"
    value = "tlcache.integrations.triton:TLCacheManager"
    done = run(
        *([] if installed else ["-S"]),  # without the folders of installed packages
        "-c",
        "import sys\n" + code,
        PYTHONPATH=os.pathsep.join((str(fake_triton), str(AUTOLOAD))),
        TRITON_CACHE_MANAGER=value,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [value if installed else "None", "False"]
    assert ("tlcache is not installed; Triton keeps its own cache" in done.stderr) is not installed
    other = run(
        "-S",
        "-c",
        "import sys\n" + code,
        PYTHONPATH=f"{fake_triton}:{AUTOLOAD}",
        TRITON_CACHE_MANAGER="mine:Own",
    )
    assert other.stdout.split() == ["mine:Own", "False"]
