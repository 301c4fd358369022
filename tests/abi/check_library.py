#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the built library shows to the outside, against the public headers and docs/abi.md.

usage: check_library.py symbols|link INCLUDE_DIR SHARED_LIBRARY [STATIC_LIBRARY]
"""
import re
import subprocess
import sys
from pathlib import Path

# What libtlcache.so may be linked with; the sanitizers' runtimes besides. GPU libraries are opened at run time.
NEEDED = re.compile(r"(liblmdb|libsodium|libstdc\+\+|libm|libgcc_s|libc|libpthread|libdl|libgcov|ld-linux-[\w-]+"
                    r"|lib(clang_rt\.)?(asan|ubsan|tsan)[\w.-]*)\.so")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declared(include):
    """Function names after TLC_API; read apart from tools/checks/headers.py, which made the version script."""
    names = []
    for header in sorted(Path(include, "tlcache").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        names += re.findall(r"^TLC_API[^;(]*?\b(tlc_\w+)\s*\(", text, flags=re.M)
        assert len(re.findall(r"^TLC_API", text, flags=re.M)) == len(re.findall(r"^TLC_API[^;(]*?\btlc_\w+\s*\(", text, flags=re.M))
    return names


def symbols(include, shared, static):
    wrong = []
    names = declared(include)
    if len(names) != len(set(names)):
        wrong.append("a function is declared twice")
    exported = {}
    for line in run("nm", "-D", "--defined-only", shared).splitlines():
        kind, name = line.split()[1:3]
        if kind != "A":  # the version nodes themselves
            exported[name] = kind
    plain = {n.split("@")[0] for n in exported}
    wrong += [f"{shared}: {n} is declared in the headers but not exported" for n in sorted(set(names) - plain)]
    wrong += [f"{shared}: {n} is exported but not declared in the headers" for n in sorted(plain - set(names))]
    wrong += [f"{shared}: {n} has no version node" for n in sorted(exported) if "@@TLC_" not in n]
    wrong += [f"{shared}: {n} is data ('{k}'), not a function" for n, k in sorted(exported.items()) if k != "T"]
    if static:
        defined = {line.split()[-1] for line in run("nm", "-g", "--defined-only", static).splitlines() if " T " in line}
        wrong += [f"{static}: {n} is missing" for n in sorted(set(names) - defined)]
        # A program that links the archive shares one name space with it: C names of ours begin tlc_.
        wrong += [f"{static}: {n} is a C name without our prefix" for n in sorted(defined)
                  if not n.startswith(("tlc_", "_Z"))]
        # (3tlc, 4tlcb: the namespaces of the core and of what backends share, mangled.)
        wrong += [f"{static}: {n} is outside namespace tlc" for n in sorted(defined) if n.startswith("_Z") and "3tlc" not in n and "4tlcb" not in n]
    return wrong, f"{len(names)} functions"


def link(_, shared, __):
    wrong = []
    dynamic = run("readelf", "-dW", shared)
    if "[libtlcache.so.0]" not in dynamic:
        wrong.append("the SONAME is not libtlcache.so.0")
    if "NODELETE" not in dynamic:
        wrong.append("not linked with -z nodelete: a dlclose would unmap code that fork handlers call")
    if "SYMBOLIC" not in dynamic:
        wrong.append("not linked -Bsymbolic: two copies in one process would call each other")
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic) and "$ORIGIN" not in dynamic:
        wrong.append("it carries a search path of the machine that built it")
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    wrong += [f"linked with {n}, which is not in the list of tests/abi/check_library.py" for n in needed if not NEEDED.match(n)]
    if "NT_GNU_BUILD_ID" not in run("readelf", "-nW", shared):
        wrong.append("no build id: installed plugins could not be told from foreign ones")
    if re.search(r"GNU_STACK.*RWE", run("readelf", "-lW", shared)):
        wrong.append("its stack is executable")
    return [f"{shared}: {w}" for w in wrong], ", ".join(needed)


def main():
    if len(sys.argv) < 4:
        print(__doc__)
        return 2
    wrong, told = {"symbols": symbols, "link": link}[sys.argv[1]](*sys.argv[2:4], sys.argv[4] if len(sys.argv) > 4 else None)
    print("\n".join(wrong) if wrong else told)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
