# SPDX-License-Identifier: MIT
"""The limit, while the cache turns over many times under live readers and held artifacts.

TLC_TEST_TURNOVER=full runs the test with eight processes at its full size (sizes to 20 MiB, ten turnovers; minutes);
TLC_TEST_TURNOVER_PLOT=FILE.svg also draws what was on the disk over time.
"""

import os
import random
import time

from agents import MIB, AgentTest, allocated, main

LIMIT = 16 * MIB
TURNOVERS = 10
FULL = os.environ.get("TLC_TEST_TURNOVER") == "full"


def draw(path, samples, limit, bound, title):
    """Disk use over time as SVG."""
    wide, high, left, top = 640, 260, 70, 30
    last, highest = samples[-1][0] or 1, bound * 1.1
    y = lambda value: top + high - value / highest * high  # noqa: E731
    points = " ".join(f"{left + at / last * wide:.1f},{y(used):.1f}" for at, used in samples)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide + 90}" height="{top + high + 40}" '
             'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>',
             f'<text x="{left}" y="18" font-weight="bold">{title}</text>',
             f'<path d="M{left} {top}V{top + high}H{left + wide}" fill="none" stroke="#999"/>']
    for name, value in (("limit", limit), ("bound", bound)):
        lines.append(f'<path d="M{left} {y(value):.1f}h{wide}" stroke="#d62728" stroke-dasharray="4 3"/>'
                     f'<text x="{left + wide + 5}" y="{y(value):.1f}">{name} {value / MIB:.0f}M</text>')
    lines.append(f'<text x="{left - 5}" y="{top + high}" text-anchor="end">0</text>')
    lines.append(f'<text x="{left}" y="{top + high + 16}">0 s</text>'
                 f'<text x="{left + wide}" y="{top + high + 16}" text-anchor="end">{last:.0f} s</text>')
    lines.append(f'<polyline points="{points}" fill="none" stroke="#1f77b4" stroke-width="1.2"/></svg>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


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

    def test_eight_processes_at_the_limit(self):
        """Five write entries of random sizes, two have read everything and are idle, one holds an artifact."""
        limit, turnovers, largest = (160 * MIB, 10, 20 * MIB - 64 * 1024) if FULL else (16 * MIB, 3, 1_900_000)
        bound = limit * 9 // 8 + max(MIB, limit // 64)
        dice = random.Random(20)
        *writers, reader, idle, holder = (self.agent(self.store, limit=limit) for _ in range(8))
        writers[0]("put", "pinned", 1, 100_000, expect="TLC_OK")
        holder("hold", "pinned", expect="TLC_OK")
        written, number, stored, samples, start = 0, 0, 0, [], time.monotonic()
        while written < turnovers * limit:
            batch = []
            for writer in writers:
                number += 1
                size = int(4096 * (largest / 4096) ** dice.random())
                batch.append((writer, f"entry-{number}", size))
                writer.send("put", f"entry-{number}", 1, size)
                samples.append((time.monotonic() - start, allocated(self.store)))
            for writer, name, size in batch:
                answer = writer.receive()
                self.assertIn(answer.status, ("TLC_OK", "TLC_NOT_STORED"), answer.line)
                stored += answer.status == "TLC_OK"
                written += size
                if written < limit // 2:
                    for one in (reader, idle):
                        one("get", name, expect="TLC_OK")
            samples.append((time.monotonic() - start, allocated(self.store)))
            if number % 50 == 0:
                self.assertEqual(holder("check", "pinned", expect="TLC_OK").version, 1)
        most = max(used for _, used in samples)
        print(f"{number} puts, {stored} stored, {written / MIB:.0f} MiB at a limit of {limit / MIB:.0f} MiB: "
              f"at most {most / MIB:.1f} MiB on disk, in {len(samples)} samples")
        if os.environ.get("TLC_TEST_TURNOVER_PLOT"):
            draw(os.environ["TLC_TEST_TURNOVER_PLOT"], samples, limit, bound,
                 f"Disk use, 8 processes, {turnovers} turnovers, entries of 4 KiB to {largest / MIB:.0f} MiB")
        self.assertLessEqual(most, bound)
        self.assertGreater(stored, number * 0.95)
        self.assertEqual(holder("check", "pinned", expect="TLC_OK").version, 1)
        holder("release", "pinned")

    def test_killed_putters_do_not_use_up_the_limit(self):
        agent = self.agent(self.store, limit=LIMIT)
        for number in range(6):
            victim = self.agent(self.store, environment={"TLC_TEST_KILL": "put.reserved"})
            victim.send("put", f"lost-{number}", 1, 1_500_000)
            self.assertEqual(victim.wait(), -9)
        for number in range(200):
            self.assertEqual(agent("put", f"entry-{number}", 1, 100_000).status, "TLC_OK")
        self.assertLessEqual(allocated(self.store), self.bound())

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
