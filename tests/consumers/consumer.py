# SPDX-License-Identifier: MIT
"""An application in a language without a C compiler: ctypes on the installed library. Opens, puts, gets, reads a member;
and finds the constants and layouts it needs by asking the library. usage: consumer.py LIBRARY FOLDER"""
import ctypes as c
import sys

lib = c.CDLL(sys.argv[1])


class Str(c.Structure):
    _fields_ = [("data", c.c_char_p), ("len", c.c_size_t)]


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("code", c.c_int32), ("sys_errno", c.c_int32), ("backend_code", c.c_int64),
                ("message_length", c.c_uint64), ("message", c.c_char * 512)]


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("directory", Str), ("limit_bytes", c.c_uint64), ("flags", c.c_uint64)]


class Layout(c.Structure):
    _fields_ = [("struct_name", c.c_char_p), ("member", c.c_char_p), ("offset", c.c_uint64), ("size", c.c_uint64)]


class Constant(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_int64)]


def table(function, row):
    function.restype = c.POINTER(row)
    count = c.c_size_t()
    rows = function(c.byref(count))
    return [rows[i] for i in range(count.value)]


K = {r.name.decode(): r.value for r in table(lib.tlc_abi_constants, Constant)}
layout = {(r.struct_name.decode(), (r.member or b"").decode()): (r.offset, r.size) for r in table(lib.tlc_abi_layout, Layout)}
for name, mirror in (("tlc_str", Str), ("tlc_error", Error), ("tlc_cache_options", Options), ("tlc_layout", Layout)):
    for member, _ in mirror._fields_:
        mine = (getattr(mirror, member).offset, getattr(mirror, member).size)
        assert layout[name, member] == mine, f"{name}.{member}: library {layout[name, member]}, mirror {mine}"

error = Error(struct_size=Error.message.offset + Error.message.size)


def text(s):
    return Str(s.encode(), len(s.encode()))


def call(name, *arguments, wanted="TLC_OK"):
    function = getattr(lib, name)
    function.restype = c.c_int32
    status = function(*arguments, c.byref(error))
    assert status == K[wanted], f"{name}: {status}, not {wanted}: {error.message.decode()}"


P = c.c_void_p
cache, request, key, bundle, artifact = P(), P(), P(), P(), P()
options = Options()
lib.tlc_cache_options_init(c.byref(options))
assert options.struct_size == Options.flags.offset + Options.flags.size
options.directory, options.flags = text(sys.argv[2]), K["TLC_OPEN_STRICT"] | K["TLC_OPEN_NO_ENV"]
call("tlc_cache_open", c.byref(options), c.byref(cache))
call("tlc_request_create", text("consumer/ctypes"), c.byref(request))
call("tlc_request_set_no_toolchain", request)
call("tlc_request_add_int", request, text("block"), c.c_int64(128), c.c_uint32(0))
call("tlc_cache_key", cache, request, c.byref(key))
call("tlc_cache_get", cache, key, c.byref(artifact), wanted="TLC_MISS")
call("tlc_bundle_create", c.byref(bundle))
call("tlc_bundle_add", bundle, text("out"), c.c_uint32(K["TLC_MEMBER_OPAQUE"]), b"from python", c.c_size_t(11), c.c_uint32(0))
call("tlc_cache_put", cache, key, bundle, None)
call("tlc_cache_get", cache, key, c.byref(artifact))
buffer = c.create_string_buffer(11)
call("tlc_artifact_read", artifact, c.c_size_t(0), buffer, c.c_size_t(11))
assert buffer.raw == b"from python", buffer.raw
for end, handle in (("artifact_release", artifact), ("bundle_destroy", bundle), ("key_release", key),
                    ("request_destroy", request), ("cache_close", cache)):
    function = getattr(lib, "tlc_" + end)
    function.restype = None
    function(handle)
print("put and read 11 bytes by ctypes")
