# SPDX-License-Identifier: MIT
"""What the tests of the command share: a store of their own, and the command run in it."""

import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

TOOL = os.environ.get("TLCACHE_TOOL") or shutil.which("tlcache")
PRELOAD = os.environ.get("TLCACHE_TEST_PRELOAD", "")
OK, NEGATIVE, USAGE, FAILED, COMPILE_ERROR = range(5)


class CliTest(unittest.TestCase):
    """Each test has a folder, self.folder, and an empty store in it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tlc-cli-")
        self.addCleanup(self.remove_folder)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TLC_")}
        self.environment.update(
            TLC_DIR=self.path("store"), HOME=self.path("home"), XDG_CONFIG_HOME=self.path("home", "config"),
            XDG_CACHE_HOME=self.path("home", "cache"), LC_ALL="C.UTF-8")
        os.mkdir(self.path("home"))

    def remove_folder(self):
        for folder, _, _ in os.walk(self.folder):
            os.chmod(folder, 0o700)
        shutil.rmtree(self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def run_raw(self, *arguments, stdin=b"", environment=None, **more):
        return subprocess.run(
            [TOOL, *arguments], input=stdin, capture_output=True, timeout=120, cwd=self.folder,
            env={**self.environment, **(environment or {})}, check=False, **more)

    def run_tool(self, *arguments, expect=OK, **more):
        """Runs the command, checks the exit code; returns (stdout, stderr) as text."""
        done = self.run_raw(*arguments, **more)
        out, err = done.stdout.decode(), done.stderr.decode(errors="replace")
        self.assertEqual(done.returncode, expect, f"tlcache {' '.join(arguments)}\n{out}\n{err}")
        return out, err

    def run_on_terminal(self, *arguments, environment=None):
        """Runs the command with a terminal of 60 columns as output; returns what it shows."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        process = subprocess.Popen([TOOL, *arguments], stdin=follower, stdout=follower, stderr=follower, cwd=self.folder,
                                   env={**self.environment, "TERM": "xterm", **(environment or {})})
        os.close(follower)
        shown = b""
        try:
            while chunk := os.read(leader, 65536):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        finally:
            os.close(leader)
        process.wait(timeout=60)
        return shown

    def run_json(self, *arguments, expect=OK, **more):
        out, _ = self.run_tool(*arguments, "--json", expect=expect, **more)
        return json.loads(out)

    def assert_error(self, *arguments, code, says, **more):
        """Fails in one sentence on standard error that begins `tlcache: `, with nothing on standard output."""
        out, err = self.run_tool(*arguments, expect=code, **more)
        self.assertEqual(out, "")
        self.assertRegex(err, r"\Atlcache: [^\n]+\n\Z")
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, err)
        return err

    def put(self, content=b"hello", name="data.bin", field="k=v", namespace="test", more=()):
        """Stores one member; returns the digest."""
        source = self.write("put.bin", content)
        out, _ = self.run_tool("put", "-n", namespace, "--no-toolchain", "--field", field, f"{name}={source}", *more)
        return out.strip()


def main():
    if not TOOL:
        sys.exit("set TLCACHE_TOOL to the command to test")
    unittest.main(verbosity=2)
