// SPDX-License-Identifier: MIT
//! Texts and blobs between Rust and C.
use std::ffi::OsStr;
use std::os::raw::c_char;
use std::os::unix::ffi::OsStrExt;

use tlcache_sys as sys;

pub(crate) const EMPTY: sys::tlc_str = sys::tlc_str { data: std::ptr::null(), len: 0 };

/// Borrows: valid while `text` is.
#[inline]
pub(crate) fn of(text: &str) -> sys::tlc_str {
    of_bytes(text.as_bytes())
}

#[inline]
pub(crate) fn of_bytes(bytes: &[u8]) -> sys::tlc_str {
    sys::tlc_str { data: bytes.as_ptr().cast::<c_char>(), len: bytes.len() }
}

pub(crate) fn of_path(path: &OsStr) -> sys::tlc_str {
    of_bytes(path.as_bytes())
}

pub(crate) fn of_option(text: Option<&str>) -> sys::tlc_str {
    text.map_or(EMPTY, of)
}

/// The bytes of a text of the library's.
///
/// # Safety
/// They are valid for `'a`.
pub(crate) unsafe fn bytes<'a>(text: sys::tlc_str) -> &'a [u8] {
    slice(text.data.cast(), text.len)
}

/// # Safety
/// As for `bytes`. The library hands out UTF-8 only; anything else reads as empty.
pub(crate) unsafe fn str<'a>(text: sys::tlc_str) -> &'a str {
    std::str::from_utf8(bytes(text)).unwrap_or("")
}

/// A slice also where there is no address, as for an empty member.
///
/// # Safety
/// `data` has `len` bytes that are valid and unchanged for `'a`.
#[inline]
pub(crate) unsafe fn slice<'a>(data: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, len)
    }
}

/// A blob that the library allocated for us.
pub(crate) struct Blob(pub(crate) *mut sys::tlc_blob);

impl Blob {
    pub(crate) const NONE: Blob = Blob(std::ptr::null_mut());

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.0.is_null() {
            return &[];
        }
        let mut len = 0;
        // SAFETY: a blob is immutable and lives as long as self.
        unsafe {
            let data = sys::tlc_blob_data(self.0, &mut len);
            slice(data.cast(), len)
        }
    }

    pub(crate) fn to_text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        // SAFETY: it is ours, and NULL does nothing.
        unsafe { sys::tlc_blob_release(self.0) }
    }
}
