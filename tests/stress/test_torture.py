# SPDX-License-Identifier: MIT
"""kill -9, round after round: four processes publish and evict, one of them is killed at a numbered step.

A round picks a step, and of the scenarios that pass it (found out at the start, by running each once) one that it puts the
victim through, while three others work on. Stores live for a block of rounds. Half the blocks evict nothing: there,
nothing that was published may be missing. In the others an entry may be gone; a wrong byte never. After each block the
store is read by the independent reader, and its space has to come back.

TLC_TEST_ROUNDS (how many that end in a kill, default 1000) and TLC_TEST_SEED make a long run, or the same one
again:

    TLC_TEST_ROUNDS=10000 ctest --test-dir build/dev -R stress.torture -V --timeout 3600
"""

import collections
import glob
import os
import random
import time
import unittest

from agents import MIB, Agent, AgentTest, Died, allocated, main, remove_tree
from steps import step_names
from store_reader import read_store

ROUNDS = int(os.environ.get("TLC_TEST_ROUNDS", "1000"))
SEED = int(os.environ.get("TLC_TEST_SEED", str(int(time.time()) % 100_000)))
WORKERS = 4
# Steps of remotes, and of a store that kills its openers: faults.remote and faults.recovery kill there.
ELSEWHERE = ("outbox.", "remote.", "open.aside")
BLOCK = 20  # rounds with one store, at most
SMALL, LARGE = 8 * MIB, 512 * MIB
OPEN_S = 5

PLAIN = "put,put,put,guard,replace,compile,get,get,folder"
# What a victim does: kinds of commands (agent_work.hpp), and the store it is started on. A store that is live has three
# more processes in it; opening is of the first of four that make it; rebuilding, of a store whose index is gone.
Scenario = collections.namedtuple("Scenario", "name kinds start evicts")
SCENARIOS = [
    Scenario("publish", "put,put,guard", "live", False),
    Scenario("replace", "replace", "live", False),
    Scenario("compile", "compile", "live", False),
    Scenario("folder", "put,folder,folder", "live", False),
    Scenario("open", "put,get", "fresh", False),
    Scenario("rebuild", "miss,put", "no index", False),
    Scenario("remove", "put,remove", "live", True),
    Scenario("turn", "put,put,put,get", "live", True),
    Scenario("gc", f"put,get,gc:{SMALL // 2}", "live", True),
    Scenario("clear", "put,clear:test", "live", True),
]


def steps():
    """Those that this test kills at."""
    return [step for step in step_names() if not step.startswith(ELSEWHERE)]


class Torture(AgentTest):
    def setUp(self):
        super().setUp()
        print(f"seed {SEED}: TLC_TEST_SEED={SEED} TLC_TEST_ROUNDS={ROUNDS} runs the same rounds again", flush=True)
        self.random = random.Random(SEED)
        self.kills, self.missed = collections.Counter(), collections.Counter()
        self.slowest_open, self.block_number, self.not_stored = 0.0, 0, 0
        self.workers, self.tag, self.age, self.evicts = [], 0, BLOCK, True
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith("TLC_")}, "LC_ALL": "C.UTF-8",
                    "HOME": self.folder, "TMPDIR": self.folder}

    # ---- processes

    def start(self, step=None, steps_file=None):
        more = {"TLC_TEST_KILL": step, "TLC_TEST_STEPS": steps_file}
        agent = Agent(env={**self.env, **{name: value for name, value in more.items() if value}})
        self.agents.append(agent)
        return agent

    def open(self, agent):
        agent.send("open", self.store, 1, SMALL if self.evicts else LARGE)
        self.opened_in_time(agent, time.monotonic())

    def opened(self, **more):
        agent = self.start(**more)
        self.open(agent)
        return agent

    def work(self, agent, kinds, count):
        self.tag += 1
        agent.send("work", self.oracle, f"w{self.tag}", self.random.randrange(1 << 60), count, kinds)

    def end_workers(self):
        for agent in self.workers:
            self.assertEqual(agent.finish(), 0)
        self.workers = []
        self.agents = []

    def done(self, answer):
        self.assertEqual(answer.status, "TLC_OK", answer.line)
        self.not_stored += int(answer["not_stored"])

    # ---- blocks

    def new_block(self, evicts):
        self.evicts, self.age = evicts, 0
        self.block_number += 1
        self.store, self.oracle = self.path(f"store-{self.block_number}"), self.path(f"oracle-{self.block_number}")
        self.write(os.path.basename(self.oracle) + ".guard", "what a compile read")

    def end_block(self):
        """All that was published is there, by the library's word and by the independent reader's; space comes back."""
        self.end_workers()
        if not os.path.isdir(self.store):
            return
        agent = self.opened()
        self.settle(agent)
        recalled = agent("recall", self.oracle, 0 if self.evicts else 1)
        self.assertEqual(recalled.status, "TLC_OK", recalled.line)
        self.assertEqual(agent.finish(), 0)
        self.read_by_the_page()
        self.age_leftovers()
        agent = self.opened()
        agent("gc", expect="TLC_OK")
        self.assertLessEqual(allocated(self.store), (SMALL if self.evicts else LARGE) * 9 // 8 + 2 * MIB)
        agent("gc", 1, expect="TLC_OK")
        self.assertEqual(agent.finish(), 0)
        self.assertLess(allocated(self.store), 4 * MIB, "the space of killed processes did not come back")
        self.assertEqual(self.read_by_the_page().leftovers, [])
        remove_tree(self.store)
        os.unlink(self.oracle)
        self.agents = []

    def settle(self, agent):
        end = time.monotonic() + 60
        while agent("describe", expect="TLC_OK").json["index"]["rebuilding"]:
            agent("get", "never", expect="TLC_MISS")
            self.assertLess(time.monotonic(), end, "the rebuild does not end")

    def read_by_the_page(self):
        found = read_store(self.store)
        self.assertEqual(found.damage, [], self.store)
        if not self.evicts:
            self.assertEqual(found.gone, [])
        return found

    def lose_index(self):
        self.end_workers()
        for path in glob.glob(self.store + "/*/index-*/data.mdb"):
            with open(path, "r+b") as file:
                file.write(b"\xff" * 8192)

    # ---- what passes where

    def scout(self):
        """step -> the scenarios that pass it, and how often: each is run once, with its passages noted."""
        passed = collections.defaultdict(dict)
        for _ in range(4):  # what is passed is partly chance
            for scenario in SCENARIOS:
                for step, times in collections.Counter(self.steps_of(scenario)).items():
                    passed[step][scenario.name] = max(times, passed[step].get(scenario.name, 0))
        self.assertEqual([step for step in steps() if step not in passed], [], "steps that no scenario passes")
        return passed

    def steps_of(self, scenario):
        self.new_block(scenario.evicts)
        if scenario.start != "fresh":
            filler = self.opened()
            self.work(filler, "put", 700 if scenario.start == "no index" or scenario.name == "turn" else 120)
            self.done(filler.receive())
            filler.finish()
        if scenario.start == "no index":
            self.lose_index()
        notes = self.path(f"notes-{self.block_number}")
        agent = self.opened(steps_file=notes)
        self.work(agent, scenario.kinds, self.count_for(scenario))
        self.done(agent.receive())
        agent.finish()
        remove_tree(self.store)
        with open(notes, encoding="utf-8") as file:
            return file.read().split()

    @staticmethod
    def count_for(scenario):
        return {"turn": 60, "clear": 12, "gc": 24}.get(scenario.name, 16)

    # ---- rounds

    def choose(self, evicts):
        """A step among those killed least, a scenario of its that suits the block, and the passage to be killed at."""
        suits = {scenario.name: scenario for scenario in SCENARIOS if evicts or not scenario.evicts}
        steps = sorted((step for step in self.passed if self.passed[step].keys() & suits.keys()),
                       key=lambda step: (self.kills[step] + self.missed[step], step))
        step = self.random.choice(steps[:max(3, len(steps) // 2)])
        name = self.random.choice(sorted(self.passed[step].keys() & suits.keys()))
        nth = self.random.randint(1, max(1, self.passed[step][name] // 4))
        return suits[name], step, nth

    def round(self, evicts):
        scenario, step, nth = self.choose(evicts)
        if scenario.start == "fresh" or self.age >= BLOCK or self.evicts != evicts:
            self.end_block()
            self.new_block(evicts)
        self.age += 1
        if scenario.start == "no index":
            self.lose_index()
        victim = self.start(step=f"{step}:{nth if scenario.start == 'live' else 1}")
        killed = self.run_victim(victim, scenario)
        for agent in self.workers:
            self.done(agent.receive())
        (self.kills if killed else self.missed)[step] += 1
        if killed:
            victim.wait()
            self.agents.remove(victim)
        else:
            self.workers.append(victim)
            victim("env", "TLC_TEST_KILL", "none", expect="TLC_OK")
        while len(self.workers) >= WORKERS:  # the next victim is the fourth
            oldest = self.workers.pop(0)
            self.assertEqual(oldest.finish(), 0)
            self.agents.remove(oldest)

    def run_victim(self, victim, scenario):
        """Whether it was killed. Three others are at it meanwhile, or open the store at the same time."""
        live, begun = scenario.start == "live", time.monotonic()
        if live:
            self.employ()
        try:
            victim.send("open", self.store, 1, SMALL if self.evicts else LARGE)
            self.work(victim, scenario.kinds, self.count_for(scenario))
        except Died:
            pass  # already; receive says so again
        if not live:
            self.employ()
        try:
            self.opened_in_time(victim, begun)
            self.done(victim.receive())
            return False
        except Died as died:
            self.assertEqual(died.args[0], -9)
            return True

    def employ(self):
        while len(self.workers) < WORKERS - 1:
            self.workers.append(self.opened())
        for agent in self.workers:
            self.work(agent, PLAIN + (f",put,put,put,remove,gc:{SMALL * 3 // 4}" if self.evicts else ""), 12)

    def opened_in_time(self, agent, begun):
        answer = agent.receive()
        self.assertEqual(answer.status, "TLC_OK", answer.line)
        self.slowest_open = max(self.slowest_open, time.monotonic() - begun)
        self.assertLess(time.monotonic() - begun, OPEN_S)

    @unittest.skipUnless(ROUNDS > 0, "TLC_TEST_ROUNDS is 0")
    def test_rounds(self):
        self.new_block(True)
        self.passed = self.scout()
        self.new_block(True)
        begun = time.monotonic()
        number = 0
        while self.kills.total() < ROUNDS and number < 3 * ROUNDS:
            self.round(evicts=number // BLOCK % 2 == 1)
            number += 1
            if number % 1000 == 0:
                print(f"{number} rounds, {self.kills.total()} kills, {time.monotonic() - begun:.0f} s", flush=True)
        self.end_block()
        print(f"{number} rounds in {time.monotonic() - begun:.0f} s; kills per step:")
        for step in steps():
            print(f"  {self.kills[step]:6} {step}  (passed by: {', '.join(self.passed[step])})")
        print(f"  {sum(self.kills.values()):6} in all; {sum(self.missed.values())} rounds ended before the step was reached; "
              f"{self.not_stored} puts not stored; slowest open {self.slowest_open * 1000:.0f} ms", flush=True)
        self.assertEqual([step for step in steps() if not self.kills[step]], [], "steps nobody was killed at")
        self.assertEqual(self.kills.total(), ROUNDS)


if __name__ == "__main__":
    main()
