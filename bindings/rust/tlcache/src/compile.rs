// SPDX-License-Identifier: MIT
//! Get or compile: the whole flow, with a closure or a backend as the compiler.
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::time::Duration;

use tlcache_sys as sys;

use crate::artifact::Artifact;
use crate::bundle::Bundle;
use crate::cache::Cache;
use crate::error::{self, BoxError, Error, ErrorKind, Report, Result};
use crate::key::Key;
use crate::lock::{milliseconds, Cancel};
use crate::request::Request;
use crate::text::{self, Blob};
use crate::value_ref::RequestRef;

/// How to get or compile.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// How long to wait for another's compile before compiling here. `None`: ten minutes, or less where the compile time is
    /// known.
    pub timeout: Option<Duration>,
    /// Ends the wait.
    pub cancel: Option<Cancel>,
    /// Remember a compile error for a day, and answer it without compiling.
    pub keep_failure: bool,
    /// A hit counts only if everything the artifact requires is there too.
    pub closed: bool,
    /// Look only: [`ErrorKind::Miss`] where it is not there.
    pub never: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// The artifact.
    pub artifact: Artifact,
    /// The compiler's output, if it ran in this call.
    pub log: Option<String>,
}

/// What a compile closure is given.
pub struct Job<'a> {
    request: RequestRef<'a>,
    key: ManuallyDrop<Key>,
    log: *mut sys::tlc_log,
    _call: PhantomData<&'a ()>,
}

impl<'a> Job<'a> {
    /// The request, to read its fields.
    pub fn request(&self) -> RequestRef<'a> {
        self.request
    }

    /// The request's key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Appends the compiler's output, which the caller gets. `write!` works too.
    pub fn log(&mut self, output: &str) {
        // SAFETY: valid until the closure returns, and so is self.
        unsafe { sys::tlc_log_append(self.log, text::of(output)) }
    }
}

impl fmt::Write for Job<'_> {
    fn write_str(&mut self, output: &str) -> fmt::Result {
        self.log(output);
        Ok(())
    }
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("request", &self.request).field("key", &*self.key).finish()
    }
}

/// A closure that the library may call, and what came of it. Lives until the call returns.
struct Pending<F> {
    compile: Option<F>,
    /// The library's bundle borrows from it.
    bundle: Option<Bundle>,
    failure: Option<Error>,
    panic: Option<Box<dyn Any + Send>>,
}

unsafe extern "C" fn on_compile<F>(
    request: *const sys::tlc_request,
    key: *const sys::tlc_key,
    bundle: *mut sys::tlc_bundle,
    log: *mut sys::tlc_log,
    error: *mut sys::tlc_error,
    data: *mut c_void,
) -> i32
where
    F: FnOnce(&mut Job<'_>) -> Result<Bundle, BoxError>,
{
    let pending = &mut *data.cast::<Pending<F>>();
    let ran = catch_unwind(AssertUnwindSafe(|| -> Result<Bundle> {
        let compile = match pending.compile.take() {
            Some(compile) => compile,
            None => return Err(Error::new(ErrorKind::Internal, "the closure was called twice")),
        };
        let mut job = Job {
            request: RequestRef { request, _request: PhantomData },
            key: ManuallyDrop::new(Key::own(key as *mut _)?),
            log,
            _call: PhantomData,
        };
        // Within, since an error's own text is the program's code too.
        compile(&mut job).map_err(Error::of_callback)
    }));
    let told = match ran {
        Ok(Ok(made)) => {
            let made = pending.bundle.insert(made);
            match made.fill(bundle) {
                Ok(()) => return sys::TLC_OK,
                Err(wrong) => wrong,
            }
        }
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let told = Error::new(ErrorKind::Callback, format!("the compile closure panicked: {}", said(&*panic)));
            pending.panic = Some(panic);
            return error::tell(error, &told);
        }
    };
    if let Some(output) = told.log() {
        sys::tlc_log_append(log, text::of(output));
    }
    let status = error::tell(error, &told);
    pending.failure = Some(told);
    status
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "(with a value that is no text)"
    }
}

/// A closure's type where there is none.
type NoClosure = fn(&mut Job<'_>) -> Result<Bundle, BoxError>;

impl Cache {
    /// The artifact of a request; compiled by the closure if nobody has, once for all processes and threads of the host.
    ///
    /// The closure runs on this thread, with no lock held but the key's compile lock, and may use the cache. An error of it
    /// comes back: an [`Error`] as it is ([`Error::compile`] where the source is at fault), any other as the source of an
    /// [`ErrorKind::Callback`]. A panic in it goes on in the caller when the library has let go of the lock, as if the
    /// closure had been called directly; threads that waited for it get [`ErrorKind::Callback`] with its text. A publish
    /// that fails does not fail the call: the artifact is then in memory.
    ///
    /// ```
    /// # use tlcache::{Bundle, Cache, Request};
    /// # fn main() -> Result<(), tlcache::BoxError> {
    /// # let cache = Cache::options().memory(true).open()?;
    /// let request = Request::builder("myapp").toolchain("upper 1").field("source", "kernel").build()?;
    /// let artifact = cache.get_or_compile(&request, |job| {
    ///     let source = job.request().text("source")?;
    ///     job.log("compiling\n");
    ///     Ok(Bundle::new().member("kernel.txt", source.to_uppercase()))
    /// })?;
    /// assert_eq!(&artifact["kernel.txt"], b"KERNEL");
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_or_compile<F>(&self, request: &Request, compile: F) -> Result<Artifact>
    where
        F: FnOnce(&mut Job<'_>) -> Result<Bundle, BoxError>,
    {
        self.flow(request, &CompileOptions::default(), Some(compile)).map(|done| done.artifact)
    }

    /// The same, compiled by the backend that is registered for the request's target and engine.
    pub fn get_or_compile_by_backend(&self, request: &Request) -> Result<Artifact> {
        self.flow::<NoClosure>(request, &CompileOptions::default(), None).map(|done| done.artifact)
    }

    /// `get_or_compile` with options; the compiler's output comes back too.
    pub fn get_or_compile_with<F>(&self, request: &Request, options: &CompileOptions, compile: F) -> Result<Compiled>
    where
        F: FnOnce(&mut Job<'_>) -> Result<Bundle, BoxError>,
    {
        self.flow(request, options, Some(compile))
    }

    /// `get_or_compile_by_backend` with options; the compiler's output comes back too.
    pub fn get_or_compile_by_backend_with(&self, request: &Request, options: &CompileOptions) -> Result<Compiled> {
        self.flow::<NoClosure>(request, options, None)
    }

    fn flow<F>(&self, request: &Request, options: &CompileOptions, compile: Option<F>) -> Result<Compiled>
    where
        F: FnOnce(&mut Job<'_>) -> Result<Bundle, BoxError>,
    {
        let by_closure = compile.is_some();
        let mut pending = Pending { compile, bundle: None, failure: None, panic: None };
        let data: *mut Pending<F> = &mut pending;
        let mut flags = 0;
        for (wanted, flag) in [
            (options.keep_failure, sys::TLC_COMPILE_KEEP_FAILURE),
            (options.closed, sys::TLC_COMPILE_CLOSED),
            (options.never, sys::TLC_COMPILE_NEVER),
        ] {
            flags |= if wanted { flag } else { 0 };
        }
        let given = sys::tlc_compile_options {
            struct_size: sys::TLC_SIZEOF!(sys::tlc_compile_options, flags),
            compile: if by_closure { Some(on_compile::<F>) } else { None },
            user_data: if by_closure { data.cast() } else { null_mut() },
            destroy: None,
            cancel: options.cancel.as_ref().map_or(null_mut(), Cancel::ptr),
            // For the library 0 is the default here, so that "do not wait" is the shortest wait.
            timeout_ms: options.timeout.map_or(0, |timeout| milliseconds(timeout).max(1)),
            flags,
        };
        let (mut out, mut log, mut report) = (null_mut(), Blob::NONE, Report::new());
        // SAFETY: all live during the call, and the closure is called within it only.
        let status = unsafe {
            sys::tlc_cache_get_or_compile(self.ptr(), request.ptr(), &given, &mut out, &mut log.0, report.out())
        };
        let artifact = Artifact::own(out);
        let log = if log.0.is_null() { None } else { Some(log.to_text()) };
        if let Some(panic) = pending.panic.take() {
            drop(artifact);
            resume_unwind(panic);
        }
        if let Some(failure) = pending.failure.take() {
            return Err(failure);
        }
        match (status, artifact) {
            (sys::TLC_OK, Some(artifact)) => Ok(Compiled { artifact, log }),
            (sys::TLC_E_COMPILE, _) => Err(report.error(status).with_log(log.unwrap_or_default())),
            _ => Err(report.error(status)),
        }
    }
}
