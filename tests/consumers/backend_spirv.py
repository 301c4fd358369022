# SPDX-License-Identifier: MIT
"""The example backend of examples/backend-spirv, built against the installed library, as a user and as a program has it.
usage: backend_spirv.py LIBRARY TOOL PLUGIN EXAMPLE FOLDER"""
import ctypes as c
import json
import os
import shutil
import struct
import subprocess
import sys
import threading

LIBRARY, TOOL, PLUGIN, EXAMPLE, FOLDER = sys.argv[1:]
SOURCE = os.path.join(EXAMPLE, "spirv_backend.cpp")
SHADERS = os.path.join(FOLDER, "shaders")
BLUR, GAUSS = os.path.join(SHADERS, "blur.comp"), os.path.join(SHADERS, "gauss.glsl")
COMPILE_ERROR = 4


def expect(condition, what):
    if not condition:
        sys.exit(f"{sys.argv[0]}: {what}")


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)


def read(path):
    with open(path, "rb") as file:
        return file.read()


# ---------------------------------------------------------------- by the command

ENVIRONMENT = dict(os.environ, TLC_DIR=os.path.join(FOLDER, "store"), TLC_BACKEND_PATH=PLUGIN, LC_ALL="C.UTF-8")


def tlcache(*arguments, code=0, allow=True):
    command = [TOOL, *arguments, "--json", *(["--allow-plugins"] if allow else [])]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    expect(done.returncode == code, f"{command}: exit code {done.returncode}, not {code}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout) if done.stdout else done.stderr


def compile_blur(*arguments, target="spirv:vulkan1.2"):
    return tlcache("compile", BLUR, "--target", target, *arguments)


def listed():
    report = tlcache("backends")
    ours = [b for b in report["backends"] if b["engine"] == "glslang"]
    expect(len(ours) == 1 and ours[0]["available"] and ours[0]["kinds"] == ["spirv"], f"the listing: {report}")
    expect(ours[0]["origin"] == PLUGIN and ours[0]["found"]["glslang"], f"the listing: {ours[0]}")
    expect(not report["refused"], f"refused: {report['refused']}")
    refused = tlcache("compile", BLUR, "--target", "spirv:vulkan1.2", allow=False, code=3)
    expect("--allow-plugins" in refused, f"without --allow-plugins: {refused}")


def compiled_and_hit():
    out = os.path.join(FOLDER, "blur.spv")
    first = compile_blur("-o", out)
    words = read(out)
    expect(first["outcome"] == "compiled", first)
    expect([m["name"] for m in first["members"]] == ["kernel.spv"], first)
    expect(struct.unpack_from("<II", words) == (0x07230203, 0x00010500), "blur.spv is not SPIR-V 1.5")
    expect(compile_blur()["outcome"] == "hit", "the second time is no hit")
    expect(compile_blur(target="spirv:1.5")["outcome"] == "hit", "spirv:1.5 is not spirv:vulkan1.2")
    expect(compile_blur(target="spirv:vulkan1.0")["outcome"] == "compiled", "another target is a hit")
    expect(compile_blur("-D", "DIRECTION=ivec2(0, 1)")["outcome"] == "compiled", "another define is a hit")
    return words


def include_edited(before):
    original = read(GAUSS).decode()
    write(GAUSS, original.replace("0.3125", "0.34375").replace("0.015625", "0.0"))
    why = tlcache("why", BLUR, "--target", "spirv:vulkan1.2", code=1)
    expect(why["outcome"] == "guard" and GAUSS in [g["path"] for g in why["guards"]], f"why: {why}")
    out = os.path.join(FOLDER, "edited.spv")
    expect(compile_blur("-o", out)["outcome"] == "compiled", "an edited include is a hit")
    expect(read(out) != before, "an edited include gives the same code")
    expect(compile_blur()["outcome"] == "hit", "the edited one is not kept")
    write(GAUSS, original)


def include_shadowed():
    """A file that comes to be where the compiler looked in vain is a miss."""
    source, late, early = (os.path.join(FOLDER, name) for name in ("shadow/a.comp", "late/it.glsl", "early/it.glsl"))
    write(source, "#version 450\n#extension GL_GOOGLE_include_directive : require\n#include <it.glsl>\nvoid main() { it(); }\n")
    write(late, '#include "deep/body.glsl"\n')
    write(os.path.join(FOLDER, "late/deep/body.glsl"), "void it() { barrier(); }\n")
    os.mkdir(os.path.dirname(early))
    command = ["compile", source, "-t", "spirv:vulkan1.1", "-I", os.path.dirname(early), "-I", os.path.dirname(late)]
    expect(tlcache(*command)["outcome"] == "compiled", "an include in the second folder")
    expect(tlcache(*command)["outcome"] == "hit", "an include in the second folder, again")
    write(early, "void it() {}\n")
    why = tlcache("why", *command[1:], code=1)
    expect(early in [g["path"] for g in why["guards"]], f"why, shadowed: {why}")
    expect(tlcache(*command)["outcome"] == "compiled", "a shadowed include is a hit")


def refused_sources():
    path = os.path.join(FOLDER, "refused", "a.comp")
    write(os.path.join(FOLDER, "refused", "loop.glsl"), '#include "loop.glsl"\n')
    head = "#version 450\n#extension GL_GOOGLE_include_directive : require\n"
    for body, message in (("void main() { int x = y; }\n", "undeclared identifier"), ("", "glslang refused"),
                          ('#include "none.glsl"\nvoid main() {}\n', "none.glsl"),
                          ('#include "loop.glsl"\nvoid main() {}\n', "over 1000 includes")):
        write(path, head + body if body else "")
        told = tlcache("compile", path, "-t", "spirv:vulkan1.0", code=COMPILE_ERROR)
        expect(message in told, f"no '{message}' in: {told}")
    for target in ("spirv:vulkan9", "spirv:native", "spirv", "spirv:1.5:more"):
        expect("is none of" in tlcache("compile", BLUR, "-t", target, code=2), target)
    expect("no options" in tlcache("compile", BLUR, "-t", "spirv:1.5", "--option=-x", code=2), "an unknown option")


# ---------------------------------------------------------------- by a program

class Str(c.Structure):
    _fields_ = [("data", c.c_char_p), ("len", c.c_size_t)]


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("code", c.c_int32), ("sys_errno", c.c_int32), ("backend_code", c.c_int64),
                ("message_length", c.c_uint64), ("message", c.c_char * 512)]


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("directory", Str), ("limit_bytes", c.c_uint64), ("flags", c.c_uint64)]


OPEN_MEMORY, OPEN_NO_ENV, DEVICE_IR = 1 << 5, 1 << 6, 3
REJECTED, E_UNSUPPORTED = 2, -5
P, NO_FLAGS = c.c_void_p, c.c_uint32(0)


class Program:
    def __init__(self):
        self.lib, self.cache, options = c.CDLL(LIBRARY), P(), Options()
        self.lib.tlc_artifact_data.restype = P
        self.call("tlc_load_plugin", text(PLUGIN))
        self.lib.tlc_cache_options_init(c.byref(options))
        options.flags = OPEN_MEMORY | OPEN_NO_ENV
        self.call("tlc_cache_open", c.byref(options), c.byref(self.cache))

    def call(self, name, *arguments, wanted=0):
        error = Error(struct_size=Error.message.offset + Error.message.size)
        status = getattr(self.lib, name)(*arguments, c.byref(error))
        expect(status == wanted, f"{name}: {status}, not {wanted}: {error.message.decode()}")
        return error.message.decode()

    def request(self, target, source, number):
        request = P()
        self.call("tlc_request_create", text("consumer/spirv"), c.byref(request))
        self.call("tlc_request_set_target", request, text(target))
        self.call("tlc_request_add_text", request, text("source"), text(source), NO_FLAGS)
        self.call("tlc_request_add_int", request, text("number"), c.c_int64(number), NO_FLAGS)
        return request

    def store(self, target, number, data):
        """An artifact of these bytes, as somebody who wrote the store could leave it."""
        key, bundle, artifact = P(), P(), P()
        request = self.request(target, "", number)
        self.call("tlc_request_set_engine", request, text("glslang"))
        self.call("tlc_request_set_no_toolchain", request)
        self.call("tlc_request_key", request, c.byref(key))
        self.call("tlc_bundle_create", c.byref(bundle))
        self.call("tlc_bundle_add", bundle, text("kernel.spv"), c.c_uint32(DEVICE_IR), data, c.c_size_t(len(data)), NO_FLAGS)
        self.call("tlc_cache_put", self.cache, key, bundle, c.byref(artifact))
        return artifact

    def load(self, target, number, data, wanted):
        return self.call("tlc_cache_load", self.cache, self.store(target, number, data), None, c.byref(P()), wanted=wanted)

    def compile(self, source, number):
        artifact, log, size = P(), P(), c.c_size_t()
        self.call("tlc_cache_get_or_compile", self.cache, self.request("spirv:vulkan1.2", source, number), None,
                  c.byref(artifact), c.byref(log))
        expect(log, f"number {number} was not compiled")
        address = self.lib.tlc_artifact_data(artifact, c.c_size_t(0), c.byref(size))
        return c.string_at(address, size.value)


def text(s):
    return Str(s.encode(), len(s.encode()))


def validated(program, words):
    # What is valid passes validate, and is then told that there is nothing to load it with.
    expect("no load" in program.load("spirv:vulkan1.2", 0, words, E_UNSUPPORTED), "a valid one")
    expect("not valid" in program.load("spirv:vulkan1.0", 1, words, REJECTED), "SPIR-V 1.5 for Vulkan 1.0")
    expect("within a word" in program.load("spirv:vulkan1.2", 2, words[:-1], REJECTED), "cut within a word")
    expect("no target" in program.load("spirv:none", 3, words, REJECTED), "a target that the backend would not resolve")
    lengths = list(range(0, len(words) - 4, 4))
    for length in lengths:
        program.load("spirv:vulkan1.2", 1000 + length, words[:length], REJECTED)
    for number, at in enumerate((0, 4, 12)):  # magic, version, bound
        broken = words[:at] + b"\xff\xff\xff\xff" + words[at + 4:]
        program.load("spirv:vulkan1.2", 100_000 + number, broken, REJECTED)
    print(f"validate refused {len(lengths)} truncations")


def threads(program):
    shader = "#version 450\nlayout(local_size_x = 8) in;\nlayout(binding = 0) buffer B { float x[]; };\n" \
             "void main() { x[gl_GlobalInvocationID.x] = sqrt(float(%d)); }\n"
    made = {}

    def work(first):
        for number in range(first, first + 8):
            made[number] = program.compile(shader % (number % 4), number)

    workers = [threading.Thread(target=work, args=(8 * i,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    expect(len(made) == 64, f"{len(made)} of 64 were compiled")
    for number, words in made.items():
        expect(words == made[number % 4], f"number {number} differs from number {number % 4}, which has the same source")
    expect(made[0] != made[1], "two sources give the same code")


def main():
    lines = read(SOURCE).count(b"\n")
    expect(lines < 150, f"{SOURCE} has {lines} lines; the example's point is that a backend takes under 150")
    shutil.copytree(os.path.join(EXAMPLE, "shaders"), SHADERS)
    listed()
    words = compiled_and_hit()
    include_edited(words)
    include_shadowed()
    refused_sources()
    program = Program()
    validated(program, words)
    threads(program)
    print(f"a backend of {lines} lines: listed, compiled, hit, missed, refused")


if __name__ == "__main__":
    main()
