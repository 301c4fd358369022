# SPDX-License-Identifier: MIT
"""What goes wrong around the command: damaged stores, closed pipes, full disks, signals."""

import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from support import FAILED, NEGATIVE, TOOL, CliTest, main


class Pipes(CliTest):
    def test_a_reader_that_goes_away_is_no_error(self):
        digest = self.put(os.urandom(1 << 20))
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; '{TOOL}' get {digest} | head -c 10 | wc -c; exit ${{PIPESTATUS[0]}}"],
            capture_output=True, env=self.environment, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout.strip(), done.stderr), (0, b"10", b""))

    def test_a_full_disk_behind_standard_output_is_one(self):
        digest = self.put(b"content")
        for arguments in (["ls"], ["ls", "--json"], ["get", digest], ["--help"], ["version"]):
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                done = subprocess.run([TOOL, *arguments], stdout=full, stderr=subprocess.PIPE, env=self.environment,
                                      check=False, timeout=60)
                self.assertEqual(done.returncode, FAILED)
                self.assertIn(b"tlcache: standard output: No space left", done.stderr)

    def test_standard_output_that_is_closed(self):
        done = subprocess.run(["bash", "-c", f"'{TOOL}' ls >&-"], stderr=subprocess.PIPE, env=self.environment,
                              check=False, timeout=60)
        self.assertIn(done.returncode, (0, FAILED))


class Stores(CliTest):
    def files(self):
        found = [os.path.join(folder, name) for folder, _, names in os.walk(self.path("store")) for name in names]
        return sorted(path for path in found if os.path.isfile(path) and os.path.getsize(path) > 0)

    def test_a_store_that_cannot_be_made(self):
        inside_file = self.write("plain", "x") + "/store"
        for arguments in (["ls"], ["stats"], ["verify"], ["clear", "--all"], ["get", "abcd"], ["config"]):
            with self.subTest(arguments):
                self.assert_error(*arguments, "--dir", inside_file, code=FAILED,
                                  says=["cannot open the store", self.path("plain")])
        facts = self.run_json("doctor", "--dir", inside_file, expect=NEGATIVE)
        self.assertEqual(facts["state"], "memory")
        self.assertTrue(facts["reason"])

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_compile_works_without_a_store_and_says_so(self):
        inside_file = self.write("plain", "x") + "/store"
        self.write("k.c", "int x;\n")
        out, err = self.run_tool("compile", "k.c", "-t", "cpu", "--dir", inside_file, "-o", "k.so")
        self.assertIn("compiled", out)
        self.assertIn("tlcache: warning: no store can be used", err)
        self.assertTrue(os.path.exists(self.path("k.so")))

    def test_flipped_bytes_are_found_and_never_handed_out(self):
        content = random.Random(7).randbytes(50_000)
        digest = self.put(content)
        marker = content[20_000:20_064]
        flipped = 0
        for path in self.files():
            with open(path, "r+b") as file:
                at = file.read().find(marker)
                if at >= 0:
                    file.seek(at)
                    file.write(bytes([marker[0] ^ 1]))
                    flipped += 1
        self.assertEqual(flipped, 1)
        done = self.run_raw("get", digest)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, b"")
        report = self.run_json("verify", expect=NEGATIVE)
        self.assertEqual([entry["digest"] for entry in report["damaged"]], [digest])
        self.assertIn("damaged " + digest[:12], self.run_tool("verify", expect=NEGATIVE)[0])
        self.run_tool("verify", "--repair")
        self.assertIn("the store is sound", self.run_tool("verify")[0])
        self.assertEqual(self.put(content), digest)
        self.assertEqual(self.run_raw("get", digest).stdout, content)

    def test_a_damaged_index_is_found_and_made_anew(self):
        digest = self.put(b"precious" * 1000)
        index = [path for path in self.files() if path.endswith("data.mdb")]
        self.assertEqual(len(index), 1)
        with open(index[0], "r+b") as file:
            file.write(b"\xff" * 8192)
        self.assertEqual(self.run_json("verify", expect=NEGATIVE)["index"]["state"], "damaged")
        out, progress = self.run_tool("verify", "--repair")
        self.assertIn("index: rebuilt", out)
        self.assertIn("the store is sound", out)
        self.assertEqual(progress, "")  # a bar is for a terminal
        self.assertEqual(self.run_json("verify")["index"]["state"], "whole")
        self.assertEqual(self.run_raw("get", digest).stdout, b"precious" * 1000)

    def test_whatever_is_on_disk_no_command_crashes(self):
        """Each file of the store truncated, overwritten and removed in turn."""
        content = b"precious" * 1000
        digest = self.put(content)
        self.put(b"other", field="k=other", namespace="two")
        shutil.copytree(self.path("store"), self.path("backup"), symlinks=True)

        def truncate(path):
            os.truncate(path, os.path.getsize(path) // 2)

        def overwrite(path):
            size = os.path.getsize(path)
            with open(path, "r+b") as file:
                file.write(random.Random(3).randbytes(min(size, 1 << 20)))

        names = [os.path.relpath(path, self.path("store")) for path in self.files()]
        self.assertGreater(len(names), 1)
        for name in names:
            for damage in (truncate, overwrite, os.unlink):
                with self.subTest(file=os.path.basename(name), damage=damage.__name__):
                    shutil.rmtree(self.path("store"))
                    shutil.copytree(self.path("backup"), self.path("store"), symlinks=True)
                    damage(self.path("store", name))
                    got = self.run_raw("get", digest)
                    self.assertIn(got.returncode, (0, 1, 3), got.stderr)
                    self.assertEqual(got.stdout, content if got.returncode == 0 else b"")
                    for arguments in (["ls"], ["show", digest], ["why", digest], ["stats"], ["doctor"], ["verify"],
                                      ["verify", "--repair"], ["gc"], ["config"]):
                        done = self.run_raw(*arguments)
                        self.assertIn(done.returncode, (0, 1, 3), (arguments, done.stderr))
                    self.assertEqual(self.put(content), digest)
                    self.assertEqual(self.run_raw("get", digest).stdout, content)


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Signals(CliTest):
    def test_an_interrupted_compile_ends_and_leaves_the_store_usable(self):
        compiler = self.write("slow-cc", "#!/bin/sh\ncase \"$*\" in *-dumpversion*|*--version*) exec cc \"$@\";; esac\n"
                              "for a in \"$@\"; do [ \"$a\" = -shared ] && exec sleep 30; done\nexec cc \"$@\"\n")
        os.chmod(compiler, 0o755)
        self.write("k.c", "int x;\n")
        arguments = [TOOL, "compile", "k.c", "-t", "cpu", "--compiler", compiler]
        process = subprocess.Popen(arguments, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        time.sleep(1.5)
        self.assertIsNone(process.poll(), "the slow compiler was not used")
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, err = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
        self.assertEqual((out, err), (b"", b"tlcache: interrupted\n"))
        self.run_tool("compile", "k.c", "-t", "cpu")


if __name__ == "__main__":
    main()
