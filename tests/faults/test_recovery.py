# SPDX-License-Identifier: MIT
"""What a store is after its users died: torn tails, orphans, an index that kills who opens it, a rebuild that was cut
short; what verify --repair mends; gc and clear under live readers."""

import os
import signal
import time
import unittest

from agents import LYING_SHIM, MIB, AgentTest, Died, allocated, main

LIMIT = 16 * MIB
HOUR = 3600


class Recovery(AgentTest):
    def fill(self, count=20, size=3000, prefix="kept"):
        agent = self.agent(self.store, limit=LIMIT)
        for i in range(count):
            agent("put", f"{prefix}-{i}", 1, size, expect="TLC_OK")
        agent.finish()
        return {f"{prefix}-{i}": 1 for i in range(count)}

    def segments(self):
        folder = os.path.join(self.format_folder(), "segments")
        return sorted(os.path.join(folder, name) for name in os.listdir(folder))

    def killed_at(self, step, *commands, environment=None):
        agent = self.agent(environment=environment)
        agent("open", self.store, 1, LIMIT, expect="TLC_OK")
        agent("env", "TLC_TEST_KILL", step)
        with self.assertRaises(Died, msg=f"{step} was never reached"):
            for command in commands:
                agent(*command)

    def index(self, agent):
        return agent("describe", expect="TLC_OK").json["index"]

    def make_old(self, path, age=2 * HOUR):
        then = time.time() - age
        os.utime(path, (then, then))


class TornTails(Recovery):
    def test_a_torn_tail_is_passed_over_and_appended_after(self):
        kept = self.fill()
        with open(self.segments()[0], "ab") as file:  # an append that was cut anywhere leaves any bytes
            file.write(b"TLCSREC1" + b"\x5a" * 1234)
        agent = self.agent(self.store)
        agent("put", "after", 1, 3000, expect="TLC_OK")
        self.assert_versions(agent, {**kept, "after": 1})
        agent.finish()
        self.destroy_index()
        agent = self.agent(self.store)
        agent("verify", 1, expect="TLC_OK")
        self.assert_versions(agent, {**kept, "after": 1})

    def destroy_index(self):
        for folder, _, names in os.walk(self.format_folder()):
            if "data.mdb" in names:
                os.unlink(os.path.join(folder, "data.mdb"))

    def test_a_segment_of_orphans_alone_is_removed(self):
        """Killed between append and commit: whole records that no index names."""
        kept = self.fill()
        for turn in range(3):
            self.killed_at("put.appended", ("put", f"orphan-{turn}", 1, 1_000_000))  # in a segment of its own
        self.assertEqual(len(self.segments()), 4)
        agent = self.agent(self.store)
        agent("gc", expect="TLC_OK")
        self.assertEqual(len(self.segments()), 4, "it might be a put that is under way")
        for path in self.segments()[1:]:
            self.make_old(path)
        before = agent.disk_bytes()
        agent("gc", expect="TLC_OK")
        self.assertEqual(len(self.segments()), 1)
        self.assertLess(agent.disk_bytes(), before - 2_500_000)
        self.assert_versions(agent, kept)

    def test_orphans_count_and_leave_with_their_segment(self):
        self.fill()
        used = self.agent(self.store).disk_bytes()
        for turn in range(5):
            self.killed_at("put.appended", ("put", f"orphan-{turn}", 1, 100_000))
        agent = self.agent(self.store)
        self.assertGreater(agent.disk_bytes(), used + 400_000)
        for i in range(200):
            agent("put", f"over-{i}", 1, 100_000, expect="TLC_OK")
        self.assert_under_limit(agent, LIMIT)
        agent("gc", 1, expect="TLC_OK")
        self.assertLess(agent.disk_bytes(), 4 * MIB)

    def test_a_rebuild_that_is_not_through_keeps_its_segments(self):
        """Clearing one namespace, or collecting, must not take what is merely not indexed yet."""
        kept = self.fill(count=8, size=1_000_000)  # a segment each
        agent = self.agent(self.store)
        agent("namespace", "other")
        agent("put", "cleared", 1, 3000, expect="TLC_OK")
        agent.finish()
        for path in self.segments():
            self.make_old(path)
        self.destroy_index()
        self.killed_at("rebuild.batch", ("verify", 1))
        agent = self.agent()
        agent("env", "TLC_TEST_KILL", "none")
        agent("open", self.store, 1, LIMIT, expect="TLC_OK")
        agent("clear", "other", expect="TLC_OK")
        agent("gc", expect="TLC_OK")
        agent("verify", 1, expect="TLC_OK")
        self.assert_versions(agent, kept)


class KilledRebuild(Recovery):
    MANY = 3000

    def test_each_killed_rebuild_brings_the_next_one_further(self):
        kept = self.fill(self.MANY, 100, "many")
        TornTails.destroy_index(self)
        seen = 0
        for turn in range(40):
            agent = self.agent()
            agent("env", "TLC_TEST_KILL", "rebuild.batch")  # every process does one batch and dies
            try:
                agent("open", self.store, 1, LIMIT)
                agent("verify", 1)
            except Died:
                reader = self.agent(self.store, flags=3)  # read-only: only looks
                now = self.index(reader)["entries"]
                reader.finish()
                self.assertGreater(now, seen, f"rebuild {turn} began again")
                seen = now
                continue
            break
        agent = self.agent(self.store)
        self.assertEqual(self.index(agent), {**self.index(agent), "entries": self.MANY, "rebuilding": False})
        self.assert_versions(agent, {name: 1 for name in list(kept)[::37]})


@unittest.skipUnless(LYING_SHIM, "needs LD_PRELOAD")
class OpeningMark(Recovery):
    """liblmdb ends the process when it opens an index with a file `poison` beside it, or in its store."""

    def poison(self, *under):
        with open(os.path.join(self.format_folder(), *under, "poison"), "w", encoding="ascii"):
            pass

    def writes(self, how):
        """Opens and publishes; None if the process died of it, else the agent."""
        agent = self.agent(environment={"LD_PRELOAD": LYING_SHIM, "TLC_LIE_CRASH": how})
        try:
            agent("open", self.store, 1, LIMIT, expect="TLC_OK")
            agent("put", f"new-{len(self.agents)}", 1, 3000, expect="TLC_OK")
        except Died:
            return None
        return agent

    def settle(self, agent):
        while self.index(agent)["rebuilding"]:
            agent("get", "never-put", expect="TLC_MISS")

    def test_an_index_that_kills_is_set_aside(self):
        for how in ("abort", "segv", "exit"):
            with self.subTest(how=how):
                self.store = self.path(how)
                kept = self.fill()
                self.poison("index-1")
                deaths = 0
                while (agent := self.writes(how)) is None:
                    deaths += 1
                    self.assertLess(deaths, 3, "the store kills whoever opens it")
                self.assertEqual(deaths, 2)
                self.settle(agent)
                self.assert_versions(agent, kept)
                self.assertEqual(self.index(agent)["generation"], 2)

    def test_a_store_that_kills_is_set_aside_as_a_whole(self):
        self.fill()
        living = self.agent(self.store)
        living("get", "kept-0", expect="TLC_OK")
        self.poison()
        deaths = 0
        while (agent := self.writes("abort")) is None:
            deaths += 1
            self.assertLess(deaths, 5, "the store kills whoever opens it")
        facts = agent("describe", expect="TLC_OK").json
        self.assertEqual((facts["state"], facts["entries"]), ("store", 1))
        aside = [name for name in os.listdir(self.store) if ".aside-" in name]
        self.assertEqual(len(aside), 1)
        self.assertIn(aside[0], " ".join(facts["warnings"]))
        # Who had the old one open goes on in the new one.
        living("put", "of-the-living", 1, 3000, expect="TLC_OK")
        self.assertEqual(agent("get", "of-the-living", expect="TLC_OK").version, 1)
        agent("gc", expect="TLC_OK")
        self.assertIn(aside[0], os.listdir(self.store))
        self.make_old(os.path.join(self.store, aside[0]), 8 * 24 * HOUR)
        agent("gc", expect="TLC_OK")
        self.assertNotIn(aside[0], os.listdir(self.store))

    def test_one_death_is_chance(self):
        kept = self.fill()
        for turn in range(6):  # kill -9 in the middle of an opening, but never twice in a row
            self.killed_at("index.opened", ("put", f"new-{turn}", 1, 3000))
            agent = self.agent(self.store)
            agent("put", f"then-{turn}", 1, 3000, expect="TLC_OK")
            self.assertEqual(self.index(agent)["generation"], 1)
            agent.finish()
        self.assert_versions(self.agent(self.store), kept)

    def test_deaths_elsewhere_do_not_count(self):
        kept = self.fill()
        for turn, step in enumerate(("append.begin", "append.written", "put.appended", "put.committed") * 2):
            self.killed_at(step, ("put", f"new-{turn}", 2, 3000))
        agent = self.agent(self.store)
        agent("put", "new", 1, 3000, expect="TLC_OK")
        self.assertEqual(self.index(agent)["generation"], 1)
        self.assert_versions(agent, kept)

    def test_killed_while_setting_the_store_aside(self):
        self.fill()
        self.poison()
        for _ in range(4):
            self.assertIsNone(self.writes("abort"))
        agent = self.agent(environment={"LD_PRELOAD": LYING_SHIM, "TLC_LIE_CRASH": "abort"})
        agent("env", "TLC_TEST_KILL", "open.aside")
        with self.assertRaises(Died) as died:
            agent("open", self.store, 1, LIMIT)
            agent("put", "new", 1, 3000)
        self.assertEqual(died.exception.args[0], -signal.SIGKILL)
        self.assertIsNotNone(self.writes("abort"))


class Repair(Recovery):
    def test_everything_at_once(self):
        kept = self.fill(40)
        agent = self.agent(self.store)
        folder = self.format_folder()
        segment = self.segments()[0]
        at = os.path.getsize(segment) // 2
        with open(segment, "r+b") as file:
            file.seek(at)
            file.write(bytes(byte ^ 0xff for byte in os.pread(file.fileno(), 64, at)))
        with open(os.path.join(folder, "config"), "wb") as file:
            file.write(b"garbage")
        for name in ("config.tmp-1", "segments/x.tmp-2"):
            with open(os.path.join(folder, name), "wb"):
                pass
            self.make_old(os.path.join(folder, name))
        found = agent("verify", expect="TLC_OK").json
        self.assertEqual([found["config"]["state"], len(found["damaged"])], ["damaged", 1])
        mended = agent("verify", 1, expect="TLC_OK").json
        self.assertEqual([mended["config"]["state"], mended["leftovers"]], ["rebuilt", 2])
        self.assertEqual([one["repaired"] for one in mended["damaged"]], [True])
        again = agent("verify", expect="TLC_OK").json
        self.assertEqual([again["config"]["state"], again["index"]["state"], again["damaged"], again["leftovers"]],
                         ["whole", "whole", [], 0])
        agent.finish()
        other = self.agent(self.store)
        gone = [name for name in kept if other("get", name).status != "TLC_OK"]
        self.assertEqual(len(gone), 1)
        self.assertEqual(other("describe").json["limit_bytes"], LIMIT)


class LiveReaders(Recovery):
    """Readers hold artifacts and check every byte, again and again, while others collect and clear."""

    READERS, TURNS = 3, 25

    def test_gc_and_clear(self):
        cleaner = self.agent(self.store, limit=LIMIT)
        readers = [self.agent(self.store) for _ in range(self.READERS)]
        for turn in range(self.TURNS):
            for i in range(12):
                cleaner("put", f"key-{turn}-{i}", 1, 40_000, expect="TLC_OK")
            for number, reader in enumerate(readers):
                for i in range(4):
                    reader("hold", f"key-{turn}-{i * self.READERS + number}", expect="TLC_OK")
            # All at once: what is sent is not waited for.
            cleaner.send(*(("gc", 1), ("clear", "test"), ("clear",))[turn % 3])
            for reader in readers:
                for i in range(12):
                    reader.send("get", f"key-{turn}-{i}")
            for number, reader in enumerate(readers):
                for i in range(4):
                    reader.send("check", f"key-{turn}-{i * self.READERS + number}")
                    reader.send("check", f"key-{turn}-{i * self.READERS + number}", "read")
            self.assertEqual(cleaner.receive().status, "TLC_OK")
            for reader in readers:
                for _ in range(12):
                    self.assertIn(reader.receive().status, ("TLC_OK", "TLC_MISS"))
                for _ in range(8):
                    answer = reader.receive()
                    self.assertEqual((answer.status, answer.get("version")), ("TLC_OK", "1"), answer.line)
        for reader in readers:  # what was cleared long ago is still held and whole
            for turn in range(self.TURNS):
                for i in range(12):
                    name = f"key-{turn}-{i}"
                    if i % self.READERS == readers.index(reader):
                        self.assertEqual(reader("check", name, expect="TLC_OK").version, 1)
                        reader("release", name)
            self.assertEqual(reader.finish(), 0)
        cleaner("clear", expect="TLC_OK")
        self.assertLess(allocated(self.store), 5 * MIB)


if __name__ == "__main__":
    main()
