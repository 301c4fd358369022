# SPDX-License-Identifier: MIT
"""The wheel in an environment that has nothing: no compiler, no package of its libraries, another libtlcache in the way.

usage: wheel.py WHEEL FOLDER OTHER-LIBRARY     the wheels that it needs lie beside it; FOLDER has a libtlcache.so.0 of another version
"""
import ctypes
import os
import subprocess
import sys
import zipfile
from pathlib import Path

#: Runs in the empty environment. What it prints last is what it found.
USE = r"""
import ctypes, os, shutil, sys
if os.environ.get("OTHER_FIRST"):
    other = ctypes.CDLL(os.environ["OTHER_FIRST"], ctypes.RTLD_GLOBAL)
    other.tlc_version_string.restype = ctypes.c_char_p
    assert other.tlc_version_string() == b"9.0.0"
import tlcache
tlcache.build_info()  # the library is loaded when it is used first
for program in ("cc", "gcc", "c++", "clang", "cmake", "pkg-config", "ld"):
    assert shutil.which(program) is None, f"{program} is in the empty environment"
with open("/proc/self/maps") as maps:
    mapped = {line.split()[-1] for line in maps}
own = {path for path in mapped if any(word in os.path.basename(path) for word in ("tlcache", "lmdb", "sodium"))}
outside = {path for path in own if not path.startswith(sys.prefix)}
assert not outside - {os.environ.get("OTHER_FIRST"), os.environ.get("LD_PRELOAD")}, f"not of the wheel: {outside}"
assert len(own - outside) >= 3, own
with tlcache.Cache(strict=True) as cache:
    request = tlcache.Request("wheel", toolchain=tlcache.NO_TOOLCHAIN, fields={"source": "x"})
    made = []
    def compile(request, key):
        made.append(key)
        return {"kernel.bin": b"code"}
    assert bytes(cache.get_or_compile(request, compile)["kernel.bin"]) == b"code"
    kernel = tlcache.Request("wheel", target="cpu:native", fields={"source": "int one(void) { return 1; }"})
    try:
        cache.get_or_compile(kernel)
        raise SystemExit("it was compiled without a compiler")
    except tlcache.UnavailableError as error:
        assert "compiler" in str(error), error
print("compiled" if made else "found")
"""


def main():
    wheel, folder, other = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    names = set(zipfile.ZipFile(wheel).namelist())
    print(wheel.name)
    for wanted in ("tlcache/libtlcache-python.so.0", "tlcache/tlcache-worker", "tlcache/bin/tlcache", "tlcache/py.typed",
                   "tlcache/include/tlcache/tlcache.h"):
        assert wanted in names, f"{wanted} is not in the wheel"
    if "manylinux" in wheel.name:
        for word in ("LICENSE", "lmdb", "sodium"):
            assert any(".dist-info/licenses/" in name and word in name for name in names), f"the notice of {word} is not in the wheel"

    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--find-links", wheel.parent,
                    wheel], check=True)
    bare = {"PATH": str(folder / "venv/bin"), "HOME": str(folder / "home"), "TLC_DIR": str(folder / "store"), "LC_ALL": "C.UTF-8"}
    hide = [sys.executable, __file__, "hide"] if can_hide() and "manylinux" in wheel.name else []
    print("the system's LMDB, libsodium and headers: " + ("hidden" if hide else "not hidden, which needs the right to mount"))
    wanted = "compiled"
    planted = str(folder / "libtlcache.so.0")
    for what, environment in (
        ("alone", {}),
        ("another version on LD_LIBRARY_PATH", {"LD_LIBRARY_PATH": str(folder)}),
        ("this version on LD_LIBRARY_PATH", {"LD_LIBRARY_PATH": os.path.dirname(other)}),
        ("another version loaded before", {"OTHER_FIRST": planted}),
        ("another version in front of everything", {"LD_PRELOAD": planted}),
    ):
        said = subprocess.run([*hide, python, "-c", USE], env=bare | environment, check=True, text=True, stdout=subprocess.PIPE)
        assert said.stdout.split()[-1:] == [wanted], f"{what}: {said.stdout}"
        print(f"{what}: {wanted}")
        wanted = "found"
    for environment in ({}, {"LD_LIBRARY_PATH": str(folder)}):
        said = subprocess.run([*hide, folder / "venv/bin/tlcache", "stats", "--json"], env=bare | environment, check=True, text=True,
                              stdout=subprocess.PIPE)
        assert '"compiles"' in said.stdout, said.stdout
    print("the command: the same")


# ---------------------------------------------------------------- hiding what the system has

HIDDEN = ("liblmdb.", "libsodium.")
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 1 << 14, 1 << 18


def call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


def can_hide():
    return subprocess.run([sys.executable, __file__, "hide", sys.executable, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0


def hide_and_run(command):
    """In mounts of its own, with an empty file over each library that the wheel must not need, and an empty folder over headers."""
    call("unshare", CLONE_NEWNS)
    call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    for folder in ("/usr/lib", "/lib", "/usr/local/lib"):
        for path in Path(folder).rglob("lib*.so*"):
            if path.name.startswith(HIDDEN) and path.is_file():
                call("mount", b"/dev/null", os.fsencode(path.resolve()), None, MS_BIND, None)
    call("mount", b"tmpfs", b"/usr/include", b"tmpfs", 0, None)
    os.execv(command[0], command)


if __name__ == "__main__":
    if sys.argv[1] == "hide":
        hide_and_run(sys.argv[2:])
    else:
        main()
