// SPDX-License-Identifier: MIT
//! A real kernel, by the cpu backend: compiled once, found again, called with slices.
mod common;

use std::os::raw::c_int;

use common::Folder;
use tlcache::{Cache, ErrorKind, Module, Request};

const SOURCE: &str =
    "void scale_add(const float* x, float* y, int n, float a) { for (int i = 0; i < n; ++i) y[i] += a * x[i]; }";

/// The kernel with the types of its source; borrows the module.
fn scale_add(module: &Module) -> impl Fn(&[f32], &mut [f32], f32) + '_ {
    let address = module.symbol("scale_add").unwrap().address();
    // SAFETY: the source above says so, and the module is borrowed as long as the function is there.
    let call: extern "C" fn(*const f32, *mut f32, c_int, f32) = unsafe { std::mem::transmute(address) };
    move |x, y, a| {
        assert_eq!(x.len(), y.len());
        call(x.as_ptr(), y.as_mut_ptr(), x.len() as c_int, a);
    }
}

fn request(source: &str) -> Request {
    Request::builder("rust/cpu")
        .target("cpu:native")
        .engine("cc")
        .field("source", source)
        .field("options", ["-O3"])
        .build()
        .unwrap()
}

fn unavailable(cache: &Cache) -> bool {
    match cache.key(&request(SOURCE)) {
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            eprintln!("skipped: {}", error);
            true
        }
        _ => false,
    }
}

#[test]
fn a_kernel_is_compiled_once_and_right() {
    let folder = Folder::new();
    let cache = folder.cache();
    if unavailable(&cache) {
        return;
    }
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    for round in 0..3 {
        // A second and third open are as another process sees the store.
        let cache = if round == 0 { cache.clone() } else { folder.cache() };
        let done = cache.get_or_compile_by_backend_with(&request(SOURCE), &Default::default()).unwrap();
        assert_eq!(done.log.is_some(), round == 0);
        let module = cache.load(&done.artifact).unwrap();
        let mut y = vec![1.0f32; 1000];
        scale_add(&module)(&x, &mut y, 0.5);
        assert!(y.iter().enumerate().all(|(i, v)| *v == 1.0 + 0.5 * i as f32));
    }
    assert_eq!(cache.stats().unwrap().compiles, 1);
    let error = cache.get_or_compile_by_backend(&request("void f( {")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compile);
    assert!(error.log().unwrap().contains("error"), "{:?}", error.log());
}

#[test]
fn a_module_outlives_artifact_and_cache() {
    let folder = Folder::new();
    let cache = folder.cache();
    if unavailable(&cache) {
        return;
    }
    let artifact = cache.get_or_compile_by_backend(&request(SOURCE)).unwrap();
    let module = cache.load(&artifact).unwrap();
    drop((artifact, cache));
    let mut y = [1.0f32, 2.0];
    scale_add(&module)(&[10.0, 20.0], &mut y, 1.0);
    assert_eq!(y, [11.0, 22.0]);
    assert!(module.native().is_some());
}
