# SPDX-License-Identifier: MIT
"""Where processes run: crowds, containers, network disks, wrong clocks, other versions of LMDB, programs that end or
unload the library while their threads use it. TLC_TEST_LONG=1 makes the crowds as large as they get."""

import glob
import os
import shutil
import subprocess
import time
import unittest

from agents import LIBRARY, LYING_SHIM, MIB, SHIM, AgentTest, Died, allocated, libc_call, main

LONG = os.environ.get("TLC_TEST_LONG") == "1"
LIMIT = 16 * MIB
DAY = 24 * 3600
NEWNS, BIND, REC, REMOUNT, RDONLY, PRIVATE = 0x20000, 4096, 16384, 32, 1, 1 << 18


class Crowds(AgentTest):
    OPENERS, PROCESSES, THREADS = (64, 20, 200) if LONG else (24, 6, 50)

    def test_many_open_a_new_store_at_once(self):
        agents = [self.agent() for _ in range(self.OPENERS)]
        for agent in agents:
            agent.send("open", self.store, 1, LIMIT)
        for agent in agents:
            self.assertEqual(agent.receive().status, "TLC_OK")
        for number, agent in enumerate(agents):
            agent("put", f"of-{number}", 1, 2000, expect="TLC_OK")
        self.assertEqual(len(glob.glob(self.format_folder() + "/index-*")), 1)
        everything = {f"of-{number}": 1 for number in range(self.OPENERS)}
        self.assert_versions(agents[0], everything)
        self.assert_versions(agents[-1], everything)

    def test_nothing_is_used_up_by_the_dead(self):
        """Round after round of processes with many threads, half of them killed in the middle."""
        for turn in range(3):
            agents = [self.agent(self.store, limit=LIMIT) for _ in range(self.PROCESSES)]
            for number, agent in enumerate(agents):
                agent.send("compile", f"key-{turn}-{number % 3}", self.path("notes"), "plain", 100, self.THREADS)
            time.sleep(0.05 * turn)
            for agent in agents[::2]:
                agent.kill()
            for agent in agents[1::2]:
                answer = agent.receive()
                self.assertEqual((answer.status, answer["version"]), ("TLC_OK", "1"), answer.line)
                self.assertEqual(agent.finish(), 0)
        last = self.agent(self.store)
        for i in range(20):
            last("put", f"small-{i}", 1, 1000, expect="TLC_OK")
        # At most eight segments take appends, whoever began them.
        self.assertLessEqual(len(os.listdir(self.format_folder() + "/segments")), 8)
        last("begin", "locked", 0, expect="TLC_LOCKED")
        last("abandon")
        for i in range(150):
            last("put", f"after-{i}", 1, 100_000, expect="TLC_OK")
        self.assert_under_limit(last, LIMIT)
        self.assertEqual(last("verify", 1, expect="TLC_OK").json["damaged"], [])
        last("gc", 1, expect="TLC_OK")
        self.assertLess(allocated(self.store), 5 * MIB)


class Containers(AgentTest):
    """A read-only root, an arbitrary user of group 0, a volume with an fsGroup: what Kubernetes gives a pod."""

    UID, FS_GROUP = 1000770000, 2000

    def contained(self, volume, **environment):
        if os.geteuid() != 0:
            self.skipTest("needs to make a mount namespace and change the user")
        os.chmod(self.folder, 0o755)
        place = volume.encode()

        def enter():
            libc_call("unshare", NEWNS)
            libc_call("mount", b"none", b"/", None, PRIVATE | REC, None)
            libc_call("mount", place, place, b"none", BIND, None)
            libc_call("mount", b"none", b"/", b"none", REMOUNT | BIND | RDONLY, None)
            os.setgroups([self.FS_GROUP])
            os.setgid(0)
            os.setuid(self.UID)
        try:
            return self.agent(preexec_fn=enter, environment={"HOME": "/", "XDG_CACHE_HOME": None, **environment})
        except subprocess.SubprocessError as error:
            self.skipTest(f"needs to make a mount namespace: {error}")

    def volume(self):
        path = self.path("volume")
        os.mkdir(path)
        if os.geteuid() == 0:
            os.chown(path, 0, self.FS_GROUP)
            os.chmod(path, 0o2775)
        return path

    def test_no_volume_is_told_of(self):
        agent = self.contained(self.volume())
        agent("open", "-", 0, expect="TLC_OK")
        facts = agent("describe", expect="TLC_OK").json
        self.assertEqual(facts["state"], "memory", facts)
        self.assertIn("TLC_DIR", facts["reason"])
        self.assertNotIn("\n", facts["reason"])
        agent("put", "new", 1, 1000, expect="TLC_NOT_STORED")
        self.assertEqual(agent("get", "new", expect="TLC_OK").version, 1)

    def test_the_volume_itself_is_not_this_user_s(self):
        volume = self.volume()
        agent = self.contained(volume, TLC_DIR=volume)
        agent("open", "-", 0, expect="TLC_OK")
        facts = agent("describe", expect="TLC_OK").json
        self.assertEqual(facts["state"], "memory", facts)
        self.assertIn("TLC_DIR", facts["reason"])
        self.assertEqual(os.listdir(volume), [])

    def test_a_folder_in_the_volume(self):
        volume = self.volume()
        agent = self.contained(volume, TLC_DIR=volume + "/cache")
        agent("open", "-", 1, expect="TLC_OK")
        agent("put", "new", 1, 1000, expect="TLC_OK")
        agent.finish()
        again = self.contained(volume, TLC_DIR=volume + "/cache")
        again("open", "-", 1, expect="TLC_OK")
        self.assertEqual(again("get", "new", expect="TLC_OK").version, 1)


class NetworkDisks(AgentTest):
    KINDS = {"nfs": "6969", "lustre": "0BD00BD0", "gpfs": "47504653", "9p": "01021997", "fuse": "65735546"}

    def assert_moved(self, agent, asked, local):
        agent("open", asked, 1, expect="TLC_OK")
        facts = agent("describe", expect="TLC_OK").json
        self.assertEqual((facts["state"], facts["asked_directory"]), ("store", asked), facts)
        self.assertTrue(facts["directory"].startswith(local), facts["directory"])
        self.assertIn("network", " ".join(facts["warnings"]))
        agent("put", "new", 1, 1000, expect=("TLC_OK", "TLC_EXISTED"))
        self.assertEqual(agent("get", "new", expect="TLC_OK").version, 1)
        self.assertEqual(glob.glob(asked + "/tlc1-*"), [], "a mapped store lies on a network disk")

    @unittest.skipUnless(LYING_SHIM, "needs LD_PRELOAD")
    def test_by_what_the_system_says(self):
        asked, runtime = self.path("network"), self.path("runtime")
        os.mkdir(runtime, 0o700)
        for kind, magic in self.KINDS.items():
            with self.subTest(kind=kind):
                self.assert_moved(self.agent(environment={
                    "LD_PRELOAD": LYING_SHIM, "TLC_LIE_STATFS": f"{magic} {asked}", "XDG_RUNTIME_DIR": runtime}),
                    asked, runtime)

    def test_a_real_fuse_mount(self):
        bindfs = shutil.which("bindfs")
        if bindfs is None or not os.path.exists("/dev/fuse"):
            self.skipTest("needs bindfs and /dev/fuse")
        behind, asked, runtime = self.path("behind"), self.path("fuse"), self.path("runtime")
        for path in (behind, asked, runtime):
            os.mkdir(path, 0o700)
        made = subprocess.run([bindfs, "--no-allow-other", behind, asked], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest(f"bindfs cannot mount: {made.stderr.strip()}")
        try:
            agent = self.agent(environment={"XDG_RUNTIME_DIR": runtime})
            self.assert_moved(agent, asked, runtime)
            agent.finish()
        finally:
            libc_call("umount2", asked.encode(), 2)


@unittest.skipUnless(LYING_SHIM, "needs LD_PRELOAD")
class Clocks(AgentTest):
    def at(self, seconds):
        return self.agent(self.store, limit=LIMIT,
                          environment={"LD_PRELOAD": LYING_SHIM, "TLC_LIE_CLOCK": str(seconds)})

    def rebuilt(self):
        for folder, _, names in os.walk(self.store):
            if "data.mdb" in names:
                os.unlink(os.path.join(folder, "data.mdb"))
        agent = self.at(0)
        agent("verify", 1, expect="TLC_OK")
        return agent

    def test_what_was_stored_last_counts_whatever_the_clock_said(self):
        for number, (first, second) in enumerate(((DAY, 0), (0, -DAY), (0, DAY), (-DAY, 0))):
            with self.subTest(first=first, second=second):
                self.store = self.path(f"store-{number}")
                agent = self.at(first)
                for name in ("replaced", "removed", "cleared", "cleared-and-back"):
                    agent("namespace", "test" if name[0] == "r" else "other")
                    agent("put", name, 1, 3000, expect="TLC_OK")
                agent.finish()
                later = self.at(second)
                later("replace", "replaced", 2, 3000, expect="TLC_OK")
                later("remove", "removed", expect="TLC_OK")
                later("clear", "other", expect="TLC_OK")
                later("namespace", "other")
                later("put", "cleared-and-back", 3, 3000, expect="TLC_OK")
                later.finish()
                for reader in (self.at(0), self.rebuilt()):
                    self.assert_versions(reader, {"replaced": 2, "removed": None})
                    reader("namespace", "other")
                    self.assert_versions(reader, {"cleared": None, "cleared-and-back": 3})

    def test_eviction_takes_the_oldest_whatever_the_clock_said(self):
        for number, clocks in enumerate(((DAY, 0, -DAY), (-DAY, DAY, 0))):
            with self.subTest(clocks=clocks):
                self.store = self.path(f"store-{number}")
                for turn, clock in enumerate(clocks):
                    agent = self.at(clock)
                    for i in range(70):
                        agent("put", f"turn-{turn}-{i}", 1, 100_000, expect="TLC_OK")
                    agent.finish()
                last = self.at(0)
                self.assert_under_limit(last, LIMIT)
                left = [sum(last("get", f"turn-{turn}-{i}").status == "TLC_OK" for i in range(70)) for turn in range(3)]
                self.assertGreater(left[2], 60, left)
                self.assertLess(left[0], 35, left)


@unittest.skipUnless(LYING_SHIM, "needs LD_PRELOAD")
class Versions(AgentTest):
    def with_lmdb(self, version):
        return self.agent(self.store, limit=LIMIT, flags=0,
                          environment={"LD_PRELOAD": LYING_SHIM, "TLC_LIE_LMDB": version})

    def test_an_untested_lmdb_is_refused_with_its_number(self):
        old = self.agent(self.store, limit=LIMIT)
        old("put", "old", 1, 3000, expect="TLC_OK")
        for version in ("0.9.23", "0.9.36", "0.10.0", "1.0.0"):
            with self.subTest(version=version):
                agent = self.with_lmdb(version)
                answer = agent("put", "new", 1, 3000, expect="TLC_NOT_STORED")
                facts = agent("describe", expect="TLC_OK").json
                self.assertIn(version, answer.line + " ".join(facts["warnings"]))
                self.assertEqual(agent("get", "old", expect="TLC_OK").version, 1)  # readers need no liblmdb
        self.assertEqual(old("verify", expect="TLC_OK").json["index"]["state"], "whole")

    def test_tested_ones_meet_on_one_root(self):
        agents = [self.with_lmdb(version) for version in ("0.9.24", "0.9.31", "0.9.35")]
        for turn in range(10):
            for number, agent in enumerate(agents):
                agent("put", f"of-{number}-{turn}", 1, 3000, expect="TLC_OK")
        everything = {f"of-{number}-{turn}": 1 for number in range(3) for turn in range(10)}
        for agent in agents:
            self.assert_versions(agent, everything)

    def test_real_libraries(self):
        """TLC_TEST_LMDB: folders with liblmdb.so.0 of other versions, colon-separated."""
        folders = [one for one in os.environ.get("TLC_TEST_LMDB", "").split(":") if one]
        if not folders:
            self.skipTest("TLC_TEST_LMDB names no other versions of liblmdb")
        agents = [self.agent(self.store, limit=LIMIT, environment={"LD_LIBRARY_PATH": one}) for one in folders]
        versions = {agent("describe", expect="TLC_OK").json["libraries"]["lmdb"] for agent in agents}
        self.assertEqual(len(versions), len(folders), versions)
        for turn in range(40):
            for number, agent in enumerate(agents):
                agent("put", f"of-{number}-{turn}", 1, 3000, expect="TLC_OK")
                agent("replace", f"of-{number}-{turn // 2}", 2, 3000)
        for agent in agents:
            for number in range(len(agents)):
                self.assert_versions(agent, {f"of-{number}-{turn}": {1, 2} for turn in range(40)})
            self.assertEqual(agent("verify", expect="TLC_OK").json["damaged"], [])


class Leaving(AgentTest):
    """A program ends, or lets go of the library, while its threads are inside."""

    def busy(self, agent):
        agent("busy", 6, expect="TLC_OK")
        time.sleep(0.1)

    def check_store(self):
        agent = self.agent(self.store)
        self.assertEqual(agent("verify", expect="TLC_OK").json["damaged"], [])
        agent("put", "after", 1, 3000, expect=("TLC_OK", "TLC_EXISTED"))
        agent.finish()

    def test_exit_while_threads_run(self):
        for how in ("exit", "quick") * 4:
            with self.subTest(how=how):
                agent = self.agent(self.store, limit=LIMIT)
                self.busy(agent)
                with self.assertRaises(Died) as died:
                    agent("leave", how)
                self.assertEqual(died.exception.args[0], 0)
                self.check_store()

    @unittest.skipUnless(SHIM, "a sanitizer takes two copies of a library for a mistake")
    def test_unload_while_threads_run(self):
        copy = self.path("libcopy.so")
        shutil.copy(LIBRARY, copy)
        agent = self.agent()
        agent("library", copy, expect="TLC_OK")
        agent("open", self.store, 1, LIMIT, expect="TLC_OK")
        self.busy(agent)
        agent("unload", expect="TLC_OK")
        time.sleep(0.3)
        agent("pid", expect="TLC_OK")  # its threads are still at it
        with self.assertRaises(Died) as died:
            agent("leave", "exit")
        self.assertEqual(died.exception.args[0], 0)
        self.check_store()


if __name__ == "__main__":
    main()
