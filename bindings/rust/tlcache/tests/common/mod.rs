// SPDX-License-Identifier: MIT
//! What the tests share: a folder that goes away, and the file of a JSON in tests/conformance.
#![allow(dead_code)]
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use tlcache::{Cache, Key, Request};

/// An empty folder of its own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tlcache-rust-{}-{}", std::process::id(), number));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn cache(&self) -> Cache {
        Cache::options().directory(self.0.join("store")).strict(true).ignore_environment(true).open().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn request(n: i64) -> Request {
    Request::builder("rust/test").no_toolchain().field("n", n).build().unwrap()
}

pub fn key(n: i64) -> Key {
    request(n).key().unwrap()
}

/// A file of tests/conformance; None where the crate is not in its repository.
pub fn conformance(name: &str) -> Option<serde_json::Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/conformance").join(name);
    if !path.exists() {
        eprintln!("skipped: {} is only in the repository", path.display());
        return None;
    }
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}
