// SPDX-License-Identifier: MIT
//! TLCache: one cache of compiled kernels for every backend and every language.
//!
//! ```
//! use tlcache::{Cache, Request};
//! # fn main() -> tlcache::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("tlcache-doc-{}", std::process::id()));
//! let cache = Cache::options().directory(&folder).open()?;
//! let request = Request::builder("myapp")
//!     .target("cpu:native")
//!     .field("source", "void scale(float* x, int n, float by) { for (int i = 0; i < n; ++i) x[i] *= by; }")
//!     .field("options", ["-O3"])
//!     .build()?;
//! let artifact = cache.get_or_compile_by_backend(&request)?; // the host's C compiler, once for all processes
//! let module = cache.load(&artifact)?;
//! // SAFETY: that is the type of `scale` in the source, and the module lives until the call is over.
//! let scale: extern "C" fn(*mut f32, i32, f32) = unsafe { std::mem::transmute(module.symbol("scale")?.address()) };
//! let mut numbers = [1.0, 2.0, 3.0f32];
//! scale(numbers.as_mut_ptr(), numbers.len() as i32, 2.0);
//! assert_eq!(numbers, [2.0, 4.0, 6.0]);
//! # drop(cache);
//! # std::fs::remove_dir_all(folder).ok();
//! # Ok(())
//! # }
//! ```
//!
//! With a compiler of your own, give a closure to [`Cache::get_or_compile`], take the same way in pieces with
//! [`Cache::begin`], or make it a [`Backend`] that every program of the process reaches by naming its target.
//!
//! # Threads, panics, fork
//!
//! Everything but the builders is `Send` and `Sync`. No panic crosses into the library: one in a closure goes on in the
//! caller, one in a backend's slot becomes an error of the call it served. With `panic = "abort"` a panic ends the process,
//! as everywhere. After `fork` both sides go on; a compile lock stays the parent's.
//!
//! # What mapped memory means
//!
//! A member is a slice of a file of the store, verified before it is handed out, and the library never changes it. Whoever
//! may write to the store's folder could truncate the file under a program, which then gets SIGBUS: where that is to be
//! feared, use [`Artifact::read`]. `docs/security.md` says who trusts whom.
#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms, unreachable_pub)]
#![allow(clippy::should_implement_trait)]

mod artifact;
mod backend;
mod bundle;
mod cache;
mod compile;
mod error;
mod field;
mod key;
mod library;
mod lock;
mod log_lines;
mod module;
mod report;
mod request;
mod slots;
mod target;
mod text;
mod value_ref;

pub use artifact::{Artifact, ArtifactInfo, Bytes, Member, Members, Tier};
pub use backend::{register_backend, Backend, BackendModule, Call, CompileCall, Options, Register, Registration, Spec};
pub use bundle::{Bundle, IntoBytes, MemberType};
pub use cache::{Cache, CacheOptions, Lookup, Outcome, Published};
pub use compile::{CompileOptions, Compiled, Job};
pub use error::{BoxError, Error, ErrorKind, Result};
pub use field::{Field, Sink, Value};
pub use key::{Digest, Key};
pub use library::{build_info, load_plugin, version};
pub use lock::{Begin, Cancel, CompileLock};
#[cfg(feature = "log")]
pub use log_lines::log_to_log;
pub use log_lines::{reset_log, set_log, LogLevel};
pub use module::{LoadOptions, Module, Symbol};
pub use report::{Entry, Stats};
pub use request::{Request, RequestBuilder};
pub use target::Target;
pub use value_ref::{RequestRef, ValueRef};

/// The tour of `docs/rust.md`: its blocks are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/rust.md")]
struct Tour;
