# SPDX-License-Identifier: MIT
"""Folders that are not ours, not writable, not there: a defined answer, one line of reason that names the option."""

import os
import stat
import unittest

from agents import READ_ONLY, AgentTest, libc_call, main, mounted

NOBODY = 65534


class Places(AgentTest):
    def assert_memory(self, agent, folder, *says, environment_says="TLC_DIR"):
        """Opens without STRICT: works from memory and says why in one line. STRICT: an error with the same line."""
        agent("open", folder, 0, expect="TLC_OK")
        facts = agent("describe", expect="TLC_OK").json
        self.assertEqual(facts["state"], "memory", facts)
        self.assertNotIn("\n", facts["reason"])
        for part in (*says, environment_says):
            self.assertIn(part, facts["reason"])
        agent("put", "new", 1, 1000, expect="TLC_NOT_STORED")
        self.assertEqual(agent("get", "new", expect="TLC_OK").version, 1)
        agent("cache", "strict")
        answer = agent("open", folder, 1)
        self.assertIn(answer.status, ("TLC_E_IO", "TLC_E_DENIED", "TLC_E_UNAVAILABLE"))
        self.assertEqual(answer["message"], facts["reason"])

    def assert_store(self, agent, folder):
        agent("open", folder, 1, expect="TLC_OK")
        self.assertEqual(agent("describe", expect="TLC_OK").json["state"], "store")
        agent("put", "new", 1, 1000, expect=("TLC_OK", "TLC_EXISTED"))
        self.assertEqual(agent("get", "new", expect="TLC_OK").version, 1)

    def as_nobody(self, **more):
        """An agent without any right; its folder must let it in."""
        if os.geteuid() != 0:
            self.skipTest("needs to change the user")
        os.chmod(self.folder, 0o755)

        def drop():
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return self.agent(preexec_fn=drop, **more)

    def plain_agent(self, **more):
        return self.as_nobody(**more) if os.geteuid() == 0 else self.agent(**more)

    def own_folder(self, name, mode=0o700):
        path = self.path(name)
        os.mkdir(path)
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        os.chmod(path, mode)
        return path

    def test_foreign_owner(self):
        if os.geteuid() != 0:
            self.skipTest("needs to change an owner")
        os.mkdir(self.store)
        os.chown(self.store, NOBODY, NOBODY)
        self.assert_memory(self.agent(), self.store, str(NOBODY))

    def test_foreign_format_folder(self):
        """A store planted by somebody else below a folder of ours is not used."""
        if os.geteuid() != 0:
            self.skipTest("needs to change an owner")
        agent = self.agent(self.store)
        agent("put", "planted", 1, 1000, expect="TLC_OK")
        agent.finish()
        os.chown(self.format_folder(), NOBODY, NOBODY)
        other = self.agent()
        self.assert_memory(other, self.store, str(NOBODY))
        other("cache", 0)
        other("get", "planted", expect="TLC_MISS")

    def test_world_writable(self):
        os.mkdir(self.store)
        for mode in (0o777, 0o770, 0o702):
            with self.subTest(mode=oct(mode)):
                os.chmod(self.store, mode)
                agent = self.agent()
                if mode & 0o022:
                    self.assert_memory(agent, self.store, "chmod")

    def test_world_writable_format_folder(self):
        self.agent(self.store).finish()
        os.chmod(self.format_folder(), 0o777)
        agent = self.agent()
        agent("open", self.store, 0, expect="TLC_OK")
        facts = agent("describe", expect="TLC_OK").json
        self.assertEqual(facts["state"], "memory")
        self.assertIn("chmod", facts["reason"])

    def test_symlinked_folder(self):
        os.mkdir(self.path("real"), 0o700)
        os.symlink(self.path("real"), self.store)
        self.assert_store(self.agent(), self.store)
        self.assert_store(self.agent(), self.path("real"))

    def test_symlinked_format_folder_is_refused(self):
        self.agent(self.store).finish()
        inner = self.format_folder()
        os.rename(inner, self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), inner)
        agent = self.agent()
        agent("open", self.store, 0, expect="TLC_OK")
        facts = agent("describe", expect="TLC_OK").json
        self.assertEqual(facts["state"], "memory")
        self.assertTrue(facts["reason"])

    def test_a_file_where_the_folder_should_be(self):
        self.write("store", "")
        self.assert_memory(self.agent(), self.store)

    def test_read_only_folder_without_a_store(self):
        place = self.own_folder("place", 0o500)
        self.assert_memory(self.plain_agent(), place + "/store")

    def test_read_only_store(self):
        place = self.own_folder("place")
        writer = self.plain_agent()
        writer("open", place, 1, expect="TLC_OK")
        writer("put", "old", 1, 1000, expect="TLC_OK")
        writer.finish()
        for folder, _, names in os.walk(place, topdown=False):
            for name in names:
                os.chmod(os.path.join(folder, name), 0o400)
            os.chmod(folder, 0o500)
        agent = self.plain_agent()
        agent("open", place, 0, expect="TLC_OK")
        facts = agent("describe", expect="TLC_OK").json
        self.assertEqual(facts["state"], "read-only", facts)
        self.assertIn("read-only", " ".join(facts["warnings"]))
        self.assertEqual(agent("get", "old", expect="TLC_OK").version, 1)
        agent("put", "new", 1, 1000, expect="TLC_NOT_STORED")

    def test_read_only_mount(self):
        agent = self.agent(self.store)
        agent("put", "old", 1, 1000, expect="TLC_OK")
        agent.finish()
        place = self.path("mounted")
        os.mkdir(place)
        if os.geteuid() != 0:
            self.skipTest("needs the right to mount")
        try:
            libc_call("mount", self.store.encode(), place.encode(), b"none", 4096, b"")  # MS_BIND
        except OSError as error:
            self.skipTest(f"needs the right to mount: {error}")
        try:
            libc_call("mount", b"none", place.encode(), b"none", 4096 | 32 | 1, b"")  # MS_BIND, REMOUNT, RDONLY
            agent = self.agent()
            agent("open", place, 0, expect="TLC_OK")
            facts = agent("describe", expect="TLC_OK").json
            self.assertEqual(facts["state"], "read-only", facts)
            self.assertEqual(agent("get", "old", expect="TLC_OK").version, 1)
            agent("put", "new", 1, 1000, expect="TLC_NOT_STORED")
            self.assertEqual(agent("get", "new", expect="TLC_OK").version, 1)
            agent.finish()
            asked = self.agent(place, READ_ONLY | 1)
            self.assertEqual(asked("get", "old", expect="TLC_OK").version, 1)
            asked.finish()
        finally:
            libc_call("umount2", place.encode(), 2)

    def test_read_only_asked_for(self):
        agent = self.agent(self.store)
        agent("put", "old", 1, 1000, expect="TLC_OK")
        before = self.listing()
        reader = self.agent(self.store, READ_ONLY | 1)
        self.assertEqual(reader("get", "old", expect="TLC_OK").version, 1)
        reader("put", "new", 1, 1000, expect="TLC_NOT_STORED")
        for command in (("remove", "old"), ("clear",), ("gc", 1)):
            self.assertEqual(reader(*command).status, "TLC_NOT_STORED", command)
        reader.finish()
        self.assertEqual(self.listing(), before)

    def listing(self):
        return sorted((folder, name, os.stat(os.path.join(folder, name)).st_size)
                      for folder, _, names in os.walk(self.store) for name in names)

    def test_home_missing(self):
        missing = self.plain_agent(environment={"HOME": self.path("not-there", "at-all"), "XDG_CACHE_HOME": None})
        if os.geteuid() == 0:
            os.chmod(self.folder, 0o555 | stat.S_IXUSR)
        self.assert_memory(missing, "-")

    def test_home_unset(self):
        """The user data base says where home is; a user it does not know has none."""
        if os.geteuid() != 0:
            self.skipTest("needs to change the user")

        def drop():
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)
        os.chmod(self.folder, 0o755)
        agent = self.agent(environment={"HOME": None, "XDG_CACHE_HOME": None}, preexec_fn=drop)
        self.assert_memory(agent, "-", "home")

    def test_unknown_user_with_a_folder(self):
        if os.geteuid() != 0:
            self.skipTest("needs to change the user")
        os.chmod(self.folder, 0o755)
        place = self.path("place")
        os.mkdir(place)
        os.chown(place, 54321, 54321)

        def drop():
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)
        self.assert_store(self.agent(environment={"HOME": None}, preexec_fn=drop), place + "/store")

    def test_umask(self):
        for mask in (0o000, 0o777, 0o077):
            with self.subTest(mask=oct(mask)):
                store = self.path(f"store-{mask:o}")
                self.assert_store(self.plain_agent(umask=mask) if mask == 0o777 and os.geteuid() != 0
                                  else self.agent(umask=mask), store)
                for folder, _, names in os.walk(store):
                    self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode) & 0o077, 0, folder)
                    for name in names:
                        mode = stat.S_IMODE(os.lstat(os.path.join(folder, name)).st_mode)
                        self.assertEqual(mode & 0o077, 0, os.path.join(folder, name))
                self.assert_store(self.agent(), store)

    def test_umask_of_everything_as_a_plain_user(self):
        place = self.own_folder("place")
        agent = self.plain_agent(umask=0o777)
        self.assert_store(agent, place + "/store")
        agent.finish()
        other = self.plain_agent()
        other("open", place + "/store", 1, expect="TLC_OK")
        self.assertEqual(other("get", "new", expect="TLC_OK").version, 1)

    def test_relative_environment(self):
        agent = self.agent(environment={"TLC_DIR": "relative"})
        self.assertIn("TLC_DIR", agent("open", "-", 1)["message"])


if __name__ == "__main__":
    main()
