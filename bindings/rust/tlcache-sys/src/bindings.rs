// SPDX-License-Identifier: MIT
// Written by bindings/rust/generate_sys.py from tests/abi/abi.json; do not edit.
#![allow(clippy::unnecessary_cast)]
use std::os::raw::{c_char, c_void};

/// Result of a call: 0, a positive outcome, or a negative error.
pub type tlc_status = i32;

/// `tlc_blob` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_blob {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_cache` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_cache {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_request` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_request {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_key` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_key {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_value` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_value {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_bundle` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_bundle {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_artifact` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_artifact {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_lock` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_lock {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_cancel` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_cancel {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_log` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_log {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_module` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_module {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_call` of the C headers: only ever behind a pointer.
#[repr(C)]
pub struct tlc_call {
    _opaque: [u8; 0],
    _neither_send_nor_moved: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
}

/// `tlc_log_fn` of the C headers.
pub type tlc_log_fn = unsafe extern "C" fn(level: i32, component: tlc_str, message: tlc_str, user_data: *mut c_void);

/// `tlc_outline_fn` of the C headers.
pub type tlc_outline_fn = unsafe extern "C" fn(info: *const tlc_artifact_info, members: *const tlc_member, count: usize, user_data: *mut c_void) -> i32;

/// `tlc_compile_fn` of the C headers.
pub type tlc_compile_fn = unsafe extern "C" fn(request: *const tlc_request, key: *const tlc_key, bundle: *mut tlc_bundle, log: *mut tlc_log, error: *mut tlc_error, user_data: *mut c_void) -> tlc_status;

/// `tlc_entry_fn` of the C headers.
pub type tlc_entry_fn = unsafe extern "C" fn(entry: *const tlc_entry, user_data: *mut c_void) -> tlc_status;

/// `tlc_progress_fn` of the C headers.
pub type tlc_progress_fn = unsafe extern "C" fn(done: u64, total: u64, user_data: *mut c_void) -> i32;

/// `tlc_plugin_init_fn` of the C headers.
pub type tlc_plugin_init_fn = unsafe extern "C" fn(host: *const tlc_host_api, ops: *mut *const tlc_backend_ops, state: *mut *mut c_void, error: *mut tlc_error) -> tlc_status;

/// `tlc_remote_sink_fn` of the C headers.
pub type tlc_remote_sink_fn = unsafe extern "C" fn(data: *const c_void, len: usize, user_data: *mut c_void) -> tlc_status;

/// `tlc_remote_init_fn` of the C headers.
pub type tlc_remote_init_fn = unsafe extern "C" fn(host: *const tlc_host_api, ops: *mut *const tlc_remote_ops, error: *mut tlc_error) -> tlc_status;

/// `tlc_str` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_str {
    pub data: *const c_char,
    pub len: usize,
}

/// `tlc_error` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_error {
    pub struct_size: usize,
    pub code: i32,
    pub sys_errno: i32,
    pub backend_code: i64,
    pub message_length: u64,
    pub message: [c_char; 512],
}

/// `tlc_layout` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_layout {
    pub struct_name: *const c_char,
    pub member: *const c_char,
    pub offset: u64,
    pub size: u64,
}

/// `tlc_constant` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_constant {
    pub name: *const c_char,
    pub value: i64,
}

/// `tlc_cache_options` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_cache_options {
    pub struct_size: usize,
    pub directory: tlc_str,
    pub limit_bytes: u64,
    pub flags: u64,
    pub remotes: tlc_str,
}

/// `tlc_member` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_member {
    pub struct_size: usize,
    pub name: tlc_str,
    pub data: *const c_void,
    pub size: u64,
    pub r#type: u32,
}

/// `tlc_artifact_info` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_artifact_info {
    pub struct_size: usize,
    pub name_space: tlc_str,
    pub label: tlc_str,
    pub digest: *const u8,
    pub generation: u64,
    pub created_ns: u64,
    pub compile_us: u64,
    pub size: u64,
    pub member_count: u32,
    pub tier: u32,
}

/// `tlc_compile_options` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_compile_options {
    pub struct_size: usize,
    pub compile: Option<tlc_compile_fn>,
    pub user_data: *mut c_void,
    pub destroy: Option<unsafe extern "C" fn(arg0: *mut c_void)>,
    pub cancel: *mut tlc_cancel,
    pub timeout_ms: i64,
    pub flags: u64,
}

/// `tlc_load_options` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_load_options {
    pub struct_size: usize,
    pub device: i64,
    pub context: *mut c_void,
    pub member: tlc_str,
}

/// `tlc_stats` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_stats {
    pub struct_size: usize,
    pub hits: u64,
    pub misses: u64,
    pub rejections: u64,
    pub puts: u64,
    pub not_stored: u64,
    pub compiles: u64,
    pub compile_us: u64,
    pub saved_us: u64,
    pub evictions: u64,
    pub youngest_evicted_s: u64,
    pub entries: u64,
    pub disk_bytes: u64,
    pub limit_bytes: u64,
    pub mapped_bytes: u64,
    pub unlinked_bytes: u64,
    pub memory_bytes: u64,
    pub remote_gets: u64,
    pub remote_hits: u64,
    pub remote_puts: u64,
    pub remote_errors: u64,
}

/// `tlc_entry` of `tlcache.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_entry {
    pub struct_size: usize,
    pub digest: *const u8,
    pub key_encoding: *const u8,
    pub key_length: usize,
    pub name_space: tlc_str,
    pub label: tlc_str,
    pub kind: tlc_str,
    pub size: u64,
    pub created_ns: u64,
    pub last_used_s: u64,
    pub compile_us: u64,
    pub generation: u64,
}

/// `tlc_host_api` of `backend.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_host_api {
    pub struct_size: usize,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub log: Option<unsafe extern "C" fn(level: i32, component: tlc_str, message: tlc_str)>,
    pub fail: Option<unsafe extern "C" fn(error: *mut tlc_error, status: tlc_status, sys_errno: i32, backend_code: i64, message: tlc_str) -> tlc_status>,
    pub blob_create: Option<unsafe extern "C" fn(data: *const c_void, len: usize) -> *mut tlc_blob>,
    pub blob_data: Option<unsafe extern "C" fn(blob: *const tlc_blob, len: *mut usize) -> *const c_char>,
    pub blob_release: Option<unsafe extern "C" fn(blob: *mut tlc_blob)>,
    pub request_find: Option<unsafe extern "C" fn(request: *const tlc_request, name: tlc_str) -> *const tlc_value>,
    pub value_type: Option<unsafe extern "C" fn(value: *const tlc_value) -> u32>,
    pub value_text: Option<unsafe extern "C" fn(value: *const tlc_value) -> tlc_str>,
    pub value_int: Option<unsafe extern "C" fn(value: *const tlc_value, out: *mut i64) -> tlc_status>,
    pub value_f64: Option<unsafe extern "C" fn(value: *const tlc_value, out: *mut f64) -> tlc_status>,
    pub value_count: Option<unsafe extern "C" fn(value: *const tlc_value) -> usize>,
    pub value_at: Option<unsafe extern "C" fn(value: *const tlc_value, index: usize, name: *mut tlc_str) -> *const tlc_value>,
    pub bundle_add: Option<unsafe extern "C" fn(bundle: *mut tlc_bundle, name: tlc_str, r#type: u32, data: *const c_void, len: usize, flags: u32, error: *mut tlc_error) -> tlc_status>,
    pub bundle_add_guard: Option<unsafe extern "C" fn(bundle: *mut tlc_bundle, path: tlc_str, digest: *const u8, error: *mut tlc_error) -> tlc_status>,
    pub bundle_add_absent: Option<unsafe extern "C" fn(bundle: *mut tlc_bundle, path: tlc_str, error: *mut tlc_error) -> tlc_status>,
    pub log_append: Option<unsafe extern "C" fn(log: *mut tlc_log, text: tlc_str)>,
    pub artifact_member_count: Option<unsafe extern "C" fn(artifact: *const tlc_artifact) -> usize>,
    pub artifact_member_at: Option<unsafe extern "C" fn(artifact: *const tlc_artifact, index: usize, member: *mut tlc_member, error: *mut tlc_error) -> tlc_status>,
    pub artifact_find: Option<unsafe extern "C" fn(artifact: *const tlc_artifact, name: tlc_str, member: *mut tlc_member, error: *mut tlc_error) -> tlc_status>,
    pub artifact_folder: Option<unsafe extern "C" fn(artifact: *mut tlc_artifact, path: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status>,
    pub artifact_target: Option<unsafe extern "C" fn(artifact: *const tlc_artifact) -> tlc_str>,
    pub file_identity: Option<unsafe extern "C" fn(call: *mut tlc_call, path: tlc_str, digest: *mut u8, error: *mut tlc_error) -> tlc_status>,
    pub file_digest: Option<unsafe extern "C" fn(call: *mut tlc_call, path: tlc_str, digest: *mut u8, error: *mut tlc_error) -> tlc_status>,
    pub memo_get: Option<unsafe extern "C" fn(call: *mut tlc_call, key: *const c_void, key_len: usize, value: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status>,
    pub memo_put: Option<unsafe extern "C" fn(call: *mut tlc_call, key: *const c_void, key_len: usize, value: *const c_void, value_len: usize, error: *mut tlc_error) -> tlc_status>,
    pub cancelled: Option<unsafe extern "C" fn(call: *const tlc_call) -> i32>,
}

/// `tlc_backend_ops` of `backend.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_backend_ops {
    pub struct_size: usize,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub next: *const c_void,
    pub name: *const c_char,
    pub engine: *const c_char,
    pub target_kinds: *const *const c_char,
    pub caps: u64,
    pub resolve_target: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut tlc_call, target: tlc_str, resolved: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status>,
    pub identify: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut tlc_call, request: *const tlc_request, target: tlc_str, identity: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status>,
    pub compile: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut tlc_call, request: *const tlc_request, target: tlc_str, bundle: *mut tlc_bundle, log: *mut tlc_log, error: *mut tlc_error) -> tlc_status>,
    pub validate: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut tlc_call, artifact: *const tlc_artifact, options: *const tlc_load_options, error: *mut tlc_error) -> tlc_status>,
    pub place: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut tlc_call, options: *const tlc_load_options, place: *mut u64, error: *mut tlc_error) -> tlc_status>,
    pub load: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut tlc_call, artifact: *mut tlc_artifact, options: *const tlc_load_options, module: *mut *mut c_void, error: *mut tlc_error) -> tlc_status>,
    pub symbol: Option<unsafe extern "C" fn(state: *mut c_void, module: *mut c_void, name: tlc_str, address: *mut *mut c_void, error: *mut tlc_error) -> tlc_status>,
    pub native: Option<unsafe extern "C" fn(state: *mut c_void, module: *mut c_void) -> *mut c_void>,
    pub unload: Option<unsafe extern "C" fn(state: *mut c_void, module: *mut c_void)>,
    pub probe: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut tlc_call, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status>,
    pub close: Option<unsafe extern "C" fn(state: *mut c_void)>,
    pub describe: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut tlc_call, artifact: *const tlc_artifact, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status>,
}

/// `tlc_plugin_desc` of `backend.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_plugin_desc {
    pub magic: u64,
    pub struct_size: usize,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub min_host_minor: u32,
    pub reserved: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub license: *const c_char,
    pub build_id: *const c_char,
}

/// `tlc_remote_item` of `remote.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_remote_item {
    pub struct_size: usize,
    pub digest: *const u8,
    pub data: *const c_void,
    pub len: usize,
    pub flags: u64,
}

/// `tlc_remote_ops` of `remote.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tlc_remote_ops {
    pub struct_size: usize,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub next: *const c_void,
    pub name: *const c_char,
    pub scheme: *const c_char,
    pub caps: u64,
    pub open: Option<unsafe extern "C" fn(url: tlc_str, state: *mut *mut c_void, error: *mut tlc_error) -> tlc_status>,
    pub get: Option<unsafe extern "C" fn(state: *mut c_void, digest: *const u8, timeout_ms: i64, sink: Option<tlc_remote_sink_fn>, sink_data: *mut c_void, error: *mut tlc_error) -> tlc_status>,
    pub put: Option<unsafe extern "C" fn(state: *mut c_void, digest: *const u8, data: *const c_void, len: usize, timeout_ms: i64, error: *mut tlc_error) -> tlc_status>,
    pub remove: Option<unsafe extern "C" fn(state: *mut c_void, digest: *const u8, timeout_ms: i64, error: *mut tlc_error) -> tlc_status>,
    pub close: Option<unsafe extern "C" fn(state: *mut c_void)>,
    pub put_many: Option<unsafe extern "C" fn(state: *mut c_void, items: *const *const tlc_remote_item, count: usize, timeout_ms: i64, error: *mut tlc_error) -> tlc_status>,
}

pub const TLC_VERSION_MAJOR: u32 = 0;
pub const TLC_VERSION_MINOR: u32 = 1;
pub const TLC_VERSION_PATCH: u32 = 0;
pub const TLC_VERSION: u32 = 65536;
pub const TLC_ABI_MAJOR: u32 = 0;
pub const TLC_ABI_MINOR: u32 = 3;
pub const TLC_STRLEN: usize = usize::MAX;
pub const TLC_OK: tlc_status = 0;
pub const TLC_MISS: tlc_status = 1;
pub const TLC_REJECTED: tlc_status = 2;
pub const TLC_NOT_STORED: tlc_status = 3;
pub const TLC_EXISTED: tlc_status = 4;
pub const TLC_CONFLICT: tlc_status = 5;
pub const TLC_TIMEOUT: tlc_status = 6;
pub const TLC_LOCKED: tlc_status = 7;
pub const TLC_TOO_LARGE: tlc_status = 8;
pub const TLC_E_INVALID: tlc_status = -1;
pub const TLC_E_NOMEM: tlc_status = -2;
pub const TLC_E_IO: tlc_status = -3;
pub const TLC_E_INTERNAL: tlc_status = -4;
pub const TLC_E_UNSUPPORTED: tlc_status = -5;
pub const TLC_E_ABI: tlc_status = -6;
pub const TLC_E_EXISTS: tlc_status = -7;
pub const TLC_E_NOT_FOUND: tlc_status = -8;
pub const TLC_E_UNCACHEABLE: tlc_status = -9;
pub const TLC_E_COMPILE: tlc_status = -10;
pub const TLC_E_LOAD: tlc_status = -11;
pub const TLC_E_UNAVAILABLE: tlc_status = -12;
pub const TLC_E_CANCELLED: tlc_status = -13;
pub const TLC_E_FORKED: tlc_status = -14;
pub const TLC_E_CALLBACK: tlc_status = -15;
pub const TLC_E_DENIED: tlc_status = -16;
pub const TLC_E_BUSY: tlc_status = -17;
pub const TLC_E_CORRUPT: tlc_status = -18;
pub const TLC_FEATURE_STORE: u64 = 1;
pub const TLC_FEATURE_PLUGINS: u64 = 2;
pub const TLC_FEATURE_PACKS: u64 = 4;
pub const TLC_FEATURE_REMOTES: u64 = 8;
pub const TLC_LOG_OFF: i32 = 0;
pub const TLC_LOG_ERROR: i32 = 1;
pub const TLC_LOG_WARN: i32 = 2;
pub const TLC_LOG_INFO: i32 = 3;
pub const TLC_LOG_DEBUG: i32 = 4;
pub const TLC_OPEN_STRICT: u64 = 1;
pub const TLC_OPEN_READ_ONLY: u64 = 2;
pub const TLC_OPEN_DURABLE: u64 = 4;
pub const TLC_OPEN_VERIFY_STRICT: u64 = 8;
pub const TLC_OPEN_ALLOW_PLUGINS: u64 = 16;
pub const TLC_OPEN_MEMORY: u64 = 32;
pub const TLC_OPEN_NO_ENV: u64 = 64;
pub const TLC_DIGEST_SIZE: usize = 32;
pub const TLC_FIELD_DIGEST_ONLY: u32 = 1;
pub const TLC_TYPE_NULL: u32 = 0;
pub const TLC_TYPE_BOOL: u32 = 1;
pub const TLC_TYPE_INT: u32 = 2;
pub const TLC_TYPE_F64: u32 = 3;
pub const TLC_TYPE_TEXT: u32 = 4;
pub const TLC_TYPE_BYTES: u32 = 5;
pub const TLC_TYPE_DIGEST: u32 = 6;
pub const TLC_TYPE_LIST: u32 = 7;
pub const TLC_TYPE_MAP: u32 = 8;
pub const TLC_MEMBER_OPAQUE: u32 = 0;
pub const TLC_MEMBER_SHARED_OBJECT: u32 = 1;
pub const TLC_MEMBER_DEVICE_BINARY: u32 = 2;
pub const TLC_MEMBER_DEVICE_IR: u32 = 3;
pub const TLC_MEMBER_SOURCE: u32 = 4;
pub const TLC_MEMBER_JSON: u32 = 5;
pub const TLC_MEMBER_OBJECT: u32 = 6;
pub const TLC_BUNDLE_BORROW: u32 = 1;
pub const TLC_TIER_MEMORY: u32 = 0;
pub const TLC_TIER_STORE: u32 = 1;
pub const TLC_TIER_PACK: u32 = 2;
pub const TLC_TIER_REMOTE: u32 = 3;
pub const TLC_WAIT_DEFAULT: i64 = -1;
pub const TLC_WAIT_NONE: i64 = 0;
pub const TLC_COMPILE_KEEP_FAILURE: u64 = 1;
pub const TLC_COMPILE_CLOSED: u64 = 2;
pub const TLC_COMPILE_NEVER: u64 = 4;
pub const TLC_VERIFY_REPAIR: u32 = 1;
pub const TLC_BACKEND_OPS_SIZE: usize = 152;
pub const TLC_BACKEND_OPS_PREFIX: usize = 56;
pub const TLC_PLUGIN_MAGIC: u64 = 3550900617457388628;
pub const TLC_BACKEND_HOST_BOUND: u64 = 1;
pub const TLC_BACKEND_SURVIVES_FORK: u64 = 2;
pub const TLC_REGISTER_OVERRIDE: u32 = 1;
pub const TLC_REGISTER_DEFAULT: u32 = 2;
pub const TLC_REMOTE_OPS_SIZE: usize = 96;
pub const TLC_REMOTE_CONCURRENT: u64 = 1;
pub const TLC_REMOTE_READ_ONLY: u64 = 2;
pub const TLC_REMOTE_PRIVATE: u64 = 4;
pub const TLC_REMOTE_REPLACE: u64 = 1;

extern "C" {
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_str_from(text: *const c_char) -> tlc_str;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_error_init(error: *mut tlc_error);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_status_name(status: tlc_status) -> *const c_char;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_status_message(status: tlc_status) -> *const c_char;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_blob_data(blob: *const tlc_blob, len: *mut usize) -> *const c_char;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_blob_release(blob: *mut tlc_blob);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_version() -> u32;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_version_string() -> *const c_char;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_abi_version() -> u32;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_build_info() -> *const c_char;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_features() -> u64;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_abi_layout(count: *mut usize) -> *const tlc_layout;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_abi_constants(count: *mut usize) -> *const tlc_constant;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_set_log(level: i32, r#fn: Option<tlc_log_fn>, user_data: *mut c_void, destroy: Option<unsafe extern "C" fn(arg0: *mut c_void)>, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_options_init(options: *mut tlc_cache_options);
    /// Since 0.3; see `tlcache.h`.
    pub fn tlc_cache_options_init_sized(options: *mut tlc_cache_options, size: usize);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_open(options: *const tlc_cache_options, cache: *mut *mut tlc_cache, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_close(cache: *mut tlc_cache);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_create(name_space: tlc_str, request: *mut *mut tlc_request, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_destroy(request: *mut tlc_request);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_set_target(request: *mut tlc_request, target: tlc_str, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_set_engine(request: *mut tlc_request, engine: tlc_str, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_set_toolchain(request: *mut tlc_request, data: *const c_void, len: usize, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_set_no_toolchain(request: *mut tlc_request, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_set_label(request: *mut tlc_request, label: tlc_str, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_require_member(request: *mut tlc_request, name: tlc_str, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_add_null(request: *mut tlc_request, name: tlc_str, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_add_bool(request: *mut tlc_request, name: tlc_str, value: i32, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_add_int(request: *mut tlc_request, name: tlc_str, value: i64, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_add_uint(request: *mut tlc_request, name: tlc_str, value: u64, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_add_f64(request: *mut tlc_request, name: tlc_str, value: f64, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_add_text(request: *mut tlc_request, name: tlc_str, value: tlc_str, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_add_bytes(request: *mut tlc_request, name: tlc_str, data: *const c_void, len: usize, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_add_digest(request: *mut tlc_request, name: tlc_str, digest: *const u8, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_begin_list(request: *mut tlc_request, name: tlc_str, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_begin_map(request: *mut tlc_request, name: tlc_str, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_end(request: *mut tlc_request, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_find(request: *const tlc_request, name: tlc_str) -> *const tlc_value;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_value_type(value: *const tlc_value) -> u32;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_value_text(value: *const tlc_value) -> tlc_str;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_value_int(value: *const tlc_value, out: *mut i64) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_value_f64(value: *const tlc_value, out: *mut f64) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_value_count(value: *const tlc_value) -> usize;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_value_at(value: *const tlc_value, index: usize, name: *mut tlc_str) -> *const tlc_value;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_target(request: *const tlc_request) -> tlc_str;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_engine(request: *const tlc_request) -> tlc_str;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_namespace(request: *const tlc_request) -> tlc_str;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_label(request: *const tlc_request) -> tlc_str;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_key(cache: *mut tlc_cache, request: *const tlc_request, key: *mut *mut tlc_key, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_request_key(request: *const tlc_request, key: *mut *mut tlc_key, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_key_decode(encoding: *const c_void, len: usize, key: *mut *mut tlc_key, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_key_retain(key: *mut tlc_key) -> *mut tlc_key;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_key_release(key: *mut tlc_key);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_key_digest(key: *const tlc_key) -> *const u8;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_key_encoding(key: *const tlc_key, len: *mut usize) -> *const u8;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_key_describe(key: *const tlc_key, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_key_diff(was: *const tlc_key, now: *const tlc_key, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_bundle_create(bundle: *mut *mut tlc_bundle, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_bundle_destroy(bundle: *mut tlc_bundle);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_bundle_add(bundle: *mut tlc_bundle, name: tlc_str, r#type: u32, data: *const c_void, len: usize, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_bundle_set_compile_time(bundle: *mut tlc_bundle, microseconds: u64, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_bundle_set_label(bundle: *mut tlc_bundle, label: tlc_str, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_bundle_add_guard(bundle: *mut tlc_bundle, path: tlc_str, digest: *const u8, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_bundle_add_absent(bundle: *mut tlc_bundle, path: tlc_str, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_bundle_add_requirement(bundle: *mut tlc_bundle, key: *const tlc_key, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_retain(artifact: *mut tlc_artifact) -> *mut tlc_artifact;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_release(artifact: *mut tlc_artifact);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_get_info(artifact: *const tlc_artifact, info: *mut tlc_artifact_info, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_member_count(artifact: *const tlc_artifact) -> usize;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_member_at(artifact: *const tlc_artifact, index: usize, member: *mut tlc_member, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_find(artifact: *const tlc_artifact, name: tlc_str, member: *mut tlc_member, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_data(artifact: *const tlc_artifact, index: usize, size: *mut usize) -> *const c_void;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_read(artifact: *const tlc_artifact, index: usize, buffer: *mut c_void, capacity: usize, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_key_encoding(artifact: *const tlc_artifact, len: *mut usize) -> *const u8;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_artifact_folder(artifact: *mut tlc_artifact, path: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_get(cache: *mut tlc_cache, key: *const tlc_key, artifact: *mut *mut tlc_artifact, error: *mut tlc_error) -> tlc_status;
    /// Since 0.3; see `tlcache.h`.
    pub fn tlc_cache_outline(cache: *mut tlc_cache, key: *const tlc_key, r#fn: Option<tlc_outline_fn>, user_data: *mut c_void, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_put(cache: *mut tlc_cache, key: *const tlc_key, bundle: *const tlc_bundle, artifact: *mut *mut tlc_artifact, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_replace(cache: *mut tlc_cache, key: *const tlc_key, seen: *const tlc_artifact, bundle: *const tlc_bundle, artifact: *mut *mut tlc_artifact, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_amend(cache: *mut tlc_cache, key: *const tlc_key, seen: *const tlc_artifact, bundle: *const tlc_bundle, artifact: *mut *mut tlc_artifact, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_link(cache: *mut tlc_cache, from: *const tlc_key, to: *const tlc_key, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_remove(cache: *mut tlc_cache, key: *const tlc_key, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_invalidate(cache: *mut tlc_cache, artifact: *const tlc_artifact, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_clear(cache: *mut tlc_cache, name_space: tlc_str, removed: *mut u64, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cancel_create(cancel: *mut *mut tlc_cancel, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cancel_trigger(cancel: *mut tlc_cancel);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cancel_release(cancel: *mut tlc_cancel);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_begin(cache: *mut tlc_cache, key: *const tlc_key, timeout_ms: i64, cancel: *mut tlc_cancel, artifact: *mut *mut tlc_artifact, lock: *mut *mut tlc_lock, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_lock_publish(lock: *mut tlc_lock, bundle: *const tlc_bundle, artifact: *mut *mut tlc_artifact, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_lock_fail(lock: *mut tlc_lock, status: tlc_status, message: tlc_str);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_lock_abandon(lock: *mut tlc_lock);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_log_append(log: *mut tlc_log, text: tlc_str);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_compile_options_init(options: *mut tlc_compile_options);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_get_or_compile(cache: *mut tlc_cache, request: *const tlc_request, options: *const tlc_compile_options, artifact: *mut *mut tlc_artifact, log: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_load_options_init(options: *mut tlc_load_options);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_load(cache: *mut tlc_cache, artifact: *mut tlc_artifact, options: *const tlc_load_options, module: *mut *mut tlc_module, error: *mut tlc_error) -> tlc_status;
    /// Since 0.2; see `tlcache.h`.
    pub fn tlc_artifact_describe(artifact: *const tlc_artifact, cache: *mut tlc_cache, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_module_symbol(module: *mut tlc_module, name: tlc_str, address: *mut *mut c_void, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_module_native(module: *mut tlc_module) -> *mut c_void;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_module_retain(module: *mut tlc_module) -> *mut tlc_module;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_module_release(module: *mut tlc_module);
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_get_stats(cache: *mut tlc_cache, name_space: tlc_str, stats: *mut tlc_stats, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_stats_json(cache: *mut tlc_cache, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_list(cache: *mut tlc_cache, name_space: tlc_str, r#fn: Option<tlc_entry_fn>, user_data: *mut c_void, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_find(cache: *mut tlc_cache, hex_prefix: tlc_str, artifact: *mut *mut tlc_artifact, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_explain(cache: *mut tlc_cache, key: *const tlc_key, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_verify(cache: *mut tlc_cache, flags: u32, progress: Option<tlc_progress_fn>, user_data: *mut c_void, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_gc(cache: *mut tlc_cache, max_bytes: u64, progress: Option<tlc_progress_fn>, user_data: *mut c_void, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_configure(cache: *mut tlc_cache, name: tlc_str, value: tlc_str, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_describe(cache: *mut tlc_cache, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_cache_backends(cache: *mut tlc_cache, json: *mut *mut tlc_blob, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `tlcache.h`.
    pub fn tlc_load_plugin(path: tlc_str, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `backend.h`.
    pub fn tlc_host() -> *const tlc_host_api;
    /// Since 0.1; see `backend.h`.
    pub fn tlc_register_backend(ops: *const tlc_backend_ops, state: *mut c_void, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `backend.h`.
    pub fn tlc_cache_register_backend(cache: *mut tlc_cache, ops: *const tlc_backend_ops, state: *mut c_void, flags: u32, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `backend.h`.
    pub fn tlc_unregister_backend(ops: *const tlc_backend_ops, state: *mut c_void, error: *mut tlc_error) -> tlc_status;
    /// Since 0.1; see `remote.h`.
    pub fn tlc_register_remote(ops: *const tlc_remote_ops, error: *mut tlc_error) -> tlc_status;
}

/// Every struct and member as this crate lays them out, for `layout_differences`.
pub(crate) fn layout(add: &mut dyn FnMut(&'static str, Option<&'static str>, usize, usize)) {
    layout_of!(add, tlc_str { data, len });
    layout_of!(add, tlc_error { struct_size, code, sys_errno, backend_code, message_length, message });
    layout_of!(add, tlc_layout { struct_name, member, offset, size });
    layout_of!(add, tlc_constant { name, value });
    layout_of!(add, tlc_cache_options { struct_size, directory, limit_bytes, flags, remotes });
    layout_of!(add, tlc_member { struct_size, name, data, size, r#type });
    layout_of!(add, tlc_artifact_info { struct_size, name_space, label, digest, generation, created_ns, compile_us, size, member_count, tier });
    layout_of!(add, tlc_compile_options { struct_size, compile, user_data, destroy, cancel, timeout_ms, flags });
    layout_of!(add, tlc_load_options { struct_size, device, context, member });
    layout_of!(add, tlc_stats { struct_size, hits, misses, rejections, puts, not_stored, compiles, compile_us, saved_us, evictions, youngest_evicted_s, entries, disk_bytes, limit_bytes, mapped_bytes, unlinked_bytes, memory_bytes, remote_gets, remote_hits, remote_puts, remote_errors });
    layout_of!(add, tlc_entry { struct_size, digest, key_encoding, key_length, name_space, label, kind, size, created_ns, last_used_s, compile_us, generation });
    layout_of!(add, tlc_host_api { struct_size, abi_major, abi_minor, log, fail, blob_create, blob_data, blob_release, request_find, value_type, value_text, value_int, value_f64, value_count, value_at, bundle_add, bundle_add_guard, bundle_add_absent, log_append, artifact_member_count, artifact_member_at, artifact_find, artifact_folder, artifact_target, file_identity, file_digest, memo_get, memo_put, cancelled });
    layout_of!(add, tlc_backend_ops { struct_size, abi_major, abi_minor, next, name, engine, target_kinds, caps, resolve_target, identify, compile, validate, place, load, symbol, native, unload, probe, close, describe });
    layout_of!(add, tlc_plugin_desc { magic, struct_size, abi_major, abi_minor, min_host_minor, reserved, name, version, license, build_id });
    layout_of!(add, tlc_remote_item { struct_size, digest, data, len, flags });
    layout_of!(add, tlc_remote_ops { struct_size, abi_major, abi_minor, next, name, scheme, caps, open, get, put, remove, close, put_many });
}

/// Every constant as this crate has it.
pub(crate) const CONSTANTS: &[(&str, i64)] = &[
    ("TLC_VERSION_MAJOR", TLC_VERSION_MAJOR as i64),
    ("TLC_VERSION_MINOR", TLC_VERSION_MINOR as i64),
    ("TLC_VERSION_PATCH", TLC_VERSION_PATCH as i64),
    ("TLC_VERSION", TLC_VERSION as i64),
    ("TLC_ABI_MAJOR", TLC_ABI_MAJOR as i64),
    ("TLC_ABI_MINOR", TLC_ABI_MINOR as i64),
    ("TLC_STRLEN", TLC_STRLEN as i64),
    ("TLC_OK", TLC_OK as i64),
    ("TLC_MISS", TLC_MISS as i64),
    ("TLC_REJECTED", TLC_REJECTED as i64),
    ("TLC_NOT_STORED", TLC_NOT_STORED as i64),
    ("TLC_EXISTED", TLC_EXISTED as i64),
    ("TLC_CONFLICT", TLC_CONFLICT as i64),
    ("TLC_TIMEOUT", TLC_TIMEOUT as i64),
    ("TLC_LOCKED", TLC_LOCKED as i64),
    ("TLC_TOO_LARGE", TLC_TOO_LARGE as i64),
    ("TLC_E_INVALID", TLC_E_INVALID as i64),
    ("TLC_E_NOMEM", TLC_E_NOMEM as i64),
    ("TLC_E_IO", TLC_E_IO as i64),
    ("TLC_E_INTERNAL", TLC_E_INTERNAL as i64),
    ("TLC_E_UNSUPPORTED", TLC_E_UNSUPPORTED as i64),
    ("TLC_E_ABI", TLC_E_ABI as i64),
    ("TLC_E_EXISTS", TLC_E_EXISTS as i64),
    ("TLC_E_NOT_FOUND", TLC_E_NOT_FOUND as i64),
    ("TLC_E_UNCACHEABLE", TLC_E_UNCACHEABLE as i64),
    ("TLC_E_COMPILE", TLC_E_COMPILE as i64),
    ("TLC_E_LOAD", TLC_E_LOAD as i64),
    ("TLC_E_UNAVAILABLE", TLC_E_UNAVAILABLE as i64),
    ("TLC_E_CANCELLED", TLC_E_CANCELLED as i64),
    ("TLC_E_FORKED", TLC_E_FORKED as i64),
    ("TLC_E_CALLBACK", TLC_E_CALLBACK as i64),
    ("TLC_E_DENIED", TLC_E_DENIED as i64),
    ("TLC_E_BUSY", TLC_E_BUSY as i64),
    ("TLC_E_CORRUPT", TLC_E_CORRUPT as i64),
    ("TLC_FEATURE_STORE", TLC_FEATURE_STORE as i64),
    ("TLC_FEATURE_PLUGINS", TLC_FEATURE_PLUGINS as i64),
    ("TLC_FEATURE_PACKS", TLC_FEATURE_PACKS as i64),
    ("TLC_FEATURE_REMOTES", TLC_FEATURE_REMOTES as i64),
    ("TLC_LOG_OFF", TLC_LOG_OFF as i64),
    ("TLC_LOG_ERROR", TLC_LOG_ERROR as i64),
    ("TLC_LOG_WARN", TLC_LOG_WARN as i64),
    ("TLC_LOG_INFO", TLC_LOG_INFO as i64),
    ("TLC_LOG_DEBUG", TLC_LOG_DEBUG as i64),
    ("TLC_OPEN_STRICT", TLC_OPEN_STRICT as i64),
    ("TLC_OPEN_READ_ONLY", TLC_OPEN_READ_ONLY as i64),
    ("TLC_OPEN_DURABLE", TLC_OPEN_DURABLE as i64),
    ("TLC_OPEN_VERIFY_STRICT", TLC_OPEN_VERIFY_STRICT as i64),
    ("TLC_OPEN_ALLOW_PLUGINS", TLC_OPEN_ALLOW_PLUGINS as i64),
    ("TLC_OPEN_MEMORY", TLC_OPEN_MEMORY as i64),
    ("TLC_OPEN_NO_ENV", TLC_OPEN_NO_ENV as i64),
    ("TLC_DIGEST_SIZE", TLC_DIGEST_SIZE as i64),
    ("TLC_FIELD_DIGEST_ONLY", TLC_FIELD_DIGEST_ONLY as i64),
    ("TLC_TYPE_NULL", TLC_TYPE_NULL as i64),
    ("TLC_TYPE_BOOL", TLC_TYPE_BOOL as i64),
    ("TLC_TYPE_INT", TLC_TYPE_INT as i64),
    ("TLC_TYPE_F64", TLC_TYPE_F64 as i64),
    ("TLC_TYPE_TEXT", TLC_TYPE_TEXT as i64),
    ("TLC_TYPE_BYTES", TLC_TYPE_BYTES as i64),
    ("TLC_TYPE_DIGEST", TLC_TYPE_DIGEST as i64),
    ("TLC_TYPE_LIST", TLC_TYPE_LIST as i64),
    ("TLC_TYPE_MAP", TLC_TYPE_MAP as i64),
    ("TLC_MEMBER_OPAQUE", TLC_MEMBER_OPAQUE as i64),
    ("TLC_MEMBER_SHARED_OBJECT", TLC_MEMBER_SHARED_OBJECT as i64),
    ("TLC_MEMBER_DEVICE_BINARY", TLC_MEMBER_DEVICE_BINARY as i64),
    ("TLC_MEMBER_DEVICE_IR", TLC_MEMBER_DEVICE_IR as i64),
    ("TLC_MEMBER_SOURCE", TLC_MEMBER_SOURCE as i64),
    ("TLC_MEMBER_JSON", TLC_MEMBER_JSON as i64),
    ("TLC_MEMBER_OBJECT", TLC_MEMBER_OBJECT as i64),
    ("TLC_BUNDLE_BORROW", TLC_BUNDLE_BORROW as i64),
    ("TLC_TIER_MEMORY", TLC_TIER_MEMORY as i64),
    ("TLC_TIER_STORE", TLC_TIER_STORE as i64),
    ("TLC_TIER_PACK", TLC_TIER_PACK as i64),
    ("TLC_TIER_REMOTE", TLC_TIER_REMOTE as i64),
    ("TLC_WAIT_DEFAULT", TLC_WAIT_DEFAULT as i64),
    ("TLC_WAIT_NONE", TLC_WAIT_NONE as i64),
    ("TLC_COMPILE_KEEP_FAILURE", TLC_COMPILE_KEEP_FAILURE as i64),
    ("TLC_COMPILE_CLOSED", TLC_COMPILE_CLOSED as i64),
    ("TLC_COMPILE_NEVER", TLC_COMPILE_NEVER as i64),
    ("TLC_VERIFY_REPAIR", TLC_VERIFY_REPAIR as i64),
    ("TLC_BACKEND_OPS_SIZE", TLC_BACKEND_OPS_SIZE as i64),
    ("TLC_BACKEND_OPS_PREFIX", TLC_BACKEND_OPS_PREFIX as i64),
    ("TLC_PLUGIN_MAGIC", TLC_PLUGIN_MAGIC as i64),
    ("TLC_BACKEND_HOST_BOUND", TLC_BACKEND_HOST_BOUND as i64),
    ("TLC_BACKEND_SURVIVES_FORK", TLC_BACKEND_SURVIVES_FORK as i64),
    ("TLC_REGISTER_OVERRIDE", TLC_REGISTER_OVERRIDE as i64),
    ("TLC_REGISTER_DEFAULT", TLC_REGISTER_DEFAULT as i64),
    ("TLC_REMOTE_OPS_SIZE", TLC_REMOTE_OPS_SIZE as i64),
    ("TLC_REMOTE_CONCURRENT", TLC_REMOTE_CONCURRENT as i64),
    ("TLC_REMOTE_READ_ONLY", TLC_REMOTE_READ_ONLY as i64),
    ("TLC_REMOTE_PRIVATE", TLC_REMOTE_PRIVATE as i64),
    ("TLC_REMOTE_REPLACE", TLC_REMOTE_REPLACE as i64),
];
