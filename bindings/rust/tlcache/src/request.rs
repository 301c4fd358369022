// SPDX-License-Identifier: MIT
//! Requests: what is wanted.
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use tlcache_sys as sys;

use crate::error::{Error, ErrorKind, Report, Result};
use crate::field::{Field, Sink};
use crate::key::Key;
use crate::library;
use crate::target::Target;
use crate::text;
use crate::value_ref::RequestRef;

/// What is wanted: typed fields, target, engine, toolchain. Immutable.
///
/// ```
/// # fn main() -> tlcache::Result<()> {
/// use tlcache::Request;
/// let request = Request::builder("myapp")
///     .target("cuda:sm_90")
///     .engine("mine")
///     .toolchain("mine 1.4, build 7")
///     .field("source", "kernel void k() {}")
///     .field("options", ["-O3", "-g"])
///     .field("block", 128)
///     .build()?;
/// assert_eq!(request.key()?.digest().to_string().len(), 64);
/// # Ok(())
/// # }
/// ```
pub struct Request(NonNull<sys::tlc_request>);

// SAFETY: nothing changes it once it is built, and the library's functions that take a `const tlc_request*` only read.
unsafe impl Send for Request {}
// SAFETY: as above.
unsafe impl Sync for Request {}

impl Request {
    /// Begins a request in a namespace (`myapp`, `triton/3.6`): 1 to 128 of `[A-Za-z0-9._/+-]`; listing and clearing go by
    /// it.
    pub fn builder(namespace: &str) -> RequestBuilder {
        let made = library::ready().and_then(|()| {
            let (mut out, mut report) = (std::ptr::null_mut(), Report::new());
            // SAFETY: the text is copied.
            let status = unsafe { sys::tlc_request_create(text::of(namespace), &mut out, report.out()) };
            report.check(status)?;
            match NonNull::new(out) {
                Some(request) => Ok(Request(request)),
                None => Err(Error::new(ErrorKind::Internal, "the library gave no request")),
            }
        });
        RequestBuilder { made }
    }

    #[inline]
    pub(crate) fn ptr(&self) -> *mut sys::tlc_request {
        self.0.as_ptr()
    }

    /// The key without a cache or a backend: target, engine and toolchain must be stated.
    pub fn key(&self) -> Result<Key> {
        let (mut out, mut report) = (std::ptr::null_mut(), Report::new());
        // SAFETY: both live during the call.
        let status = unsafe { sys::tlc_request_key(self.ptr(), &mut out, report.out()) };
        report.check(status)?;
        Key::own(out)
    }

    /// Its fields, to read.
    pub fn as_ref(&self) -> RequestRef<'_> {
        RequestRef { request: self.ptr(), _request: PhantomData }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // SAFETY: it is ours alone.
        unsafe { sys::tlc_request_destroy(self.ptr()) }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.as_ref();
        f.debug_struct("Request")
            .field("namespace", &read.namespace())
            .field("target", &read.target())
            .field("engine", &read.engine())
            .field("label", &read.label())
            .finish_non_exhaustive()
    }
}

/// A [`Request`] being made. The first thing that is wrong is kept for [`build`](RequestBuilder::build).
#[must_use = "a request exists only once it is built"]
pub struct RequestBuilder {
    made: Result<Request>,
}

// SAFETY of the calls below: the request is ours alone while it is built, and what is passed is copied.
impl RequestBuilder {
    fn set(mut self, call: impl FnOnce(*mut sys::tlc_request, *mut sys::tlc_error) -> i32) -> Self {
        if let Ok(request) = &self.made {
            let mut report = Report::new();
            let status = call(request.ptr(), report.out());
            if let Err(error) = report.check(status) {
                self.made = Err(error);
            }
        }
        self
    }

    /// What it is compiled for. Default: nothing in particular.
    pub fn target(self, target: impl Into<Target>) -> Self {
        let target = target.into();
        self.set(|request, error| unsafe { sys::tlc_request_set_target(request, text::of(target.as_str()), error) })
    }

    /// What compiles for the target. Default: the default engine of its kind.
    pub fn engine(self, engine: &str) -> Self {
        self.set(|request, error| unsafe { sys::tlc_request_set_engine(request, text::of(engine), error) })
    }

    /// Identity of what compiles, where no backend knows it: version and build, or a digest. Enters the key.
    pub fn toolchain(self, identity: impl AsRef<[u8]>) -> Self {
        let bytes = identity.as_ref();
        self.set(|request, error| unsafe {
            sys::tlc_request_set_toolchain(request, bytes.as_ptr().cast(), bytes.len(), error)
        })
    }

    /// States that nothing compiles this, so that its key needs no toolchain.
    pub fn no_toolchain(self) -> Self {
        self.set(|request, error| unsafe { sys::tlc_request_set_no_toolchain(request, error) })
    }

    /// For people; never in the key.
    pub fn label(self, label: &str) -> Self {
        self.set(|request, error| unsafe { sys::tlc_request_set_label(request, text::of(label), error) })
    }

    /// An artifact without a member of this name is incomplete: not stored, and a look-up of it misses.
    pub fn require_member(self, name: &str) -> Self {
        self.set(|request, error| unsafe { sys::tlc_request_require_member(request, text::of(name), error) })
    }

    /// A field that determines the artifact.
    pub fn field(self, name: &str, value: impl Field) -> Self {
        self.add(name, &value, 0)
    }

    /// The same, and of its value only type, length and digest are kept in the stored key.
    pub fn digest_only(self, name: &str, value: impl Field) -> Self {
        self.add(name, &value, sys::TLC_FIELD_DIGEST_ONLY)
    }

    /// Several fields.
    pub fn fields<N: AsRef<str>, V: Field>(self, fields: impl IntoIterator<Item = (N, V)>) -> Self {
        fields.into_iter().fold(self, |builder, (name, value)| builder.add(name.as_ref(), &value, 0))
    }

    fn add(mut self, name: &str, value: &dyn Field, flags: u32) -> Self {
        if let Ok(request) = &self.made {
            let mut sink = Sink { request: request.ptr(), path: name.to_owned(), flags, _request: PhantomData };
            if let Err(error) = value.add(&mut sink, name) {
                self.made = Err(error);
            }
        }
        self
    }

    /// The request, or the first thing that was wrong with it.
    pub fn build(self) -> Result<Request> {
        self.made
    }
}

impl fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.made.fmt(f)
    }
}
