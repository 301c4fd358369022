// SPDX-License-Identifier: MIT
//! One compile for many: the compile lock, and tokens that end waits.
use std::fmt;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;
use std::time::Duration;

use tlcache_sys as sys;

use crate::artifact::Artifact;
use crate::bundle::{Bundle, Native};
use crate::cache::{published, Cache, Published};
use crate::error::{Error, ErrorKind, Report, Result};
use crate::key::Key;
use crate::library;
use crate::text;

/// A token that ends waits from another thread. A clone is the same token.
#[derive(Clone)]
pub struct Cancel(Arc<Token>);

struct Token(NonNull<sys::tlc_cancel>);

// SAFETY: triggering is atomic, and async-signal-safe.
unsafe impl Send for Token {}
// SAFETY: as above.
unsafe impl Sync for Token {}

impl Drop for Token {
    fn drop(&mut self) {
        // SAFETY: the last handle.
        unsafe { sys::tlc_cancel_release(self.0.as_ptr()) }
    }
}

impl Cancel {
    /// A token that nobody has triggered yet.
    pub fn new() -> Result<Cancel> {
        library::ready()?;
        let (mut out, mut report) = (null_mut(), Report::new());
        // SAFETY: out is ours.
        let status = unsafe { sys::tlc_cancel_create(&mut out, report.out()) };
        report.check(status)?;
        match NonNull::new(out) {
            Some(token) => Ok(Cancel(Arc::new(Token(token)))),
            None => Err(Error::new(ErrorKind::Internal, "the library gave no token")),
        }
    }

    /// Ends every wait that was given this token, now and later, with [`ErrorKind::Cancelled`].
    pub fn trigger(&self) {
        // SAFETY: alive.
        unsafe { sys::tlc_cancel_trigger(self.ptr()) }
    }

    pub(crate) fn ptr(&self) -> *mut sys::tlc_cancel {
        (self.0).0.as_ptr()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancel({:p})", self.ptr())
    }
}

/// What [`Cache::begin`] gives.
#[derive(Debug)]
#[must_use]
pub enum Begin {
    /// The key was found.
    Hit(Artifact),
    /// It is yours to compile: publish, fail or abandon.
    Lock(CompileLock),
}

/// The right to compile a key on this host. Ends with `publish`, `fail` or `abandon`; dropping it, also by a panic,
/// abandons it, and the next who waits compiles. Any thread may end it.
#[must_use = "dropping it lets the next who waits compile"]
pub struct CompileLock(NonNull<sys::tlc_lock>);

// SAFETY: the library lets any thread end a lock. Nothing can be done with a shared reference to it.
unsafe impl Send for CompileLock {}
// SAFETY: as above.
unsafe impl Sync for CompileLock {}

impl CompileLock {
    fn take(self) -> *mut sys::tlc_lock {
        let lock = self.0.as_ptr();
        std::mem::forget(self);
        lock
    }

    /// Publishes, and ends the lock whatever the outcome. The compile time is the time since the lock was given, if the
    /// bundle does not say it.
    pub fn publish(self, bundle: &Bundle) -> Result<Published> {
        let native = Native::new(bundle)?;
        let (mut out, mut report) = (null_mut(), Report::new());
        // SAFETY: the lock is ours, and this ends it.
        let status = unsafe { sys::tlc_lock_publish(self.take(), native.bundle, &mut out, report.out()) };
        published(status, out, &mut report)
    }

    /// Ends the lock; threads of this process that wait get this error, other processes compile.
    pub fn fail(self, kind: ErrorKind, message: &str) {
        let status = if kind.status() < 0 { kind.status() } else { sys::TLC_E_CALLBACK };
        // SAFETY: the lock is ours, and this ends it; the text is copied.
        unsafe { sys::tlc_lock_fail(self.take(), status, text::of(message)) }
    }

    /// Ends the lock; the next who waits compiles.
    pub fn abandon(self) {}
}

impl Drop for CompileLock {
    fn drop(&mut self) {
        // SAFETY: it was not ended: that would have taken it.
        unsafe { sys::tlc_lock_abandon(self.0.as_ptr()) }
    }
}

impl fmt::Debug for CompileLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompileLock({:p})", self.0)
    }
}

pub(crate) fn milliseconds(timeout: Duration) -> i64 {
    // Rounded up: what is not zero waits.
    let rest = timeout.subsec_nanos() % 1_000_000 != 0;
    i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX - 1).saturating_add(i64::from(rest))
}

impl Cache {
    /// Looks the key up and, if it is absent, takes its compile lock, waiting while another process or thread compiles it.
    pub fn begin(&self, key: &Key) -> Result<Begin> {
        self.begin_with(key, None, None)
    }

    /// The same with a limit of the wait (`None`: ten minutes, or less where the compile time is known; zero: not at all)
    /// and a token that ends it. [`ErrorKind::Timeout`]: compile for yourself, and put.
    pub fn begin_with(&self, key: &Key, timeout: Option<Duration>, cancel: Option<&Cancel>) -> Result<Begin> {
        let (mut artifact, mut lock, mut report) = (null_mut(), null_mut(), Report::new());
        let wait = timeout.map_or(sys::TLC_WAIT_DEFAULT, milliseconds);
        let token = cancel.map_or(null_mut(), Cancel::ptr);
        // SAFETY: all live during the call.
        let status =
            unsafe { sys::tlc_cache_begin(self.ptr(), key.ptr(), wait, token, &mut artifact, &mut lock, report.out()) };
        match (status, NonNull::new(lock)) {
            (sys::TLC_OK, _) => Artifact::expect(artifact).map(Begin::Hit),
            (sys::TLC_LOCKED, Some(lock)) => Ok(Begin::Lock(CompileLock(lock))),
            _ => Err(report.error(status)),
        }
    }
}
