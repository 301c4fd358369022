# SPDX-License-Identifier: MIT
"""Many want one cold key at once: one compiles. What becomes of the others when it fails, dies, or is stopped."""

import os
import signal
import time

from agents import AgentTest, Died, main

PROCESSES, THREADS = 6, 8


class OneCompile(AgentTest):
    def setUp(self):
        super().setUp()
        self.notes = self.path("notes")

    def compiles(self):
        """Process ids of those who compiled, one line each time."""
        if not os.path.exists(self.notes):
            return []
        with open(self.notes, encoding="ascii") as file:
            return [int(line) for line in file]

    def wait_for_compiles(self, count):
        while len(self.compiles()) < count:
            time.sleep(0.01)

    def test_many_processes_and_threads(self):
        agents = [self.agent(self.store) for _ in range(PROCESSES)]
        for turn in range(5):
            for agent in agents:
                agent.send("compile", f"key-{turn}", self.notes, "plain", 100, THREADS)
            for agent in agents:
                answer = agent.receive()
                self.assertEqual((answer.status, answer.get("version")), ("TLC_OK", "1"), answer.line)
            self.assertEqual(len(self.compiles()), turn + 1)

    def test_first_use_of_a_store_by_many_at_once(self):
        agents = [self.agent() for _ in range(PROCESSES * 2)]
        for agent in agents:
            agent.send("open", self.store, 1)
        for agent in agents:
            self.assertEqual(agent.receive().status, "TLC_OK")
        for number, agent in enumerate(agents):
            if number % 2:
                agent.kill()
        for agent in agents[::2]:
            agent.send("compile", "key", self.notes, "plain", 50, THREADS)
        for agent in agents[::2]:
            self.assertEqual(agent.receive().status, "TLC_OK")
        self.assertEqual(len(self.compiles()), 1)

    def test_failure_reaches_the_waiters_of_the_process(self):
        agent = self.agent(self.store)
        answer = agent("compile", "key", self.notes, "fail", 300, THREADS)
        self.assertEqual(answer.status, "TLC_E_COMPILE", answer.line)  # all threads alike, else DIFFERENT
        self.assertIn("failed on purpose", answer["message"])
        self.assertEqual(len(self.compiles()), 1)
        self.assertEqual(agent("compile", "key", self.notes, "plain", 0, THREADS).status, "TLC_OK")

    def test_failure_elsewhere_makes_another_leader(self):
        first, second = self.agent(self.store), self.agent(self.store)
        first.send("compile", "key", self.notes, "fail", 500)
        self.wait_for_compiles(1)
        second.send("compile", "key", self.notes, "plain", 0)
        self.assertEqual(first.receive().status, "TLC_E_COMPILE")
        self.assertEqual(second.receive().status, "TLC_OK")

    def test_death_makes_another_leader(self):
        first, *others = [self.agent(self.store) for _ in range(4)]
        first.send("compile", "key", self.notes, "plain", 60_000)
        self.wait_for_compiles(1)
        for agent in others:
            agent.send("compile", "key", self.notes, "plain", 50, THREADS)
        time.sleep(0.3)
        self.assertEqual(len(self.compiles()), 1)
        first.kill()
        for agent in others:
            self.assertEqual(agent.receive().status, "TLC_OK")
        self.assertEqual(len(self.compiles()), 2)

    def test_a_stopped_leader_delays_the_others_by_their_limit(self):
        first, second = self.agent(self.store), self.agent(self.store)
        first.send("compile", "key", self.notes, "plain", 400)
        self.wait_for_compiles(1)
        os.kill(first.process.pid, signal.SIGSTOP)
        answer = second("compile", "key", self.notes, "plain", 0, 1, 500)
        self.assertEqual(answer.status, "TLC_OK", answer.line)
        self.assertEqual(len(self.compiles()), 2)
        self.assertEqual(second("get", "key", expect="TLC_OK").version, 1)
        os.kill(first.process.pid, signal.SIGCONT)
        self.assertEqual(first.receive().status, "TLC_OK")

    def test_a_compile_that_uses_the_cache(self):
        for how, compiles in (("same", 2), ("other", 2)):
            for threads in (1, THREADS):
                with self.subTest(how=how, threads=threads):
                    self.notes = self.path(f"notes-{how}-{threads}")
                    agent = self.agent(self.store)
                    answer = agent("compile", f"{how}-{threads}", self.notes, how, 0, threads, 20_000)
                    self.assertEqual(answer.status, "TLC_OK", answer.line)
                    self.assertEqual(len(self.compiles()), compiles)


if __name__ == "__main__":
    main()
