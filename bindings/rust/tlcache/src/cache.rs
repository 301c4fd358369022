// SPDX-License-Identifier: MIT
//! The cache: look up, publish, load.
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;

use tlcache_sys as sys;

use crate::artifact::Artifact;
use crate::bundle::{Bundle, Native};
use crate::error::{Error, ErrorKind, Report, Result};
use crate::key::Key;
use crate::library;
use crate::module::{LoadOptions, Module};
use crate::request::Request;
use crate::text;

/// How to open a cache.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is opened before `open`"]
pub struct CacheOptions {
    directory: Option<PathBuf>,
    limit: u64,
    flags: u64,
}

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $flag:ident,)*) => {
        $($(#[$doc])* pub fn $name(mut self, yes: bool) -> Self {
            self.flags = if yes { self.flags | sys::$flag } else { self.flags & !sys::$flag };
            self
        })*
    };
}

impl CacheOptions {
    /// The store's folder; made if it is missing. Default: `TLC_DIR`, else `$XDG_CACHE_HOME/tlcache`, else
    /// `~/.cache/tlcache`.
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Bytes of a store that this call creates. Default: a tenth of the file system, from 64 MiB to 10 GiB.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    flags! {
        /// Fail where the store cannot be used, instead of working from memory.
        strict = TLC_OPEN_STRICT,
        /// Never write to the store.
        read_only = TLC_OPEN_READ_ONLY,
        /// Sync a payload before it is published: it survives power loss.
        durable = TLC_OPEN_DURABLE,
        /// Check content hashes under the MAC as well.
        verify_strict = TLC_OPEN_VERIFY_STRICT,
        /// Load plugin files from `TLC_BACKEND_PATH`.
        allow_plugins = TLC_OPEN_ALLOW_PLUGINS,
        /// No store: keep artifacts in this process only.
        memory = TLC_OPEN_MEMORY,
        /// Ignore `TLC_*` environment variables.
        ignore_environment = TLC_OPEN_NO_ENV,
    }

    /// Opens the cache; makes the store on first use.
    pub fn open(&self) -> Result<Cache> {
        library::ready()?;
        // SAFETY: all zero is a valid tlc_cache_options.
        let mut options: sys::tlc_cache_options = unsafe { std::mem::zeroed() };
        options.struct_size = sys::TLC_SIZEOF!(sys::tlc_cache_options, flags);
        if let Some(directory) = &self.directory {
            if directory.as_os_str().is_empty() {
                let message = "directory is empty: give a folder, or leave it out for the default";
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            options.directory = text::of_path(directory.as_os_str());
        }
        options.limit_bytes = self.limit;
        options.flags = self.flags;
        let (mut out, mut report) = (null_mut(), Report::new());
        // SAFETY: options and what they borrow live during the call.
        let status = unsafe { sys::tlc_cache_open(&options, &mut out, report.out()) };
        report.check(status)?;
        match NonNull::new(out) {
            Some(cache) => Ok(Cache(Arc::new(Handle(cache)))),
            None => Err(Error::new(ErrorKind::Internal, "the library gave no cache")),
        }
    }
}

struct Handle(NonNull<sys::tlc_cache>);

// SAFETY: the library allows every function on a cache from any thread at any time; it locks inside.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the last handle of ours; nobody is in a call of it.
        unsafe { sys::tlc_cache_close(self.0.as_ptr()) }
    }
}

/// An open cache. Any thread may use it; a clone is another handle of the same. It closes with its last handle; artifacts,
/// modules and compile locks taken from it stay valid.
///
/// A closed cache cannot be used: that does not compile.
///
/// ```compile_fail,E0382
/// # use tlcache::{Cache, Request};
/// # fn main() -> tlcache::Result<()> {
/// let cache = Cache::open()?;
/// let key = Request::builder("myapp").no_toolchain().build()?.key()?;
/// cache.close();
/// cache.get(&key)?; // borrow of moved value: `cache`
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cache(Arc<Handle>);

/// What a look-up found.
#[derive(Debug)]
#[must_use]
pub enum Lookup {
    /// The artifact.
    Hit(Artifact),
    /// Nothing is stored for the key.
    Miss,
    /// Something is stored and unusable (damaged, foreign); the error says why. A miss otherwise: the next publish replaces
    /// it.
    Rejected(Error),
}

impl Lookup {
    /// The artifact, if it is a hit.
    #[inline]
    pub fn hit(self) -> Option<Artifact> {
        match self {
            Lookup::Hit(artifact) => Some(artifact),
            Lookup::Miss | Lookup::Rejected(_) => None,
        }
    }

    /// Whether it is a hit.
    pub fn is_hit(&self) -> bool {
        matches!(self, Lookup::Hit(_))
    }
}

/// How a publish went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is in the store.
    Stored,
    /// The key was published already; what is stored was kept.
    Existed,
    /// It could not be kept (disk full, read-only). The artifact is in memory.
    NotStored,
    /// Larger than an eighth of the store's limit. The artifact is in memory.
    TooLarge,
}

/// What a key stands for after a publish.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Published {
    /// The artifact: the stored one, or where it could not be stored the caller's own members in memory.
    pub artifact: Artifact,
    /// How it went.
    pub outcome: Outcome,
    /// Why it was not stored; empty where it was.
    pub reason: String,
}

pub(crate) fn published(status: i32, artifact: *mut sys::tlc_artifact, report: &mut Report) -> Result<Published> {
    let outcome = match status {
        sys::TLC_OK => Outcome::Stored,
        sys::TLC_EXISTED => Outcome::Existed,
        sys::TLC_NOT_STORED => Outcome::NotStored,
        sys::TLC_TOO_LARGE => Outcome::TooLarge,
        other => {
            drop(Artifact::own(artifact));
            return Err(report.error(other));
        }
    };
    let reason = match outcome {
        Outcome::Stored | Outcome::Existed => String::new(),
        _ => report.error(status).message().to_owned(),
    };
    match Artifact::own(artifact) {
        Some(artifact) => Ok(Published { artifact, outcome, reason }),
        None => Err(report.error(status)),
    }
}

// SAFETY of the calls below: the cache and all arguments live during each call, outs are ours, texts are borrowed.
impl Cache {
    /// Opens the default cache.
    pub fn open() -> Result<Cache> {
        CacheOptions::default().open()
    }

    /// Opens one with options.
    pub fn options() -> CacheOptions {
        CacheOptions::default()
    }

    #[inline]
    pub(crate) fn ptr(&self) -> *mut sys::tlc_cache {
        (self.0).0.as_ptr()
    }

    /// Ends this handle. The cache closes when no other is left.
    pub fn close(self) {}

    /// The request's key: resolves `auto` and `native`, adds engine and toolchain.
    pub fn key(&self, request: &Request) -> Result<Key> {
        let (mut out, mut report) = (null_mut(), Report::new());
        let status = unsafe { sys::tlc_cache_key(self.ptr(), request.ptr(), &mut out, report.out()) };
        report.check(status)?;
        Key::own(out)
    }

    /// Looks a key up. Makes no system call when this process has seen the artifact.
    #[inline]
    pub fn get(&self, key: &Key) -> Result<Lookup> {
        let (mut out, mut report) = (null_mut(), Report::new());
        let status = unsafe { sys::tlc_cache_get(self.ptr(), key.ptr(), &mut out, report.out()) };
        match (status, Artifact::own(out)) {
            (sys::TLC_OK, Some(artifact)) => Ok(Lookup::Hit(artifact)),
            (sys::TLC_MISS, _) => Ok(Lookup::Miss),
            (sys::TLC_REJECTED, _) => Ok(Lookup::Rejected(report.error(status))),
            _ => Err(report.error(status)),
        }
    }

    /// Publishes if the key is absent; readers see all of it or nothing.
    pub fn put(&self, key: &Key, bundle: &Bundle) -> Result<Published> {
        let native = Native::new(bundle)?;
        let (mut out, mut report) = (null_mut(), Report::new());
        let status = unsafe { sys::tlc_cache_put(self.ptr(), key.ptr(), native.bundle, &mut out, report.out()) };
        published(status, out, &mut report)
    }

    /// Publishes in place of the generation that was seen (`None`: there was none). [`ErrorKind::Conflict`] where another
    /// one stands there.
    pub fn replace(&self, key: &Key, seen: Option<&Artifact>, bundle: &Bundle) -> Result<Published> {
        let native = Native::new(bundle)?;
        let (mut out, mut report) = (null_mut(), Report::new());
        let seen = seen.map_or(null_mut(), Artifact::ptr);
        let status =
            unsafe { sys::tlc_cache_replace(self.ptr(), key.ptr(), seen, native.bundle, &mut out, report.out()) };
        published(status, out, &mut report)
    }

    /// Publishes a generation with the members of the one that was seen, and these. Conflicts as `replace`.
    pub fn amend(&self, key: &Key, seen: &Artifact, bundle: &Bundle) -> Result<Published> {
        let native = Native::new(bundle)?;
        let (mut out, mut report) = (null_mut(), Report::new());
        let status =
            unsafe { sys::tlc_cache_amend(self.ptr(), key.ptr(), seen.ptr(), native.bundle, &mut out, report.out()) };
        published(status, out, &mut report)
    }

    /// Lets a look-up of `from` find what `to` stands for.
    pub fn link(&self, from: &Key, to: &Key) -> Result<()> {
        let mut report = Report::new();
        let status = unsafe { sys::tlc_cache_link(self.ptr(), from.ptr(), to.ptr(), report.out()) };
        report.check(status)
    }

    /// Removes a key; false if it was not there.
    pub fn remove(&self, key: &Key) -> Result<bool> {
        let mut report = Report::new();
        let status = unsafe { sys::tlc_cache_remove(self.ptr(), key.ptr(), report.out()) };
        match status {
            sys::TLC_MISS => Ok(false),
            other => report.check(other).map(|()| true),
        }
    }

    /// Takes this generation out, because it turned out unusable; false if it was gone.
    pub fn invalidate(&self, artifact: &Artifact) -> Result<bool> {
        let mut report = Report::new();
        let status = unsafe { sys::tlc_cache_invalidate(self.ptr(), artifact.ptr(), report.out()) };
        match status {
            sys::TLC_MISS | sys::TLC_CONFLICT => Ok(false),
            other => report.check(other).map(|()| true),
        }
    }

    /// Removes all entries of a namespace; says how many.
    pub fn clear(&self, namespace: &str) -> Result<u64> {
        if namespace.is_empty() {
            let message = "namespace is empty: give a name, or call clear_all to remove everything";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.clear_text(text::of(namespace))
    }

    /// Removes everything; says how many.
    pub fn clear_all(&self) -> Result<u64> {
        self.clear_text(text::EMPTY)
    }

    fn clear_text(&self, namespace: sys::tlc_str) -> Result<u64> {
        let (mut removed, mut report) = (0, Report::new());
        let status = unsafe { sys::tlc_cache_clear(self.ptr(), namespace, &mut removed, report.out()) };
        report.check(status).map(|()| removed)
    }

    /// An artifact by the first hex digits (4 or more) of its digest.
    pub fn find(&self, hex_prefix: &str) -> Result<Option<Artifact>> {
        let (mut out, mut report) = (null_mut(), Report::new());
        let status = unsafe { sys::tlc_cache_find(self.ptr(), text::of(hex_prefix), &mut out, report.out()) };
        match status {
            sys::TLC_MISS => Ok(None),
            other => report.check(other).and_then(|()| Artifact::expect(out).map(Some)),
        }
    }

    /// Checks the artifact for the current device and loads it by the backend of its target and engine.
    pub fn load(&self, artifact: &Artifact) -> Result<Module> {
        self.load_with(artifact, &LoadOptions::default())
    }

    /// The same with a device or a member stated.
    pub fn load_with(&self, artifact: &Artifact, options: &LoadOptions) -> Result<Module> {
        let given = sys::tlc_load_options {
            struct_size: sys::TLC_SIZEOF!(sys::tlc_load_options, member),
            device: options.device.unwrap_or(-1),
            context: null_mut(),
            member: text::of_option(options.member.as_deref()),
        };
        let (mut out, mut report) = (null_mut(), Report::new());
        let status = unsafe { sys::tlc_cache_load(self.ptr(), artifact.ptr(), &given, &mut out, report.out()) };
        report.check(status)?;
        Module::own(out)
    }

    /// What the artifact's binaries say of themselves, as JSON; read by the backend, without a device.
    pub fn describe_artifact(&self, artifact: &Artifact) -> Result<String> {
        self.json(|cache, out, error| unsafe { sys::tlc_artifact_describe(artifact.ptr(), cache, out, error) })
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({:p})", self.ptr())
    }
}
