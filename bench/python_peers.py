#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tlcache's Python package beside the stores that Python frameworks bring, from their own packages.

    python bench/python_peers.py --build build [--quick] [--json]

Run it with a Python that has tlcache and, of the peers, what is to be compared: triton (FileCacheManager), cuda-core and
cuda-bindings (FileStreamProgramCache), jax and filelock (LRUCache). What is missing is named. Everything runs in one process,
in turn, on one file system; no device is needed. `C` is tlc_bench_hit_probe of the build folder.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SIZE = 16 << 10
ENTRIES = 256
FILES = ("ttir", "ttgir", "llir", "ptx", "cubin", "json")  # Triton's files of a kernel


def content(index, size=SIZE):
    return (index.to_bytes(4, "little") * (size // 4 + 1))[:size]


class Ours:
    name = "tlcache"

    def __init__(self, folder):
        import tlcache

        self.cache = tlcache.Cache(os.path.join(folder, "tlcache"))

        def keys(namespace):
            return [self.cache.key(tlcache.Request(namespace, fields={"number": i}, toolchain=tlcache.NO_TOOLCHAIN))
                    for i in range(ENTRIES)]

        self.keys, self.groups = keys("bench"), keys("group")

    def put(self, i):
        self.cache.put(self.keys[i], {"kernel.bin": content(i)})

    def artifact(self, i):
        return self.cache.get(self.keys[i])

    def get(self, i):
        return self.cache.get(self.keys[i])["kernel.bin"]

    def put_group(self, i):
        self.cache.put(self.groups[i], {"kernel." + ending: content(i) for ending in FILES})

    def get_group(self, i):
        return [bytes(data) for data in self.cache.get(self.groups[i]).values()]


class CudaCore:
    name = "cuda.core FileStreamProgramCache"

    def __init__(self, folder):
        from cuda.core.utils import FileStreamProgramCache

        self.cache = FileStreamProgramCache(os.path.join(folder, "cuda-core"))

    def put(self, i):
        self.cache[b"%032d" % i] = content(i)

    def get(self, i):
        return self.cache.get(b"%032d" % i)


class Jax:
    name = "JAX LRUCache, no cap"
    cap = -1

    def __init__(self, folder):
        from jax._src.lru_cache import LRUCache

        self.cache = LRUCache(os.path.join(folder, "jax" + str(self.cap)), max_size=self.cap)

    def put(self, i):
        self.cache.put("%064d" % i, content(i))

    def get(self, i):
        return self.cache.get("%064d" % i)


class JaxCapped(Jax):
    name = "JAX LRUCache, with a cap"
    cap = 1 << 32


class Triton:
    name = "Triton FileCacheManager"

    def __init__(self, folder):
        os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
        from triton.runtime.cache import FileCacheManager

        self.manager = FileCacheManager

    def put_group(self, i):
        manager = self.manager("%052d" % i)
        paths = {"kernel." + ending: manager.put(content(i), "kernel." + ending) for ending in FILES}
        manager.put_group("kernel.json", paths)

    def get_group(self, i):
        found = []
        for path in self.manager("%052d" % i).get_group("kernel.json").values():
            with open(path, "rb") as file:
                found.append(file.read())
        return found


def passes(ways, rounds):
    """Microseconds a call of each, in turn: medians over rounds of one pass over the entries."""
    times = {name: [] for name, _ in ways}
    for turn in range(rounds):
        for name, call in ways if turn % 2 else ways[::-1]:
            started = time.perf_counter_ns()
            for i in range(ENTRIES):
                call(i)
            times[name].append((time.perf_counter_ns() - started) / ENTRIES / 1000)
    return {name: statistics.median(values) for name, values in times.items()}


def once(ways):
    """The same of calls that can be made once an entry."""
    times = {name: [] for name, _ in ways}
    for i in range(ENTRIES):
        for name, call in ways if i % 2 else ways[::-1]:
            started = time.perf_counter_ns()
            call(i)
            times[name].append((time.perf_counter_ns() - started) / 1000)
    return {name: statistics.median(values) for name, values in times.items()}


def c_microseconds(build):
    program = os.path.join(build, "bench", "tlc_bench_hit_probe")
    runs = [subprocess.run([program, "table", "200000"], stdout=subprocess.PIPE, text=True, check=True) for _ in range(5)]
    return statistics.median(float(run.stdout) for run in runs) / 1000


def at_most(what, ours, allowed, of):
    return {"row": what, "ours": ours * 1000, "peer": allowed * 1000, "peer_name": of, "unit": "ns", "ratio": ours / allowed,
            "bound": 1.0, "bound_is": "most", "met": ours <= allowed}


def at_least(what, ours, peer, of, bound):
    return {"row": what, "ours": ours * 1000, "peer": peer * 1000, "peer_name": of, "unit": "ns", "ratio": peer / ours,
            "bound": bound, "bound_is": "least", "met": peer / ours >= bound}


def check(ours, simple, groups):
    """That all give back what was put."""
    for i in range(ENTRIES):
        wanted = content(i)
        for each in [ours, *simple]:
            if bytes(each.get(i)) != wanted:
                sys.exit(f"bench: {each.name} gave back something else")
        for each in [ours, *groups]:
            if each.get_group(i) != [wanted] * len(FILES):
                sys.exit(f"bench: {each.name} gave back something else")


def compare(build, folder, rounds):
    ours, peers = Ours(folder), []
    for kind in (CudaCore, Jax, JaxCapped, Triton):
        try:
            peers.append(kind(folder))
        except (ImportError, RuntimeError) as missing:
            print(f"{kind.name}: not compared, {missing}", file=sys.stderr)
    simple = [peer for peer in peers if hasattr(peer, "get")]
    groups = [peer for peer in peers if hasattr(peer, "get_group")]
    put = once([(each.name, each.put) for each in [ours, *simple]])
    put_group = once([(each.name, each.put_group) for each in [ours, *groups]])
    check(ours, simple, groups)
    got = passes([("artifact", ours.artifact)] + [(each.name, each.get) for each in [ours, *simple]], rounds)
    got_group = passes([(each.name, each.get_group) for each in [ours, *groups]], rounds)

    base = c_microseconds(build)
    yield at_most("Python: key to artifact", got["artifact"], base + 1, "C, plus 1 us")
    yield at_most("Python: key to a member's memoryview", got[ours.name], base + 2, "C, plus 2 us")
    for peer in simple:
        yield at_least("Python: get of 16K", got[ours.name], got[peer.name], peer.name, 20)
        yield at_least("Python: put of 16K", put[ours.name], put[peer.name], peer.name, 1)
    for peer in groups:
        yield at_least("Python: get of 6 files of 16K, read", got_group[ours.name], got_group[peer.name], peer.name, 5)
        yield at_least("Python: put of 6 files of 16K", put_group[ours.name], put_group[peer.name], peer.name, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--json", action="store_true", help="one row a line, as JSON")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="tlc-bench-")
    try:
        for each in compare(arguments.build, folder, 5 if arguments.quick else 31):
            if arguments.json:
                print(json.dumps(each))
            else:
                print(f"{each['row']:38} {each['ours'] / 1000:9.2f} us  {each['peer_name']:34} {each['peer'] / 1000:9.2f} us  "
                      f"{each['ratio']:6.2f} ({each['bound_is']} {each['bound']:g}: {'yes' if each['met'] else 'NO'})")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
