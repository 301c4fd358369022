# SPDX-License-Identifier: MIT
"""Agents: processes that use a cache as a test tells them. See agent.cpp for the commands."""

import ctypes
import errno
import glob
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

AGENT = os.environ.get("TLC_TEST_AGENT", "")
LIBRARY = os.environ.get("TLC_TEST_LIBRARY", "")
SHIM = os.environ.get("TLC_TEST_SHIM", "")
POWER_SHIM = os.environ.get("TLC_TEST_POWER_SHIM", "")
LYING_SHIM = os.environ.get("TLC_TEST_LYING_SHIM", "")
SOURCE = os.environ.get("TLC_TEST_SOURCE", "")
STRICT, READ_ONLY, DURABLE, VERIFY_STRICT, MEMORY = 1, 2, 4, 8, 32
# No single command takes this long, however slow the machine is.
HANG_S = float(os.environ.get("TLC_TEST_HANG_S", "60"))
MIB = 1 << 20


class Answer(dict):
    """Name and value pairs of an answer, and its status."""

    def __init__(self, line):
        status, *pairs = line.split("\x1f")
        super().__init__(pair.split("=", 1) for pair in pairs)
        self.status, self.line = status, line.replace("\x1f", " ")

    @property
    def version(self):
        return int(self["version"])

    @property
    def json(self):
        return json.loads(self["json"])


class Died(Exception):
    """The agent ended; args[0] is its exit code, negative for a signal."""


class Hung(Exception):
    """No answer in HANG_S."""


class Agent:
    def __init__(self, folder=None, flags=STRICT, limit=0, command=None, **popen):
        self.process = subprocess.Popen(
            command or [AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **popen)
        self.rest = b""
        if folder is not None:
            self("open", folder, flags, limit, expect="TLC_OK")

    def send(self, *words):
        try:
            self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        except BrokenPipeError:
            raise Died(self.process.wait()) from None

    def receive(self, within=HANG_S):
        end = time.monotonic() + within
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise Hung()
            block = os.read(self.process.stdout.fileno(), 1 << 16)
            if not block:
                raise Died(self.process.wait())
            self.rest += block
        line, self.rest = self.rest.split(b"\n", 1)
        return Answer(line.decode(errors="replace"))

    def __call__(self, *words, expect=None):
        self.send(*words)
        answer = self.receive()
        expected = (expect,) if isinstance(expect, str) else expect
        assert expected is None or answer.status in expected, f"{words}: {answer.line}, not {expect}"
        return answer

    def disk_bytes(self):
        return self("stats", expect="TLC_OK").json["total"]["disk_bytes"]

    def kill(self):
        self.process.kill()
        return self.wait()

    def finish(self):
        """Lets the agent end by itself; returns its exit code."""
        self.process.stdin.close()
        return self.wait()

    def wait(self):
        code = self.process.wait(HANG_S)
        for end in (self.process.stdin, self.process.stdout):
            end.close()
        return code


class AgentTest(unittest.TestCase):
    """Each test has a folder, self.folder, for a store in self.store; its agents are ended with it."""

    environment = {"LC_ALL": "C.UTF-8"}

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tlc-faults-")
        self.store = os.path.join(self.folder, "store")
        self.agents = []
        self.addCleanup(self.clean_up)

    def clean_up(self):
        for agent in self.agents:
            if agent.process.poll() is None:
                agent.process.send_signal(signal.SIGCONT)
                agent.process.kill()
            agent.wait()
        remove_tree(self.folder)

    def agent(self, folder=None, flags=STRICT, limit=0, environment=None, **popen):
        base = {k: v for k, v in os.environ.items() if not k.startswith("TLC_") and k != "LD_PRELOAD"}
        home = self.path("home")
        os.makedirs(home, exist_ok=True)
        env = {**base, **self.environment, "HOME": home, "XDG_CACHE_HOME": home + "/cache", "TMPDIR": self.folder,
               **(environment or {})}
        env = {name: value for name, value in env.items() if value is not None}
        made = Agent.__new__(Agent)
        self.agents.append(made)
        made.__init__(None, env=env, **popen)
        if folder is not None:
            made("open", folder, flags, limit, expect="TLC_OK")
        return made

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def format_folder(self, store=None):
        return glob.glob(os.path.join(store or self.store, "tlc1-*"))[0]

    def age_leftovers(self):
        """What killed processes left unfinished is removed when it is an hour old."""
        for path in glob.glob(self.store + "/**/*.tmp-*", recursive=True):
            os.utime(path, (0, 0), follow_symlinks=False)

    def assert_versions(self, agent, expected):
        """expected: name -> version, or a set of versions of which None is a miss."""
        for name, wanted in expected.items():
            answer = agent("get", name, expect=("TLC_OK", "TLC_MISS", "TLC_REJECTED"))
            found = answer.version if answer.status == "TLC_OK" else None
            self.assertIn(found, wanted if isinstance(wanted, set) else {wanted}, f"{name}: {answer.line}")

    def assert_under_limit(self, agent, limit, segment=2 * MIB):
        self.assertLessEqual(agent.disk_bytes(), limit * 9 // 8 + segment)


def remove_tree(path):
    for folder, _, _ in os.walk(path):
        try:
            os.chmod(folder, 0o700)
        except OSError:
            pass
    shutil.rmtree(path, ignore_errors=True)


def allocated(path):
    """Bytes of all blocks below a folder. What vanishes during the walk is left out."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def libc_call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def mounted(kind, path, data, flags=0):
    """Mounts, or skips the test where that is not allowed. Returns what unmounts it."""
    try:
        libc_call("mount", kind.encode(), path.encode(), kind.encode(), flags, data.encode())
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENODEV):
            raise unittest.SkipTest(f"needs the right to mount: {error}") from None
        raise
    return lambda: libc_call("umount2", path.encode(), 2)


def main():
    if not AGENT:
        sys.exit("set TLC_TEST_AGENT to the agent program")
    program = unittest.main(verbosity=2, exit=False)
    result = program.result
    if result.wasSuccessful() and result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
