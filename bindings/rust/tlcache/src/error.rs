// SPDX-License-Identifier: MIT
//! Errors: one type, with a kind to match on and a message that says what to do.
use std::error::Error as StdError;
use std::ffi::CStr;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::addr_of_mut;

use tlcache_sys as sys;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error: what a compile closure may fail with.
pub type BoxError = Box<dyn StdError + Send + Sync>;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $status:ident,)*) => {
        /// What went wrong. A status of the library that this version does not know is [`ErrorKind::Other`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* $kind,)*
            /// A status of a newer library.
            Other(i32),
        }

        impl ErrorKind {
            pub(crate) fn of(status: i32) -> ErrorKind {
                match status {
                    $(sys::$status => ErrorKind::$kind,)*
                    other => ErrorKind::Other(other),
                }
            }

            /// The library's number for it.
            pub fn status(self) -> i32 {
                match self {
                    $(ErrorKind::$kind => sys::$status,)*
                    ErrorKind::Other(status) => status,
                }
            }

            /// The library's name for it: `TLC_E_INVALID`.
            pub fn status_name(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => stringify!($status),)*
                    ErrorKind::Other(_) => "?",
                }
            }
        }
    };
}

kinds! {
    /// An argument is wrong; the message says which and why.
    Invalid = TLC_E_INVALID,
    /// Out of memory.
    OutOfMemory = TLC_E_NOMEM,
    /// The system refused; [`Error::errno`] has its code.
    Io = TLC_E_IO,
    /// A fault of the library's. Please report the message.
    Internal = TLC_E_INTERNAL,
    /// Not supported here, or by this version of the library.
    Unsupported = TLC_E_UNSUPPORTED,
    /// This crate, the library or a plugin do not fit together.
    Abi = TLC_E_ABI,
    /// A backend for this target kind and engine is registered already.
    Exists = TLC_E_EXISTS,
    /// No such backend, member, symbol or namespace; the message lists what there is.
    NotFound = TLC_E_NOT_FOUND,
    /// The request cannot be keyed: unresolved target, unknown toolchain, a value of no type.
    Uncacheable = TLC_E_UNCACHEABLE,
    /// The compiler refused the source; [`Error::log`] has its output.
    Compile = TLC_E_COMPILE,
    /// The loader or driver refused the artifact.
    Load = TLC_E_LOAD,
    /// The backend cannot work on this machine; the message says what is missing.
    Unavailable = TLC_E_UNAVAILABLE,
    /// A [`Cancel`](crate::Cancel) ended the wait.
    Cancelled = TLC_E_CANCELLED,
    /// The object belongs to the parent process.
    Forked = TLC_E_FORKED,
    /// A compile closure or a backend's slot failed or panicked; [`std::error::Error::source`] is what it failed with.
    Callback = TLC_E_CALLBACK,
    /// Refused for trust: owner, mode, signature, or plugins not allowed.
    Denied = TLC_E_DENIED,
    /// In use elsewhere.
    Busy = TLC_E_BUSY,
    /// Stored bytes are not what was stored.
    Corrupt = TLC_E_CORRUPT,
    /// Nothing is stored for the key.
    Miss = TLC_MISS,
    /// What is stored is unusable, or wrong for this device.
    Rejected = TLC_REJECTED,
    /// It could not be kept: disk full, read-only.
    NotStored = TLC_NOT_STORED,
    /// It was published already.
    Existed = TLC_EXISTED,
    /// Another generation was published since the one the caller saw.
    Conflict = TLC_CONFLICT,
    /// The deadline passed: compile for yourself, and put.
    Timeout = TLC_TIMEOUT,
    /// Larger than an eighth of the store's limit.
    TooLarge = TLC_TOO_LARGE,
}

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Detail {
    kind: ErrorKind,
    errno: i32,
    backend_code: i64,
    message: String,
    log: Option<String>,
    #[source]
    cause: Option<BoxError>,
}

/// An error of the library or of this crate. As small as a pointer.
#[derive(thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Detail>);

impl Error {
    /// An error of a kind, for compile closures and backends.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let message = message.into();
        Error(Box::new(Detail { kind, errno: 0, backend_code: 0, message, log: None, cause: None }))
    }

    /// The source is at fault. What a compile closure or a backend returns where its compiler refused it.
    pub fn compile(message: impl Into<String>, log: impl Into<String>) -> Error {
        Error::new(ErrorKind::Compile, message).with_log(log)
    }

    /// With a compiler's whole output.
    #[must_use]
    pub fn with_log(mut self, log: impl Into<String>) -> Error {
        self.0.log = Some(log.into());
        self
    }

    /// With the code of a driver or compiler.
    #[must_use]
    pub fn with_backend_code(mut self, code: i64) -> Error {
        self.0.backend_code = code;
        self
    }

    /// With the system's code.
    #[must_use]
    pub fn with_errno(mut self, errno: i32) -> Error {
        self.0.errno = errno;
        self
    }

    /// With what it comes from.
    #[must_use]
    pub fn with_source(mut self, cause: impl Into<BoxError>) -> Error {
        self.0.cause = Some(cause.into());
        self
    }

    /// What went wrong, to match on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What is wrong and what to do.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The system's error code behind it, or 0.
    pub fn errno(&self) -> i32 {
        self.0.errno
    }

    /// The backend's or driver's own code, or 0.
    pub fn backend_code(&self) -> i64 {
        self.0.backend_code
    }

    /// The compiler's output, where one ran and refused.
    pub fn log(&self) -> Option<&str> {
        self.0.log.as_deref()
    }

    /// Puts words before the message.
    pub(crate) fn within(mut self, what: &str) -> Error {
        self.0.message = format!("{}: {}", what, self.0.message);
        self
    }

    /// What a closure or slot failed with: an Error of ours as it is, anything else as a Callback with it as source.
    pub(crate) fn of_callback(cause: BoxError) -> Error {
        match cause.downcast::<Error>() {
            Ok(ours) => *ours,
            Err(other) => Error::new(ErrorKind::Callback, chain(&*other)).with_source(other),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.0.kind).field("message", &self.0.message);
        if self.0.errno != 0 {
            out.field("errno", &self.0.errno);
        }
        if self.0.backend_code != 0 {
            out.field("backend_code", &self.0.backend_code);
        }
        if let Some(log) = &self.0.log {
            out.field("log", log);
        }
        if let Some(cause) = &self.0.cause {
            out.field("source", cause);
        }
        out.finish()
    }
}

/// The texts of an error and of what it comes from.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{}: {}", text, more);
        }
        next = cause.source();
    }
    text
}

/// A `tlc_error` for one call. Nothing in it is read unless the call has failed.
pub(crate) struct Report(MaybeUninit<sys::tlc_error>);

impl Report {
    #[inline]
    pub(crate) fn new() -> Report {
        let mut report = Report(MaybeUninit::uninit());
        let error = report.0.as_mut_ptr();
        // SAFETY: the memory is ours. The library writes the rest before it answers anything but TLC_OK; what is set here
        // is what is read from an error that it left alone.
        unsafe {
            addr_of_mut!((*error).struct_size).write(sys::TLC_SIZEOF!(sys::tlc_error, message));
            addr_of_mut!((*error).code).write(0);
            addr_of_mut!((*error).message[0]).write(0);
        }
        report
    }

    #[inline]
    pub(crate) fn out(&mut self) -> *mut sys::tlc_error {
        self.0.as_mut_ptr()
    }

    /// The error of a status that is none of those that the caller expects.
    #[cold]
    pub(crate) fn error(&mut self, status: i32) -> Error {
        // SAFETY: code and message were written by new, and the rest by the library if code is the status.
        unsafe { from_c(self.out(), status) }
    }

    #[inline]
    pub(crate) fn check(&mut self, status: i32) -> Result<()> {
        if status == sys::TLC_OK {
            Ok(())
        } else {
            Err(self.error(status))
        }
    }
}

/// # Safety
/// `error` has a code and a message that ends with NUL; if the code is the status, all of it is written.
unsafe fn from_c(error: *const sys::tlc_error, status: i32) -> Error {
    let kind = ErrorKind::of(status);
    // (*error).code etc. are read by pointer: the rest may be uninitialised.
    let code = std::ptr::addr_of!((*error).code).read();
    let text = CStr::from_ptr(std::ptr::addr_of!((*error).message).cast());
    if code == status && !text.to_bytes().is_empty() {
        let mut made = Error::new(kind, text.to_string_lossy());
        made.0.errno = std::ptr::addr_of!((*error).sys_errno).read();
        made.0.backend_code = std::ptr::addr_of!((*error).backend_code).read();
        return made;
    }
    Error::new(kind, CStr::from_ptr(sys::tlc_status_message(status)).to_string_lossy())
}

/// Writes an error for the library, and gives the status that the callback returns.
pub(crate) fn tell(out: *mut sys::tlc_error, error: &Error) -> i32 {
    let status = error.kind().status();
    // What is an outcome elsewhere is an error where a callback ends with it.
    let status = if status < 0 || status == sys::TLC_REJECTED { status } else { sys::TLC_E_CALLBACK };
    if let Some(fail) = crate::library::host().fail {
        // SAFETY: out is the library's or NULL; the text is copied.
        unsafe { fail(out, status, error.errno(), error.backend_code(), crate::text::of(error.message())) };
    }
    status
}
