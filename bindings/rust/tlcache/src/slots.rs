// SPDX-License-Identifier: MIT
//! The functions that the library calls for a backend written in Rust. No panic leaves one.
use std::any::Any;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};

use tlcache_sys as sys;

use crate::artifact::{Artifact, Lent};
use crate::backend::{Backend, BackendModule, Call, CompileCall, Options};
use crate::compile::said;
use crate::error::{self, Error, ErrorKind, Result};
use crate::library::host;
use crate::text;
use crate::value_ref::RequestRef;

/// A registered backend. The library has its address, and gives it back by `close`.
pub(crate) struct State {
    pub(crate) table: sys::tlc_backend_ops,
    pub(crate) name: String,
    pub(crate) backend: Box<dyn Backend>,
}

/// A loaded module; the artifact is kept as long.
struct Loaded {
    module: Box<dyn BackendModule>,
    _artifact: Artifact,
}

pub(crate) fn table(
    name: *const c_char,
    engine: *const c_char,
    kinds: *const *const c_char,
    caps: u64,
) -> sys::tlc_backend_ops {
    sys::tlc_backend_ops {
        struct_size: sys::TLC_SIZEOF!(sys::tlc_backend_ops, describe),
        abi_major: sys::TLC_ABI_MAJOR,
        abi_minor: sys::TLC_ABI_MINOR,
        next: std::ptr::null(),
        name,
        engine,
        target_kinds: kinds,
        caps,
        resolve_target: Some(resolve_target),
        identify: Some(identify),
        compile: Some(compile),
        validate: Some(validate),
        place: Some(place),
        load: Some(load),
        symbol: Some(symbol),
        native: Some(native),
        unload: Some(unload),
        probe: Some(probe),
        close: Some(close),
        describe: Some(describe),
    }
}

/// Drops what a panic carried, which may panic itself.
fn forget(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
}

/// Runs a slot's body; what it fails with, or a panic, becomes the status.
unsafe fn run(
    state: *mut c_void,
    slot: &str,
    out: *mut sys::tlc_error,
    body: impl FnOnce(&dyn Backend) -> Result<()>,
) -> i32 {
    let state = &*state.cast::<State>();
    let answered = || match body(&*state.backend) {
        Ok(()) => sys::TLC_OK,
        Err(failure) => error::tell(out, &failure),
    };
    match catch_unwind(AssertUnwindSafe(answered)) {
        Ok(status) => status,
        Err(panic) => {
            let text = format!("backend '{}' panicked in {}: {}", state.name, slot, said(&*panic));
            forget(panic);
            error::tell(out, &Error::new(ErrorKind::Callback, text))
        }
    }
}

/// Runs what has nobody to tell.
fn quietly(body: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
        let text = format!("a panic was dropped: {}", said(&*panic));
        forget(panic);
        if let Some(log) = host().log {
            // SAFETY: the texts are borrowed for the call.
            unsafe { log(sys::TLC_LOG_ERROR, text::of("rust"), text::of(&text)) }
        }
    }
}

unsafe fn give(out: *mut *mut sys::tlc_blob, bytes: &[u8]) -> Result<()> {
    let blob = host().blob_create.map_or(std::ptr::null_mut(), |make| make(bytes.as_ptr().cast(), bytes.len()));
    if blob.is_null() {
        return Err(Error::new(ErrorKind::OutOfMemory, "out of memory"));
    }
    *out = blob;
    Ok(())
}

fn lend<'a>(call: *mut sys::tlc_call) -> Call<'a> {
    Call { call, _call: PhantomData }
}

unsafe fn options<'a>(given: *const sys::tlc_load_options) -> Options<'a> {
    let given = &*given;
    let device = (given.device >= 0).then_some(given.device);
    Options { device, context: given.context, member: text::str(given.member) }
}

unsafe extern "C" fn resolve_target(
    state: *mut c_void,
    call: *mut sys::tlc_call,
    target: sys::tlc_str,
    resolved: *mut *mut sys::tlc_blob,
    error: *mut sys::tlc_error,
) -> i32 {
    run(state, "resolve_target", error, |backend| {
        give(resolved, backend.resolve_target(&lend(call), text::str(target))?.as_bytes())
    })
}

unsafe extern "C" fn identify(
    state: *mut c_void,
    call: *mut sys::tlc_call,
    request: *const sys::tlc_request,
    target: sys::tlc_str,
    identity: *mut *mut sys::tlc_blob,
    error: *mut sys::tlc_error,
) -> i32 {
    run(state, "identify", error, |backend| {
        let request = RequestRef { request, _request: PhantomData };
        give(identity, &backend.identify(&lend(call), request, text::str(target))?)
    })
}

unsafe extern "C" fn compile(
    state: *mut c_void,
    call: *mut sys::tlc_call,
    request: *const sys::tlc_request,
    target: sys::tlc_str,
    bundle: *mut sys::tlc_bundle,
    log: *mut sys::tlc_log,
    error: *mut sys::tlc_error,
) -> i32 {
    run(state, "compile", error, |backend| {
        let request = RequestRef { request, _request: PhantomData };
        let mut lent = CompileCall { call: lend(call), log };
        let made = backend.compile(&mut lent, request, text::str(target)).map_err(|failure| {
            if let Some(output) = failure.log() {
                sys::tlc_log_append(log, text::of(output));
            }
            failure
        })?;
        // The library's bundle outlives this slot, so that nothing may be borrowed: fill_copied.
        made.fill_copied(bundle)
    })
}

unsafe extern "C" fn validate(
    state: *mut c_void,
    call: *mut sys::tlc_call,
    artifact: *const sys::tlc_artifact,
    given: *const sys::tlc_load_options,
    error: *mut sys::tlc_error,
) -> i32 {
    run(state, "validate", error, |backend| backend.validate(&lend(call), &*Lent::new(artifact)?, &options(given)))
}

unsafe extern "C" fn place(
    state: *mut c_void,
    call: *mut sys::tlc_call,
    given: *const sys::tlc_load_options,
    place: *mut u64,
    error: *mut sys::tlc_error,
) -> i32 {
    run(state, "place", error, |backend| {
        *place = backend.place(&lend(call), &options(given))?;
        Ok(())
    })
}

unsafe extern "C" fn load(
    state: *mut c_void,
    call: *mut sys::tlc_call,
    artifact: *mut sys::tlc_artifact,
    given: *const sys::tlc_load_options,
    module: *mut *mut c_void,
    error: *mut sys::tlc_error,
) -> i32 {
    run(state, "load", error, |backend| {
        let artifact = Lent::new(artifact)?;
        let loaded = backend.load(&lend(call), &artifact, &options(given))?;
        let kept = Box::new(Loaded { module: loaded, _artifact: (*artifact).clone() });
        *module = Box::into_raw(kept).cast();
        Ok(())
    })
}

unsafe extern "C" fn symbol(
    state: *mut c_void,
    module: *mut c_void,
    name: sys::tlc_str,
    address: *mut *mut c_void,
    error: *mut sys::tlc_error,
) -> i32 {
    run(state, "symbol", error, |_| {
        let (module, name) = (&(*module.cast::<Loaded>()).module, text::str(name));
        match module.symbol(name)? {
            Some(found) => *address = found.as_ptr(),
            None => {
                let message = format!("the module has no symbol '{}'", name);
                return Err(Error::new(ErrorKind::NotFound, message));
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn native(_state: *mut c_void, module: *mut c_void) -> *mut c_void {
    let mut found = module;
    quietly(|| {
        if let Some(handle) = (*module.cast::<Loaded>()).module.native() {
            found = handle.as_ptr();
        }
    });
    found
}

unsafe extern "C" fn unload(_state: *mut c_void, module: *mut c_void) {
    let module = Box::from_raw(module.cast::<Loaded>());
    quietly(|| drop(module));
}

unsafe extern "C" fn probe(
    state: *mut c_void,
    call: *mut sys::tlc_call,
    json: *mut *mut sys::tlc_blob,
    error: *mut sys::tlc_error,
) -> i32 {
    run(state, "probe", error, |backend| give(json, backend.probe(&lend(call))?.as_bytes()))
}

unsafe extern "C" fn describe(
    state: *mut c_void,
    call: *mut sys::tlc_call,
    artifact: *const sys::tlc_artifact,
    json: *mut *mut sys::tlc_blob,
    error: *mut sys::tlc_error,
) -> i32 {
    run(state, "describe", error, |backend| {
        give(json, backend.describe(&lend(call), &*Lent::new(artifact)?)?.as_bytes())
    })
}

unsafe extern "C" fn close(state: *mut c_void) {
    let state = Box::from_raw(state.cast::<State>());
    quietly(|| drop(state));
}
