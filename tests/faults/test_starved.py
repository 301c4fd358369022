# SPDX-License-Identifier: MIT
"""No disk, no descriptors, no address space, failing system calls: what is mapped is served, the rest is a miss, put
says so, nothing is ever wrong, and no signal comes."""

import errno
import os
import shutil
import unittest

from agents import MIB, SHIM, AgentTest, main, mounted, remove_tree
from store_reader import read_store

ANY = ("TLC_OK", "TLC_MISS", "TLC_REJECTED")
PUT = ("TLC_OK", "TLC_NOT_STORED", "TLC_EXISTED")


class Populated(AgentTest):
    def populate(self, count=10, size=20_000, **more):
        agent = self.agent(self.store, limit=64 * MIB, **more)
        for i in range(count):
            agent("put", f"old-{i}", 1, size, expect="TLC_OK")
        agent("put", "own", 1, 1_500_000, expect="TLC_OK")  # in a segment of its own
        agent.finish()

    def check_serves(self, agent, known=("old-0",)):
        for name in known:
            self.assertEqual(agent("get", name, expect="TLC_OK").version, 1)


class Starved(Populated):

    def test_full_disk(self):
        place = self.path("small")
        os.mkdir(place)
        unmount = mounted("tmpfs", place, "size=8m,mode=0700")
        try:
            agent = self.agent(place + "/store", limit=64 * MIB)
            put = {f"fill-{i}": agent("put", f"fill-{i}", 1, 200_000, expect=PUT).status for i in range(60)}
            stored = [name for name, status in put.items() if status == "TLC_OK"]
            self.assertGreater(len(stored), 5)
            with open(place + "/ballast", "wb", buffering=0) as ballast:  # somebody else takes all that is left
                try:
                    while ballast.write(b"x" * 4096):
                        pass
                except OSError as error:
                    self.assertEqual(error.errno, errno.ENOSPC)
            more = []
            for i in range(20):
                more.append(agent("put", f"more-{i}", 1, 200_000, expect=PUT).status)
                self.assertEqual(agent("get", f"more-{i}", expect="TLC_OK").version, 1)  # from memory if need be
            self.assertIn("TLC_OK", more, "old entries did not make room")
            other = self.agent()
            self.assertIn(other("open", place + "/store", 0).status, ("TLC_OK",))
            self.assert_versions(other, {name: {1, None} for name in (*put, *(f"more-{i}" for i in range(20)))})
            other("gc", 1, expect="TLC_OK")
            os.unlink(place + "/ballast")
            other("put", "again", 1, 200_000, expect="TLC_OK")
            self.assertEqual(self.agent(place + "/store")("get", "again", expect="TLC_OK").version, 1)
            self.assertEqual([agent.finish(), other.finish()], [0, 0])
        finally:
            unmount()

    def test_no_room_for_a_store_at_all(self):
        place = self.path("tiny")
        os.mkdir(place)
        unmount = mounted("tmpfs", place, "size=64k,mode=0700")
        try:
            agent = self.agent()
            agent("open", place + "/store", 0, expect="TLC_OK")
            facts = agent("describe", expect="TLC_OK").json
            self.assertEqual(facts["state"], "memory")
            self.assertTrue(facts["reason"])
            agent("put", "new", 1, 5000, expect="TLC_NOT_STORED")
            self.assertEqual(agent("get", "new", expect="TLC_OK").version, 1)
            self.assertEqual(self.agent()("open", place + "/store", 1).status, "TLC_E_IO")
        finally:
            unmount()

    def test_file_size_limit(self):
        self.populate()
        agent = self.agent(self.store)  # SIGXFSZ, which a write past the limit is, ends a program that does not expect it
        agent("rlimit", "fsize", 100_000, expect="TLC_OK")
        for i in range(10):
            agent("put", f"new-{i}", 1, 50_000, expect=PUT)
        self.assert_versions(agent, {f"old-{i}": 1 for i in range(10)})
        self.assertEqual(agent.finish(), 0)

    # ---- descriptors and memory

    @unittest.skipUnless(SHIM, "a sanitizer opens files of its own to look at memory")
    def test_no_descriptors_left(self):
        self.populate()
        agent = self.agent(self.store)
        self.check_serves(agent)
        agent("rlimit", "nofile", 64, expect="TLC_OK")
        agent("eatfds", expect="TLC_OK")
        self.check_serves(agent)
        for i in range(10):
            agent("get", f"old-{i}", expect=ANY)
            agent("put", f"new-{i}", 1, 5000, expect=PUT)
            self.assertEqual(agent("get", f"new-{i}", expect="TLC_OK").version, 1)
        agent("gc", expect=("TLC_OK", "TLC_E_IO", "TLC_E_BUSY"))
        self.assertEqual(agent.finish(), 0)
        self.assert_versions(self.agent(self.store), {f"old-{i}": 1 for i in range(10)})

    @unittest.skipUnless(SHIM, "a sanitizer opens files of its own to look at memory")
    def test_no_descriptors_at_open(self):
        self.populate()
        for left in range(4, 14):
            with self.subTest(left=left):
                agent = self.agent()
                agent("rlimit", "nofile", left, expect="TLC_OK")
                agent("open", self.store, 0, expect="TLC_OK")
                agent("get", "old-0", expect=ANY)
                agent("put", "new", 1, 5000, expect=PUT)
                self.assertEqual(agent.finish(), 0)

    @unittest.skipUnless(SHIM, "a sanitizer takes more address space")
    def test_address_space_of_4_gib(self):
        self.populate()
        agent = self.agent()
        agent("rlimit", "as", 4 << 30, expect="TLC_OK")
        agent("open", self.store, 1, expect="TLC_OK")
        self.assert_versions(agent, {f"old-{i}": 1 for i in range(10)})
        agent("put", "new", 1, 500_000, expect="TLC_OK")
        self.assertEqual(agent.finish(), 0)

    @unittest.skipUnless(SHIM, "a sanitizer takes more address space")
    def test_address_space_too_small_to_map(self):
        self.populate()
        for megabytes in (40, 100, 300, 1200):
            with self.subTest(megabytes=megabytes):
                agent = self.agent()
                agent("rlimit", "as", megabytes << 20, expect="TLC_OK")
                agent("open", self.store, 0, expect="TLC_OK")
                self.assert_versions(agent, {f"old-{i}": {1, None} for i in range(10)})
                agent("put", "new", 1, 5000, expect=PUT)
                self.assertEqual(agent.finish(), 0)


@unittest.skipUnless(SHIM, "needs LD_PRELOAD")
class FailingCalls(Populated):
    """Each kind of call fails, once or for good, from some point on, with each code it may have."""

    kinds = {"write": (errno.ENOSPC, errno.EIO, errno.EDQUOT), "read": (errno.EIO,), "mmap": (errno.ENOMEM,),
             "open": (errno.EMFILE, errno.EIO, errno.EACCES), "lock": (errno.ENOLCK,), "sync": (errno.EIO,),
             "allocate": (errno.ENOSPC, errno.EIO), "name": (errno.EIO, errno.ENOSPC)}

    def shimmed(self, *open_at, flags=5):
        agent = self.agent(environment={"LD_PRELOAD": SHIM})
        agent("under", self.folder, expect="TLC_OK")  # its own answers do not fail
        if open_at:
            agent("open", *open_at, flags, expect="TLC_OK")
        return agent

    def every_failure(self):
        for kind, codes in self.kinds.items():
            for code in codes:
                for nth, count in ((1, 1), (2, 1), (3, 2), (1, -1), (2, -1)):
                    yield kind, code, nth, count

    def fresh_copy(self):
        original, self.store = self.path("store"), self.path(f"store-{len(self.agents)}")
        shutil.copytree(original, self.store)

    def check_old_entries(self, failure, count):
        """A full disk makes room, as a full store does; nothing else costs an entry."""
        again = self.agent(self.store)
        may_go = failure[1] in (errno.ENOSPC, errno.EDQUOT)
        self.assert_versions(again, {f"old-{i}": {1, None} if may_go else 1 for i in range(count)})
        again("put", "later", 1, 3000, expect="TLC_OK")
        self.assertEqual(again.finish(), 0)
        remove_tree(self.store)

    def test_put_and_get(self):
        self.populate()
        for round_, failure in enumerate(self.every_failure()):
            with self.subTest(failure=failure):
                self.fresh_copy()
                self.put_and_get_under(failure, round_)
                self.check_old_entries(failure, 9)

    def put_and_get_under(self, failure, round_):
        agent = self.shimmed(self.store)
        self.check_serves(agent)
        agent("arm", *failure, expect="TLC_OK")
        self.check_serves(agent)  # mapped: no call to fail
        agent("get", "own", expect="TLC_OK" if failure[0] == "mmap" else ANY)  # what cannot be mapped is read
        agent("get", "old-5", expect=ANY)
        agent("put", f"new-{round_}", 1, 3000, expect=PUT)
        self.assertEqual(agent("get", f"new-{round_}", expect="TLC_OK").version, 1)
        agent("put", f"own-{round_}", 1, 600_000, expect=PUT)
        agent("replace", "old-9", 1, 20_000, expect=(*PUT, "TLC_CONFLICT"))
        agent("get", "old-9", expect=ANY)
        agent("remove", f"new-{round_}", expect=("TLC_OK", "TLC_MISS", "TLC_NOT_STORED", "TLC_E_IO"))
        self.assertEqual(agent.finish(), 0)

    def test_open(self):
        self.populate()
        for round_, failure in enumerate(self.every_failure()):
            with self.subTest(failure=failure):
                self.fresh_copy()
                self.open_under(failure, round_)
                self.check_old_entries(failure, 10)

    def open_under(self, failure, round_):
        agent = self.shimmed()
        agent("arm", *failure, expect="TLC_OK")
        agent("open", self.store, 0, expect="TLC_OK")
        self.assert_versions(agent, {f"old-{i}": {1, None} for i in range(3)})
        agent("put", f"new-{round_}", 1, 3000, expect=PUT)
        self.assertEqual(agent.finish(), 0)

    def test_a_write_that_stops_half_way_hides_nothing(self):
        """The segments are the truth: what comes after half a record is found without the index too."""
        self.populate()
        agent = self.shimmed(self.store)
        for nth in (1, 2):  # the record's body, its header
            agent("arm", "pwritev", -errno.EIO, nth, 1, expect="TLC_OK")
            agent("put", f"torn-{nth}", 1, 60_000, expect="TLC_NOT_STORED")
            self.assertEqual(agent("get", f"torn-{nth}", expect="TLC_OK").version, 1)
            for i in range(5):
                agent("put", f"after-{nth}-{i}", 1, 3000, expect="TLC_OK")
        agent.finish()
        whole = {f"after-{nth}-{i}": 1 for nth in (1, 2) for i in range(5)}
        found = read_store(self.store)
        self.assertEqual(found.damage, [])
        self.assertEqual([segment.damaged for segment in found.segments.values() if segment.damaged], [], "half a record")
        for name in os.listdir(self.format_folder()):
            if name.startswith("index-"):
                remove_tree(os.path.join(self.format_folder(), name))
        again = self.agent(self.store)
        again("verify", 1, expect="TLC_OK")
        self.assert_versions(again, {**{f"old-{i}": 1 for i in range(10)}, **whole})
        self.assert_versions(again, {"torn-1": None, "torn-2": None})

    def test_maintenance(self):
        for failure in self.every_failure():
            with self.subTest(failure=failure):
                self.maintain_under(failure)

    def maintain_under(self, failure):
        self.store = self.path(f"store-{len(self.agents)}")
        self.populate(count=3)
        agent = self.shimmed(self.store)
        agent("hold", "old-1", expect="TLC_OK")
        agent("arm", *failure, expect="TLC_OK")
        agent("folder", "old-1", expect=("TLC_OK", "TLC_E_IO", "TLC_E_DENIED", "TLC_E_NOMEM"))
        agent("verify", 1)
        agent("gc", 1)
        agent("clear")
        self.assertEqual(agent("check", "old-1", expect="TLC_OK").version, 1)
        self.assertEqual(agent.finish(), 0)
        again = self.agent(self.store)
        again("put", "new", 1, 3000, expect="TLC_OK")
        again.finish()


if __name__ == "__main__":
    main()
