# SPDX-License-Identifier: MIT
"""Hosts that share a folder as a remote. A host is a store of its own; the folder is on a network by what fstatfs is made to
say, or, where FUSE mounts can be made, is really on one, which can be stopped."""

import errno
import os
import shutil
import signal
import subprocess
import time
import unittest

from agents import LYING_SHIM, SHIM, VERIFY_STRICT, AgentTest, Died, main

TOTALS = ("remote_gets", "remote_hits", "remote_puts", "remote_errors", "compiles")


class Hosts(AgentTest):
    def setUp(self):
        super().setUp()
        self.notes = self.path("notes")
        self.net = self.path("net")

    def host(self, name, flags=1, parameters="", **environment):
        """An agent on the host's own store, with the shared folder as a remote."""
        agent = self.agent(environment={"TLC_REMOTES": f"dir:{self.net}?host={name}{parameters}", **environment})
        agent("open", self.path("store-" + name), flags, expect="TLC_OK")
        return agent

    def compile(self, agent, key, milliseconds=0):
        answer = agent("compile", key, self.notes, "plain", milliseconds)
        self.assertEqual((answer.status, answer.get("version")), ("TLC_OK", "1"), answer.line)

    def compiles(self):
        if not os.path.exists(self.notes):
            return 0
        with open(self.notes, encoding="ascii") as file:
            return len(file.readlines())

    def totals(self, agent):
        total = agent("stats", expect="TLC_OK").json["total"]
        return {name: total[name] for name in TOTALS}

    def remote_of(self, agent):
        return agent("describe", expect="TLC_OK").json["remotes"][0]

    def queued(self, agent):
        return self.remote_of(agent)["queued"]

    def wait_until_sent(self, agent):
        while self.queued(agent):
            time.sleep(0.05)


class Sharing(Hosts):
    def test_what_one_host_compiled_the_other_finds(self):
        a = self.host("a")
        for i in range(10):
            self.compile(a, f"key-{i}")
        self.assertEqual(self.totals(a)["compiles"], 10)
        self.assertEqual(a.finish(), 0)
        b = self.host("b")
        for i in range(10):
            self.compile(b, f"key-{i}")
        self.assertEqual(self.compiles(), 10)
        self.assertEqual(self.totals(b), {"remote_gets": 10, "remote_hits": 10, "remote_puts": 0, "remote_errors": 0,
                                          "compiles": 0})
        self.compile(b, "only-b")
        b.finish()
        a = self.host("a")
        self.compile(a, "only-b")
        self.assertEqual(self.compiles(), 11)
        names = os.listdir(os.path.join(self.net, "tlcdir1"))
        self.assertLess(len(names), 8)
        for name in names:
            self.assertEqual(os.stat(os.path.join(self.net, "tlcdir1", name)).st_mode & 0o777, 0o600)

    def test_one_process_of_a_host_asks(self):
        a = self.host("a")
        self.compile(a, "cold")
        a.finish()
        agents = [self.host("b") for _ in range(8)]
        for agent in agents:
            agent.send("compile", "cold", self.notes, "plain", 0, 4)
        for agent in agents:
            self.assertEqual(agent.receive().status, "TLC_OK")
        for agent in agents:
            agent("stats")
        self.assertEqual(self.compiles(), 1)
        self.assertEqual(self.totals(agents[0])["remote_gets"], 1)

    def test_two_hosts_that_believe_to_be_one(self):
        """A cloned machine: nobody overwrites what the other wrote."""
        first, second = self.host("same"), self.host("same", TLC_DIR=self.path("store-clone"))
        for i in range(30):
            self.compile(first if i % 2 else second, f"key-{i}")
        first.finish()
        second.finish()
        reader = self.host("reader")
        for i in range(30):
            self.compile(reader, f"key-{i}")
        self.assertEqual(self.compiles(), 30)

    def test_headers_lead_each_host_to_what_its_files_make(self):
        header = self.write("include/h.h", "#define VALUE 1\n")
        request = ("source=%23include%20%22h.h%22%0Aint%20f(void)%7Breturn%20VALUE;%7D", "language=c",
                   "include_dirs=" + os.path.dirname(header))

        def build(name, value, compiled):
            agent = self.host(name)
            answer = agent("cc", *request)
            self.assertEqual((answer.status, answer["value"], answer["compiled"]), ("TLC_OK", value, compiled), answer.line)
            self.assertEqual(agent.finish(), 0)
        build("a", "1", "1")
        build("b", "1", "0")
        self.write("include/h.h", "#define VALUE 2\n")
        build("c", "2", "1")  # its variant joins that of a
        build("d", "2", "0")
        build("a", "2", "0")
        self.write("include/h.h", "#define VALUE 1\n")
        build("e", "1", "0")

    def test_strict_hosts_take_what_their_user_s_key_made(self):
        self.compile(self.host("a", flags=VERIFY_STRICT | 1), "strict")
        self.compile(self.host("plain"), "plain")
        for agent in self.agents:
            agent.finish()
        b = self.host("b", flags=VERIFY_STRICT | 1)
        self.compile(b, "strict")
        self.assertEqual(self.compiles(), 2)
        self.compile(b, "plain")  # nobody vouches for it
        self.assertEqual(self.compiles(), 3)
        self.assertEqual(self.totals(b)["remote_errors"], 1)
        other = self.path("other-home")
        os.mkdir(other)
        c = self.host("c", flags=VERIFY_STRICT | 1, HOME=other)
        self.compile(c, "strict")
        self.assertEqual(self.compiles(), 4)

    @unittest.skipIf("thread" in os.environ.get("TLC_TEST_SANITIZER", ""),
                     "ThreadSanitizer takes a thread of the child for the parent's of the same address")
    def test_fork(self):
        a = self.host("a")
        self.compile(a, "before")
        answer = a("fork", "compile", "in-child", self.notes, "plain", 0, ";", "compile", "before", self.notes, "plain", 0,
                   ";", "close")
        self.assertEqual(answer.status, "TLC_OK", answer.line)
        self.assertEqual(answer["child"].count("TLC_OK"), 3, answer.line)
        self.compile(a, "after")
        self.assertEqual(a.finish(), 0)
        b = self.host("b")
        for key in ("before", "in-child", "after"):
            self.compile(b, key)
        self.assertEqual(self.compiles(), 3)

    @unittest.skipUnless(SHIM, "a sanitizer has threads of its own")
    def test_no_thread_until_there_is_something_to_do(self):
        def threads(agent):
            return len(os.listdir(f"/proc/{agent.process.pid}/task"))
        alone = self.agent(self.store)
        self.compile(alone, "alone")
        a = self.host("a")
        before = threads(alone)
        self.assertEqual(threads(a), before)
        self.compile(a, "key")
        self.assertEqual(threads(a), before + 1)
        a("close", expect="TLC_OK")
        self.assertEqual(threads(a), before)
        again = self.host("a")
        self.compile(again, "key")
        self.assertEqual(threads(again), before)

    def test_a_read_only_store_reads_the_remote(self):
        a = self.host("a")
        self.compile(a, "key")
        a.finish()
        self.host("b").finish()
        b = self.host("b", flags=3)
        self.compile(b, "key")
        self.compile(b, "new")
        b.finish()
        self.assertEqual(self.compiles(), 2)
        c = self.host("c")
        self.compile(c, "new")
        self.assertEqual(self.compiles(), 3)


class Faults(Hosts):
    def test_killed_while_writing(self):
        """Whatever the place, the next process of the host sends what this one could not."""
        for step in ("outbox.begun", "remote.before_put", "dir.written", "dir.before_rename", "dir.renamed",
                     "outbox.written"):
            with self.subTest(step=step):
                a = self.host("a")
                a("env", "TLC_TEST_KILL", step)
                self.compile(a, step)
                with self.assertRaises(Died) as died:
                    while True:
                        a("pid")
                        time.sleep(0.02)
                self.assertEqual(died.exception.args[0], -signal.SIGKILL)
                again = self.host("a")
                self.wait_until_sent(again)
                again.finish()
                b = self.host("b")
                before = self.compiles()
                self.compile(b, step)
                self.assertEqual(self.compiles(), before)
                b.finish()

    def test_killed_when_it_had_queued(self):
        a = self.host("a")
        a("env", "TLC_TEST_KILL", "outbox.noted")
        with self.assertRaises(Died):
            self.compile(a, "key")
        self.host("a").finish()
        self.compile(self.host("b"), "key")
        self.assertEqual(self.compiles(), 1)

    def test_killed_at_any_time(self):
        done = 0
        for turn in range(12):
            agent = self.host("a")
            try:
                for i in range(200):
                    agent.send("compile", f"key-{done}", self.notes, "plain", 0)
                    if i == turn * 3 + 2:
                        agent.process.kill()
                    agent.receive()
                    done += 1
            except Died:
                pass
        last = self.host("a")
        for i in range(done):
            self.compile(last, f"key-{i}")
        self.wait_until_sent(last)
        last.finish()
        reader = self.host("reader")
        before = self.compiles()
        for i in range(done):
            self.compile(reader, f"key-{i}")
        # At each kill one key may have been published and not yet queued.
        self.assertLessEqual(self.compiles() - before, 12)
        self.assertEqual(self.totals(reader)["remote_errors"], 0)

    @unittest.skipUnless(SHIM, "no shim beside a sanitizer")
    def test_a_full_or_broken_disk_behind_the_remote(self):
        for code in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE):
            with self.subTest(code=errno.errorcode[code]):
                key = errno.errorcode[code]
                a = self.host("a", LD_PRELOAD=SHIM)
                a("under", self.net, expect="TLC_OK")
                a("arm", "fsync", code, 1, -1, expect="TLC_OK")
                self.compile(a, key)
                a("close", expect="TLC_OK")
                a("open", self.path("store-a"), 1, expect="TLC_OK")
                facts = self.remote_of(a)
                self.assertEqual(facts["queued"], 1, facts)
                a("arm", "fsync", code, 1, 0, expect="TLC_OK")
                a.finish()
                again = self.host("a")
                self.wait_until_sent(again)
                again.finish()
                self.assertEqual([n for n in os.listdir(self.net + "/tlcdir1") if not n.endswith(".pack")], [])
                before = self.compiles()
                b = self.host("b")
                self.compile(b, key)
                self.assertEqual(self.compiles(), before)
                b.finish()

    @unittest.skipUnless(SHIM, "no shim beside a sanitizer")
    def test_reads_that_fail(self):
        a = self.host("a")
        for i in range(40):
            self.compile(a, f"key-{i}")
        a.finish()
        for code in (errno.EIO, errno.ESTALE, errno.ENOENT):
            for call in ("pread", "openat"):
                b = self.host(f"b{code}{call[0]}", LD_PRELOAD=SHIM)
                b("under", self.folder, expect="TLC_OK")  # its own answers do not fail
                for i in range(40):
                    b("arm", call, code, i % 10 + 1, 1 + i % 3, expect="TLC_OK")
                    self.compile(b, f"key-{i}")
                b("arm", call, code, 1, 0)
                self.assertEqual(b.finish(), 0)

    def test_damaged_packs_are_compiled_again_and_replaced(self):
        a = self.host("a")
        self.compile(a, "key")
        a.finish()
        folder = os.path.join(self.net, "tlcdir1")
        pack = os.path.join(folder, os.listdir(folder)[0])
        with open(pack, "rb") as file:
            whole = file.read()
        for turn, place in enumerate((0, 40, 200, len(whole) // 2, len(whole) - 100, len(whole) - 1)):
            os.unlink(pack)
            with open(os.open(pack, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
            for name in os.listdir(folder):
                if os.path.join(folder, name) != pack:
                    os.unlink(os.path.join(folder, name))
            b = self.host(f"b{turn}")
            self.compile(b, "key")
            self.assertEqual(self.compiles(), 2 + turn)
            b.finish()
            c = self.host(f"c{turn}")
            self.compile(c, "key")
            self.assertEqual(self.compiles(), 2 + turn)
            c.finish()

    def test_folder_of_somebody_else(self):
        os.mkdir(self.net)
        if os.geteuid() == 0:
            os.chown(self.net, 65534, 65534)
        else:
            os.chmod(self.net, 0o777)
        a = self.host("a")
        self.compile(a, "key")
        facts = a("describe", expect="TLC_OK").json
        self.assertEqual(facts["remotes"][0]["state"], "refused")
        self.assertNotIn("\n", facts["remotes"][0]["reason"])
        self.assertIn("TLC_REMOTES" if os.geteuid() == 0 else "chmod", facts["remotes"][0]["reason"])
        self.assertIn(facts["remotes"][0]["reason"], " ".join(facts["warnings"]))
        self.assertEqual(os.listdir(self.net), [])


class NetworkFolder(Hosts):
    """A store whose place is on a network goes to a local folder, and the place becomes its remote."""

    def placed(self, name, **environment):
        """A host with a local place of its own, whose store is asked for in the shared folder."""
        local = self.path("run-" + name)
        os.makedirs(local, mode=0o700, exist_ok=True)
        agent = self.agent(environment={"TLC_DIR": self.net, "XDG_RUNTIME_DIR": local, **environment})
        agent("open", "-", 1, expect="TLC_OK")
        return agent

    def check(self, **environment):
        a = self.placed("a", **environment)
        facts = a("describe", expect="TLC_OK").json
        self.assertEqual(facts["directory"], self.path("run-a", "tlcache"))
        self.assertEqual(facts["asked_directory"], self.net)
        self.assertEqual([(r["url"], r["origin"], r["state"], r["writable"]) for r in facts["remotes"]],
                         [("dir:" + self.net, "network folder", "ready", True)])
        self.assertIn("is a remote of it", " ".join(facts["warnings"]))
        self.compile(a, "key")
        a.finish()
        self.assertEqual(os.listdir(self.net), ["tlcdir1"])
        b = self.placed("b", **environment)
        self.compile(b, "key")
        self.assertEqual(self.compiles(), 1)
        b.finish()
        c = self.placed("c", TLC_REMOTES="none", **environment)
        self.assertEqual(c("describe", expect="TLC_OK").json["remotes"], [])
        self.compile(c, "key")
        self.assertEqual(self.compiles(), 2)
        c.finish()

    @unittest.skipUnless(LYING_SHIM, "no shim beside a sanitizer")
    def test_by_what_the_system_says(self):
        os.mkdir(self.net, 0o700)
        self.check(LD_PRELOAD=LYING_SHIM, TLC_LIE_STATFS=f"6969 {self.net}")

    def mount(self):
        """A real FUSE mount; returns the process behind it."""
        bindfs = shutil.which("bindfs")
        if bindfs is None or not os.path.exists("/dev/fuse"):
            self.skipTest("needs bindfs and /dev/fuse")
        os.mkdir(self.path("behind"), 0o700)
        os.mkdir(self.net, 0o700)
        server = subprocess.Popen([bindfs, "-f", "--no-allow-other", self.path("behind"), self.net],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def unmount():
            server.send_signal(signal.SIGCONT)
            for agent in self.agents:
                if agent.process.poll() is None:
                    agent.process.kill()
                    agent.process.wait()
            subprocess.run(["umount", self.net] if os.geteuid() == 0 else ["fusermount", "-u", self.net], check=False)
            server.wait(20)
        for _ in range(500):
            if os.path.ismount(self.net):
                self.addCleanup(unmount)
                return server
            if server.poll() is not None:
                break
            time.sleep(0.02)
        server.kill()
        server.wait()
        self.skipTest("needs the right to mount with FUSE")

    def test_on_a_real_mount(self):
        self.mount()
        self.check()

    def test_a_mount_that_stops_answering(self):
        """Who compiles waits as long as the deadline, once; closing comes back; what was queued is sent later."""
        server = self.mount()
        agent = self.placed("a")
        self.compile(agent, "before")
        self.wait_until_sent(agent)
        server.send_signal(signal.SIGSTOP)
        for i in range(10):
            self.compile(agent, f"key-{i}")
        facts = self.remote_of(agent)
        self.assertEqual(facts["state"], "failing", facts)
        agent("close", expect="TLC_OK")
        agent("pid", expect="TLC_OK")
        server.send_signal(signal.SIGCONT)
        self.assertEqual(agent.finish(), 0)
        again = self.placed("a")
        self.wait_until_sent(again)
        again.finish()
        other = self.placed("b")
        for i in range(10):
            self.compile(other, f"key-{i}")
        self.assertEqual(self.compiles(), 11)


if __name__ == "__main__":
    main()
