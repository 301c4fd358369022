# SPDX-License-Identifier: MIT
"""A power cut: what was not synced may be gone, in any part. The store opens again, what was published with
TLC_OPEN_DURABLE is there, and no byte is wrong.

Processes run with power_shim.c, which writes down what they do to the store; power.py makes up states of the disk at
random moments; in each of them a process that believes in another boot opens the store. TLC_TEST_STATES says how many
(default 300), TLC_TEST_SEED picks others:

    TLC_TEST_STATES=10000 ctest --test-dir build/dev -R faults.power -V --timeout 7200
"""

import os
import random
import unittest

from agents import DURABLE, MIB, POWER_SHIM, STRICT, AgentTest, main, remove_tree
from power import Disk, Journal, Pick
from store_reader import read_store

STATES = int(os.environ.get("TLC_TEST_STATES", "300"))
SEED = int(os.environ.get("TLC_TEST_SEED", "1"))
LIMIT = 64 * MIB
PER_HISTORY = 60  # states made from what one set of processes did
GONE = 0  # what a removed key's version is


class History:
    """Of each name: the states it went through, and from which on a durable process vouches for them.

    An entry is (place in the journal when begun, when acknowledged, version, durable).
    """

    def __init__(self):
        self.of = {}

    def begun(self, names, at, version, durable):
        noted = [[at, None, version, durable] for _ in names]
        for name, one in zip(names, noted):
            self.of.setdefault(name, []).append(one)
        return noted

    def allowed(self, name, cut):
        """The versions that may be found after a cut at this place of the journal."""
        versions = {GONE}
        for begun, acknowledged, version, durable in self.of[name]:
            if begun >= cut:
                break
            if durable and acknowledged is not None and acknowledged <= cut:
                versions = set()
            versions.add(version)
        return versions


@unittest.skipUnless(POWER_SHIM, "needs LD_PRELOAD")
class PowerCut(AgentTest):
    def setUp(self):
        super().setUp()
        self.disk = self.path("disk")
        self.number = 0

    def preload(self, **more):
        return {"LD_PRELOAD": POWER_SHIM, **more}

    def next_boot(self):
        self.number += 1
        return self.write(f"boot-{self.number}", f"{self.number:08x}-0000-4000-8000-000000000000\n")

    # ---- what happens before the cut

    def at(self, journal):
        return os.path.getsize(journal) if os.path.exists(journal) else 0

    def live(self, rng, durable_share):
        """Some processes publish, replace, remove and clear; returns their journal and history."""
        remove_tree(self.disk)
        os.mkdir(self.disk)
        self.store = os.path.join(self.disk, "home", "store")
        journal = self.path(f"journal-{self.number}")
        if os.path.exists(journal):
            os.unlink(journal)
        env = self.preload(TLC_POWER_UNDER=self.disk, TLC_POWER_JOURNAL=journal, TLC_POWER_BOOT=self.next_boot())
        history, versions, agents = History(), {}, []
        for step in range(rng.randint(10, 45)):
            if len(agents) < 2 or rng.random() < 0.05:
                durable = rng.random() < durable_share
                agent = self.agent(environment=env)
                agent("open", self.store, STRICT | (DURABLE if durable else 0), LIMIT, expect="TLC_OK")
                agents.append((agent, durable))
            agent, durable = rng.choice(agents)
            self.one_step(agent, durable, rng, journal, history, versions, step)
        for agent, _ in agents:
            agent.finish()
        self.agents.clear()
        return journal, history

    def one_step(self, agent, durable, rng, journal, history, versions, step):
        what = rng.choices(("put", "replace", "remove", "clear", "folder", "get"), (8, 8, 2, 1, 1, 2))[0]
        size = rng.choice((300, 5000, 5000, 40_000, 200_000, 1_500_000) if rng.random() < 0.4 else (300, 5000))
        known = sorted(versions)
        name = rng.choice(known) if known else None
        if what == "put" or name is None:
            name = f"name-{step}"
            versions[name] = 1
            command, names, version = ("put", name, 1, size), [name], 1
        elif what == "replace":
            versions[name] += 1
            command, names, version = ("replace", name, versions[name], size), [name], versions[name]
        elif what == "remove":
            command, names, version = ("remove", name), [name], GONE
        elif what == "clear" and rng.random() < 0.5:
            command, names, version = ("clear", "test"), known, GONE
        else:
            if agent("hold", name, expect=("TLC_OK", "TLC_MISS")).status == "TLC_OK":
                agent("folder", name, expect="TLC_OK")
                agent("release", name)
            return
        noted = history.begun(names, self.at(journal), version, durable)
        answer = agent(*command)
        agent("flush", expect="TLC_OK")
        if answer.status in ("TLC_OK", "TLC_MISS"):
            for one in noted:
                one[1] = self.at(journal)
        else:  # replaced what had been removed, say
            self.assertIn(answer.status, ("TLC_CONFLICT", "TLC_EXISTED"), answer.line)

    # ---- and after it

    def check(self, journal, history, rng):
        cut_at = rng.randrange(len(journal.entries) + 1)
        share = rng.choice((0, 0.1, 0.5, 0.9, 1))
        cut = journal.entries[cut_at][0] if cut_at < len(journal.entries) else 1 << 60
        disk = Disk(self.disk)
        for _, what, words, payload in journal.entries[:cut_at]:
            disk.apply(what, words, payload)
        remove_tree(self.disk)
        disk.write_out(self.disk, Pick(rng, share))
        agent = self.agent(environment=self.preload(TLC_POWER_BOOT=self.next_boot()))
        agent("open", self.store, STRICT, LIMIT, expect="TLC_OK")
        self.found(agent, history, cut, settled=False)
        while agent("describe", expect="TLC_OK").json["index"]["rebuilding"]:
            agent("get", "never", expect="TLC_MISS")
        self.found(agent, history, cut, settled=True)
        for name in ("after", "name-0"):
            agent("put", name, 9, 5000, expect=("TLC_OK", "TLC_EXISTED"))
            agent("get", name, expect="TLC_OK")
        self.found(agent, {**history.of, "name-0": None}, cut, settled=False)
        agent("verify", 1, expect="TLC_OK")
        self.assertEqual(agent("verify", expect="TLC_OK").json["damaged"], [])
        self.assertEqual(agent.finish(), 0)
        self.agents.clear()
        # A segment whose beginning never reached the disk has nothing that was promised, and goes with the next eviction.
        found = read_store(self.store)
        self.assertEqual([one for one in found.damage if not one[0].startswith("segments/")], [])

    def found(self, agent, history, cut, settled):
        """No wrong bytes; once a rebuild is through, what a durable process vouched for."""
        of = history.of if isinstance(history, History) else {}
        for name in of:
            answer = agent("get", name, expect=("TLC_OK", "TLC_MISS", "TLC_REJECTED"))
            version = answer.version if answer.status == "TLC_OK" else GONE
            if settled:
                self.assertIn(version, history.allowed(name, cut), f"{name}: {answer.line}; {of[name]}, cut at {cut}")

    def rounds(self, durable_share, states):
        made = 0
        while made < states:
            rng = random.Random(f"{SEED}:{durable_share}:{made}")
            path, history = self.live(rng, durable_share)
            journal = Journal(path)
            for _ in range(min(PER_HISTORY, states - made)):
                with self.subTest(seed=SEED, state=made):
                    self.check(journal, history, random.Random(f"{SEED}:{durable_share}:{made}:state"))
                made += 1

    def test_an_older_index_is_not_believed(self):
        """Index and control file as they were after the first of six durable publishes; all else as it was at the end."""
        os.mkdir(self.disk)
        self.store, path = os.path.join(self.disk, "store"), self.path("journal")
        agent = self.agent(environment=self.preload(TLC_POWER_UNDER=self.disk, TLC_POWER_JOURNAL=path,
                                                    TLC_POWER_BOOT=self.next_boot()))
        agent("open", self.store, STRICT | DURABLE, LIMIT, expect="TLC_OK")
        for i in range(6):
            agent("put", f"name-{i}", 1, 5000, expect="TLC_OK")
            agent("flush", expect="TLC_OK")
            old = self.at(path) if i == 0 else old
        agent.finish()
        disk, never_written = Disk(self.disk), set()
        for at, what, words, payload in Journal(path).entries:
            if what == "create" and (os.path.basename(words[1]).startswith("control") or "/index-" in words[1]):
                never_written.add(words[0])
            if at < old or what not in ("write", "size") or words[0] not in never_written:
                disk.apply(what, words, payload)
        remove_tree(self.disk)
        disk.write_out(self.disk, Pick(random.Random(SEED), 1))
        self.assertEqual(len(read_store(self.store).entries), 1)
        again = self.agent(environment=self.preload(TLC_POWER_BOOT=self.next_boot()))
        again("open", self.store, STRICT, expect="TLC_OK")
        while again("describe", expect="TLC_OK").json["index"]["rebuilding"]:
            again("get", "never", expect="TLC_MISS")
        self.assert_versions(again, {f"name-{i}": 1 for i in range(6)})

    def test_what_was_durable_wins_over_what_was_lost_in_part(self):
        """A newer record, not durable, whose header reached the disk and whose payload did not."""
        self.store = self.path("store")
        durable, other = (self.agent(self.store, flags) for flags in (STRICT | DURABLE, STRICT))
        durable("put", "name", 1, 20_000, expect="TLC_OK")
        other("replace", "name", 2, 20_000, expect="TLC_OK")
        newer, = read_store(self.store).entries.values()
        for agent in (durable, other):
            agent.finish()
        with open(os.path.join(self.format_folder(), "segments", f"{newer.segment:016x}.seg"), "r+b") as file:
            file.seek(newer.offset + 8192)
            file.write(bytes(4096))
        again = self.agent(environment=self.preload(TLC_POWER_BOOT=self.next_boot()))
        again("open", self.store, STRICT, expect="TLC_OK")
        while again("describe", expect="TLC_OK").json["index"]["rebuilding"]:
            again("get", "never", expect="TLC_MISS")
        self.assertEqual(again("get", "name", expect="TLC_OK").version, 1)

    def test_all_durable(self):
        self.rounds(1, STATES * 2 // 5)

    def test_durable_and_other_processes_together(self):
        self.rounds(0.5, STATES * 2 // 5)

    def test_nothing_durable(self):
        self.rounds(0, STATES - 2 * (STATES * 2 // 5))


if __name__ == "__main__":
    main()
