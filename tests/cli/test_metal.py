# SPDX-License-Identifier: MIT
"""compile, show and why for Metal, on a machine that may have none: each command is a process of its own."""

import unittest

from support import COMPILE_ERROR, NEGATIVE, USAGE, CliTest, main

SOURCE = """#include <metal_stdlib>
kernel void add(device float* a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a[i] += N; }
"""


class Metal(CliTest):
    def setUp(self):
        super().setUp()
        self.write("k.metal", SOURCE)
        self.environment["PATH"] = "/usr/bin:/bin"  # no xcrun but the system's, which is macOS's only

    def compile(self, *arguments, **more):
        return self.run_json("compile", "k.metal", *arguments, **more)

    def test_a_second_process_hits_and_show_lists_the_functions(self):
        first = self.compile("--target", "metal:apple7", "-D", "N=1")
        self.assertEqual(first["outcome"], "compiled")
        second = self.compile("--target", "metal:apple7", "-D", "N=1")
        self.assertEqual((second["outcome"], second["digest"]), ("hit", first["digest"]))
        told = self.run_json("show", first["digest"])
        self.assertEqual(told["binaries"]["kernel.metal"],
                         {"format": "Metal source", "kernels": [{"name": "add", "kind": "kernel"}]})
        self.assertEqual([one["name"] for one in told["members"]], ["kernel.metal", "options.json"])
        self.assertIn("add", self.run_tool("show", first["digest"])[0])

    def test_targets_and_options_have_keys_of_their_own(self):
        digests = {self.compile("--target", target, *more)["digest"] for target, *more in (
            ("metal",), ("metal:apple7",), ("metal:mac2",), ("metal:apple7:msl3.1",), ("metal:apple7:macos14.0",),
            ("metal", "-D", "N=1"), ("metal", "--option=-ffast-math"))}
        self.assertEqual(len(digests), 7)
        self.assertIn(self.compile("--target", "metal:msl3.1:apple7")["digest"], digests)
        out, _ = self.run_tool("why", "k.metal", "--target", "metal:apple8", expect=NEGATIVE)
        self.assertIn("metal:apple8", out)

    def test_what_is_wrong_is_said(self):
        self.assert_error("compile", "k.metal", "--target", "metal:sm_90", code=USAGE, says="no GPU family")
        self.write("open.metal", "kernel void f() {} /* open")
        _, err = self.run_tool("compile", "open.metal", "--target", "metal", expect=COMPILE_ERROR)
        self.assertIn("a comment in it has no end", err)


if __name__ == "__main__":
    main()
