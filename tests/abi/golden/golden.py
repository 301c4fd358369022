# SPDX-License-Identifier: MIT
"""What make.py and check.py share: the folder of a version, how a store is read, how it is packed."""
import hashlib
import os
import re
import subprocess
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: What the guarded entry of the store was compiled from. golden_store.c looks for it in its current folder.
GUARDED = "the header that a golden kernel includes\n"

#: Constants of the headers, not of the ABI: which version they are, and how long their tables of slots are.
OWN_VERSION = re.compile(r"constant TLC_((VERSION|ABI)_?|\w+_OPS_SIZE )")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def run(program, *arguments, cwd, given=""):
    """Standard output of golden_store; what it says on standard error is the failure's text."""
    done = subprocess.run([program, *map(str, arguments)], cwd=cwd, input=given, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"golden_store {arguments[0]} failed ({done.returncode}): {done.stderr.strip()}")
    return done.stdout


def read(program, store, work, keys):
    """What the library finds in a store: {"entries": {name: {...}}, "kinds": {...}}, and the report of verify."""
    out = work / "out"
    out.mkdir(exist_ok=True)
    listing = "".join(f"{name} {key}\n" for name, key in keys.items())
    entries, kinds, verify = {}, {}, ""
    for line in run(program, "read", store, out, cwd=work, given=listing).splitlines():
        what, _, rest = line.partition(" ")
        if what == "entry":
            name, status, digest = rest.split(" ")
            entry = entries[name] = {"status": status, "digest": digest}
        elif what == "about":
            label, name_space, compile_us = rest.split(" ")
            entry.update(label=bytes.fromhex(label).decode(), namespace=bytes.fromhex(name_space).decode(),
                         compile_us=int(compile_us), members=[])
        elif what == "member":
            index, kind, member = rest.split(" ")
            data = (out / f"{name}.{index}").read_bytes()
            entry["members"].append({"name": bytes.fromhex(member).decode(), "type": int(kind), "size": len(data),
                                     "sha256": sha256(data)})
        elif what == "kind":
            kinds[rest] = kinds.get(rest, 0) + 1
        elif what == "verify":
            verify = rest
    return {"entries": entries, "kinds": dict(sorted(kinds.items()))}, verify


def pack(folder, archive):
    """A folder's files, compressed: mostly they are zeros. No owner, no time, nothing else of this machine."""
    def plain(info):
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        return info
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, path.relative_to(folder), recursive=False, filter=plain)


def unpack(archive, folder):
    """The files as this user's, in folders as the library wants them."""
    folder.mkdir(mode=0o700)
    with tarfile.open(archive) as tar:
        for info in tar:
            path = folder / info.name
            assert folder in path.parents and ".." not in path.parts, info.name
            if info.isdir():
                path.mkdir(mode=0o700)
            elif info.isfile():
                path.write_bytes(tar.extractfile(info).read())
                os.chmod(path, 0o600)


def interface(library, layout_program):
    """What a built library shows: exported functions with their versions, members, constants. A line each."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    lines = [f"function {line.split()[2]}" for line in symbols.splitlines() if line.split()[1] == "T"]
    shown = subprocess.run([layout_program], capture_output=True, text=True, check=True).stdout
    return sorted(lines + [line for line in shown.splitlines() if not OWN_VERSION.match(line)])
