// SPDX-License-Identifier: MIT
//! Digests and keys.
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr::NonNull;
use std::str::FromStr;

use tlcache_sys as sys;

use crate::error::{Error, ErrorKind, Report, Result};
use crate::library;
use crate::text::{self, Blob};

/// 32 bytes that name something by its content (BLAKE2b-256). As a field it has a type of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; sys::TLC_DIGEST_SIZE]);

impl Digest {
    /// # Safety
    /// `data` has 32 bytes.
    pub(crate) unsafe fn read(data: *const u8) -> Digest {
        Digest(data.cast::<[u8; sys::TLC_DIGEST_SIZE]>().read())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{:02x}", byte))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self)
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(hex: &str) -> Result<Digest> {
        let mut out = [0; sys::TLC_DIGEST_SIZE];
        let digits = hex.as_bytes();
        let good = digits.len() == 2 * out.len() && digits.iter().all(u8::is_ascii_hexdigit);
        if !good {
            let message = format!("'{}' is no digest: it is {} hex digits", hex, 2 * out.len());
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        for (byte, pair) in out.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let value = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
            *byte = value(pair[0]) << 4 | value(pair[1]);
        }
        Ok(Digest(out))
    }
}

/// What an artifact is found by: the fields that determine it, encoded, and their digest. Immutable and cheap to clone.
pub struct Key(NonNull<sys::tlc_key>);

// SAFETY: a key is immutable, and its references are counted atomically.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

impl Key {
    /// Takes over a reference; the pointer comes from a call that answered TLC_OK.
    pub(crate) fn own(key: *mut sys::tlc_key) -> Result<Key> {
        match NonNull::new(key) {
            Some(key) => Ok(Key(key)),
            None => Err(Error::new(ErrorKind::Internal, "the library gave no key")),
        }
    }

    #[inline]
    pub(crate) fn ptr(&self) -> *mut sys::tlc_key {
        self.0.as_ptr()
    }

    /// A key from its encoding, which must be canonical (`docs/key-format.md`).
    pub fn decode(encoding: &[u8]) -> Result<Key> {
        library::ready()?;
        let (mut out, mut report) = (std::ptr::null_mut(), Report::new());
        // SAFETY: the bytes are copied.
        let status = unsafe { sys::tlc_key_decode(encoding.as_ptr().cast(), encoding.len(), &mut out, report.out()) };
        report.check(status)?;
        Key::own(out)
    }

    /// The 32 bytes that name the artifact.
    pub fn digest(&self) -> Digest {
        // SAFETY: 32 bytes, borrowed from the key.
        unsafe { Digest::read(sys::tlc_key_digest(self.ptr())) }
    }

    /// The encoding.
    pub fn encoding(&self) -> &[u8] {
        let mut len = 0;
        // SAFETY: borrowed from the key.
        unsafe {
            let data = sys::tlc_key_encoding(self.ptr(), &mut len);
            text::slice(data, len)
        }
    }

    /// Digest, namespace, target, engine and fields, as a JSON object.
    pub fn describe(&self) -> Result<String> {
        let (mut blob, mut report) = (Blob::NONE, Report::new());
        // SAFETY: both live during the call.
        let status = unsafe { sys::tlc_key_describe(self.ptr(), &mut blob.0, report.out()) };
        report.check(status).map(|()| blob.to_text())
    }

    /// What another key has otherwise, as a JSON array of `{path, kind, was, now}`.
    pub fn diff(&self, now: &Key) -> Result<String> {
        let (mut blob, mut report) = (Blob::NONE, Report::new());
        // SAFETY: all live during the call.
        let status = unsafe { sys::tlc_key_diff(self.ptr(), now.ptr(), &mut blob.0, report.out()) };
        report.check(status).map(|()| blob.to_text())
    }
}

impl Clone for Key {
    fn clone(&self) -> Key {
        // SAFETY: counts one more reference of a key that is alive.
        unsafe { sys::tlc_key_retain(self.ptr()) };
        Key(self.0)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: gives back the one reference of this handle.
        unsafe { sys::tlc_key_release(self.ptr()) }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.digest() == other.digest()
    }
}
impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest().hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.digest())
    }
}
