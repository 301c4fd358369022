# SPDX-License-Identifier: MIT
"""Any errno from any call: each system call that the store makes, failing at one of its passages or from there on.

Which calls those are, and how often, a run that only counts finds out (errno_shim.c). Then every case runs in a process of
its own: nothing crashes or hangs, each function answers what the header says it may, no byte is wrong. After each, a
process without faults finds all entries, but for those that a full disk may cost, and the independent reader no damage.

A run takes a sample, TLC_TEST_SEED picks another; TLC_TEST_CASES=all runs them all:

    TLC_TEST_CASES=all ctest --test-dir build/dev -R faults.errno_matrix -V --timeout 7200
"""

import errno
import os
import random
import re
import shutil
import subprocess
import time
import unittest

from agents import DURABLE, LIBRARY, MIB, SHIM, AgentTest, Died, Hung, main, remove_tree
from store_reader import read_store

SEED = int(os.environ.get("TLC_TEST_SEED", "1"))
CASES = os.environ.get("TLC_TEST_CASES", "200")
SHORT = 0  # a transfer of half the size

LIMIT = 16 * MIB
OLD = [f"old-{i}" for i in range(12)]

# What the header says each function may answer.
GET = ("TLC_OK", "TLC_MISS", "TLC_REJECTED")
PUT = ("TLC_OK", "TLC_EXISTED", "TLC_NOT_STORED")
REPLACE = (*PUT, "TLC_CONFLICT")
REMOVE = ("TLC_OK", "TLC_MISS", "TLC_NOT_STORED")
FOLDER = READ = ("TLC_OK", "TLC_E_IO", "TLC_E_DENIED")
REPORT = ("TLC_OK", "TLC_E_IO", "TLC_E_NOMEM", "TLC_E_DENIED", "TLC_E_BUSY", "TLC_E_CORRUPT", "TLC_NOT_STORED",
          "TLC_TIMEOUT")

PATH = (errno.EIO, errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ESTALE)
CODES = {
    "openat": (errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EIO, errno.EROFS, errno.ENOSPC, errno.EINTR, errno.ESTALE),
    "open": (errno.EMFILE, errno.EACCES, errno.EIO, errno.EINTR),
    "pwrite": (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR, SHORT),
    "pwritev": (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR, SHORT),
    "write": (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR, SHORT),
    "writev": (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR, SHORT),
    "pread": (errno.EIO, errno.ESTALE, errno.EINTR, SHORT), "read": (errno.EIO, errno.ESTALE, errno.EINTR, SHORT),
    "mmap": (errno.ENOMEM, errno.EACCES), "munmap": (errno.ENOMEM,), "madvise": (errno.ENOMEM,), "msync": (errno.EIO,),
    "fdatasync": (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR), "fsync": (errno.EIO, errno.ENOSPC, errno.EINTR),
    "fallocate": (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR, errno.EOPNOTSUPP), "ftruncate": (errno.ENOSPC, errno.EIO),
    "renameat": PATH, "unlinkat": PATH, "mkdirat": PATH, "mkdir": PATH, "unlink": PATH, "fchmod": (errno.EPERM, errno.EROFS),
    "lock": (errno.ENOLCK, errno.EINTR, errno.EIO), "fcntl": (errno.EMFILE, errno.EBADF), "close": (errno.EIO, errno.EINTR),
    "getrandom": (errno.EINTR,), "readdir": (errno.EIO, errno.EBADF), "fdopendir": (errno.ENOMEM, errno.EMFILE),
}
OTHERS = (errno.EIO, errno.EACCES, errno.ENOMEM, errno.ESTALE)  # stat and its kind, and whatever is new

# System calls of the library that are not about files and memory of a store, and so are not the shim's.
NOT_OF_A_STORE = {
    "clock_gettime", "clock_nanosleep", "nanosleep", "sched_yield", "poll", "getcwd", "uname", "syscall",
    "getpid", "getuid", "geteuid", "getgid", "getegid", "getrlimit", "kill", "pipe2", "ioctl",  # processes and their pipes
    "opendir",  # the folder in which drivers of OpenCL are listed
}
# Whoever puts has what it put, in memory if need be, when writing fails. What cannot be looked at is a miss or rejected.
WRITING = {"pwrite", "pwritev", "write", "writev", "fdatasync", "fsync", "msync", "fallocate", "ftruncate", "renameat",
           "mkdirat", "unlinkat", "fchmod", "lock", "close", "munmap", "madvise", "none"}
NOT_NAMED_LIKE_ITS_CALL = {"fdopendir", "opendir", "readdir", "realpath", "fstatvfs", "statvfs", "posix_fallocate", "fopen"}


@unittest.skipUnless(SHIM, "needs LD_PRELOAD")
class ErrnoMatrix(AgentTest):
    # ---- scenarios: (name, what is done before the fault, what is done under it)

    def first(self, agent):
        """A store that is not there yet."""
        agent("open", self.store, DURABLE, LIMIT, expect="TLC_OK")
        self.put(agent, "new", 3000)
        agent("describe", expect="TLC_OK")

    def open(self, agent):
        agent("open", self.store, DURABLE, LIMIT, expect="TLC_OK")
        for name in OLD[:3]:
            self.get(agent, name)
        self.put(agent, "new", 3000)

    def use(self, agent):
        for name in ("old-0", "own", "old-5", "old-6"):
            self.get(agent, name)
        self.put(agent, "new", 3000)
        self.put(agent, "new-own", 600_000)
        self.put(agent, "guarded", 3000, self.path("guard"))
        agent("replace", "target", 2, 20_000, expect=REPLACE)
        self.get(agent, "target", (1, 2))
        agent("compile", "compiled", self.path("notes"), "plain", 0, expect="TLC_OK")
        if agent("hold", "old-1", expect=GET).status == "TLC_OK":
            self.assertEqual(agent("check", "old-1", expect="TLC_OK").version, 1)
            agent("check", "old-1", "read", expect=READ)
            agent("folder", "old-1", expect=FOLDER)
            agent("release", "old-1", expect="TLC_OK")
        agent("remove", "removed", expect=REMOVE)
        for command in ("stats", "describe", "verify", "close"):
            agent(command, expect=("TLC_OK", *REPORT))

    def maintain(self, agent):
        held = agent("hold", "old-1", expect=GET).status == "TLC_OK"
        agent("verify", 1, expect=REPORT)
        agent("gc", expect=REPORT)
        agent("namespace", "other")
        self.put(agent, "of-another", 3000)
        agent("clear", "other", expect=REPORT)
        agent("namespace", "test")
        agent("limit", "12M", expect=REPORT)
        agent("gc", 1, expect=REPORT)
        self.put(agent, "new", 3000)
        agent("clear", expect=REPORT)
        if held:
            self.assertEqual(agent("check", "old-1", expect="TLC_OK").version, 1)

    def put(self, agent, name, size, *more):
        """Whatever happens to the store, the one who puts has what it put."""
        agent("put", name, 1, size, *more, expect=PUT)
        self.get(agent, name, missing=bool(more) or self.call not in WRITING)

    def get(self, agent, name, versions=(1,), missing=True):
        answer = agent("get", name, expect=GET if missing else "TLC_OK")
        if answer.status == "TLC_OK":
            self.assertIn(answer.version, versions)

    def scenarios(self):
        return {"first": self.first, "open": self.open, "use": self.use, "maintain": self.maintain}

    # ---- one case

    def setUp(self):
        super().setUp()
        self.write("guard", "1")
        agent = self.agent(self.store, limit=LIMIT)
        for name in (*OLD, "target", "removed"):
            agent("put", name, 1, 20_000, expect="TLC_OK")
        agent("put", "own", 1, 1_500_000, expect="TLC_OK")
        agent.finish()
        self.original = self.store

    def fresh(self, scenario):
        self.store = self.path("case")
        if scenario != "first":
            shutil.copytree(self.original, self.store)

    def run_case(self, scenario, *failure):
        """Under this failure, or without one; returns how often each call was made."""
        self.fresh(scenario)
        agent = self.agent(environment={"LD_PRELOAD": SHIM})
        agent("under", self.store, expect="TLC_OK")
        if scenario in ("use", "maintain"):
            agent("open", self.store, DURABLE, LIMIT, expect="TLC_OK")
        self.call = failure[0] if failure else "none"
        agent("arm", *(failure or ("none", 0, 1, 0)), expect="TLC_OK")
        self.scenarios()[scenario](agent)
        calls = agent("counted")["calls"]
        self.assertEqual(agent.finish(), 0)
        self.check_after(scenario, failure[1] if failure else None)
        remove_tree(self.store)
        self.agents.clear()
        return {name: int(times) for name, times in (pair.split("=") for pair in calls.split())}

    def check_after(self, scenario, code):
        """A full disk makes room, as a full store does; nothing else costs an entry. Nothing at all costs a byte."""
        may_go = scenario == "maintain" or code in (errno.ENOSPC, errno.EDQUOT)
        again = self.agent(self.store)
        while again("describe", expect="TLC_OK").json["index"]["rebuilding"]:
            again("get", "never", expect="TLC_MISS")
        if scenario != "first":
            self.assert_versions(again, {name: {1, None} if may_go else 1 for name in (*OLD, "own")})
            self.assert_versions(again, {"target": {1, 2, None} if may_go else {1, 2}})
        self.assert_versions(again, {name: {1, None} for name in ("new", "new-own", "guarded", "compiled", "of-another")})
        again("put", "later", 1, 3000, expect="TLC_OK")
        self.assertEqual(again("get", "later", expect="TLC_OK").version, 1)
        report = again("verify", expect="TLC_OK").json
        # Where the index cannot be written, eviction only unlinks: such an entry is a miss.
        damaged = [one for one in report["damaged"] if one["reason"] != "its segment is missing"]
        self.assertEqual((damaged, report.get("index_fault") or None), ([], None))
        self.assertEqual(again.finish(), 0)
        found = read_store(self.store)
        self.assertEqual(found.damage, [])
        self.assertIn("later", [record.members[0].data.split(b"|")[0].decode() for record in found.entries.values()
                                if record.kind == "artifact"])

    # ---- the matrix

    def cases(self):
        """(scenario, call, errno, at which passage, how often), all of them. None is tried twice by two of its passages."""
        for scenario in self.scenarios():
            calls = self.run_case(scenario)
            print(f"  {scenario}: " + ", ".join(f"{name} {times}" for name, times in sorted(calls.items())))
            for call, times in sorted(calls.items()):
                for code in CODES.get(call, OTHERS):
                    for nth in range(1, times + 1):
                        yield scenario, call, code, nth, 1
                        if code not in (errno.EINTR, SHORT):  # these for ever would be a call that never ends
                            yield scenario, call, code, nth, -1

    def sampled(self, cases):
        """Each call of each scenario with each errno at least once, as far as the number goes."""
        if CASES == "all":
            return cases
        chosen = random.Random(SEED)
        chosen.shuffle(cases)
        first, rest, seen = [], [], set()
        for case in cases:
            (rest if case[:3] in seen else first).append(case)
            seen.add(case[:3])
        return (first + rest)[:int(CASES)]

    def test_matrix(self):
        cases = list(self.cases())
        chosen = self.sampled(cases)
        print(f"  {len(chosen)} of {len(cases)} cases, seed {SEED}", flush=True)
        failed = []
        for case in chosen:
            name = f"{case[0]}: {case[1]} {errno.errorcode.get(case[2], 'short')} at {case[3]}" + (" and on" if case[4] < 0 else "")
            begun = time.monotonic()
            try:
                self.run_case(*case)
            except (AssertionError, Died, Hung) as wrong:
                failed.append(name)
                print(f"  FAILED {name}: {type(wrong).__name__} {str(wrong)[:600]}", flush=True)
                remove_tree(self.path("case"))
            if time.monotonic() - begun > 5:
                print(f"  {time.monotonic() - begun:.1f} s: {name}", flush=True)
        self.assertEqual(failed, [])

    def test_the_shim_knows_every_call(self):
        """What liblmdb and this library ask of the system about files and memory can be made to fail."""
        if shutil.which("nm") is None or shutil.which("cc") is None:
            self.skipTest("needs nm and cc")
        macros = subprocess.run(["cc", "-dM", "-E", "-include", "sys/syscall.h", "-"], input="", text=True, check=True,
                                stdout=subprocess.PIPE).stdout
        system_calls = set(re.findall(r"#define __NR_(\w+)", macros)) | NOT_NAMED_LIKE_ITS_CALL
        shown = subprocess.run(["ldd", LIBRARY], text=True, check=True, stdout=subprocess.PIPE).stdout
        lmdb = re.search(r"liblmdb\S* => (\S+)", shown)
        libraries = [LIBRARY, *([lmdb.group(1)] if lmdb else [])]
        used = set().union(*(self.symbols(path, "--undefined-only") for path in libraries))
        known = self.symbols(SHIM, "--defined-only")
        wrappers = {name for name in used if re.sub(r"(^__fx|64$|_?at$)", "", name) in system_calls or name in system_calls}
        self.assertGreater(len(wrappers), 20)
        self.assertEqual(sorted(wrappers - known - NOT_OF_A_STORE), [], "calls that errno_shim.c cannot make fail")

    @staticmethod
    def symbols(path, kind):
        listed = subprocess.run(["nm", "-D", kind, path], text=True, check=True, stdout=subprocess.PIPE).stdout
        return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


if __name__ == "__main__":
    main()
