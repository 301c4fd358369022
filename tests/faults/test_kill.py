# SPDX-License-Identifier: MIT
"""kill -9 at every numbered step: the next process sees the old or the new state, works on, and space comes back.

A build with tests stops at the places named TLC_STEP in src (port/step.hpp). Each name has its scenarios here; a step
without one fails the first test.
"""

import os
import signal
import time

from agents import HANG_S, MIB, AgentTest, Died, main
from steps import step_names
from store_reader import read_store

LIMIT = 16 * MIB
MANY = 4000  # records: more than a rebuild indexes at a time
KEPT = {f"kept-{i}": 1 for i in range(20)}


class Kill(AgentTest):
    def prepare(self):
        agent = self.agent(self.store, limit=LIMIT)
        for name in KEPT:
            agent("put", name, 1, 3000, expect="TLC_OK")
        agent("put", "target", 1, 5000, expect="TLC_OK")
        self.assertEqual(agent.finish(), 0)

    def run_killed(self, step, *commands, before=(), flags=1):
        """Runs the commands in a process that is killed at the step, which must be reached."""
        agent = self.agent()
        agent("open", self.store, flags, LIMIT, expect="TLC_OK")
        for command in before:
            agent(*command, expect=("TLC_OK", "TLC_LOCKED"))
        agent("env", "TLC_TEST_KILL", step)
        with self.assertRaises(Died, msg=f"{step} was never reached") as died:
            for command in commands:
                agent(*command)
        self.assertEqual(died.exception.args[0], -signal.SIGKILL)

    def after(self, target, kept=None, entries_may_go=False):
        """What a new process sees: target's version is one of these, and everything else as it was."""
        self.read_by_the_page()
        start = time.monotonic()
        agent = self.agent(self.store)
        print(f"  open after the kill: {(time.monotonic() - start) * 1000:.0f} ms with the start of a process")
        expected = dict(KEPT if kept is None else kept)
        if entries_may_go:
            expected = {name: {version, None} for name, version in expected.items()}
        self.settle(agent)
        self.assert_versions(agent, {**expected, "target": target})
        agent("put", "target", 9, 5000, expect=("TLC_OK", "TLC_EXISTED"))
        agent("remove", "target", expect="TLC_OK")
        agent("put", "target", 3, 6000, expect="TLC_OK")
        agent("put", "another", 1, 4000, expect="TLC_OK")
        self.assert_versions(agent, {**expected, "target": 3, "another": 1})
        damaged = agent("verify", 1, expect="TLC_OK").json
        self.assertEqual(damaged["damaged"], [])
        # What the killed process left is under the limit like everything else.
        for i in range(60):
            agent("put", f"turn-{i}", 1, 400_000, expect="TLC_OK")
        agent("gc", expect="TLC_OK")
        self.assert_under_limit(agent, LIMIT)
        self.age_leftovers()
        agent("gc", 1, expect="TLC_OK")
        self.assertLess(agent.disk_bytes(), 4 * MIB, "space of the killed process did not come back")
        self.assertEqual(agent.finish(), 0)
        self.assertEqual(self.read_by_the_page().leftovers, [])

    def read_by_the_page(self):
        """By a reader that knows docs/store-format.md only, before anybody mends what the kill has left."""
        found = read_store(self.store)
        allowed = {"config", "control"} if found.index is None else set()  # killed while the store was being made
        allowed |= {f"index-{found.control.generation}/data.mdb"} if found.control and found.control.rebuilding else set()
        self.assertEqual([one for one in found.damage if one[0] not in allowed], [])
        return found

    def settle(self, agent):
        """A rebuild goes on behind its users: a few misses carry it to its end."""
        end = time.monotonic() + HANG_S
        while agent("describe", expect="TLC_OK").json["index"]["rebuilding"] and time.monotonic() < end:
            agent("get", "never-put", expect="TLC_MISS")

    def test_every_step_has_a_scenario(self):
        steps = step_names()
        with open(__file__, encoding="utf-8") as file:
            tested = file.read()
        with open(os.path.join(os.path.dirname(__file__), "test_remote.py"), encoding="utf-8") as file:
            tested += file.read()  # those of the queue for remotes
        self.assertTrue(steps)
        self.assertEqual([step for step in steps if f'"{step}"' not in tested], [])

    def test_put_new(self):
        for step in ("append.begin", "append.body", "append.written", "put.appended", "put.before_commit", "put.committed"):
            with self.subTest(step=step):
                self.fresh()
                self.run_killed(step, ("put", "new", 1, 5000))
                agent = self.agent(self.store)
                self.assert_versions(agent, {"new": 1 if step == "put.committed" else {None, 1}})
                agent.finish()
                self.after(target=1)

    def test_opening_the_index(self):
        self.fresh()
        self.run_killed("index.opened", ("put", "new", 1, 5000))
        self.after(target=1)  # "open.aside" needs a store that kills: test_recovery.py

    def test_put_own_segment(self):
        for step in ("put.reserved", "append.begin", "append.body", "append.written", "put.appended"):
            with self.subTest(step=step):
                self.fresh()
                self.run_killed(step, ("put", "new", 1, 1_000_000))
                self.after(target=1)

    def test_replace(self):
        for step in ("append.begin", "append.body", "append.written", "put.appended", "put.before_commit", "put.committed"):
            with self.subTest(step=step):
                self.fresh()
                self.run_killed(step, ("replace", "target", 2, 5000))
                self.after(target=2 if step == "put.committed" else {1, 2})

    def test_seal(self):
        self.fresh()
        self.run_killed("append.sealed", *(("put", f"fill-{i}", 1, 60_000) for i in range(400)))
        self.after(target=1)

    def test_put_with_a_guard(self):
        self.fresh()
        guarded = self.write("guarded", "1")
        self.run_killed("publish.before_link", ("put", "new", 1, 5000, guarded))
        self.after(target=1)

    def test_compile(self):
        self.fresh()
        self.run_killed("begin.locked", ("compile", "new", self.path("notes"), "plain", 0))
        agent = self.agent(self.store)
        self.assertEqual(agent("compile", "new", self.path("notes"), "plain", 0).version, 1)
        agent.finish()
        self.after(target=1)

    def test_eviction_that_writes_again(self):
        """Entries that took a minute to compile lie among cheap ones: eviction moves them, and is killed doing so."""
        for step in ("evict.moved", "evict.moved:3", "evict.before_commit", "evict.batch", "evict.before_unlink",
                     "evict.unlinked", ""):
            with self.subTest(step=step):
                self.store = self.path("store-" + step.replace(":", "-"))
                agent = self.agent(self.store, limit=LIMIT)
                dear = {f"entry-{number}": 1 for number in range(0, 120, 12)}
                for number in range(120):
                    cost = 60_000_000 if number % 12 == 0 else 1000
                    agent("put_cost", f"entry-{number}", 1, 60_000, cost, expect="TLC_OK")
                self.assertEqual(agent.finish(), 0)
                if step:
                    self.run_killed(step, ("gc", 4 * MIB))
                agent = self.agent(self.store)
                self.assert_versions(agent, dear)
                self.assertEqual(agent("verify", expect="TLC_OK").json["damaged"], [])
                agent("gc", 4 * MIB, expect="TLC_OK")
                other = self.agent(self.store)
                self.assert_versions(other, dear)
                self.assertLessEqual(other.disk_bytes(), 5 * MIB)

    def test_evict(self):
        for step in ("evict.batch", "evict.before_unlink", "evict.unlinked"):
            with self.subTest(step=step):
                self.fresh()
                self.run_killed(step, ("gc", 1))
                self.after(target={1, None}, entries_may_go=True)

    def test_clear(self):
        for step in ("clear.config", "clear.batch", "evict.before_unlink", "evict.unlinked"):
            with self.subTest(step=step):
                self.fresh()
                self.run_killed(step, ("clear", "test"))
                self.after(target={1, None}, entries_may_go=True)

    def test_rebuild(self):
        for nth in ("", ":2", ":3"):
            with self.subTest(nth=nth):
                self.fresh()
                agent = self.agent(self.store)
                for i in range(MANY):
                    agent("put", f"many-{i}", 1, 200, expect="TLC_OK")
                agent.finish()
                self.destroy_index()
                agent = self.agent()
                agent("env", "TLC_TEST_KILL", "rebuild.batch" + nth)
                with self.assertRaises(Died) as died:
                    agent("open", self.store, 1, LIMIT)
                    for i in range(1000):
                        agent("put", f"again-{i}", 1, 200)
                self.assertEqual(died.exception.args[0], -signal.SIGKILL)
                self.after(target=1, kept={**KEPT, **{f"many-{i}": 1 for i in range(0, MANY, 7)}})

    def test_folder(self):
        for step in ("folder.member", "folder.member:2", "folder.written"):
            with self.subTest(step=step):
                self.fresh()
                self.run_killed(step, ("folder", "target"), before=[("hold", "target")])
                agent = self.agent(self.store)
                agent("hold", "target", expect="TLC_OK")
                path = agent("folder", "target", expect="TLC_OK")["path"]
                self.assertEqual(sorted(os.listdir(path)), ["a", "b"])
                self.assertEqual(os.path.getsize(os.path.join(path, "a")), 5000)
                agent.finish()
                self.after(target=1)

    def test_first_open(self):
        for step in ("open.config", "open.control"):
            with self.subTest(step=step):
                self.fresh(prepare=False)
                agent = self.agent()
                agent("env", "TLC_TEST_KILL", step)
                with self.assertRaises(Died):
                    agent("open", self.store, 1, LIMIT)
                self.after(target=None, kept={})

    def fresh(self, prepare=True):
        self.store = self.path(f"store-{len(self.agents)}")
        if prepare:
            self.prepare()

    def destroy_index(self):
        folder = self.format_folder()
        for name in os.listdir(folder):
            if name.startswith("index-"):
                with open(os.path.join(folder, name, "data.mdb"), "r+b") as file:
                    file.write(b"\xff" * 8192)


if __name__ == "__main__":
    main()
