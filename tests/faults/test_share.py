# SPDX-License-Identifier: MIT
"""One store and many users of it: in one process, in children, in containers, and with others who delete it."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from agents import AGENT, LIBRARY, MIB, SHIM, AgentTest, main, remove_tree


class OneProcess(AgentTest):
    """The same store several times in one process."""

    def open_again(self, agent, spelling, name):
        agent("cache", name)
        agent("open", spelling, 1, expect="TLC_OK")

    def exercise(self, agent, names):
        """Every cache sees at once what any other one did."""
        for turn in range(3):
            for writer in names:
                agent("cache", writer)
                key = f"of-{writer}-{turn}"
                agent("put", key, 1, 5000, expect="TLC_OK")
                for reader in names:
                    agent("cache", reader)
                    self.assertEqual(agent("get", key, expect="TLC_OK").version, 1)
                agent("replace", key, 2, 5000, expect="TLC_OK")
                for reader in names:
                    agent("cache", reader)
                    self.assertEqual(agent("get", key, expect="TLC_OK").version, 2)
        agent("verify", expect="TLC_OK")
        self.assertEqual(agent("verify", expect="TLC_OK").json["damaged"], [])

    def check_locks_work(self, agent):
        """A compile lock of this process keeps other processes out, and a write lock lets one write at a time."""
        agent("begin", "locked", 0, expect="TLC_LOCKED")
        other = self.agent(self.store)
        other("begin", "locked", 0, expect="TLC_TIMEOUT")
        other.finish()
        agent("abandon")

    def test_two_spellings_and_a_symlink(self):
        os.mkdir(self.path("a"))
        self.store = self.path("a", "store")
        os.symlink(self.path("a"), self.path("b"))
        agent = self.agent()
        for name, spelling in (("0", self.store), ("1", self.path("a", "..", "a", ".", "store")),
                               ("2", self.path("b", "store"))):
            self.open_again(agent, spelling, name)
        self.exercise(agent, ["0", "1", "2"])
        agent("cache", "0")
        agent("begin", "locked", 0, expect="TLC_LOCKED")
        agent("cache", "1")
        agent("close")
        self.assertEqual(self.agent(self.store)("begin", "locked", 0).status, "TLC_TIMEOUT",
                         "closing one cache dropped the lock of another")

    @unittest.skipUnless(SHIM, "a sanitizer takes two copies of a library for a mistake")
    def test_a_second_copy_of_the_library(self):
        copy = self.path("libcopy.so")
        shutil.copy(LIBRARY, copy)
        agent = self.agent(self.store)
        agent("library", copy, expect="TLC_OK")
        self.open_again(agent, self.store, "1")
        self.exercise(agent, ["0", "1"])
        agent("cache", "0")
        agent("begin", "locked", 0, expect="TLC_LOCKED")
        agent("cache", "1")
        agent("close")
        other = self.agent(self.store)
        other("begin", "locked", 0, expect="TLC_TIMEOUT")
        agent("cache", "0")
        agent("abandon")
        other("begin", "locked", 5000, expect="TLC_LOCKED")

    def test_the_process_reads_the_store_s_files(self):
        """A backup or a checksum in the same process: POSIX record locks would be gone with the first close."""
        agent = self.agent(self.store)
        for i in range(10):
            agent("put", f"old-{i}", 1, 5000, expect="TLC_OK")
        agent("begin", "locked", 0, expect="TLC_LOCKED")
        self.assertGreater(int(agent("backup", self.store)["files"]), 4)
        other = self.agent(self.store)
        other("begin", "locked", 0, expect="TLC_TIMEOUT")
        for i in range(20):
            agent("put", f"a-{i}", 1, 5000, expect="TLC_OK")
            agent("backup", self.store)
            other("put", f"b-{i}", 1, 5000, expect="TLC_OK")
        everything = {**{f"old-{i}": 1 for i in range(10)}, **{f"{c}-{i}": 1 for c in "ab" for i in range(20)}}
        self.assert_versions(agent, everything)
        self.assert_versions(other, everything)
        shutil.copytree(self.store, self.path("copy"))  # a copy is a store of its own
        copied = self.agent(self.path("copy"))
        self.assert_versions(copied, everything)
        copied("put", "only-there", 1, 1000, expect="TLC_OK")
        agent("get", "only-there", expect="TLC_MISS")
        self.assertEqual(agent("verify", expect="TLC_OK").json["damaged"], [])


class Forks(AgentTest):
    def check(self, way):
        agent = self.agent(self.store)
        agent("put", "old", 1, 5000, expect="TLC_OK")
        agent("hold", "old", expect="TLC_OK")
        agent("begin", "locked", 0, expect="TLC_LOCKED")
        commands = "check old ; get old ; put child 1 5000 ; get child ; release old ; abandon ; close"
        answer = agent(way, *commands.split())
        self.assertEqual(answer.status, "TLC_OK", answer.line)
        statuses = [part.strip().split(" ")[0] for part in answer["child"].split(";")]
        self.assertEqual(statuses, ["TLC_OK"] * 7, answer.line)
        # The parent's lock and artifact are as they were.
        other = self.agent(self.store)
        other("begin", "locked", 0, expect="TLC_TIMEOUT")
        self.assertEqual(agent("check", "old", expect="TLC_OK").version, 1)
        self.assertEqual(agent("get", "child", expect="TLC_OK").version, 1)
        agent("put", "parent", 1, 5000, expect="TLC_OK")
        agent("publish", "locked", 1, 1000, expect="TLC_OK")
        self.assert_versions(other, {"old": 1, "child": 1, "parent": 1, "locked": 1})
        agent("release", "old")
        self.assertEqual(agent.finish(), 0)

    def test_fork(self):
        self.check("fork")

    @unittest.skipUnless(SHIM, "a sanitizer does not know of a raw clone")
    def test_raw_clone(self):
        self.check("clone")

    def test_a_child_cannot_end_its_parent_s_lock(self):
        """Not even one that no handler told of the fork, and that does nothing else."""
        agent, other = self.agent(self.store), self.agent(self.store)
        for way in ("clone", "fork") if SHIM else ("fork",):
            agent("begin", "locked", 0, expect="TLC_LOCKED")
            agent(way, "abandon", expect="TLC_OK")
            other("begin", "locked", 0, expect="TLC_TIMEOUT")
            agent("abandon")

    def test_children_of_children(self):
        agent = self.agent(self.store)
        agent("put", "old", 1, 5000, expect="TLC_OK")
        for i in range(5):
            answer = agent("fork", "fork", "put", f"deep-{i}", 1, 1000, ";", "get", "old")
            self.assertNotIn("BAD", answer.line)
            self.assertEqual(answer.status, "TLC_OK")

    def test_a_compile_lock_dies_with_its_holder_though_a_child_lives_on(self):
        holder = self.agent(self.store)
        holder("begin", "key", 0, expect="TLC_LOCKED")
        child = int(holder("orphan", 60, expect="TLC_OK")["pid"])
        try:
            waiter = self.agent(self.store)
            waiter.send("begin", "key", 30_000)
            time.sleep(0.3)
            holder.kill()
            start = time.monotonic()
            self.assertEqual(waiter.receive().status, "TLC_LOCKED")
            print(f"  the waiter had the lock after {time.monotonic() - start:.3f} s")
            os.kill(child, 0)  # it does live on
        finally:
            os.kill(child, signal.SIGKILL)


class Containers(AgentTest):
    def in_container(self):
        """An agent that is process 1 of a PID namespace of its own."""
        unshare = shutil.which("unshare")
        if unshare is None or subprocess.run([unshare, "--pid", "--fork", "true"], capture_output=True,
                                             check=False).returncode != 0:
            self.skipTest("needs the right to make PID namespaces")
        agent = self.agent(command=[unshare, "--pid", "--fork", "--kill-child", AGENT])
        self.assertEqual(agent("pid")["pid"], "1")
        agent("open", self.store, 1, 64 * MIB, expect="TLC_OK")
        return agent

    def test_two_processes_with_equal_pid_at_once(self):
        agents = [self.in_container(), self.in_container()]
        agents[0]("begin", "locked", 0, expect="TLC_LOCKED")
        agents[1]("begin", "locked", 0, expect="TLC_TIMEOUT")
        for i in range(100):
            for number, agent in enumerate(agents):
                agent.send("put", f"{number}-{i}", 1, 3000)
            for agent in agents:
                self.assertEqual(agent.receive().status, "TLC_OK")
        everything = {f"{number}-{i}": 1 for number in (0, 1) for i in range(100)}
        for agent in agents:
            self.assert_versions(agent, everything)
        agents[0]("abandon")
        agents[1]("begin", "locked", 5000, expect="TLC_LOCKED")
        # One is killed, its namespace with it; another process 1 takes its place.
        agents[0].kill()
        third = self.in_container()
        third("begin", "locked", 0, expect="TLC_TIMEOUT")
        third("put", "third", 1, 3000, expect="TLC_OK")
        self.assert_versions(third, {**everything, "third": 1})
        self.assertEqual(third("verify", expect="TLC_OK").json["damaged"], [])


class Deleted(AgentTest):
    def test_the_whole_store_is_removed_under_live_processes(self):
        agents = [self.agent(self.store), self.agent(self.store)]
        for i in range(20):
            agents[0]("put", f"old-{i}", 1, 5000, expect="TLC_OK")
        for agent in agents:
            agent("hold", "old-1", expect="TLC_OK")
        remove_tree(self.store)
        for number, agent in enumerate(agents):
            self.assertEqual(agent("check", "old-1", expect="TLC_OK").version, 1)
            agent("put", f"new-{number}", 1, 5000, expect=("TLC_OK", "TLC_NOT_STORED"))
            self.assertEqual(agent("get", f"new-{number}", expect="TLC_OK").version, 1)
            agent("describe", expect="TLC_OK")
        # The second one found the folder the first one made again.
        fresh = self.agent(self.store)
        self.assert_versions(fresh, {"new-0": {1, None}, "new-1": 1})
        fresh("put", "fresh", 1, 5000, expect="TLC_OK")
        for agent in agents:
            agent("get", "never", expect="TLC_MISS")
            self.assertEqual(agent("get", "fresh", expect="TLC_OK").version, 1)
            self.assertEqual(agent("check", "old-1", expect="TLC_OK").version, 1)

    def test_old_files_are_removed_by_age(self):
        """As systemd-tmpfiles does: any file may go at any time."""
        agent = self.agent(self.store, limit=16 * MIB)
        names = {}
        for turn in range(60):
            name = f"entry-{turn}"
            if agent("put", name, 1, 50_000, expect=("TLC_OK", "TLC_NOT_STORED")).status == "TLC_OK":
                names[name] = 1
            victims = [os.path.join(folder, file) for folder, _, files in os.walk(self.store) for file in files]
            os.unlink(victims[turn * 7 % len(victims)])
            self.assert_versions(agent, {known: {1, None} for known in names})
        other = self.agent(self.store)
        self.assert_versions(other, {known: {1, None} for known in names})
        other("put", "last", 1, 5000, expect="TLC_OK")
        self.assertEqual(other("get", "last", expect="TLC_OK").version, 1)


class Changes(AgentTest):
    """What one process does to an entry, the others see; what they hold stays what it was."""

    def test_held_artifacts_outlive_what_happens_to_them(self):
        agent, other = self.agent(self.store, limit=16 * MIB), self.agent(self.store)
        for name in ("cleared", "removed", "replaced", "evicted"):
            agent("namespace", name)
            agent("put", name, 1, 50_000, expect="TLC_OK")
            agent("hold", name, expect="TLC_OK")
        other("clear", "cleared", expect="TLC_OK")
        for name in ("removed", "replaced", "evicted"):
            other("namespace", name)
            if name == "removed":
                other("remove", name, expect="TLC_OK")
            elif name == "replaced":
                other("replace", name, 2, 50_000, expect="TLC_OK")
            else:
                other("gc", 1, expect="TLC_OK")
        other("clear", expect="TLC_OK")
        for i in range(200):
            other("put", f"over-{i}", 1, 200_000, expect="TLC_OK")
        agent("close")
        for name in ("cleared", "removed", "replaced", "evicted"):
            self.assertEqual(agent("check", name, expect="TLC_OK").version, 1)
            self.assertEqual(agent("check", name, "read", expect="TLC_OK").version, 1)
            agent("release", name, expect="TLC_OK")
        self.assertEqual(agent.finish(), 0)

    def test_a_removal_elsewhere_is_seen_at_once(self):
        agent, other = self.agent(self.store), self.agent(self.store)
        for turn in range(5):
            agent("put", "key", 1, 5000, expect="TLC_OK")
            self.assertEqual(agent("get", "key", expect="TLC_OK").version, 1)  # now in its process table
            other("remove", "key", expect="TLC_OK")
            agent("get", "key", expect="TLC_MISS")

    def test_a_replacement_elsewhere_is_seen_at_once(self):
        agent, other = self.agent(self.store), self.agent(self.store)
        agent("put", "key", 1, 5000, expect="TLC_OK")
        for version in range(2, 7):
            self.assertEqual(agent("get", "key", expect="TLC_OK").version, version - 1)
            other("replace", "key", version, 5000, expect="TLC_OK")
            self.assertEqual(agent("get", "key", expect="TLC_OK").version, version)

    def test_an_invalidation_elsewhere_is_seen_at_once(self):
        agent, other = self.agent(self.store), self.agent(self.store)
        agent("put", "key", 1, 5000, expect="TLC_OK")
        agent("get", "key", expect="TLC_OK")
        other("hold", "key", expect="TLC_OK")
        other("invalidate", "key", expect="TLC_OK")
        agent("get", "key", expect="TLC_MISS")
        other("release", "key")
        # An old generation's invalidation leaves a newer one alone.
        agent("put", "key", 2, 5000, expect="TLC_OK")
        other("hold", "key", expect="TLC_OK")
        agent("replace", "key", 3, 5000, expect="TLC_OK")
        other("invalidate", "key", expect=("TLC_MISS", "TLC_OK"))
        self.assertEqual(agent("get", "key", expect="TLC_OK").version, 3)

    def test_a_clear_elsewhere_is_seen_at_once(self):
        agent, other = self.agent(self.store), self.agent(self.store)
        agent("put", "key", 1, 5000, expect="TLC_OK")
        agent("get", "key", expect="TLC_OK")
        other("clear", "test", expect="TLC_OK")
        agent("get", "key", expect="TLC_MISS")
        self.assertEqual(agent("put", "key", 2, 5000).status, "TLC_OK")

    def test_what_was_removed_stays_removed_after_a_rebuild(self):
        agent = self.agent(self.store)
        for name in ("kept", "removed", "replaced"):
            agent("put", name, 1, 5000, expect="TLC_OK")
        agent("namespace", "gone")
        agent("put", "cleared", 1, 5000, expect="TLC_OK")
        agent("namespace", "test")
        agent("remove", "removed", expect="TLC_OK")
        agent("replace", "replaced", 2, 5000, expect="TLC_OK")
        agent("clear", "gone", expect="TLC_OK")
        agent.finish()
        for folder, _, names in os.walk(self.store):
            if "data.mdb" in names:
                os.unlink(os.path.join(folder, "data.mdb"))
        again = self.agent(self.store)
        again("verify", 1, expect="TLC_OK")
        self.assert_versions(again, {"kept": 1, "removed": None, "replaced": 2})
        again("namespace", "gone")
        again("get", "cleared", expect="TLC_MISS")


if __name__ == "__main__":
    main()
