# SPDX-License-Identifier: MIT
"""A store whose files were truncated, zeroed or flipped while nobody had it open.

No crash and no hang, never wrong bytes; one damaged entry costs one entry; a bad index, config, control file or memo
costs none, once the rebuild is through. Every variant is a copy of one populated store. TLC_TEST_SEED picks others.
"""

import os
import random
import shutil

from agents import MIB, AgentTest, main
from store_reader import read_store

SEED = int(os.environ.get("TLC_TEST_SEED", "1"))
NAMES = [f"entry-{i}" for i in range(40)]
SMALL = 3000
OWN = "entry-own"  # has a segment of its own


class Damage(AgentTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        agent = self.agent(self.store, limit=16 * MIB)
        for name in NAMES:
            agent("put", name, 1, SMALL, expect="TLC_OK")
        agent("put", OWN, 1, 300_000, expect="TLC_OK")
        agent("put", "guarded", 1, SMALL, self.write("header", "1"), expect="TLC_OK")
        agent("hold", NAMES[0], expect="TLC_OK")
        agent("folder", NAMES[0], expect="TLC_OK")
        agent.finish()
        self.original = self.store
        self.all = [*NAMES, OWN, "guarded"]

    def files(self, *beginnings):
        base = self.format_folder(self.original)
        found = []
        for folder, _, names in os.walk(base):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), base)
                if path.startswith(beginnings):
                    found.append(path)
        self.assertTrue(found, beginnings)
        return sorted(found)

    def damaged_copy(self, path, change):
        self.store = self.path(f"copy-{len(self.agents)}")
        shutil.copytree(self.original, self.store)
        for folder, _, _ in os.walk(self.store):
            os.chmod(folder, 0o700)
        full = os.path.join(self.format_folder(), path)
        os.chmod(full, 0o600)
        with open(full, "rb") as file:
            content = bytearray(file.read())
        with open(full, "wb") as file:
            file.write(change(content))

    def lost(self, repair=True):
        """Uses the damaged store in every way; returns the names that are not there at first and at last."""
        agent = self.agent()
        agent("open", self.store, 0, expect="TLC_OK")
        at_first = self.missing(agent)
        agent("put", "after", 1, SMALL, expect=("TLC_OK", "TLC_NOT_STORED"))
        at_first = self.missing(agent) if at_first else at_first
        agent("verify", 0)
        if repair:
            agent("verify", 1)
        at_last = self.missing(agent)
        for name in at_last:
            if name == "guarded":  # its link or its artifact may have been whole
                agent("put", name, 2, SMALL, self.path("header"), expect=("TLC_OK", "TLC_EXISTED"))
                agent("get", name, expect="TLC_OK")
                continue
            agent("put", name, 2, SMALL, expect="TLC_OK")
            self.assertEqual(agent("get", name, expect="TLC_OK").version, 2)
        agent("put", "new", 1, SMALL, expect="TLC_OK")
        agent("gc", expect="TLC_OK")
        if repair:
            self.read_by_the_page()
        agent("clear", expect="TLC_OK")
        self.assertEqual(agent.finish(), 0)
        shutil.rmtree(self.store)
        return at_first, at_last

    def read_by_the_page(self):
        """What has no entry any more, or is not needed to find one, may stay damaged: the memo, say."""
        found = read_store(self.store)
        places = {path for path, _ in found.damage if path == "memo" or path.startswith(("files/", "segments/"))}
        self.assertEqual([one for one in found.damage if one[0] not in places], [])
        self.assertLessEqual({"after", "new"}, {record.members[0].data.split(b"|")[0].decode()
                                               for record in found.entries.values() if record.kind == "artifact"})

    def missing(self, agent):
        gone = []
        for name in self.all:
            answer = agent("get", name, expect=("TLC_OK", "TLC_MISS", "TLC_REJECTED"))
            if answer.status == "TLC_OK":
                self.assertIn(answer.version, (1, 2))
            else:
                gone.append(name)
        return gone

    def truncations(self, size):
        return sorted({0, 1, 63, 64, size // 2, max(0, size - 1), max(0, size - 64)} - {size})

    def cases(self, paths, flips):
        """(path, what, change) for every kind of damage to the files."""
        for path in paths:
            size = os.path.getsize(os.path.join(self.format_folder(self.original), path))
            if size == 0:
                yield path, "grown", lambda content: b"garbage" * 100
                continue
            for length in self.truncations(size):
                yield path, f"cut to {length}", lambda content, length=length: content[:length]
            yield path, "zeroed", lambda content: bytes(len(content))
            yield path, "zeroed first block", lambda content: bytes(min(4096, len(content))) + content[4096:]
            yield path, "garbage at the end", lambda content: content + b"\xa5" * 1000
            for _ in range(flips):
                at, bit = self.random.randrange(size), self.random.randrange(8)
                yield path, f"bit {bit} of byte {at}", lambda content, at=at, bit=bit: self.flipped(content, at, bit)

    @staticmethod
    def flipped(content, at, bit):
        content[at] ^= 1 << bit
        return content

    def check_costs_nothing(self, paths, flips):
        for path, what, change in self.cases(paths, flips):
            with self.subTest(path=path, what=what, seed=SEED):
                self.damaged_copy(path, change)
                _, at_last = self.lost()
                self.assertEqual(at_last, [])

    def test_config(self):
        self.check_costs_nothing(["config"], 12)

    def test_control(self):
        self.check_costs_nothing(["control"], 6)
        for at in range(0, 368, 8):  # every word of its head
            with self.subTest(word=at, seed=SEED):
                self.damaged_copy("control", lambda content, at=at: self.flipped(content, at, 5))
                self.assertEqual(self.lost()[1], [])

    def test_control_words_of_ones(self):
        for at in range(64, 368, 8):
            with self.subTest(word=at):
                def change(content, at=at):
                    content[at:at + 8] = b"\xff" * 8
                    return content
                self.damaged_copy("control", change)
                self.assertEqual(self.lost()[1], [])

    def test_memo_and_locks(self):
        self.check_costs_nothing(self.files("memo", "write.lock", "maintenance.lock", "compile"), 2)

    def test_index_as_a_whole(self):
        for path in self.files("index-"):
            for what, change in (("cut to half", lambda content: content[:len(content) // 2]),
                                 ("zeroed", lambda content: bytes(len(content))),
                                 ("both metas", lambda content: b"\xff" * 8192 + content[8192:]),
                                 ("gone", lambda content: b"")):
                with self.subTest(what=what):
                    self.damaged_copy(path, change)
                    self.assertEqual(self.lost()[1], [])

    def test_index_in_detail(self):
        # A record's own bytes may cost that record; anything else shows in the structure and is rebuilt.
        for path, what, change in self.cases(self.files("index-"), 80):
            with self.subTest(path=path, what=what, seed=SEED):
                self.damaged_copy(path, change)
                self.assertLessEqual(len(self.lost()[1]), 1)

    def test_segments(self):
        for path in self.files("segments"):
            size = os.path.getsize(os.path.join(self.format_folder(self.original), path))
            flips = [self.random.randrange(64, size) for _ in range(50)]
            for at in flips:
                with self.subTest(path=path, at=at, seed=SEED):
                    self.damaged_copy(path, lambda content, at=at: self.flipped(content, at, at % 8))
                    self.assertLessEqual(len(self.lost()[1]), 1)
            for path_, what, change in self.cases([path], 0):
                with self.subTest(path=path_, what=what):
                    self.damaged_copy(path_, change)
                    self.lost()

    def test_a_cut_segment_keeps_what_is_before_the_cut(self):
        shared = self.files("segments")[0]
        size = os.path.getsize(os.path.join(self.format_folder(self.original), shared))
        self.damaged_copy(shared, lambda content: content[:size // 2])
        at_first, _ = self.lost()
        self.assertLess(len(at_first), len(NAMES) * 3 // 4)
        self.assertGreater(len(at_first), len(NAMES) // 4)

    def test_what_comes_after_a_cut_record_is_found_again(self):
        """Its header still says how long it was; what was appended since lies inside that."""
        shared = self.files("segments")[0]
        size = os.path.getsize(os.path.join(self.format_folder(self.original), shared))
        self.damaged_copy(shared, lambda content: content[:size // 2])
        agent = self.agent(self.store)
        for i in range(10):
            agent("put", f"after-{i}", 1, 300, expect="TLC_OK")
        agent.finish()
        for path in self.files("index-"):
            os.unlink(os.path.join(self.format_folder(), path))
        again = self.agent(self.store)
        again("verify", 1, expect="TLC_OK")
        self.assert_versions(again, {f"after-{i}": 1 for i in range(10)})

    def test_folders(self):
        for path, what, change in self.cases([p for p in self.files("files") if not p.endswith(".lock")], 10):
            with self.subTest(path=path, what=what, seed=SEED):
                self.damaged_copy(path, change)
                agent = self.agent(self.store)
                agent("hold", NAMES[0], expect="TLC_OK")
                folder = agent("folder", NAMES[0], expect="TLC_OK")["path"]
                for name in ("a", "b"):
                    with open(os.path.join(folder, name), "rb") as file, \
                         open(os.path.join(self.good_folder(), name), "rb") as good:
                        self.assertEqual(file.read(), good.read())
                agent.finish()
                shutil.rmtree(self.store)

    def good_folder(self):
        files = os.path.join(self.format_folder(self.original), "files")
        return next(os.path.join(files, name) for name in os.listdir(files) if not name.endswith(".lock"))

    def test_files_that_are_gone(self):
        for path in self.files("config", "control", "memo", "index-", "write.lock", "maintenance.lock"):
            with self.subTest(path=path):
                self.store = self.path(f"copy-{len(self.agents)}")
                shutil.copytree(self.original, self.store)
                os.unlink(os.path.join(self.format_folder(), path))
                self.assertEqual(self.lost()[1], [])


if __name__ == "__main__":
    main()
