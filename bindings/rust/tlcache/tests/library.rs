// SPDX-License-Identifier: MIT
//! A library that does not fit, and where the log goes. Each runs in a process of its own: this test program again.
mod common;

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use common::{key, Folder};
use tlcache::{set_log, Bundle, Cache, ErrorKind, LogLevel, Request};

/// Runs one of the ignored tests below with another libtlcache in front; its output.
fn with_shim(c: &str, test: &str) -> Option<String> {
    let folder = Folder::new();
    let (source, shim) = (folder.0.join("shim.c"), folder.0.join("shim.so"));
    std::fs::write(&source, c).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let built = Command::new(compiler).args(["-shared", "-fPIC", "-o"]).args([&shim, &source]).status();
    if !built.map_or(false, |status| status.success()) {
        eprintln!("skipped: no C compiler");
        return None;
    }
    run(test, &shim)
}

fn run(test: &str, shim: &Path) -> Option<String> {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", test])
        .env("LD_PRELOAD", shim)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}", output);
    if cfg!(feature = "static") {
        return None; // nothing can stand in front of an archive
    }
    Some(output)
}

/// With the library that is linked it fits; the tests below put others in front.
#[test]
fn say_what_open_says() {
    let said = |result: Result<(), tlcache::Error>| match result {
        Ok(()) => println!("SAID fits"),
        Err(error) => println!("SAID {} {}", error.kind().status_name(), error),
    };
    said(Cache::options().memory(true).open().map(drop));
    let request = Request::builder("t").build().map(drop);
    assert!(request.is_ok() || std::env::var_os("LD_PRELOAD").is_some(), "{:?}", request);
    said(request);
}

#[test]
fn a_library_of_another_major_version_is_refused() {
    let shim = "unsigned tlc_abi_version(void) { return 1u << 16 | 3; }";
    if let Some(output) = with_shim(shim, "say_what_open_says") {
        assert_eq!(
            output.matches("SAID TLC_E_ABI the libtlcache that was loaded has ABI 1.3").count(),
            2,
            "{}",
            output
        );
        assert!(output.contains("let the loader find a libtlcache of ABI 0.x"), "{}", output);
    }
}

#[test]
fn an_older_library_and_one_with_another_layout_are_refused() {
    if let Some(output) = with_shim("unsigned tlc_abi_version(void) { return 1; }", "say_what_open_says") {
        assert!(output.contains("install a newer libtlcache"), "{}", output);
    }
    let shim = "#include <stddef.h>\nstruct l { const char* s; const char* m; unsigned long long o, z; };\n\
                static const struct l t[] = {{\"tlc_str\", NULL, 0, 8}, {\"tlc_str\", \"data\", 0, 4}};\n\
                const struct l* tlc_abi_layout(size_t* n) { *n = 2; return t; }";
    if let Some(output) = with_shim(shim, "say_what_open_says") {
        assert!(output.contains("tlc_str has 8 bytes instead of 16"), "{}", output);
        assert!(output.contains("install both of one release"), "{}", output);
    }
}

#[test]
fn lines_go_to_a_closure_and_its_panics_are_dropped() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let to = lines.clone();
    set_log(LogLevel::Debug, move |level, component, message| {
        to.lock().unwrap().push(format!("{:?} {} {}", level, component, message));
        panic!("the logger fell over");
    })
    .unwrap();
    let folder = Folder::new();
    std::fs::write(folder.0.join("store"), "no folder").unwrap();
    let cache = Cache::options().directory(folder.0.join("store")).open().unwrap(); // works from memory, and says so
    assert!(cache.put(&key(1), &Bundle::new().member("k", "x")).is_ok());
    assert_eq!(cache.get(&key(1)).unwrap().hit().unwrap()["k"], b"x"[..]);
    assert!(!lines.lock().unwrap().is_empty());
    tlcache::reset_log().unwrap();
    assert_eq!(Arc::strong_count(&lines), 1, "the closure was dropped");
    let strict = Cache::options().directory(folder.0.join("store")).strict(true).open().unwrap_err();
    assert!(matches!(strict.kind(), ErrorKind::Io | ErrorKind::Denied | ErrorKind::Unsupported), "{:?}", strict);
}
