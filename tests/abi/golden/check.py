#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether this library works with what earlier versions made: their stores, plugin files built with their headers, and
programs linked with them.

usage: check.py store VERSION_FOLDER STORE_PROGRAM      golden_store
       check.py plugins PLUGIN_PROGRAM FILE...          golden_plugins, and the golden files
       check.py interface LIBRARY LAYOUT_PROGRAM VERSION_FOLDER...

All is done with copies in a folder of this user's own: neither the owner nor the mode of a checkout matters. Exit code 77
(skipped), with the reason, where the files are of another kind of machine.
"""
import difflib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from golden import GUARDED, OWN_VERSION, interface, read, run, sha256, unpack

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from store_reader import read_store  # noqa: E402  pylint: disable=wrong-import-position

BROKEN = """
This library cannot read a store that version {version} wrote ({folder}).
 - If {version} is released: this would cost its users their stores. Mend the library. If the format has to change, give it a
   new folder name (docs/store-format.md): old stores then stay unread, and this check is for the versions that have the name.
 - If {version} is not released yet and the format was changed on purpose: change docs/store-format.md, and make the files
   anew with tests/abi/golden/make.py in the same commit, which says so.
Never make the files anew to silence this without knowing which of the two it is.
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def format_folder():
    """The name of the format folder on this machine, docs/store-format.md."""
    page = os.sysconf("SC_PAGE_SIZE")
    libc = "glibc" if platform.libc_ver()[0] == "glibc" else "other"
    word = 64 if sys.maxsize > 1 << 32 else 32
    return f"le{word}-p{page}-{libc}" if sys.byteorder == "little" else f"be{word}-p{page}-{libc}"


def same(wanted, found, what):
    if wanted == found:
        return
    lines = [json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (wanted, found)]
    raise AssertionError(f"{what}:\n" + "\n".join(difflib.unified_diff(*lines, "as it was written", "as it is found", lineterm="")))


def read_by_the_page(store, entries, keys):
    """docs/store-format.md says the same: its reader finds the entries too, and no damage. Artifacts in all their parts."""
    found = read_store(store)
    assert found.damage == [], f"the independent reader: {found.damage}"
    for name, entry in entries.items():
        record = found.entries.get(bytes.fromhex(entry["digest"]))
        if entry["status"] != "TLC_OK":
            assert record is None or record.kind == "failure", f"{name}: the independent reader finds it"
            continue
        assert record is not None, f"{name}: the independent reader does not find it"
        if record.kind != "artifact":
            continue
        parts = [{"name": member.name, "type": member.type, "size": len(member.data), "sha256": sha256(member.data)}
                 for member in record.members]
        same([entry["label"], entry["namespace"], entry["compile_us"], keys[name], entry["members"]],
             [record.label, record.namespace, record.compile_us, record.encoding.hex(), parts], f"{name}, by the page")


def check_store(folder, program, work):
    manifest = json.loads((folder / "store.json").read_text())
    archive = folder / "store.tar.xz"
    assert sha256(archive.read_bytes()) == manifest["archive"], f"{archive} is not the file that the manifest was made with"
    (made_for,) = {name.split("/")[0] for name in manifest["files"]}
    if not made_for.endswith(format_folder()):
        skip(f"the golden store is for {made_for}, this machine has {format_folder()}")
    (work / "guarded.h").write_text(GUARDED)
    store = work / "store"
    unpack(archive, store)
    keys = {name: entry.pop("key") for name, entry in manifest["entries"].items()}
    wanted = {"entries": manifest["entries"], "kinds": manifest["kinds"]}
    read_by_the_page(store, manifest["entries"], keys)

    def sound(when):
        found, verify = read(program, store, work, keys)
        report = json.loads(verify)
        assert report["damaged"] == [], f"verify {when}: {report}"
        assert report["entries"] >= sum(manifest["kinds"].values()), f"verify {when}: {report}"
        return found

    same(wanted, sound("of the copy"), "what the store holds")
    # Guards are looked at: with another file, or one where none was, the entry is not found.
    (work / "guarded.h").write_text("something else\n")
    assert sound("with an edited header")["entries"]["guarded"]["status"] == "TLC_MISS", "a guard was not looked at"
    (work / "guarded.h").write_text(GUARDED)
    (work / "absent.h").write_text("")
    assert sound("with a new header")["entries"]["guarded"]["status"] == "TLC_MISS", "an absence was not looked at"
    (work / "absent.h").unlink()
    same(wanted, sound("again"), "what the store holds at the second look")
    # The segments are the truth: without its index the store is the same, with what was removed still gone.
    shutil.rmtree(next((store / made_for).glob("index-*")))
    run(program, "rebuild", store, cwd=work)
    same(wanted, sound("after a rebuild"), "what the store holds when its index was made again")
    # It can be written into, and all else stays.
    run(program, "add", store, cwd=work)
    after = sound("after writing")
    for name in ("plain", "removed", "linked"):
        assert after["entries"].pop(name)["status"] == "TLC_OK", name
        wanted["entries"].pop(name)
    same(wanted["entries"], after["entries"], "what the store holds after this library wrote into it")
    read_by_the_page(store, after["entries"], keys)
    print(f"{len(keys)} entries of {folder.name}: found, verified, and written beside")


def check_plugins(program, files, work):
    machine = platform.machine()
    mine = [one for one in files if one.name.endswith(f"-{machine}.so")]
    if not mine:
        skip(f"the golden plugin files are for {', '.join(one.name for one in files)}; this machine is {machine}")
    failed = []
    for path in mine:
        engine = "abi-" + path.name.split("-")[2]
        folder = work / f"{path.parent.name}-{path.stem}"
        folder.mkdir(mode=0o700)
        copy = Path(shutil.copy(path, folder))
        copy.chmod(0o600)
        done = subprocess.run([program, copy, engine, folder], capture_output=True, text=True)
        print(f"{path.name}: {'ok' if done.returncode == 0 else 'FAILED'}")
        if done.returncode != 0:
            print(done.stdout + done.stderr)
            failed.append(path.name)
    assert not failed, (f"{', '.join(failed)}: this library does not work with a plugin file that was built with older headers. "
                        "Plugin files are not built anew with each library: mend the library (docs/abi.md), not the file.")


def check_interface(library, program, folders):
    """Functions stay under their versions, members where they were, constants what they were."""
    now = set(interface(library, program))
    kept = [folder / f"interface-{platform.machine()}.txt" for folder in folders]
    kept = [path for path in kept if path.exists()]
    if not kept:
        skip(f"no version's interface is kept for {platform.machine()}")
    for path in kept:
        lines = path.read_text().splitlines()
        gone = [line for line in lines if line not in now and not OWN_VERSION.match(line)]
        assert not gone, (f"{path}: this library has no longer, or otherwise:\n  " + "\n  ".join(gone) + "\nPrograms that were "
                          "linked with that version break. Put it back; a break needs a new SONAME (docs/abi.md).")
        print(f"{len(lines)} functions, members and constants of {path.parent.name} are as they were")


def main():
    what, *arguments = sys.argv[1:]
    paths = [Path(one).resolve() for one in arguments]
    # Short, and of this user alone: the library refuses plugin files in folders that others can write.
    with tempfile.TemporaryDirectory(prefix="tlc-golden-") as name:
        work = Path(name).resolve()
        try:
            if what == "store":
                check_store(paths[0], paths[1], work)
            elif what == "interface":
                check_interface(paths[0], paths[1], paths[2:])
            else:
                check_plugins(paths[0], paths[1:], work)
        except AssertionError as wrong:
            print(wrong)
            if what == "store":
                print(BROKEN.format(version=paths[0].name, folder=paths[0]))
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
