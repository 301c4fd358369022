# SPDX-License-Identifier: MIT
"""The command line itself: help, wrong use, exit codes, versions."""

import json
import re

from support import NEGATIVE, USAGE, CliTest, main

COMMANDS = ["compile", "why", "get", "ls", "show", "put", "stats", "verify", "gc", "clear", "config", "backends",
            "doctor", "version", "completion"]


class Help(CliTest):
    def test_each_command_explains_itself_with_an_example(self):
        overview, _ = self.run_tool("--help")
        for command in COMMANDS:
            with self.subTest(command):
                self.assertRegex(overview, rf"(?m)^  {command} ")
                text, err = self.run_tool(command, "--help")
                self.assertTrue(text.split("\n\n")[1].startswith(f"Usage: tlcache {command}"), text)
                self.assertRegex(text, rf"(?s)(Example|By hand).*tlcache {command}")
                self.assertEqual(err, "")

    def test_lines_fit_a_terminal(self):
        for command in [[], *([name] for name in COMMANDS)]:
            text, _ = self.run_tool(*command, "--help")
            longest = max(text.splitlines(), key=len)
            self.assertLessEqual(len(longest), 100, longest)

    def test_nothing_hidden_is_shown(self):
        self.assertNotIn("complete-words", self.run_tool("--help")[0])

    def test_no_arguments_is_wrong_use_and_shows_help(self):
        out, err = self.run_tool(expect=USAGE)
        self.assertEqual(out, "")
        self.assertIn("Usage: tlcache COMMAND", err)


class WrongUse(CliTest):
    def test_errors_are_one_sentence(self):
        cases = {
            ("frobnicate",): "unknown command 'frobnicate'",
            ("stast",): "perhaps 'stats'",
            ("--json",): "a command is missing",
            ("ls", "--bogus"): "unknown option '--bogus'",
            ("ls", "extra"): "unexpected argument 'extra'",
            ("ls", "ls"): "unexpected argument 'ls'",
            ("ls", "--sort", "name"): "'name' is none of age, size, used",
            ("ls", "--limit", "-3"): "'-3' is no whole number",
            ("ls", "--limit", "99999999999999999999"): "is no whole number",
            ("ls", "--limit"): "--limit needs a value",
            ("get",): "DIGEST is required",
            ("get", "xyz1"): "'xyz1' is no digest",
            ("get", "abc"): "'abc' is no digest",
            ("get", "0" * 65): "is no digest",
            ("show", ""): "is no digest",
            ("put", "-n", "x"): "MEMBER is required",
            ("put", "a=b"): "--namespace is required",
            ("put", "-n", "x", "--no-toolchain", "--toolchain", "gcc", "a=b"): "excludes",
            ("clear",): "--namespace NAME, or --all",
            ("clear", "--all", "--namespace", "x"): "--namespace NAME, or --all",
            ("clear", "--namespace", ""): "--namespace is empty",
            ("gc", "--max", "lots"): "'lots' is no size",
            ("gc", "--max", "-1"): "'-1' is no size",
            ("gc", "--max", "99999999999T"): "is no size",
            ("gc", "--max", "5X"): "is no size",
            ("why", "no/such/thing"): "neither a file nor a digest",
            ("compile",): "FILE is required",
            ("compile", "x.c", "--timeout", "soon"): "no time in seconds",
            ("completion", "tcsh"): "'tcsh' is none of bash, zsh, fish",
            ("stats", "--json", "--openmetrics"): "either --json or --openmetrics",
        }
        for arguments, says in cases.items():
            with self.subTest(arguments):
                self.assert_error(*arguments, code=USAGE, says=says)

    def test_read_only_refuses_what_writes(self):
        for arguments in [("put", "-n", "x", "--no-toolchain", "a=b"), ("gc",), ("clear", "--all"),
                          ("verify", "--repair"), ("config", "limit", "1G")]:
            with self.subTest(arguments):
                self.assert_error("--read-only", *arguments, code=USAGE, says="--read-only")


class GlobalOptions(CliTest):
    def test_options_may_come_before_and_after_the_command(self):
        before = json.loads(self.run_tool("--json", "ls")[0])
        after = json.loads(self.run_tool("ls", "--json")[0])
        self.assertEqual(before, after)
        self.assertEqual(before, {"count": 0, "entries": []})

    def test_a_refused_plugin_file_is_listed(self):
        report = self.run_json("backends", "--allow-plugins", environment={"TLC_BACKEND_PATH": "/nonexistent/x.so"})
        self.assertEqual([refused["origin"] for refused in report["refused"]], ["/nonexistent/x.so"])

    def test_dir_wins_over_the_environment(self):
        digest = self.put()
        there = self.run_json("ls", "--dir", self.path("store"), environment={"TLC_DIR": self.path("other")})
        self.assertEqual([entry["digest"] for entry in there["entries"]], [digest])
        self.assertEqual(self.run_json("ls", environment={"TLC_DIR": self.path("other")})["count"], 0)

    def test_a_relative_dir_is_meant_from_here(self):
        digest = self.put()
        self.assertEqual(self.run_json("ls", "--dir", "store")["entries"][0]["digest"], digest)

    def test_a_plugin_that_is_not_there_is_an_error_that_names_it(self):
        self.assert_error("backends", "--plugin", "/no/such/plugin.so", code=3, says="/no/such/plugin.so")


class Terminals(CliTest):
    def test_colour_on_a_terminal_unless_refused(self):
        self.put()
        self.assertIn(b"\x1b[1mDIGEST", self.run_on_terminal("ls"))
        self.assertNotIn(b"\x1b", self.run_on_terminal("ls", environment={"NO_COLOR": "1"}))
        self.assertNotIn(b"\x1b", self.run_on_terminal("ls", environment={"TERM": "dumb"}))

    def test_long_labels_are_cut_to_the_width(self):
        self.put(more=["--label", "an extraordinarily long label " * 5])
        lines = self.run_on_terminal("ls", environment={"NO_COLOR": "1"}).decode().splitlines()
        self.assertTrue(all(len(line) <= 80 for line in lines), lines)
        self.assertIn("…", lines[1])

    def test_binary_does_not_go_to_a_terminal(self):
        digest = self.put(bytes(range(32)))
        self.assertIn(b"would garble the terminal", self.run_on_terminal("get", digest))


class Versions(CliTest):
    def test_version(self):
        short, _ = self.run_tool("--version")
        self.assertRegex(short, r"\Atlcache \d+\.\d+\.\d+\n\Z")
        facts = self.run_json("version")
        self.assertEqual(f"tlcache {facts['tool']}\n", short)
        self.assertRegex(facts["library"], r"\A\d+\.\d+\.\d+")
        self.assertIn("store", facts["features"])
        self.assertTrue(self.run_tool("version")[0].startswith(short))

    def test_output_has_no_colour_when_it_is_no_terminal(self):
        self.put()
        for command in (["ls"], ["doctor"], ["backends"], ["stats"], ["why", "abcd"]):
            done = self.run_raw(*command)
            self.assertIn(done.returncode, (0, NEGATIVE))
            self.assertFalse(re.search(rb"\x1b", done.stdout + done.stderr), command)


if __name__ == "__main__":
    main()
