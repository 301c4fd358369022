/* SPDX-License-Identifier: MIT */
/* The released offsets of ABI 0.1, stated to the compiler. Written by tools/checks/abi_slots.py --pin
   from tests/abi/slots-*.txt; never written again for a version that was released. */
#include <stddef.h>
#include <tlcache/backend.h>
#include <tlcache/remote.h>
#include <tlcache/tlcache.h>

#define SLOT(type, member, offset, size)                                                        \
  _Static_assert(offsetof(type, member) == (offset), #type "." #member " has moved");            \
  _Static_assert(sizeof(((type*)0)->member) == (size), #type "." #member " has another size")

SLOT(tlc_str, data, 0, 8);
SLOT(tlc_str, len, 8, 8);

SLOT(tlc_error, struct_size, 0, 8);
SLOT(tlc_error, code, 8, 4);
SLOT(tlc_error, sys_errno, 12, 4);
SLOT(tlc_error, backend_code, 16, 8);
SLOT(tlc_error, message_length, 24, 8);
SLOT(tlc_error, message, 32, 512);

SLOT(tlc_layout, struct_name, 0, 8);
SLOT(tlc_layout, member, 8, 8);
SLOT(tlc_layout, offset, 16, 8);
SLOT(tlc_layout, size, 24, 8);

SLOT(tlc_constant, name, 0, 8);
SLOT(tlc_constant, value, 8, 8);

SLOT(tlc_cache_options, struct_size, 0, 8);
SLOT(tlc_cache_options, directory, 8, 16);
SLOT(tlc_cache_options, limit_bytes, 24, 8);
SLOT(tlc_cache_options, flags, 32, 8);

SLOT(tlc_member, struct_size, 0, 8);
SLOT(tlc_member, name, 8, 16);
SLOT(tlc_member, data, 24, 8);
SLOT(tlc_member, size, 32, 8);
SLOT(tlc_member, type, 40, 4);

SLOT(tlc_artifact_info, struct_size, 0, 8);
SLOT(tlc_artifact_info, name_space, 8, 16);
SLOT(tlc_artifact_info, label, 24, 16);
SLOT(tlc_artifact_info, digest, 40, 8);
SLOT(tlc_artifact_info, generation, 48, 8);
SLOT(tlc_artifact_info, created_ns, 56, 8);
SLOT(tlc_artifact_info, compile_us, 64, 8);
SLOT(tlc_artifact_info, size, 72, 8);
SLOT(tlc_artifact_info, member_count, 80, 4);
SLOT(tlc_artifact_info, tier, 84, 4);

SLOT(tlc_compile_options, struct_size, 0, 8);
SLOT(tlc_compile_options, compile, 8, 8);
SLOT(tlc_compile_options, user_data, 16, 8);
SLOT(tlc_compile_options, destroy, 24, 8);
SLOT(tlc_compile_options, cancel, 32, 8);
SLOT(tlc_compile_options, timeout_ms, 40, 8);
SLOT(tlc_compile_options, flags, 48, 8);

SLOT(tlc_load_options, struct_size, 0, 8);
SLOT(tlc_load_options, device, 8, 8);
SLOT(tlc_load_options, context, 16, 8);
SLOT(tlc_load_options, member, 24, 16);

SLOT(tlc_stats, struct_size, 0, 8);
SLOT(tlc_stats, hits, 8, 8);
SLOT(tlc_stats, misses, 16, 8);
SLOT(tlc_stats, rejections, 24, 8);
SLOT(tlc_stats, puts, 32, 8);
SLOT(tlc_stats, not_stored, 40, 8);
SLOT(tlc_stats, compiles, 48, 8);
SLOT(tlc_stats, compile_us, 56, 8);
SLOT(tlc_stats, saved_us, 64, 8);
SLOT(tlc_stats, evictions, 72, 8);
SLOT(tlc_stats, youngest_evicted_s, 80, 8);
SLOT(tlc_stats, entries, 88, 8);
SLOT(tlc_stats, disk_bytes, 96, 8);
SLOT(tlc_stats, limit_bytes, 104, 8);
SLOT(tlc_stats, mapped_bytes, 112, 8);
SLOT(tlc_stats, unlinked_bytes, 120, 8);
SLOT(tlc_stats, memory_bytes, 128, 8);

SLOT(tlc_entry, struct_size, 0, 8);
SLOT(tlc_entry, digest, 8, 8);
SLOT(tlc_entry, key_encoding, 16, 8);
SLOT(tlc_entry, key_length, 24, 8);
SLOT(tlc_entry, name_space, 32, 16);
SLOT(tlc_entry, label, 48, 16);
SLOT(tlc_entry, kind, 64, 16);
SLOT(tlc_entry, size, 80, 8);
SLOT(tlc_entry, created_ns, 88, 8);
SLOT(tlc_entry, last_used_s, 96, 8);
SLOT(tlc_entry, compile_us, 104, 8);
SLOT(tlc_entry, generation, 112, 8);

SLOT(tlc_host_api, struct_size, 0, 8);
SLOT(tlc_host_api, abi_major, 8, 4);
SLOT(tlc_host_api, abi_minor, 12, 4);
SLOT(tlc_host_api, log, 16, 8);
SLOT(tlc_host_api, fail, 24, 8);
SLOT(tlc_host_api, blob_create, 32, 8);
SLOT(tlc_host_api, blob_data, 40, 8);
SLOT(tlc_host_api, blob_release, 48, 8);
SLOT(tlc_host_api, request_find, 56, 8);
SLOT(tlc_host_api, value_type, 64, 8);
SLOT(tlc_host_api, value_text, 72, 8);
SLOT(tlc_host_api, value_int, 80, 8);
SLOT(tlc_host_api, value_f64, 88, 8);
SLOT(tlc_host_api, value_count, 96, 8);
SLOT(tlc_host_api, value_at, 104, 8);
SLOT(tlc_host_api, bundle_add, 112, 8);
SLOT(tlc_host_api, bundle_add_guard, 120, 8);
SLOT(tlc_host_api, bundle_add_absent, 128, 8);
SLOT(tlc_host_api, log_append, 136, 8);
SLOT(tlc_host_api, artifact_member_count, 144, 8);
SLOT(tlc_host_api, artifact_member_at, 152, 8);
SLOT(tlc_host_api, artifact_find, 160, 8);
SLOT(tlc_host_api, artifact_folder, 168, 8);
SLOT(tlc_host_api, artifact_target, 176, 8);
SLOT(tlc_host_api, file_identity, 184, 8);
SLOT(tlc_host_api, file_digest, 192, 8);
SLOT(tlc_host_api, memo_get, 200, 8);
SLOT(tlc_host_api, memo_put, 208, 8);
SLOT(tlc_host_api, cancelled, 216, 8);

SLOT(tlc_backend_ops, struct_size, 0, 8);
SLOT(tlc_backend_ops, abi_major, 8, 4);
SLOT(tlc_backend_ops, abi_minor, 12, 4);
SLOT(tlc_backend_ops, next, 16, 8);
SLOT(tlc_backend_ops, name, 24, 8);
SLOT(tlc_backend_ops, engine, 32, 8);
SLOT(tlc_backend_ops, target_kinds, 40, 8);
SLOT(tlc_backend_ops, caps, 48, 8);
SLOT(tlc_backend_ops, resolve_target, 56, 8);
SLOT(tlc_backend_ops, identify, 64, 8);
SLOT(tlc_backend_ops, compile, 72, 8);
SLOT(tlc_backend_ops, validate, 80, 8);
SLOT(tlc_backend_ops, place, 88, 8);
SLOT(tlc_backend_ops, load, 96, 8);
SLOT(tlc_backend_ops, symbol, 104, 8);
SLOT(tlc_backend_ops, native, 112, 8);
SLOT(tlc_backend_ops, unload, 120, 8);
SLOT(tlc_backend_ops, probe, 128, 8);
SLOT(tlc_backend_ops, close, 136, 8);

SLOT(tlc_plugin_desc, magic, 0, 8);
SLOT(tlc_plugin_desc, struct_size, 8, 8);
SLOT(tlc_plugin_desc, abi_major, 16, 4);
SLOT(tlc_plugin_desc, abi_minor, 20, 4);
SLOT(tlc_plugin_desc, min_host_minor, 24, 4);
SLOT(tlc_plugin_desc, reserved, 28, 4);
SLOT(tlc_plugin_desc, name, 32, 8);
SLOT(tlc_plugin_desc, version, 40, 8);
SLOT(tlc_plugin_desc, license, 48, 8);
SLOT(tlc_plugin_desc, build_id, 56, 8);

SLOT(tlc_remote_ops, struct_size, 0, 8);
SLOT(tlc_remote_ops, abi_major, 8, 4);
SLOT(tlc_remote_ops, abi_minor, 12, 4);
SLOT(tlc_remote_ops, next, 16, 8);
SLOT(tlc_remote_ops, name, 24, 8);
SLOT(tlc_remote_ops, scheme, 32, 8);
SLOT(tlc_remote_ops, caps, 40, 8);
SLOT(tlc_remote_ops, open, 48, 8);
SLOT(tlc_remote_ops, get, 56, 8);
SLOT(tlc_remote_ops, put, 64, 8);
SLOT(tlc_remote_ops, remove, 72, 8);
SLOT(tlc_remote_ops, close, 80, 8);
