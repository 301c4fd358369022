// SPDX-License-Identifier: MIT
//! Finds libtlcache: `TLCACHE_LIB_DIR` (and `TLCACHE_INCLUDE`), else pkg-config. Nothing is searched for documentation
//! (`DOCS_RS`, or the feature `docs-only`). Says `cargo:include=` and `cargo:lib=` to crates that link this one
//! (`DEP_TLCACHE_INCLUDE`, `DEP_TLCACHE_LIB`).
use std::env;
use std::path::{Path, PathBuf};
use std::process::exit;

/// The libraries that fit: ABI 0.x, from the first one on.
const OLDEST: &str = "0.1.0";
const TOO_NEW: &str = "1.0.0";

fn main() {
    for name in ["DOCS_RS", "TLCACHE_LIB_DIR", "TLCACHE_INCLUDE"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("DOCS_RS").is_some() || env::var_os("CARGO_FEATURE_DOCS_ONLY").is_some() {
        return;
    }
    let is_static = env::var_os("CARGO_FEATURE_STATIC").is_some();
    match env::var_os("TLCACHE_LIB_DIR") {
        Some(folder) => from_folder(&PathBuf::from(folder), is_static),
        None => from_pkg_config(is_static),
    }
}

fn from_folder(folder: &Path, is_static: bool) {
    let file = if is_static { "libtlcache.a" } else { "libtlcache.so" };
    if !folder.join(file).is_file() {
        fail(&format!("TLCACHE_LIB_DIR is {}, and there is no {} in it", folder.display(), file));
    }
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:lib={}", folder.display());
    if is_static {
        println!("cargo:rustc-link-lib=static=tlcache");
        // What tlcache.pc names as private: it cannot be asked here.
        for name in ["lmdb", "sodium", "stdc++", "pthread", "dl"] {
            println!("cargo:rustc-link-lib={}", name);
        }
    } else {
        println!("cargo:rustc-link-lib=tlcache");
    }
    say_include(
        env::var_os("TLCACHE_INCLUDE").map(PathBuf::from).or_else(|| folder.parent().map(|p| p.join("include"))),
    );
}

fn from_pkg_config(is_static: bool) {
    let found = pkg_config::Config::new().statik(is_static).range_version(OLDEST..TOO_NEW).probe("tlcache");
    match found {
        Ok(library) => {
            if let Some(folder) = library.link_paths.first() {
                println!("cargo:lib={}", folder.display());
            }
            let stated = env::var_os("TLCACHE_INCLUDE").map(PathBuf::from);
            say_include(stated.or_else(|| library.include_paths.first().cloned()));
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn say_include(folder: Option<PathBuf>) {
    if let Some(folder) = folder {
        println!("cargo:include={}", folder.display());
        println!("cargo:rustc-env=TLCACHE_SYS_INCLUDE={}", folder.display());
    }
}

fn fail(why: &str) -> ! {
    eprintln!(
        "libtlcache was not found (a version from {} on and before {}).\n\
         Install it and let pkg-config find tlcache.pc (PKG_CONFIG_PATH), or set TLCACHE_LIB_DIR to the folder of \
         libtlcache.so and TLCACHE_INCLUDE to that of its headers.\n\
         For documentation alone, without the library: DOCS_RS=1 cargo doc, or the feature docs-only.\n\n{}",
        OLDEST, TOO_NEW, why
    );
    exit(1);
}
