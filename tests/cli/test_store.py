# SPDX-License-Identifier: MIT
"""put, get, ls, show, stats, verify, gc, clear, config: the life of an artifact."""

import os
import stat
import time

from support import FAILED, NEGATIVE, OK, USAGE, CliTest, main


class PutAndGet(CliTest):
    def test_what_was_put_is_got(self):
        content = bytes(range(256)) * 100
        digest = self.put(content)
        self.assertRegex(digest, r"\A[0-9a-f]{64}\Z")
        self.assertEqual(self.run_raw("get", digest[:8]).stdout, content)
        self.assertEqual(self.run_raw("get", digest.upper()[:8]).stdout, content)
        out, _ = self.run_tool("get", digest, "-o", "out.bin")
        self.assertEqual(out, "wrote out.bin\n")
        with open(self.path("out.bin"), "rb") as file:
            self.assertEqual(file.read(), content)

    def test_an_empty_member(self):
        self.assertEqual(self.run_raw("get", self.put(b"")).stdout, b"")

    def test_several_members_become_a_folder(self):
        a, b = self.write("a", "first"), self.write("b", "second")
        digest = self.run_tool("put", "-n", "test", "--no-toolchain", f"kernel.so={a}", f"meta.json={b}")[0].strip()
        self.run_tool("get", digest, "-o", "folder")
        self.assertEqual(sorted(os.listdir(self.path("folder"))), ["kernel.so", "meta.json"])
        with open(self.path("folder", "meta.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "second")
        self.assertTrue(os.stat(self.path("folder", "kernel.so")).st_mode & stat.S_IXUSR)
        self.assertFalse(os.stat(self.path("folder", "meta.json")).st_mode & stat.S_IXUSR)
        self.assertEqual(self.run_raw("get", digest, "--member", "meta.json").stdout, b"second")
        self.run_tool("get", digest, "-m", "meta.json", "-o", "single")
        with open(self.path("single"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "second")
        self.assert_error("get", digest, code=USAGE, says=["2 members", "kernel.so, meta.json"])
        self.assert_error("get", digest, "-o", "-", code=USAGE, says=["2 members", "--member"])
        self.assert_error("get", digest, "-m", "other", code=NEGATIVE, says=["'other'", "kernel.so, meta.json"])
        written = self.run_json("get", digest, "-o", "folder")["written"]
        self.assertEqual(written, ["folder/kernel.so", "folder/meta.json"])

    def test_a_member_goes_into_an_existing_folder_under_its_name(self):
        digest = self.put(b"x", name="one.bin")
        os.mkdir(self.path("there"))
        self.run_tool("get", digest, "-o", "there")
        self.assertEqual(os.listdir(self.path("there")), ["one.bin"])
        self.run_tool("get", digest, "-o", "made/deep/")
        self.assertEqual(os.listdir(self.path("made", "deep")), ["one.bin"])

    def test_output_goes_through_pipes_and_devices(self):
        digest = self.put(b"x")
        self.run_tool("get", digest, "-o", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.assertEqual(self.run_raw("get", digest, "-o", "-").stdout, b"x")

    def test_an_output_that_cannot_be_written(self):
        digest = self.put(b"x")
        self.assert_error("get", digest, "-o", "no/such/file", code=FAILED, says="no/such/file")
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("no")])

    def test_nothing_there(self):
        self.put()
        for command in ("get", "show", "why"):
            with self.subTest(command):
                self.assert_error(command, "0123456789abcdef", code=NEGATIVE,
                                  says="nothing is stored under 0123456789abcdef")

    def test_members_from_standard_input(self):
        out, _ = self.run_tool("put", "-n", "t", "--no-toolchain", "a=-", stdin=b"piped")
        self.assertEqual(self.run_raw("get", out.strip()).stdout, b"piped")

    def test_a_key_that_is_stored_is_kept_unless_replaced(self):
        digest = self.put(b"old")
        source = self.write("new", "new")
        same = ["put", "-n", "test", "--no-toolchain", "--field", "k=v", f"data.bin={source}"]
        out, err = self.run_tool(*same)
        self.assertEqual(out.strip(), digest)
        self.assertIn("stored already", err)
        self.assertEqual(self.run_json(*same)["outcome"], "existed")
        self.assertEqual(self.run_raw("get", digest).stdout, b"old")
        self.assertEqual(self.run_json(*same, "--replace"), {"outcome": "stored", "digest": digest})
        self.assertEqual(self.run_raw("get", digest).stdout, b"new")

    def test_replace_of_what_is_not_there_stores_it(self):
        digest = self.put(b"first", more=["--replace"])
        self.assertEqual(self.run_raw("get", digest).stdout, b"first")


class Fields(CliTest):
    def put_fields(self, *fields):
        source = self.write("f", "content")
        arguments = [part for field in fields for part in ("--field", field)]
        return self.run_tool("put", "-n", "fields", "--no-toolchain", *arguments, f"f={source}")[0].strip()

    def test_types_make_different_keys(self):
        self.write("five", "5")
        fields = ["k=5", "k:int=5", "k:f64=5", "k:bool=1", "k:null", "k:file=five", "k=", "j=5"]
        self.assertEqual(len({self.put_fields(field) for field in fields}), len(fields))

    def test_spellings_of_one_value_make_one_key(self):
        self.assertEqual(self.put_fields("k=a"), self.put_fields("k:text=a"))
        self.assertEqual(self.put_fields("k:bool=true"), self.put_fields("k:bool=1"))
        self.assertEqual(self.put_fields("a=1", "b=2"), self.put_fields("b=2", "a=1"))
        self.assertEqual(self.put_fields("k:f64=0.5"), self.put_fields("k:f64=5e-1"))
        self.assertEqual(self.put_fields("k=a=b"), self.put_fields("k:text=a=b"))

    def test_the_widest_numbers(self):
        self.put_fields("a:int=-9223372036854775808", "b:int=18446744073709551615")

    def test_bad_fields(self):
        source = self.write("f", "content")
        cases = {"k": "has no value", "=v": "has no name", "k:int=": "no whole number", "k:int=1.5": "no whole number",
                 "k:int=18446744073709551616": "no whole number", "k:int=-9223372036854775809": "no whole number",
                 "k:int=5 ": "no whole number", "k:f64=abc": "no number", "k:f64=": "no number",
                 "k:bool=yes": "neither true nor false", "k:null=1": "null takes no value",
                 "k:color=red": "no type 'color'", ":int=5": "has no name"}
        for field, says in cases.items():
            with self.subTest(field):
                self.assert_error("put", "-n", "t", "--no-toolchain", "--field", field, f"f={source}", code=USAGE,
                                  says=says)
        self.assert_error("put", "-n", "t", "--no-toolchain", "--field", "k:file=nofile", f"f={source}", code=FAILED,
                          says=["nofile", "No such file"])
        self.assert_error("put", "-n", "t", "--no-toolchain", "--field", "k=1", "--field", "k:int=2", f"f={source}",
                          code=USAGE, says="'k' is given twice")

    def test_bad_members(self):
        source = self.write("f", "content")
        cases = {f"a/b={source}": (USAGE, "a/b"), f"..={source}": (USAGE, "'..'"), f".={source}": (USAGE, "'.'"),
                 "noequals": (USAGE, "is no member"), "a=": (USAGE, "is no member"),
                 "a=nofile": (FAILED, "nofile"), f"a={self.folder}": (FAILED, "directory")}
        for member, (code, says) in cases.items():
            with self.subTest(member):
                self.assert_error("put", "-n", "t", "--no-toolchain", member, code=code, says=says)
        self.assert_error("put", "-n", "t", "--no-toolchain", f"a={source}", f"a={source}", code=USAGE,
                          says="'a' is given twice")
        self.assertEqual(self.run_json("ls")["count"], 0)

    def test_names_that_the_library_refuses(self):
        source = self.write("f", "content")
        for namespace in ("tlc.mine", "with space", "x" * 129):
            with self.subTest(namespace):
                self.assert_error("put", "-n", namespace, "--no-toolchain", f"f={source}", code=USAGE, says="namespace")
        self.assert_error("put", "-n", "t", "--no-toolchain", "--target", "bad target!", f"f={source}", code=USAGE,
                          says="bad target!")

    def test_a_toolchain_must_be_stated(self):
        source = self.write("f", "content")
        self.assert_error("put", "-n", "t", f"f={source}", code=USAGE, says="--no-toolchain")
        one = self.run_tool("put", "-n", "t", "--toolchain", "gcc-1", f"f={source}")[0]
        two = self.run_tool("put", "-n", "t", "--toolchain", "gcc-2", f"f={source}")[0]
        self.assertNotEqual(one, two)


class Listing(CliTest):
    def test_ls_sorts_filters_and_limits(self):
        small = self.put(b"x", field="n:int=1", namespace="one", more=["--label", "small thing"])
        time.sleep(0.02)
        large = self.put(b"y" * 200_000, field="n:int=2", namespace="two")
        by_age = [entry["digest"] for entry in self.run_json("ls")["entries"]]
        self.assertEqual(by_age, [large, small])
        by_size = self.run_json("ls", "--sort", "size")["entries"]
        self.assertEqual([entry["digest"] for entry in by_size], [large, small])
        self.assertGreaterEqual(by_size[0]["size"], 200_000)
        only = self.run_json("ls", "--namespace", "one")["entries"]
        self.assertEqual([(entry["digest"], entry["label"]) for entry in only], [(small, "small thing")])
        limited = self.run_json("ls", "--limit", "1")
        self.assertEqual((limited["count"], len(limited["entries"])), (2, 1))
        text, _ = self.run_tool("ls", "--limit", "1")
        self.assertIn(large[:12], text)
        self.assertIn("... and 1 more", text)
        self.assertIn(small, self.run_tool("ls", "--long")[0])
        self.assertIn("just now", text)

    def test_an_empty_store(self):
        self.assertEqual(self.run_tool("ls")[0], "nothing is stored\n")
        self.assertEqual(self.run_tool("ls", "-q")[0], "")
        self.assertEqual(self.run_tool("ls", "-n", "none")[0], "nothing is stored in this namespace\n")

    def test_control_characters_of_a_label_stay_out_of_the_terminal(self):
        digest = self.put(more=["--label", "evil\x1b[31m\nline"])
        for command in (["ls"], ["show", digest]):
            done = self.run_raw(*command)
            self.assertNotIn(b"\x1b", done.stdout)
            self.assertIn(b"evil\\x1b[31m\\nline", done.stdout)
        self.assertEqual(self.run_json("show", digest)["label"], "evil\x1b[31m\nline")

    def test_show_tells_members_and_fields(self):
        source = self.write("k.so", "elf")
        digest = self.run_tool("put", "-n", "shown", "--toolchain", "gcc-12", "--target", "abc:x1", "--engine", "own",
                               "--field", "tile:int=64", "--field", "name=matmul", "--label", "the label",
                               f"k.so={source}")[0].strip()
        facts = self.run_json("show", digest[:10])
        self.assertEqual(facts["digest"], digest)
        self.assertEqual(facts["members"], [{"name": "k.so", "type": "shared object", "size": 3}])
        self.assertEqual((facts["namespace"], facts["label"], facts["size"]), ("shown", "the label", 3))
        self.assertEqual((facts["key"]["target"], facts["key"]["engine"]), ("abc:x1", "own"))
        text, _ = self.run_tool("show", digest[:10])
        for part in (digest, "shown", "the label", "abc:x1", "own", "k.so", "3 B", "shared object", "matmul", "tile",
                     "64"):
            self.assertIn(part, text)


class Maintenance(CliTest):
    def test_clear_removes_a_namespace_or_all(self):
        self.put(namespace="one")
        self.put(namespace="two")
        self.put(namespace="two", field="k=w")
        self.assertEqual(self.run_tool("clear", "--namespace", "two")[0], "removed 2 entries\n")
        self.assertEqual([e["namespace"] for e in self.run_json("ls")["entries"]], ["one"])
        self.assertEqual(self.run_json("clear", "--all"), {"removed": 1})
        self.assertEqual(self.run_json("ls")["count"], 0)

    def test_verify_of_a_sound_store(self):
        self.put(b"x" * 5000)
        report = self.run_json("verify")
        self.assertGreaterEqual(report["entries"], 1)
        self.assertEqual(report["damaged"], [])
        self.assertIn("the store is sound", self.run_tool("verify")[0])
        self.assertEqual(self.run_tool("verify", "--quiet")[0], "")
        self.run_tool("verify", "--repair")

    def test_config_shows_and_sets_the_limit(self):
        self.run_tool("config", "limit", "128M")
        self.assertEqual(self.run_tool("config", "limit")[0], "128 MiB\n")
        self.assertEqual(self.run_json("config", "limit"), {"name": "limit", "value": 128 << 20})
        self.assertEqual(self.run_json("config")["limit_bytes"], 128 << 20)
        self.assertIn("128 MiB", self.run_tool("config")[0])
        self.assertEqual(self.run_json("stats")["total"]["limit_bytes"], 128 << 20)
        self.assert_error("config", "limit", "much", code=USAGE, says="much")
        self.assert_error("config", "colour", "red", code=USAGE, says="colour")
        self.assert_error("config", "colour", code=USAGE, says=["no setting 'colour'", "limit"])

    def test_gc_makes_room(self):
        for number in range(20):
            self.put(os.urandom(300_000), field=f"n:int={number}")
        before = self.run_json("stats")["total"]["disk_bytes"]
        report = self.run_json("gc", "--max", "0")
        self.assertGreater(report["freed_bytes"], 0)
        self.assertLess(self.run_json("stats")["total"]["disk_bytes"], before)
        self.assertLess(self.run_json("ls")["count"], 20)
        self.assertRegex(self.run_tool("gc")[0], r"freed .*\nthe store takes .* of .*\n")

    def test_stats_count_hits_misses_and_puts(self):
        digest = self.put(b"abc", namespace="counted")
        self.run_tool("get", digest)
        report = self.run_json("stats")
        self.assertEqual(report["total"]["puts"], 1)
        self.assertEqual(report["total"]["entries"], 1)
        self.assertGreater(report["total"]["disk_bytes"], 0)
        self.assertEqual([one["namespace"] for one in report["namespaces"]], ["counted"])
        self.assertEqual(self.run_json("stats", "-n", "counted")["puts"], 1)
        self.assertIn("counted", self.run_tool("stats")[0])
        self.assert_error("stats", "-n", "absent", code=NEGATIVE, says=["'absent'", "counted"])

    def test_openmetrics(self):
        self.put(namespace="counted")
        text, _ = self.run_tool("stats", "--openmetrics")
        self.assertTrue(text.endswith("# EOF\n"))
        self.assertIn("# TYPE tlcache_puts counter\ntlcache_puts_total 1\n", text)
        self.assertIn('tlcache_namespace_puts_total{namespace="counted"} 1\n', text)
        self.assertRegex(text, r"tlcache_compile_seconds_total \d+\.\d{6}\n")
        families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
        self.assertEqual(len(families), len(set(families)))

    def test_doctor_and_backends(self):
        facts = self.run_json("doctor")
        self.assertEqual(facts["state"], "store")
        self.assertEqual(facts["directory"], self.path("store"))
        self.assertTrue(any(backend["engine"] == "cc" for backend in facts["backends"]))
        text, _ = self.run_tool("doctor")
        for part in (self.path("store"), "Settings", "Backends", "Findings"):
            self.assertIn(part, text)
        self.assertTrue(any("cpu" in b["kinds"] for b in self.run_json("backends")["backends"]))
        self.assertIn("cpu", self.run_tool("backends")[0])

    def test_read_only_reads(self):
        digest = self.put(b"abc")
        self.assertEqual(self.run_raw("get", digest, "--read-only").stdout, b"abc")
        self.assertEqual(self.run_json("ls", "--read-only")["count"], 1)
        self.assertEqual(self.run_json("verify", "--read-only")["damaged"], [])
        self.assertEqual(self.run_json("doctor", "--read-only", expect=OK)["state"], "read-only")


if __name__ == "__main__":
    main()
