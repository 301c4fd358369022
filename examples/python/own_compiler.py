# SPDX-License-Identifier: MIT
"""A compiler of one's own behind the cache: here Python's, which makes code objects.

Four processes want the same thing at once; one of them compiles. The store is a new one whatever
TLC_DIR says, so that what is counted is this run's.

    python own_compiler.py
"""

from __future__ import annotations

import marshal
import multiprocessing
import os
import sys
import tempfile
import time

import tlcache

SOURCE = "def area(r):\n    return 3 * r * r\n"


def compile_source(request: tlcache.Request, key: tlcache.Key) -> tlcache.Bundle:
    """The compile callback: only the process that holds the key's compile lock gets here."""
    print(f"process {os.getpid()} compiles {key.hex[:12]}", flush=True)
    time.sleep(0.5)
    code = compile(request.fields["source"], "area.py", "exec")
    return tlcache.Bundle({"area.marshal": marshal.dumps(code)}, label="area")


def work(folder: str) -> None:
    """One process: gets or compiles, and runs what it got."""
    with tlcache.Cache(folder, use_environment=False) as cache:
        request = tlcache.Request(
            "examples",
            target="python",
            engine="marshal",
            toolchain=sys.version.encode(),
            fields={"source": SOURCE},
        )
        artifact = cache.get_or_compile(request, compile_source)
        scope: dict[str, object] = {}
        exec(marshal.loads(artifact["area.marshal"]), scope)
        area = scope["area"]
        assert callable(area)
        print(f"process {os.getpid()} has area(2) = {area(2)}", flush=True)


def main() -> None:
    """Starts the processes on an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=work, args=(folder,)) for _ in range(4)]
        for one in processes:
            one.start()
        for one in processes:
            one.join()
        assert all(one.exitcode == 0 for one in processes)
        with tlcache.Cache(folder, use_environment=False) as cache:
            print(f"compiles: {cache.stats().compiles}")


if __name__ == "__main__":
    main()
