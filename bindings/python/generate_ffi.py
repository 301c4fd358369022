# SPDX-License-Identifier: MIT
"""Writes the C source of `tlcache._ffi` from the public headers.

The declarations that cffi gets are the headers themselves, so nothing is typed twice: comments and
preprocessor lines are dropped, and so is what only C++ sees. What remains is C that cffi reads. The
C compiler then checks every declaration against the same headers, and the package compares the
layout with the library's own table when it is imported.

    generate_ffi.py --include DIR --output _ffi.c     (needs cffi)
    generate_ffi.py --include DIR --print-cdef
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SHIMS = ("shim.c", "slots.c")
HEADERS = ("version.h", "tlcache.h", "backend.h", "remote.h")

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CPLUSPLUS = re.compile(r"^#ifdef __cplusplus\n.*?^#endif\n", re.DOTALL | re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*\n", re.MULTILINE)
_NUMBER = re.compile(
    r"^#define[ \t]+(TLC_[A-Z0-9_]+)[ \t]+(?:\d+|0x[0-9a-fA-F]+)[ \t]*$", re.MULTILINE
)
_SHIM = re.compile(r"^static ([^;{\n]*\btlcpy_\w+\([^;{\n]*\)) \{$", re.MULTILINE)


def header_cdef(text: str) -> str:
    """The declarations of one header, as C that cffi's parser takes."""
    text = _COMMENT.sub(" ", text)
    constants = [f"#define {name} ..." for name in _NUMBER.findall(text)]
    text = _CPLUSPLUS.sub("", text)
    text = _DIRECTIVE.sub("", text)
    text = re.sub(r"\bTLC_API\b", "", text)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(constants + lines) + "\n"


def shim_cdef(text: str) -> str:
    """Prototypes of the functions that a file of C defines for Python."""
    return "\n".join(f"{prototype};" for prototype in _SHIM.findall(_COMMENT.sub(" ", text))) + "\n"


def full_cdef(include: Path) -> str:
    """Everything cffi is told: the headers, the callbacks written in Python, the shims."""
    parts = [header_cdef((include / "tlcache" / name).read_text("utf-8")) for name in HEADERS]
    parts.append((HERE / "callbacks.cdef").read_text("utf-8"))
    parts += [shim_cdef((HERE / name).read_text("utf-8")) for name in SHIMS]
    return "\n".join(parts)


def write_source(include: Path, output: Path) -> None:
    """Lets cffi write the extension module's C source."""
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(full_cdef(include))
    source = (
        '#include "tlcache/tlcache.h"\n#include "tlcache/backend.h"\n#include "tlcache/remote.h"\n'
    )
    source += "".join((HERE / name).read_text("utf-8") for name in SHIMS)
    ffi.set_source("tlcache._ffi", source)
    ffi.emit_c_code(str(output))


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", type=Path, required=True, help="folder that holds tlcache/")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--print-cdef", action="store_true")
    arguments = parser.parse_args()
    if arguments.print_cdef:
        sys.stdout.write(full_cdef(arguments.include))
    if arguments.output:
        write_source(arguments.include, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
