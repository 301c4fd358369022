# SPDX-License-Identifier: MIT
"""The completion scripts, in the shells that are installed."""

import os
import shutil
import subprocess
import unittest

from support import TOOL, CliTest, main


class Scripts(CliTest):
    def script(self, shell):
        out, _ = self.run_tool("completion", shell)
        return self.write(f"completion.{shell}", out)

    def shell(self, *command):
        environment = {**self.environment, "PATH": os.path.dirname(TOOL) + ":" + os.environ["PATH"]}
        return subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=environment, check=True,
                              timeout=60).stdout

    def complete_in_bash(self, *words):
        line = " ".join(f"'{word}'" for word in words)
        return self.shell(
            "bash", "--norc", "-c",
            f"source {self.script('bash')}; compopt() {{ :; }}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
            "_tlcache; printf '%s\\n' \"${COMPREPLY[@]}\"").split()

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash(self):
        digest = self.put(namespace="alpha")[:12]
        self.assertEqual(self.complete_in_bash("tlcache", "comp"), ["compile", "completion"])
        self.assertEqual(self.complete_in_bash("tlcache", "show", ""), [digest])
        self.assertEqual(self.complete_in_bash("tlcache", "ls", "--namespace", ""), ["alpha"])
        self.assertEqual(self.complete_in_bash("tlcache", "ls", "--so"), ["--sort"])
        self.assertEqual(self.complete_in_bash("tlcache", "compile", "--target", "cp"), ["cpu"])
        self.assertEqual(self.complete_in_bash("tlcache", "--dir", self.path("other"), "show", ""), [])

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash_offers_every_option(self):
        for command in ("compile", "why", "get", "put", "ls", "stats", "verify", "gc", "clear"):
            help_text = self.run_tool(command, "--help")[0].split("Options:\n")[1].split("\n\n")[0]
            wanted = {word.strip(",") for line in help_text.splitlines() for word in line[:29].split()
                      if word.startswith("--")}
            offered = set(self.complete_in_bash("tlcache", command, "--"))
            self.assertLessEqual(wanted, offered, command)

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_reads_it(self):
        self.shell("zsh", "-f", "-n", self.script("zsh"))
        self.shell("zsh", "-f", "-c", f"autoload -U compinit; compinit -u -d {self.path('dump')}; "
                                      f"source {self.script('zsh')}; [[ $_comps[tlcache] == _tlcache ]]")

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish(self):
        digest = self.put(namespace="alpha")[:12]
        script = self.script("fish")

        def offered(line):
            out = self.shell("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'")
            return {row.split("\t")[0] for row in out.splitlines()}

        self.assertEqual(offered("tlcache comp"), {"compile", "completion"})
        self.assertIn(digest, offered("tlcache show "))
        self.assertEqual(offered("tlcache ls --namespace "), {"alpha"})

    def test_nothing_to_offer_is_no_error(self):
        for what in ("digests", "namespaces"):
            self.assertEqual(self.run_tool("complete-words", what), ("", ""))
            broken = self.write("file", "no folder")
            self.assertEqual(self.run_tool("complete-words", what, "--dir", broken + "/x"), ("", ""))


if __name__ == "__main__":
    main()
