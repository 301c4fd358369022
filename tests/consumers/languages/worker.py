# SPDX-License-Identifier: MIT
"""The worker of languages.py in Python; those in the other languages do the same.

usage: worker.py FOLDER NOTES NAME. It says "ready", then answers each line of standard input with a line:

  hammer COUNT SEED  gets or compiles key-0 to key-(COUNT-1) in an order of the seed (COUNT is a power of two), then again in
                     order: who made each
  compile KEY        gets or compiles one: who made it
  hold KEY           compiles it and never ends
  put KEY            publishes it: who made what is there now
  get KEY            who made it, or "miss"
  softmax FOLDER     runs the folder's kernel on an array of this language: a hash of what it gave, "compiled" or "found"
  library            where the C library lies in memory that it calls

The compiler appends "NAME PID KEY" to the file NOTES. Whatever is found is compared with what the key must give.
"""

import ctypes
import os
import sys
import time

import numpy
import tlcache

CONTENT_SIZE = 4096
ROWS, COLUMNS = 37, 129


def content(key):
    """What every language makes of a key: its name and a zero byte, again and again."""
    text = key.encode() + b"\0"
    return (text * (CONTENT_SIZE // len(text) + 1))[:CONTENT_SIZE]


def request_of(key):
    fields = {"name": key, "numbers": [len(key), 0.5]}
    return tlcache.Request("languages", toolchain=tlcache.NO_TOOLCHAIN, fields=fields)


class Worker:
    def __init__(self, folder, notes, name):
        self.cache = tlcache.Cache(folder, strict=True, use_environment=False)
        self.notes, self.name = notes, name

    def members(self, key):
        return {"code": content(key), "maker": self.name.encode()}

    def taken(self, key, artifact):
        assert artifact["code"] == content(key), f"worker in Python: the content of {key} is another"
        return bytes(artifact["maker"]).decode()

    def compile(self, key, hold=False):
        def compiler(_request, _key):
            file = os.open(self.notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(file, f"{self.name} {os.getpid()} {key}\n".encode())
            os.close(file)
            time.sleep(1e9 if hold else 0.005)
            return self.members(key)

        return self.taken(key, self.cache.get_or_compile(request_of(key), compiler))

    def softmax(self, folder):
        with open(os.path.join(folder, "softmax.c"), encoding="utf-8") as file:
            fields = {"source": file.read(), "language": "c", "options": ["-O3", "-lm", "-iquote", folder]}
        artifact = self.cache.get_or_compile(tlcache.Request("languages", target="cpu:native", fields=fields))
        array = numpy.ctypeslib.ndpointer(numpy.float32, ndim=2, flags="C")
        kernel = self.cache.load(artifact).function("softmax", None, (array, array, ctypes.c_int, ctypes.c_int))
        x = ((numpy.arange(ROWS * COLUMNS) * 7 + 3) % 23 - 11).astype(numpy.float32).reshape(ROWS, COLUMNS) / numpy.float32(8)
        y = numpy.zeros_like(x)
        kernel(x, y, ROWS, COLUMNS)
        powers = numpy.exp(x.astype(numpy.float64))
        numpy.testing.assert_allclose(y, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
        digest = 14695981039346656037
        for byte in y.tobytes():
            digest = (digest ^ byte) * 1099511628211 % (1 << 64)
        return f"{digest} {'found' if artifact.log is None else 'compiled'}"

    def command(self, line):
        word, *rest = line.split()
        if word == "hammer":
            count, seed = map(int, rest)
            for i in range(count):
                self.compile(f"key-{(seed + i * (2 * seed + 1)) & (count - 1)}")
            return " ".join(self.compile(f"key-{i}") for i in range(count))
        if word == "library":
            from tlcache._native import ffi, lib

            return str(int(ffi.cast("uintptr_t", lib.tlc_version_string())))
        (key,) = rest
        if word == "softmax":
            return self.softmax(key)
        if word in ("compile", "hold"):
            return self.compile(key, hold=word == "hold")
        if word == "put":
            return self.taken(key, self.cache.put(self.cache.key(request_of(key)), self.members(key)))
        assert word == "get", line
        artifact = self.cache.get(self.cache.key(request_of(key)))
        return "miss" if artifact is None else self.taken(key, artifact)


def main():
    worker = Worker(*sys.argv[1:])
    print("ready", flush=True)
    for line in sys.stdin:
        print(worker.command(line), flush=True)


if __name__ == "__main__":
    main()
