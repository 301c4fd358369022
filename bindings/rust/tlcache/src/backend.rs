// SPDX-License-Identifier: MIT
//! Backends written in Rust: a trait whose methods are the slots, and registering one.
use std::ffi::CString;
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Mutex;

use tlcache_sys as sys;

use crate::artifact::Artifact;
use crate::bundle::Bundle;
use crate::cache::Cache;
use crate::error::{Error, ErrorKind, Report, Result};
use crate::key::Digest;
use crate::library::{self, host};
use crate::slots;
use crate::text::{self, Blob};
use crate::value_ref::RequestRef;

/// What a backend is registered for.
#[derive(Clone, Debug)]
pub struct Spec {
    pub(crate) name: String,
    pub(crate) engine: String,
    pub(crate) kinds: Vec<String>,
    pub(crate) caps: u64,
}

impl Spec {
    /// An engine and the target kinds it serves, as in `kind:arch:feature`.
    pub fn new<K: Into<String>>(engine: &str, kinds: impl IntoIterator<Item = K>) -> Spec {
        let kinds = kinds.into_iter().map(Into::into).collect();
        Spec { name: engine.to_owned(), engine: engine.to_owned(), kinds, caps: 0 }
    }

    /// A name for people. Default: the engine's.
    #[must_use]
    pub fn name(mut self, name: &str) -> Spec {
        self.name = name.to_owned();
        self
    }

    /// Code runs on the machine that compiled it: machine, system and libc enter the key.
    #[must_use]
    pub fn host_bound(mut self) -> Spec {
        self.caps |= sys::TLC_BACKEND_HOST_BOUND;
        self
    }

    /// A loaded module still works in a forked child.
    #[must_use]
    pub fn survives_fork(mut self) -> Spec {
        self.caps |= sys::TLC_BACKEND_SURVIVES_FORK;
        self
    }
}

/// A compiler, a loader, or both, for a pair of target kind and engine. What a backend does not override it does not do;
/// nothing is required. Methods are called from any thread, several at once, with no lock of the library's held; `compile`
/// may use the cache, the others must not.
///
/// An error becomes the error of the call it served: [`Error::compile`] where the source is at fault,
/// [`ErrorKind::Rejected`] from `validate`, [`ErrorKind::Unavailable`] from `probe`. A panic becomes
/// [`ErrorKind::Callback`] with its text.
pub trait Backend: Send + Sync + 'static {
    /// Makes a target with `auto` or `native` into one without. Runs at every look-up.
    fn resolve_target(&self, _call: &Call<'_>, target: &str) -> Result<String> {
        Ok(target.to_owned())
    }

    /// Identity of what would really compile this request, by content; enters the key. Runs at every look-up.
    fn identify(&self, _call: &Call<'_>, _request: RequestRef<'_>, _target: &str) -> Result<Vec<u8>> {
        Err(unsupported("identify"))
    }

    /// Compiles. `target` is resolved.
    fn compile(&self, _call: &mut CompileCall<'_>, _request: RequestRef<'_>, _target: &str) -> Result<Bundle> {
        Err(unsupported("compile"))
    }

    /// Whether the artifact is whole and fits the device, before `load` sees it.
    fn validate(&self, _call: &Call<'_>, _artifact: &Artifact, _options: &Options<'_>) -> Result<()> {
        Ok(())
    }

    /// Number of the place (device, context) where a load with these options goes; modules are shared per place.
    fn place(&self, _call: &Call<'_>, _options: &Options<'_>) -> Result<u64> {
        Ok(0)
    }

    /// Loads. The artifact stays alive while the module does.
    fn load(&self, _call: &Call<'_>, _artifact: &Artifact, _options: &Options<'_>) -> Result<Box<dyn BackendModule>> {
        Err(unsupported("load"))
    }

    /// What was found on this machine, as a JSON object.
    fn probe(&self, _call: &Call<'_>) -> Result<String> {
        Ok("{}".to_owned())
    }

    /// What the artifact's binaries say of themselves, as a JSON object `{"members": {NAME: {"format": ...}}}`.
    fn describe(&self, _call: &Call<'_>, _artifact: &Artifact) -> Result<String> {
        Err(unsupported("describe"))
    }
}

fn unsupported(slot: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("this backend has no {}", slot))
}

/// A module of a backend written in Rust. It is dropped when the last who loaded it has let go, on any thread.
pub trait BackendModule: Send + Sync {
    /// The address of a symbol; `None`: there is none of this name.
    fn symbol(&self, name: &str) -> Result<Option<NonNull<c_void>>>;

    /// The handle that applications know, of a driver's module, say.
    fn native(&self) -> Option<NonNull<c_void>> {
        None
    }
}

/// One call of a slot: whether the caller gave up, and facts that the store remembers.
pub struct Call<'a> {
    pub(crate) call: *mut sys::tlc_call,
    pub(crate) _call: PhantomData<&'a ()>,
}

// SAFETY of the calls below: the call is valid until the slot returns, and this is lent for no longer. The host's functions
// are there under every ABI minor of this major.
impl Call<'_> {
    /// Whether the caller gave up: end the compile with [`ErrorKind::Cancelled`].
    pub fn is_cancelled(&self) -> bool {
        host().cancelled.map_or(false, |cancelled| unsafe { cancelled(self.call) } != 0)
    }

    /// Identity of a file by content: its ELF build id, else a digest of its bytes. Remembered in the store, so that asking
    /// again costs one stat.
    pub fn file_identity(&self, path: impl AsRef<Path>) -> Result<Digest> {
        self.file_fact(host().file_identity, path.as_ref())
    }

    /// BLAKE2b-256 of a file's bytes, remembered likewise; what a guard compares.
    pub fn file_digest(&self, path: impl AsRef<Path>) -> Result<Digest> {
        self.file_fact(host().file_digest, path.as_ref())
    }

    #[allow(clippy::type_complexity)]
    fn file_fact(
        &self,
        function: Option<unsafe extern "C" fn(*mut sys::tlc_call, sys::tlc_str, *mut u8, *mut sys::tlc_error) -> i32>,
        path: &Path,
    ) -> Result<Digest> {
        let function = function.ok_or_else(|| unsupported("such function in the library"))?;
        let (mut digest, mut report) = (Digest([0; sys::TLC_DIGEST_SIZE]), Report::new());
        let path = text::of_path(path.as_os_str());
        let status = unsafe { function(self.call, path, digest.0.as_mut_ptr(), report.out()) };
        report.check(status).map(|()| digest)
    }

    /// What `remember` kept under the key, in whatever process.
    pub fn remembered(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let get = host().memo_get.ok_or_else(|| unsupported("such function in the library"))?;
        let (mut blob, mut report) = (Blob::NONE, Report::new());
        let status = unsafe { get(self.call, key.as_ptr().cast(), key.len(), &mut blob.0, report.out()) };
        match status {
            sys::TLC_MISS => Ok(None),
            other => report.check(other).map(|()| Some(blob.bytes().to_vec())),
        }
    }

    /// Keeps a small fact (64 KiB) between processes. `key` must name everything that the fact depends on. What cannot be
    /// stored is not kept, and that is no error.
    pub fn remember(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let put = host().memo_put.ok_or_else(|| unsupported("such function in the library"))?;
        let mut report = Report::new();
        let (data, len) = (value.as_ptr().cast(), value.len());
        let status = unsafe { put(self.call, key.as_ptr().cast(), key.len(), data, len, report.out()) };
        if status < 0 {
            return Err(report.error(status));
        }
        Ok(())
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({:p})", self.call)
    }
}

/// A call of `compile`: a [`Call`], and the log.
#[derive(Debug)]
pub struct CompileCall<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) log: *mut sys::tlc_log,
}

impl CompileCall<'_> {
    /// Appends the compiler's output, which the caller gets. `write!` works too.
    pub fn log(&mut self, output: &str) {
        // SAFETY: valid until the slot returns.
        unsafe { sys::tlc_log_append(self.log, text::of(output)) }
    }
}

impl<'a> std::ops::Deref for CompileCall<'a> {
    type Target = Call<'a>;

    fn deref(&self) -> &Call<'a> {
        &self.call
    }
}

impl fmt::Write for CompileCall<'_> {
    fn write_str(&mut self, output: &str) -> fmt::Result {
        self.log(output);
        Ok(())
    }
}

/// Where to load, as a slot is told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options<'a> {
    /// Ordinal of the device; `None`: the current one.
    pub device: Option<i64>,
    /// The backend's own context handle; null: the current one.
    pub context: *mut c_void,
    /// Which member; empty: the backend chooses.
    pub member: &'a str,
}

/// How to register a backend.
#[derive(Clone, Copy, Debug, Default)]
pub struct Register {
    /// Take the pair over from the backend that has it; that one comes back when this one is unregistered.
    pub over: bool,
    /// Make its engine the default of its target kinds. (The first one is, otherwise.)
    pub default: bool,
}

impl Register {
    fn flags(self) -> u32 {
        (if self.over { sys::TLC_REGISTER_OVERRIDE } else { 0 })
            | (if self.default { sys::TLC_REGISTER_DEFAULT } else { 0 })
    }
}

/// A backend of this process. Dropping this leaves it registered.
#[must_use = "without it the backend cannot be unregistered"]
pub struct Registration {
    table: *const sys::tlc_backend_ops,
    state: *mut c_void,
}

// SAFETY: two addresses that are only given back to the library.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

impl Registration {
    /// Takes the backend out, waits for its running calls, then drops it. [`ErrorKind::Busy`] while modules of it are alive,
    /// or from one of its own slots: nothing was changed, and the registration comes back to try again.
    pub fn unregister(self) -> std::result::Result<(), (Registration, Error)> {
        let mut report = Report::new();
        // SAFETY: what was registered; the library frees the state by the slot close.
        let status = unsafe { sys::tlc_unregister_backend(self.table, self.state, report.out()) };
        report.check(status).map_err(|error| (self, error))
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registration({:p})", self.state)
    }
}

/// Texts of tables live as long as the process; each text once.
fn for_ever(text: &str, what: &str) -> Result<*const c_char> {
    static TEXTS: Mutex<Vec<&'static [u8]>> = Mutex::new(Vec::new());
    if text.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, format!("{} is empty: name it", what)));
    }
    let text = CString::new(text)
        .map_err(|_| Error::new(ErrorKind::Invalid, format!("{} has a NUL in it: leave it out", what)))?;
    let mut texts = TEXTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = texts.iter().find(|known| **known == text.as_bytes_with_nul()) {
        return Ok(known.as_ptr().cast());
    }
    let kept: &'static [u8] = Box::leak(text.into_bytes_with_nul().into_boxed_slice());
    texts.push(kept);
    Ok(kept.as_ptr().cast())
}

/// Lists of texts likewise.
fn list_for_ever(texts: &[String]) -> Result<*const *const c_char> {
    static LISTS: Mutex<Vec<&'static [usize]>> = Mutex::new(Vec::new());
    let mut list = Vec::with_capacity(texts.len() + 1);
    for text in texts {
        list.push(for_ever(text, "a target kind")? as usize);
    }
    list.push(0);
    let mut lists = LISTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = lists.iter().find(|known| **known == list.as_slice()) {
        return Ok(known.as_ptr().cast());
    }
    let kept: &'static [usize] = Box::leak(list.into_boxed_slice());
    lists.push(kept);
    Ok(kept.as_ptr().cast())
}

fn register(
    spec: &Spec,
    backend: Box<dyn Backend>,
    call: impl FnOnce(*const sys::tlc_backend_ops, *mut c_void, *mut sys::tlc_error) -> i32,
) -> Result<Registration> {
    library::ready()?;
    let engine = for_ever(&spec.engine, "the engine")?;
    let table = slots::table(for_ever(&spec.name, "the name")?, engine, list_for_ever(&spec.kinds)?, spec.caps);
    let state = Box::into_raw(Box::new(slots::State { table, name: spec.name.clone(), backend }));
    let mut report = Report::new();
    // SAFETY: state is alive: until close, or here if registering fails, when close is not called.
    let table: *const sys::tlc_backend_ops = unsafe { &(*state).table };
    let status = call(table, state.cast(), report.out());
    if status != sys::TLC_OK {
        // SAFETY: as above; nobody else has it.
        drop(unsafe { Box::from_raw(state) });
    }
    report.check(status)?;
    Ok(Registration { table, state: state.cast() })
}

/// Registers a backend for this process, for each of its target kinds; all or none.
pub fn register_backend(spec: &Spec, backend: impl Backend, how: Register) -> Result<Registration> {
    // SAFETY: table and state are as the library wants them.
    register(spec, Box::new(backend), |table, state, error| unsafe {
        sys::tlc_register_backend(table, state, how.flags(), error)
    })
}

impl Cache {
    /// Registers a backend for this cache only, before those of the process. It ends with the cache, when its modules have
    /// ended; so it must not hold a handle of this cache.
    pub fn register_backend(&self, spec: &Spec, backend: impl Backend, how: Register) -> Result<()> {
        // SAFETY: table and state are as the library wants them.
        register(spec, Box::new(backend), |table, state, error| unsafe {
            sys::tlc_cache_register_backend(self.ptr(), table, state, how.flags(), error)
        })
        .map(drop)
    }
}
