// SPDX-License-Identifier: MIT
//! The library that is running: whether it fits, its version, its services, plugin files.
use std::ffi::CStr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tlcache_sys as sys;

use crate::error::{Error, ErrorKind, Report, Result};
use crate::text;

/// Refuses a library that does not fit this crate: a wrong offset would corrupt memory. Looked at once.
#[inline]
pub(crate) fn ready() -> Result<()> {
    static FITS: AtomicBool = AtomicBool::new(false);
    if FITS.load(Ordering::Acquire) {
        return Ok(());
    }
    compare()?;
    FITS.store(true, Ordering::Release);
    Ok(())
}

#[cold]
fn compare() -> Result<()> {
    // SAFETY: takes nothing. It is the one function that is the same under every ABI.
    let abi = unsafe { sys::tlc_abi_version() };
    let (major, minor) = (abi >> 16, abi & 0xffff);
    let built = format!("{}.{}", sys::TLC_ABI_MAJOR, sys::TLC_ABI_MINOR);
    if major != sys::TLC_ABI_MAJOR {
        return Err(Error::new(
            ErrorKind::Abi,
            format!(
                "the libtlcache that was loaded has ABI {}.{}, and this program was built for ABI {}: let the loader find a \
                 libtlcache of ABI {}.x (LD_LIBRARY_PATH, or link the feature `static`), or build with the tlcache crate for \
                 ABI {}",
                major, minor, built, sys::TLC_ABI_MAJOR, major
            ),
        ));
    }
    if minor < sys::TLC_ABI_MINOR {
        return Err(Error::new(
            ErrorKind::Abi,
            format!(
                "the libtlcache that was loaded ({}) has ABI {}.{}, and this program was built for ABI {}: install a newer \
                 libtlcache",
                version(), major, minor, built
            ),
        ));
    }
    let mut wrong = sys::layout_differences();
    wrong.extend(sys::constant_differences());
    if wrong.is_empty() {
        return Ok(());
    }
    wrong.truncate(5);
    Err(Error::new(
        ErrorKind::Abi,
        format!("libtlcache {} does not fit this crate: {}; install both of one release", version(), wrong.join("; ")),
    ))
}

/// The library's services for callbacks.
pub(crate) fn host() -> &'static sys::tlc_host_api {
    // SAFETY: static, and never NULL.
    unsafe { &*sys::tlc_host() }
}

/// Version of the library that is running: `"0.1.0"`.
pub fn version() -> &'static str {
    // SAFETY: static text.
    unsafe { CStr::from_ptr(sys::tlc_version_string()) }.to_str().unwrap_or("?")
}

/// How the library was built: compiler, options, versions of its libraries.
pub fn build_info() -> &'static str {
    // SAFETY: static text.
    unsafe { CStr::from_ptr(sys::tlc_build_info()) }.to_str().unwrap_or("?")
}

/// Loads a plugin file with a backend. The path is absolute; neither the file nor its folders may be writable by others.
pub fn load_plugin(path: impl AsRef<Path>) -> Result<()> {
    ready()?;
    let mut report = Report::new();
    // SAFETY: the path is borrowed for the call.
    let status = unsafe { sys::tlc_load_plugin(text::of_path(path.as_ref().as_os_str()), report.out()) };
    report.check(status)
}
