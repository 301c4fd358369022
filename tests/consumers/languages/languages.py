# SPDX-License-Identifier: MIT
"""One host, several languages: processes of C, Python, Rust (and Julia, where it is on the PATH) use one cache at the same time, and
one process several copies of the library. What each worker does for a line: worker.py.

usage: languages.py --c PROGRAM --rust PROGRAM --c-library FILE --rust-library FILE --kernels FOLDER --julia-package FOLDER
                    --library FILE
Run by a Python that has the package tlcache.
"""

import argparse
import collections
import ctypes
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = 64  # keys; a power of two
HANG_S = 120
OPTIONS = argparse.Namespace()


def languages():
    """Name -> command of a worker."""
    found = {
        "c": [OPTIONS.c],
        "python": [sys.executable, os.path.join(HERE, "worker.py")],
        "rust": [OPTIONS.rust],
    }
    if shutil.which("julia"):
        found["julia"] = ["julia", "--startup-file=no", f"--project={OPTIONS.julia_package}", os.path.join(HERE, "worker.jl")]
    return found


class Worker:
    """A process; `name` is its language."""

    def __init__(self, test, name):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TLC_")} | {"TLCACHE_LIBRARY": OPTIONS.library}
        self.name, self.rest = name, b""
        self.process = subprocess.Popen(
            [*languages()[name], test.store, test.notes, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            env=environment)
        test.addCleanup(self.end)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def send(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())

    def line(self):
        end = time.monotonic() + HANG_S
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"the worker in {self.name} did not answer")
            block = os.read(self.process.stdout.fileno(), 1 << 16)
            if not block:
                raise AssertionError(f"the worker in {self.name} ended with {self.process.wait()}")
            self.rest += block
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def __call__(self, *words):
        self.send(*words)
        return self.line()


class Languages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tlc-languages-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store, self.notes = os.path.join(self.folder, "store"), os.path.join(self.folder, "notes")
        pathlib.Path(self.notes).touch()

    def workers(self, names):
        """One of each name, when all are ready."""
        started = [Worker(self, name) for name in names]
        for one in started:
            self.assertEqual(one.line(), "ready")
        return started

    def compiles(self):
        """(language, pid, key) for each time that a compiler ran."""
        with open(self.notes, encoding="ascii") as file:
            return [tuple(line.split()) for line in file]

    def hammered(self, victim_language):
        """Two processes of each language on the same cold keys; one more is killed as it compiles one of them."""
        victim, *others = self.workers([victim_language, *sorted(languages()) * 2])
        victim.send("hold", f"key-{COUNT // 2}")
        while not self.compiles():
            time.sleep(0.01)
        for seed, other in enumerate(others, 1):
            other.send("hammer", COUNT, seed)
        while len(self.compiles()) < COUNT:  # all but that one, which they wait for
            self.assertFalse(select.select([o.process.stdout for o in others], [], [], 0.02)[0], "nobody may be through yet")
        victim.process.kill()
        answers = [other.line() for other in others]

        counts = collections.Counter(key for _, _, key in self.compiles())
        self.assertEqual(counts.pop(f"key-{COUNT // 2}"), 2, "once by the victim, once after its death")
        self.assertEqual(counts, {f"key-{i}": 1 for i in range(COUNT) if i != COUNT // 2})
        made = {key: name for name, pid, key in self.compiles() if pid != str(victim.process.pid)}
        # Whoever looks finds what was made by the one whose compiler ran: also what the other languages wrote.
        for answer in answers:
            self.assertEqual(answer.split(), [made[f"key-{i}"] for i in range(COUNT)])
        return collections.Counter(made.values())

    def test_each_compile_once_in_all_while_one_is_killed(self):
        for victim in sorted(languages()):
            with self.subTest(victim=victim):
                makers = self.hammered(victim)
                print(f"{victim} killed; compiled by {dict(makers)}")
                shutil.rmtree(self.store)
                open(self.notes, "w", encoding="ascii").close()

    def test_what_one_puts_all_get(self):
        workers = self.workers(sorted(languages()))
        for writer in workers:
            key = f"from-{writer.name}"
            self.assertEqual({other("get", key) for other in workers}, {"miss"})
            self.assertEqual(writer("put", key), writer.name)
            for other in workers:
                self.assertEqual(other("get", key), writer.name, f"{other.name} of {writer.name}")
                self.assertEqual(other("put", key), writer.name, "it is there already")

    def test_one_kernel_gives_equal_results_in_every_language(self):
        answers = [worker("softmax", OPTIONS.kernels).split() for worker in self.workers(sorted(languages()))]
        self.assertEqual(len({result for result, _ in answers}), 1, answers)
        self.assertEqual([how for _, how in answers], ["compiled"] + ["found"] * (len(answers) - 1))

    # ------------------------------------------------------------ one process, several copies of the library

    def copies(self):
        """Name -> what takes a command: the Python package's own library, that in a library of Rust, that of a library of C."""
        import worker

        python = worker.Worker(self.store, self.notes, "python")
        self.addCleanup(python.cache.close)
        found = {"python": python.command}
        for name, path in (("rust", OPTIONS.rust_library), ("c", OPTIONS.c_library)):
            library = ctypes.CDLL(path)
            library.consumer_open.restype, library.consumer_command.restype = ctypes.c_void_p, ctypes.c_char_p
            # Kept as long as the worker: C holds the pointers.
            texts = [os.fsencode(text) for text in (self.store, self.notes, name)]
            handle = ctypes.c_void_p(library.consumer_open(*texts))

            def close(library=library, handle=handle, _texts=texts):
                library.consumer_close(handle)

            self.addCleanup(close)
            found[name] = lambda line, library=library, handle=handle: library.consumer_command(handle, line.encode()).decode()
        return found

    def test_copies_of_the_library_in_one_process(self):
        copies = self.copies()
        where = {name: int(command("library")) for name, command in copies.items()}
        files = set()
        with open("/proc/self/maps", encoding="ascii") as maps:
            for line in maps:
                first, last = (int(part, 16) for part in line.split()[0].split("-"))
                if any(first <= address < last for address in where.values()):
                    files.add(line.split()[-1])
        self.assertEqual(len(files), len(copies), f"each has a copy of its own: {files}")
        for turn in range(50):
            for writer, put in copies.items():
                key = f"from-{writer}-{turn}"
                self.assertEqual(put(f"put {key}"), writer)
                self.assertEqual({other: get(f"get {key}") for other, get in copies.items()}, dict.fromkeys(copies, writer))

    def test_copies_compile_once_between_threads(self):
        copies, answers = self.copies(), {}

        def work(name, command, seed):
            answers[name] = command(f"hammer {COUNT} {seed}")

        threads = [threading.Thread(target=work, args=(*one, seed)) for seed, one in enumerate(copies.items())]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_S)
        self.assertEqual(sorted(answers), sorted(copies))
        self.assertEqual(len(set(answers.values())), 1, "all see the same makers")
        self.assertEqual(sorted(key for _, _, key in self.compiles()), sorted(f"key-{i}" for i in range(COUNT)))

    def test_another_copy_that_was_there_first(self):
        """The Python package loads its own library, whatever is loaded already or lies on the loader's path."""
        code = (
            "import ctypes, os, sys\n"
            "other = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
            "other.tlc_version_string.restype = ctypes.c_void_p\n"
            "from tlcache._native import ffi, lib\n"
            "assert int(ffi.cast('uintptr_t', lib.tlc_version_string())) != other.tlc_version_string()\n"
        )
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(OPTIONS.library))
        subprocess.run([sys.executable, "-c", code, OPTIONS.library], env=environment, check=True, timeout=HANG_S)
        subprocess.run([sys.executable, "-c", code, OPTIONS.library], check=True, timeout=HANG_S,
                       env=dict(os.environ, LD_PRELOAD=OPTIONS.library))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("c", "rust", "c-library", "rust-library", "kernels", "julia-package", "library"):
        parser.add_argument("--" + name, required=True)
    parser.parse_args(namespace=OPTIONS)
    if not shutil.which("julia"):
        print("There is no julia on the PATH: without Julia")
    sys.path.insert(0, HERE)
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
