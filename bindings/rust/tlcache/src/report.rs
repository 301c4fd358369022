// SPDX-License-Identifier: MIT
//! What is there, and why: statistics, entries, reports as JSON, upkeep.
use std::any::Any;
use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tlcache_sys as sys;

use crate::cache::Cache;
use crate::error::{Report, Result};
use crate::key::{Digest, Key};
use crate::text::{self, Blob};

/// Counters, across processes and since the store was made; sizes are of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Look-ups that found an artifact.
    pub hits: u64,
    /// Look-ups that found nothing.
    pub misses: u64,
    /// Look-ups that found something unusable.
    pub rejections: u64,
    /// Publishes.
    pub puts: u64,
    /// Publishes that could not be kept.
    pub not_stored: u64,
    /// Compiles.
    pub compiles: u64,
    /// Time spent compiling.
    pub compile_time: Duration,
    /// Compile time that hits saved; counted once a process and artifact.
    pub saved_time: Duration,
    /// Entries evicted.
    pub evictions: u64,
    /// Least age at eviction; small: the limit is too small. Zero: none.
    pub youngest_evicted: Duration,
    /// Live entries (0 in a namespace's stats).
    pub entries: u64,
    /// Bytes under the store's folder.
    pub disk_bytes: u64,
    /// The store's limit.
    pub limit_bytes: u64,
    /// Bytes of segments this process has mapped.
    pub mapped_bytes: u64,
    /// Of these, no longer in the store's folder.
    pub unlinked_bytes: u64,
    /// Bytes of artifacts that this process keeps in memory.
    pub memory_bytes: u64,
}

/// One entry of the store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The key's digest.
    pub digest: Digest,
    /// The key's encoding; empty where it was stored by digest only.
    pub key_encoding: Vec<u8>,
    /// The namespace.
    pub namespace: String,
    /// For people.
    pub label: String,
    /// `artifact`, `link` or `failure`.
    pub kind: String,
    /// Bytes in the store.
    pub size: u64,
    /// When it was published.
    pub created: SystemTime,
    /// When it was last used, to the minute; `None`: not since it was made.
    pub last_used: Option<SystemTime>,
    /// How long it took to compile.
    pub compile_time: Duration,
    /// Its generation.
    pub generation: u64,
}

/// A callback that is being called by the library, and what it met.
struct Visit<'a, F> {
    call: &'a mut F,
    panic: Option<Box<dyn Any + Send>>,
}

impl<F> Visit<'_, F> {
    /// Runs the callback; a panic ends the visit and goes on when the library has returned.
    fn run<T>(&mut self, body: impl FnOnce(&mut F) -> T, stopped: T) -> T {
        match catch_unwind(AssertUnwindSafe(|| body(self.call))) {
            Ok(answer) => answer,
            Err(panic) => {
                self.panic = Some(panic);
                stopped
            }
        }
    }
}

unsafe extern "C" fn on_entry<F: FnMut(Entry) -> bool>(entry: *const sys::tlc_entry, data: *mut c_void) -> i32 {
    let visit = &mut *data.cast::<Visit<'_, F>>();
    let read = |entry: &sys::tlc_entry| Entry {
        digest: Digest::read(entry.digest),
        key_encoding: text::slice(entry.key_encoding, entry.key_length).to_vec(),
        namespace: text::str(entry.name_space).to_owned(),
        label: text::str(entry.label).to_owned(),
        kind: text::str(entry.kind).to_owned(),
        size: entry.size,
        created: UNIX_EPOCH + Duration::from_nanos(entry.created_ns),
        last_used: UNIX_EPOCH.checked_add(Duration::from_secs(entry.last_used_s)).filter(|_| entry.last_used_s != 0),
        compile_time: Duration::from_micros(entry.compile_us),
        generation: entry.generation,
    };
    let go_on = visit.run(|call| call(read(&*entry)), false);
    if go_on {
        sys::TLC_OK
    } else {
        sys::TLC_E_CALLBACK
    }
}

unsafe extern "C" fn on_progress<F: FnMut(u64, u64) -> bool>(done: u64, total: u64, data: *mut c_void) -> i32 {
    let visit = &mut *data.cast::<Visit<'_, F>>();
    i32::from(!visit.run(|call| call(done, total), false))
}

// SAFETY of the calls below: as in cache.rs; what a callback gets is valid until the call returns.
impl Cache {
    /// Counters of everything.
    pub fn stats(&self) -> Result<Stats> {
        self.stats_text(text::EMPTY)
    }

    /// Counters of a namespace.
    pub fn namespace_stats(&self, namespace: &str) -> Result<Stats> {
        self.stats_text(text::of(namespace))
    }

    fn stats_text(&self, namespace: sys::tlc_str) -> Result<Stats> {
        // SAFETY: all zero is a valid tlc_stats.
        let mut out: sys::tlc_stats = unsafe { std::mem::zeroed() };
        out.struct_size = sys::TLC_SIZEOF!(sys::tlc_stats, memory_bytes);
        let mut report = Report::new();
        let status = unsafe { sys::tlc_cache_get_stats(self.ptr(), namespace, &mut out, report.out()) };
        report.check(status)?;
        Ok(Stats {
            hits: out.hits,
            misses: out.misses,
            rejections: out.rejections,
            puts: out.puts,
            not_stored: out.not_stored,
            compiles: out.compiles,
            compile_time: Duration::from_micros(out.compile_us),
            saved_time: Duration::from_micros(out.saved_us),
            evictions: out.evictions,
            youngest_evicted: Duration::from_secs(out.youngest_evicted_s),
            entries: out.entries,
            disk_bytes: out.disk_bytes,
            limit_bytes: out.limit_bytes,
            mapped_bytes: out.mapped_bytes,
            unlinked_bytes: out.unlinked_bytes,
            memory_bytes: out.memory_bytes,
        })
    }

    pub(crate) fn json(
        &self,
        call: impl FnOnce(*mut sys::tlc_cache, *mut *mut sys::tlc_blob, *mut sys::tlc_error) -> i32,
    ) -> Result<String> {
        let (mut blob, mut report) = (Blob::NONE, Report::new());
        let status = call(self.ptr(), &mut blob.0, report.out());
        report.check(status).map(|()| blob.to_text())
    }

    /// Counters of all, and of each namespace and backend, as JSON.
    pub fn stats_json(&self) -> Result<String> {
        self.json(|cache, out, error| unsafe { sys::tlc_cache_stats_json(cache, out, error) })
    }

    /// Why a key hits or misses, as JSON: outcome, guards that no longer hold, the nearest entry and what differs.
    pub fn explain(&self, key: &Key) -> Result<String> {
        self.json(|cache, out, error| unsafe { sys::tlc_cache_explain(cache, key.ptr(), out, error) })
    }

    /// Where the store is and why, settings with their origin, warnings: as JSON.
    pub fn describe(&self) -> Result<String> {
        self.json(|cache, out, error| unsafe { sys::tlc_cache_describe(cache, out, error) })
    }

    /// Registered backends, what each found on this machine, and why one is unavailable: as JSON.
    pub fn backends(&self) -> Result<String> {
        self.json(|cache, out, error| unsafe { sys::tlc_cache_backends(cache, out, error) })
    }

    /// Reads everything and checks it; with `repair`, takes out what is damaged. A report as JSON. `progress(done, total)`
    /// returns false to stop.
    pub fn verify(&self, repair: bool, progress: impl FnMut(u64, u64) -> bool) -> Result<String> {
        let flags = if repair { sys::TLC_VERIFY_REPAIR } else { 0 };
        self.long(progress, |cache, on, data, out, error| unsafe {
            sys::tlc_cache_verify(cache, flags, on, data, out, error)
        })
    }

    /// Evicts down to so many bytes (0: the limit) and removes leftovers of killed processes. A report as JSON.
    pub fn gc(&self, max_bytes: u64, progress: impl FnMut(u64, u64) -> bool) -> Result<String> {
        self.long(progress, |cache, on, data, out, error| unsafe {
            sys::tlc_cache_gc(cache, max_bytes, on, data, out, error)
        })
    }

    fn long<F: FnMut(u64, u64) -> bool>(
        &self,
        mut progress: F,
        call: impl FnOnce(
            *mut sys::tlc_cache,
            Option<sys::tlc_progress_fn>,
            *mut c_void,
            *mut *mut sys::tlc_blob,
            *mut sys::tlc_error,
        ) -> i32,
    ) -> Result<String> {
        let mut visit = Visit { call: &mut progress, panic: None };
        let data: *mut Visit<'_, F> = &mut visit;
        let answer = self.json(|cache, out, error| call(cache, Some(on_progress::<F>), data.cast(), out, error));
        match visit.panic {
            Some(panic) => resume_unwind(panic),
            None => answer,
        }
    }

    /// Visits every entry, or those of a namespace, in no order, until `visit` returns false.
    pub fn visit<F: FnMut(Entry) -> bool>(&self, namespace: Option<&str>, mut visit: F) -> Result<()> {
        let mut stopped = false;
        let mut call = |entry: Entry| {
            let go_on = visit(entry);
            stopped = !go_on;
            go_on
        };
        let (panic, status, mut report) = self.visit_by(namespace, &mut call);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        if stopped {
            return Ok(());
        }
        report.check(status)
    }

    fn visit_by<F: FnMut(Entry) -> bool>(
        &self,
        namespace: Option<&str>,
        call: &mut F,
    ) -> (Option<Box<dyn Any + Send>>, i32, Report) {
        let mut state = Visit { call, panic: None };
        let data: *mut Visit<'_, F> = &mut state;
        let mut report = Report::new();
        let name = text::of_option(namespace);
        let status = unsafe { sys::tlc_cache_list(self.ptr(), name, Some(on_entry::<F>), data.cast(), report.out()) };
        (state.panic, status, report)
    }

    /// The entries of the store, or of one namespace of it, in no order.
    pub fn list(&self, namespace: Option<&str>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        self.visit(namespace, |entry| {
            entries.push(entry);
            true
        })?;
        Ok(entries)
    }

    /// Sets a property of the store: `configure("limit", "20G")`.
    pub fn configure(&self, name: &str, value: &str) -> Result<()> {
        let mut report = Report::new();
        let status = unsafe { sys::tlc_cache_configure(self.ptr(), text::of(name), text::of(value), report.out()) };
        report.check(status)
    }
}
