#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The hip backend on an NVIDIA card, over the shim of tests/gpu/hip_shim.c.

    python3 tests/gpu/run_hip.py --build DIR [--nvrtc FILE] [--fake-driver FILE]

  --build        a build folder with tests/gpu in it
  --nvrtc        libnvrtc.so.13 or .12 (default: TLC_TEST_NVRTC, then where the loader and /usr/local/cuda have it)
  --fake-driver  a libcuda.so.1 made for tests (build/.../fake_cuda/libcuda.so.1): everything runs but the launches
Exit code: the test's, 77 without a card or an NVRTC.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--nvrtc", default=os.environ.get("TLC_TEST_NVRTC", ""))
    parser.add_argument("--fake-driver", type=Path)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(build / "tests/gpu/hip_shim/libamdhip64.so.5", folder / "libamdhip64.so.5")
        (folder / "compiles").touch()
        if arguments.nvrtc:
            for library in Path(arguments.nvrtc).resolve().parent.glob("libnvrtc*.so*"):
                (folder / library.name).symlink_to(library)
        if arguments.fake_driver:
            shutil.copy(arguments.fake_driver, folder / "libcuda.so.1")
        environment = dict(os.environ, TLC_TEST_HIP_SHIM=name, TLC_HIPRTC=str(folder / "libamdhip64.so.5"),
                           TLC_WORKER=str(build / "tlcache-worker"))
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, [name, os.environ.get("LD_LIBRARY_PATH", "")]))
        if arguments.fake_driver:
            environment["TLC_TEST_FAKE_DRIVER"] = "1"
        return subprocess.run([str(build / "tests/gpu/test_gpu_hip")], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
