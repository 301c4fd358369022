# SPDX-License-Identifier: MIT
"""compile and why, with the machine's C compiler."""

import os
import re
import shutil
import subprocess
import sys
import unittest

from support import COMPILE_ERROR, FAILED, NEGATIVE, USAGE, CliTest, main

SOURCE = "int answer(void) { return 42; }\n"


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Compile(CliTest):
    def setUp(self):
        super().setUp()
        self.write("k.c", SOURCE)

    def compile(self, *arguments, **more):
        return self.run_json("compile", "k.c", "--target", "cpu:native", *arguments, **more)

    def call(self, path, name="answer"):
        """The value of a function in a library, called in a process of its own."""
        code = f"import ctypes; print(getattr(ctypes.CDLL({path!r}), {name!r})())"
        return int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)

    def test_first_compiled_then_hit_and_it_runs(self):
        first = self.compile("-O2", "-o", "k.so")
        self.assertEqual(first["outcome"], "compiled")
        self.assertEqual(first["written"], ["k.so"])
        self.assertEqual(self.call(self.path("k.so")), 42)
        second = self.compile("-O2", "-o", "again.so")
        self.assertEqual((second["outcome"], second["digest"]), ("hit", first["digest"]))
        self.assertEqual(self.call(self.path("again.so")), 42)
        self.assertGreater(second["compile_us"], 0)
        self.assertEqual(second["label"], "k.c")
        text, err = self.run_tool("compile", "k.c", "-t", "cpu:native", "-O2")
        self.assertRegex(text, rf"\Ahit  {first['digest']}  in ")
        self.assertEqual(err, "")
        self.assertEqual(self.run_tool("compile", "k.c", "-t", "cpu:native", "-O2", "--quiet")[0], "")

    def test_what_changes_the_code_changes_the_digest(self):
        digests = {self.compile(*options)["digest"] for options in (
            [], ["-O3"], ["-O2"], ["-D", "A"], ["-D", "A=1"], ["-DA=2"], ["--option=-ffast-math"],
            ["--option", "-fno-math-errno"], ["--namespace", "other"], ["--std", "c11"])}
        self.assertEqual(len(digests), 10)
        self.assertIn(self.compile("--label", "other label")["digest"], digests)

    def test_defines_languages_and_standard_input(self):
        self.write("d.cpp", '#include <string>\nextern "C" int answer() { return std::string(N, 65).size(); }\n')
        self.run_tool("compile", "d.cpp", "-t", "cpu", "--std", "c++17", "-D", "N=7", "-o", "d.so")
        self.assertEqual(self.call(self.path("d.so")), 7)
        self.run_tool("compile", "-", "-t", "cpu", "-o", "in.so", stdin=SOURCE.encode())
        self.assertEqual(self.call(self.path("in.so")), 42)
        self.run_tool("compile", "-", "-t", "cpu", "--language", "c++", "-o", "in2.so",
                      stdin=b'extern "C" int answer() { return 9; }')
        self.assertEqual(self.call(self.path("in2.so")), 9)

    def test_headers_beside_the_file_and_in_folders(self):
        self.write("sub/k.c", '#include "near.h"\n#include <far.h>\nint answer(void) { return NEAR + FAR; }\n')
        self.write("sub/near.h", "#define NEAR 1\n")
        self.write("inc/far.h", "#define FAR 10\n")
        arguments = ["compile", "sub/k.c", "-t", "cpu", "-I", "inc", "-o", "h.so"]
        self.assertEqual(self.run_json(*arguments)["outcome"], "compiled")
        self.assertEqual(self.call(self.path("h.so")), 11)
        self.assertEqual(self.run_json(*arguments)["outcome"], "hit")
        self.write("inc/far.h", "#define FAR 20\n")
        self.assertEqual(self.run_json(*arguments)["outcome"], "compiled")
        self.assertEqual(self.call(self.path("h.so")), 21)

    def test_a_compile_error_shows_the_compilers_words_whole(self):
        lines = "".join(f"#warning line number {n}\n" for n in range(300))
        self.write("bad.c", lines + "int answer(void) { return undeclared_name; }\n")
        out, err = self.run_tool("compile", "bad.c", "-t", "cpu", expect=COMPILE_ERROR)
        self.assertEqual(out, "")
        self.assertIn("line number 0", err)
        self.assertIn("line number 299", err)
        self.assertIn("undeclared_name", err)
        self.assertRegex(err.splitlines()[-1], r"\Atlcache: ")
        kept = [entry for entry in self.run_json("ls", "--all")["entries"] if entry["namespace"] == "cli"]
        self.assertEqual(kept, [])

    def test_warnings_are_shown_once(self):
        self.write("w.c", "#warning look here\nint x;\n")
        self.assertIn("look here", self.run_tool("compile", "w.c", "-t", "cpu")[1])
        self.assertEqual(self.run_tool("compile", "w.c", "-t", "cpu")[1], "")

    def test_a_failure_is_kept_on_request(self):
        self.write("bad.c", "int answer( {\n")
        for _ in range(2):
            self.run_tool("compile", "bad.c", "-t", "cpu", "--keep-failure", expect=COMPILE_ERROR)
        kinds = [entry["kind"] for entry in self.run_json("ls", "--all")["entries"]]
        self.assertIn("failure", kinds)
        self.assertEqual(self.run_json("ls")["count"], 0)

    def test_no_compile_only_looks(self):
        out, err = self.run_tool("compile", "k.c", "-t", "cpu", "--no-compile", expect=NEGATIVE)
        self.assertRegex(out, r"\Amiss")
        self.assertEqual(err, "")
        self.assertEqual(self.run_json("compile", "k.c", "-t", "cpu", "--no-compile", expect=NEGATIVE),
                         {"outcome": "miss"})
        self.run_tool("compile", "k.c", "-t", "cpu")
        self.run_tool("compile", "k.c", "-t", "cpu", "--no-compile")

    def test_errors(self):
        self.assert_error("compile", "k.c", code=USAGE, says=["--target", "cpu:native"])
        self.assert_error("compile", "none.c", "-t", "cpu", code=FAILED, says=["none.c", "No such file"])
        self.assert_error("compile", self.folder, "-t", "cpu", code=FAILED, says="directory")
        self.assert_error("compile", "k.c", "-t", "quantum:x1", code=FAILED, says=["'quantum'", "cpu (engine cc)"])
        named = {"TLC_BACKEND_PATH": self.path("quantum.so")}
        self.assert_error("compile", "k.c", "-t", "quantum:x1", code=FAILED, says="--allow-plugins", environment=named)
        self.assert_error("compile", "k.c", "-t", "cpu", "-e", "magic", code=FAILED, says=["'magic'", "cpu (engine cc)"])
        self.assert_error("compile", "k.c", "-t", "cpu", "-D", "A", "-D", "A=1", code=USAGE, says="-D A is given twice")
        self.assert_error("compile", "k.c", "-t", "cpu", "-D", "=1", code=USAGE, says="has no name")
        self.assert_error("compile", "k.c", "-t", "cpu", "--option=-fplugin=x.so", code=FAILED, says="-fplugin")
        self.assert_error("compile", "k.c", "-t", "cpu", "--language", "cobol", code=USAGE, says="cobol")
        self.assert_error("compile", "k.c", "-t", "cpu", "--json", "-o", "-", code=USAGE, says="--json")

    def test_show_and_stats_after_a_compile(self):
        digest = self.compile("-O3")["digest"]
        self.compile("-O3")
        text, _ = self.run_tool("show", digest)
        self.assertIn("cpu:", text)
        self.assertIn("-O3", text)
        self.assertRegex(text, r"functions +answer")
        binary = self.run_json("show", digest)["binaries"]["kernel.so"]
        self.assertEqual((binary["format"], binary["functions"]), ("ELF shared object", ["answer"]))
        total = self.run_json("stats")["total"]
        self.assertEqual(total["compiles"], 1)
        self.assertGreaterEqual(total["hits"], 1)
        self.assertGreater(total["compile_us"], 0)


@unittest.skipUnless(os.environ.get("TLC_TEST_NVRTC"), "no NVRTC (TLC_TEST_NVRTC)")
class CompileCuda(CliTest):
    def setUp(self):
        super().setUp()
        self.environment["TLC_NVRTC"] = os.environ["TLC_TEST_NVRTC"]
        self.write("k.cu", '#include "scale.h"\nextern "C" __global__ void k(float* p) { *p *= SCALE * N; }\n')
        self.write("scale.h", "#define SCALE 2\n")

    def compile(self, *arguments, **more):
        return self.run_json("compile", "k.cu", "-t", "cuda:sm_90", "-D", "N=3", *arguments, **more)

    def test_a_cubin_and_then_a_hit_until_a_header_changes(self):
        arguments = ("-O3", "--std", "c++17", "-I", ".", "-o", "k.cubin")
        first = self.compile(*arguments)
        self.assertEqual(first["outcome"], "compiled")
        with open(self.path("k.cubin"), "rb") as file:
            self.assertEqual(file.read(4), b"\x7fELF")
        self.assertEqual(self.compile(*arguments)["outcome"], "hit")
        shown = self.run_json("show", first["digest"])["binaries"]["kernel.cubin"]
        self.assertEqual((shown["archs"], shown["kernels"][0]["name"]), (["sm_90"], "k"))
        self.write("scale.h", "#define SCALE 4\n")
        self.assertEqual(self.compile(*arguments)["outcome"], "compiled")

    def test_ptx_and_what_is_wrong(self):
        self.compile("--field", "output=ptx", "-o", "k.ptx")
        with open(self.path("k.ptx"), encoding="utf-8") as file:
            self.assertIn(".entry k", file.read())
        out, err = self.run_tool("compile", "k.cu", "-t", "cuda:sm_90", expect=COMPILE_ERROR)
        self.assertEqual(out, "")
        self.assertIn("kernel.cu(2): error: identifier \"N\" is undefined", err)
        self.assert_error("compile", "k.cu", "-t", "cuda:sm_999", "-D", "N=1", code=FAILED, says=["sm_999", "sm_80"])
        self.assert_error("compile", "k.cu", "-t", "cuda:sm_90", "--option=-arch=sm_80", code=USAGE, says="target")


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Why(CliTest):
    def setUp(self):
        super().setUp()
        self.write("k.c", '#include "size.h"\nint answer(void) { return SIZE; }\n')
        self.write("size.h", "#define SIZE 5\n")
        self.arguments = ["k.c", "--target", "cpu", "-O2", "-D", "N=1"]

    def test_never_built_then_hit(self):
        out, _ = self.run_tool("why", *self.arguments, expect=NEGATIVE)
        self.assertIn("never built", out)
        self.run_tool("compile", *self.arguments)
        out, _ = self.run_tool("why", *self.arguments)
        self.assertRegex(out, r"\Ahit [0-9a-f]{12}: ")
        self.assertEqual(self.run_json("why", *self.arguments)["outcome"], "hit")

    def test_it_names_the_option_that_differs(self):
        self.run_tool("compile", *self.arguments)
        out, _ = self.run_tool("why", "k.c", "-t", "cpu", "-O3", "-D", "N=2", expect=NEGATIVE)
        self.assertIn("never built", out)
        self.assertRegex(out, r'options\[0\]: "?-O2"? -> "?-O3"?')
        self.assertRegex(out, r'defines\.N: "?1"? -> "?2"?')
        report = self.run_json("why", "k.c", "-t", "cpu", "-O3", "-D", "N=2", expect=NEGATIVE)
        self.assertEqual(report["outcome"], "never")
        self.assertEqual(len(report["nearest"]["differences"]), 2)

    def test_it_names_the_header_that_changed(self):
        self.run_tool("compile", *self.arguments)
        self.write("size.h", "#define SIZE 6\n")
        out, _ = self.run_tool("why", *self.arguments, expect=NEGATIVE)
        self.assertIn(f"{self.path('size.h')}  has changed", out)
        os.unlink(self.path("size.h"))
        out, _ = self.run_tool("why", *self.arguments, expect=NEGATIVE)
        self.assertIn(f"{self.path('size.h')}  is gone", out)

    def test_it_knows_what_was_removed(self):
        self.run_tool("compile", *self.arguments)
        self.run_tool("clear", "--all")
        out, _ = self.run_tool("why", *self.arguments, expect=NEGATIVE)
        self.assertIn("miss", out)

    def test_by_digest(self):
        digest = self.run_json("compile", *self.arguments)["digest"]
        self.assertTrue(re.match(rf"hit {digest[:12]}", self.run_tool("why", digest[:8])[0]))
        self.assert_error("why", "k.c", code=USAGE, says="--target is missing")

    def test_it_compiles_nothing(self):
        self.run_tool("why", *self.arguments, expect=NEGATIVE)
        self.assertEqual(self.run_json("stats")["total"]["compiles"], 0)
        self.assertEqual(self.run_json("ls")["count"], 0)


if __name__ == "__main__":
    main()
