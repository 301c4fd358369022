# SPDX-License-Identifier: MIT
"""The limit, while the cache turns over many times under live readers and held artifacts."""

from agents import MIB, AgentTest, allocated, main

LIMIT = 16 * MIB
TURNOVERS = 10


class Turnover(AgentTest):
    def bound(self):
        return LIMIT * 9 // 8 + 2 * MIB

    def test_the_limit_holds_and_a_held_artifact_stays(self):
        writer, holder, idle = (self.agent(self.store, limit=LIMIT) for _ in range(3))
        writer("put", "pinned", 1, 100_000, expect="TLC_OK")
        holder("hold", "pinned", expect="TLC_OK")
        size, written, number = 150_000, 0, 0
        while written < TURNOVERS * LIMIT:
            written += size
            number += 1
            self.assertEqual(writer("put", f"turn-{number}", 1, size).status, "TLC_OK")
            self.assertEqual(idle("get", f"turn-{number}", expect="TLC_OK").version, 1)
            if number % 20 == 0:
                self.assertLessEqual(writer.disk_bytes(), self.bound())
                self.assertLessEqual(allocated(self.store), self.bound())
                self.assertEqual(holder("check", "pinned", expect="TLC_OK").version, 1)
                idle("stats", expect="TLC_OK")
        self.assertGreater(writer("stats").json["total"]["evictions"], 500)
        # Unlinked segments' blocks go with the last who has them mapped: at most an eighth of the limit each.
        for agent in (holder, idle):
            agent("get", "never-put", expect="TLC_MISS")
            total = agent("stats", expect="TLC_OK").json["total"]
            self.assertLessEqual(total["unlinked_bytes"], LIMIT // 8 + 2 * MIB)
        self.assertEqual(holder("check", "pinned", expect="TLC_OK").version, 1)
        holder("release", "pinned")

    def test_two_writers_and_large_artifacts(self):
        agents = [self.agent(self.store, limit=LIMIT) for _ in range(2)]
        for number in range(120):
            for which, agent in enumerate(agents):
                agent.send("put", f"{which}-{number}", 1, 30_000 + number % 7 * 250_000)
            for agent in agents:
                self.assertIn(agent.receive().status, ("TLC_OK", "TLC_NOT_STORED"))
            if number % 10 == 0:
                self.assertLessEqual(allocated(self.store), self.bound() + 2 * MIB)
        self.assertEqual(agents[0]("put", "huge", 1, LIMIT // 8 + 1).status, "TLC_TOO_LARGE")
        for agent in agents:
            self.assert_versions(agent, {f"{which}-{n}": {1, None} for which in (0, 1) for n in range(120)})

    def test_what_was_used_last_is_what_is_left(self):
        agent = self.agent(self.store, limit=LIMIT)
        for number in range(300):
            agent("put", f"entry-{number}", 1, 100_000, expect="TLC_OK")
        self.assertEqual(agent("get", "entry-299", expect="TLC_OK").version, 1)
        agent("get", "entry-0", expect="TLC_MISS")

    def test_folders_count_and_go(self):
        agent = self.agent(self.store, limit=LIMIT)
        for number in range(100):
            name = f"entry-{number}"
            agent("put", name, 1, 200_000, expect="TLC_OK")
            agent("hold", name, expect="TLC_OK")
            if number % 10 == 0:
                agent("folder", name, expect="TLC_OK")
            agent("release", name)
        agent("gc", expect="TLC_OK")
        self.assertLessEqual(allocated(self.store), self.bound() + 10 * 200_000)
        agent.finish()
        other = self.agent(self.store)
        other("gc", expect="TLC_OK")
        self.assertLessEqual(allocated(self.store), self.bound())

    def test_a_smaller_limit(self):
        agent = self.agent(self.store, limit=LIMIT)
        for number in range(140):
            agent("put", f"entry-{number}", 1, 100_000, expect="TLC_OK")
        agent("limit", "8M", expect="TLC_OK")
        agent("gc", expect="TLC_OK")
        self.assertLessEqual(allocated(self.store), 8 * MIB * 9 // 8 + 2 * MIB)


if __name__ == "__main__":
    main()
