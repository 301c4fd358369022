// SPDX-License-Identifier: MIT
//! Where the library's log lines go.
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};

use tlcache_sys as sys;

use crate::error::{Report, Result};
use crate::library;
use crate::text;

/// How severe a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is not as it should be.
    Warn,
    /// What happens.
    Info,
    /// Everything.
    Debug,
}

impl LogLevel {
    fn number(self) -> i32 {
        match self {
            LogLevel::Error => sys::TLC_LOG_ERROR,
            LogLevel::Warn => sys::TLC_LOG_WARN,
            LogLevel::Info => sys::TLC_LOG_INFO,
            LogLevel::Debug => sys::TLC_LOG_DEBUG,
        }
    }

    fn of(number: i32) -> LogLevel {
        match number {
            sys::TLC_LOG_ERROR => LogLevel::Error,
            sys::TLC_LOG_WARN => LogLevel::Warn,
            sys::TLC_LOG_INFO => LogLevel::Info,
            _ => LogLevel::Debug,
        }
    }
}

type Lines = Box<dyn Fn(LogLevel, &str, &str) + Send + Sync>;

unsafe extern "C" fn on_line(level: i32, component: sys::tlc_str, message: sys::tlc_str, data: *mut c_void) {
    let take = &*data.cast::<Lines>();
    let run = || take(LogLevel::of(level), text::str(component), text::str(message));
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        // Whoever made the line is in the middle of something else: the line is lost, and no more.
        std::mem::forget(panic);
    }
}

unsafe extern "C" fn on_destroy(data: *mut c_void) {
    let taken = Box::from_raw(data.cast::<Lines>());
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(taken))) {
        std::mem::forget(panic);
    }
}

/// Gives the library's lines of this process (level, component, message) to a function, from this level on. It runs on
/// any thread and must not use the cache.
pub fn set_log(level: LogLevel, lines: impl Fn(LogLevel, &str, &str) + Send + Sync + 'static) -> Result<()> {
    library::ready()?;
    let data = Box::into_raw(Box::new(Box::new(lines) as Lines));
    let mut report = Report::new();
    // SAFETY: the library calls on_destroy once, also when this call fails.
    let status =
        unsafe { sys::tlc_set_log(level.number(), Some(on_line), data.cast(), Some(on_destroy), report.out()) };
    report.check(status)
}

/// Back to the default, which is silent unless the environment variable `TLC_LOG` asks for standard error.
pub fn reset_log() -> Result<()> {
    library::ready()?;
    let mut report = Report::new();
    // SAFETY: nothing is kept.
    let status = unsafe { sys::tlc_set_log(sys::TLC_LOG_WARN, None, std::ptr::null_mut(), None, report.out()) };
    report.check(status)
}

/// Gives the library's lines to the crate `log`, with the target `tlcache`.
#[cfg(feature = "log")]
pub fn log_to_log(level: LogLevel) -> Result<()> {
    set_log(level, |level, component, message| {
        let level = match level {
            LogLevel::Error => log::Level::Error,
            LogLevel::Warn => log::Level::Warn,
            LogLevel::Info => log::Level::Info,
            LogLevel::Debug => log::Level::Debug,
        };
        log::log!(target: "tlcache", level, "{}: {}", component, message);
    })
}
