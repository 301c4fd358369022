// SPDX-License-Identifier: MIT
//! The declarations of functions, callbacks and slots against the C headers, by a C compiler: each one in bindings.rs is
//! spelled in C again, from its Rust types alone, and must be compatible with what the header declares.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rust's spelling of a type in C, with what it is the type of (`name`) inside.
fn c_type(rust: &str, name: &str) -> String {
    let rust = rust.trim();
    if let Some(inner) = rust.strip_prefix("Option<").and_then(|r| r.strip_suffix('>')) {
        return match inner.strip_prefix("unsafe extern \"C\" fn") {
            Some(signature) => c_function(signature, &format!("(*{})", name)),
            None => format!("{} {}", inner, name), // a callback, by the name of its type
        };
    }
    if let Some(to) = rust.strip_prefix("*mut ") {
        return c_type(to, &format!("*{}", name));
    }
    if let Some(to) = rust.strip_prefix("*const ") {
        // const belongs to what is pointed to.
        return match to.strip_prefix('*') {
            Some(_) => c_type(to, &format!("const *{}", name)),
            None => format!("const {}", c_type(to, &format!("*{}", name))),
        };
    }
    if let Some(array) = rust.strip_prefix('[') {
        let (of, count) = array.trim_end_matches(']').split_once(';').unwrap();
        return c_type(of, &format!("{}[{}]", name, count.trim()));
    }
    let plain = match rust {
        "c_void" => "void",
        "c_char" => "char",
        "f64" => "double",
        "i32" => "int32_t",
        "i64" => "int64_t",
        "u8" => "uint8_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        known if known.starts_with("tlc_") => known,
        other => panic!("no type of C for {}", other),
    };
    format!("{} {}", plain, name)
}

/// `(a: T, b: U) -> R` as a function of C.
fn c_function(signature: &str, name: &str) -> String {
    let (given, back) = match signature.rsplit_once(" -> ") {
        // An arrow inside the parentheses belongs to a parameter.
        Some((given, back)) if given.ends_with(')') => (given, back),
        _ => (signature, "c_void"),
    };
    let given = given.trim().strip_prefix('(').unwrap().strip_suffix(')').unwrap();
    let mut parameters = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in given.char_indices().chain(Some((given.len(), ','))) {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if given[..at].ends_with('-') => (),
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                let one = given[start..at].trim();
                if !one.is_empty() {
                    parameters.push(c_type(one.split_once(':').unwrap().1, ""));
                }
                start = at + 1;
            }
            _ => (),
        }
    }
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    c_type(back, &format!("{}({})", name, parameters))
}

/// The checks, in C, and how many there are.
fn program() -> (String, usize) {
    let mut c =
        "#include <stdint.h>\n#include <stddef.h>\n#include <tlcache/tlcache.h>\n#include <tlcache/backend.h>\n\
                 #include <tlcache/remote.h>\n"
            .to_owned();
    let mut count = 0;
    let mut owner = String::new();
    let mut check = |c: &mut String, what: &str, actual: &str, ours: &str| {
        count += 1;
        let alias = format!("ours_{}", count);
        let ours = ours.replace("@", &alias);
        writeln!(c, "typedef {};", ours).unwrap();
        writeln!(
            c,
            "_Static_assert(__builtin_types_compatible_p({}, {}), \"{} is declared otherwise in Rust\");",
            actual, alias, what
        )
        .unwrap();
    };
    for line in include_str!("../src/bindings.rs").lines() {
        let line = line.trim();
        if let Some(declared) = line.strip_prefix("pub fn ") {
            let (name, signature) = declared.trim_end_matches(';').split_at(declared.find('(').unwrap());
            check(&mut c, name, &format!("__typeof__({})", name), &c_function(signature, "@"));
        } else if let Some(declared) = line.strip_prefix("pub type ") {
            let (name, what) = declared.trim_end_matches(';').split_once(" = ").unwrap();
            let ours = match what.strip_prefix("unsafe extern \"C\" fn") {
                Some(signature) => c_function(signature, "(*@)"),
                None => c_type(what, "@"),
            };
            check(&mut c, name, name, &ours);
        } else if let Some(name) = line.strip_prefix("pub struct ") {
            owner = name.trim_end_matches(" {").to_owned();
        } else if let Some(member) = line.strip_prefix("pub ") {
            if let Some((name, of)) = member.trim_end_matches(',').split_once(": ") {
                if !member.starts_with("const ") {
                    let name = name.trim_start_matches("r#");
                    let actual = format!("__typeof__((({}*)0)->{})", owner, name);
                    check(&mut c, &format!("{}.{}", owner, name), &actual, &c_type(of, "@"));
                }
            }
        }
    }
    (c, count)
}

fn include() -> Option<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include");
    let installed = option_env!("TLCACHE_SYS_INCLUDE").map(PathBuf::from);
    Some(repository).into_iter().chain(installed).find(|p| p.join("tlcache/tlcache.h").exists())
}

fn compiles(source: &str, include: &Path) -> Result<(), String> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tlcache-sys-{}-{}", std::process::id(), number));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("declared.c");
    std::fs::write(&file, source).unwrap();
    let done = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=gnu11", "-fsyntax-only", "-I"])
        .args([include, &file])
        .output()
        .map_err(|e| format!("no C compiler: {}", e))?;
    std::fs::remove_dir_all(folder).unwrap();
    if done.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

#[test]
fn the_headers_declare_what_rust_declares() {
    let include = include().expect("the C headers are in the repository, or installed with the library");
    let (c, count) = program();
    match compiles(&c, &include) {
        Err(why) if why.starts_with("no C compiler") => eprintln!("skipped: {}", why),
        other => assert_eq!(other, Ok(())),
    }
    assert!(count > 200, "only {} declarations were found in bindings.rs", count);
}

/// That the test above can fail: a parameter of another size, another constness, one more.
#[test]
fn another_declaration_is_noticed() {
    let include = include().expect("the C headers");
    let (c, _) = program();
    if compiles("", &include).is_err() {
        return eprintln!("skipped: no C compiler");
    }
    for (was, now) in [
        ("typedef uint64_t ours_", "typedef uint32_t ours_"),
        ("(const tlc_request *, tlc_str )", "(tlc_request *, tlc_str )"),
        (
            "(tlc_cache *, const tlc_key *, tlc_artifact **, tlc_error *)",
            "(tlc_cache *, const tlc_key *, tlc_artifact **)",
        ),
    ] {
        let changed = c.replacen(was, now, 1);
        assert_ne!(changed, c, "{} is not among the declarations", was);
        let why = compiles(&changed, &include).unwrap_err();
        assert!(why.contains("is declared otherwise in Rust"), "{}", why);
    }
}
