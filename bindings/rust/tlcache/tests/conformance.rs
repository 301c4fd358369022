// SPDX-License-Identifier: MIT
//! The files that every language runs: key vectors and store scenarios (tests/conformance/README.md).
mod common;

use std::collections::HashMap;
use std::path::Path;

use common::{conformance, unhex, Folder};
use serde_json::Value as Json;
use tlcache::{Artifact, Begin, BoxError, Bundle, Cache, CompileLock, CompileOptions, Digest, Error, ErrorKind};
use tlcache::{Key, Lookup, Outcome, Published, Request, Stats, Value};

/// Text of a vector, or None: bytes that are no UTF-8 are no text in Rust.
fn text(value: &Json) -> Option<String> {
    match value.as_str() {
        Some(text) => Some(text.to_owned()),
        None => String::from_utf8(unhex(value["hex"].as_str().unwrap())).ok(),
    }
}

/// A value of a vector; None where Rust's types cannot say it.
fn value(field: &Json) -> Option<Value> {
    let given = &field["value"];
    let bits = |text: &Json| u64::from_str_radix(text.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    let plain = |item: &Json| item.get("flags").is_none();
    Some(match field["type"].as_str().unwrap() {
        "null" => Value::Null,
        "bool" => Value::Bool(given.as_bool().unwrap()),
        "int" => Value::integer(given.as_str().unwrap().parse().unwrap()).ok()?,
        "f64" => Value::F64(f64::from_bits(bits(given))),
        "f32" => Value::F64(f64::from(f32::from_bits(bits(given) as u32))),
        "text" => Value::Text(text(given)?),
        "bytes" => Value::Bytes(unhex(given.as_str().unwrap())),
        "digest" => Value::Digest(given.as_str().unwrap().parse::<Digest>().ok()?),
        "list" => {
            let items = given.as_array().unwrap();
            if items.iter().any(|item| item.get("name").is_some() || !plain(item)) {
                return None;
            }
            Value::List(items.iter().map(value).collect::<Option<_>>()?)
        }
        _ => {
            let entries = given.as_array().unwrap();
            if !entries.iter().all(plain) {
                return None;
            }
            Value::Map(entries.iter().map(|e| Some((text(&e["name"])?, value(e)?))).collect::<Option<_>>()?)
        }
    })
}

/// The request of a vector or scenario; None where Rust's types cannot say it.
fn request(given: &Json) -> Option<tlcache::Result<Request>> {
    let toolchain = given.get("toolchain").unwrap_or(&Json::Null);
    if toolchain.is_array() || given.get("host").map_or(false, |h| !h.is_null()) {
        return None; // what a backend adds
    }
    let mut builder = Request::builder(given["namespace"].as_str()?);
    match toolchain.as_str() {
        Some("none") => builder = builder.no_toolchain(),
        Some(hex) => builder = builder.toolchain(unhex(hex)),
        None => (),
    }
    if let Some(target) = given.get("target").filter(|t| !t.is_null()) {
        builder = builder.target(text(target)?);
    }
    if let Some(engine) = given.get("engine").filter(|e| !e.is_null()) {
        builder = builder.engine(&text(engine)?);
    }
    if let Some(label) = given.get("label").and_then(Json::as_str) {
        builder = builder.label(label);
    }
    for name in given.get("require").and_then(Json::as_array).into_iter().flatten() {
        builder = builder.require_member(name.as_str().unwrap());
    }
    for field in given["fields"].as_array().unwrap() {
        let (name, of) = (text(&field["name"])?, value(field)?);
        let digest_only =
            field.get("flags").map_or(false, |f| f.as_array().unwrap().iter().any(|f| f == "digest_only"));
        builder = if digest_only { builder.digest_only(&name, of) } else { builder.field(&name, of) };
    }
    Some(builder.build())
}

#[test]
fn the_vectors_give_their_bytes() {
    let keys = match conformance("keys.json") {
        Some(keys) => keys,
        None => return,
    };
    let (mut checked, mut refused) = (0, 0);
    for vector in keys["vectors"].as_array().unwrap() {
        let (name, expect) = (&vector["name"], &vector["expect"]);
        // A key needs a toolchain, and a target an engine, unless a backend adds them.
        if vector["toolchain"].is_null() || vector["engine"].is_null() {
            continue;
        }
        match request(vector).map(|made| made.and_then(|request| request.key())) {
            None => continue,
            Some(Ok(key)) => {
                let encoding: String = key.encoding().iter().map(|b| format!("{:02x}", b)).collect();
                assert_eq!(Some(encoding.as_str()), expect["encoding"].as_str(), "{}", name);
                assert_eq!(Some(key.digest().to_string().as_str()), expect["digest"].as_str(), "{}", name);
                assert_eq!(Key::decode(key.encoding()).unwrap(), key, "{}", name);
                checked += 1;
            }
            Some(Err(error)) => {
                assert!(expect.get("error").is_some(), "{}: {}", name, error);
                refused += 1;
            }
        }
    }
    assert!(checked > 130, "only {} vectors", checked);
    assert!(refused > 30, "only {} refusals", refused);
}

/// A member's bytes, as a scenario says them.
fn bytes(given: &Json) -> Vec<u8> {
    if let Some(text) = given.as_str() {
        return text.as_bytes().to_vec();
    }
    match given.get("hex") {
        Some(hex) => unhex(hex.as_str().unwrap()),
        None => given["repeat"].as_str().unwrap().repeat(given["times"].as_u64().unwrap() as usize).into_bytes(),
    }
}

/// What a step came to: the status's name, and for an error its text.
type Came = (String, String);

fn failed(error: &Error) -> Came {
    (error.kind().status_name().to_owned(), error.message().to_owned())
}

fn yes(done: tlcache::Result<bool>) -> Came {
    match done {
        Ok(true) => ("TLC_OK".to_owned(), String::new()),
        Ok(false) => ("TLC_MISS".to_owned(), String::new()),
        Err(error) => failed(&error),
    }
}

fn kind(status: &str) -> ErrorKind {
    match status {
        "TLC_E_COMPILE" => ErrorKind::Compile,
        "TLC_E_UNAVAILABLE" => ErrorKind::Unavailable,
        other => panic!("{} is no status that a scenario's compiler fails with", other),
    }
}

struct Run<'a> {
    folder: &'a Path,
    requests: &'a Json,
    caches: HashMap<String, Cache>,
    artifacts: HashMap<String, Artifact>,
    locks: HashMap<String, CompileLock>,
}

impl Run<'_> {
    fn request(&self, name: &Json) -> tlcache::Result<Request> {
        request(&self.requests[name.as_str().unwrap()]).expect("a request that Rust can say")
    }

    fn key(&self, step: &Json) -> Key {
        self.request(&step["key"]).unwrap().key().unwrap()
    }

    fn bundle(&self, step: &Json) -> Bundle {
        let mut bundle = Bundle::new();
        for (name, of) in step["members"].as_object().unwrap() {
            bundle = bundle.member(name, bytes(of));
        }
        if let Some(label) = step.get("label").and_then(Json::as_str) {
            bundle = bundle.label(label);
        }
        for name in step.get("requires").and_then(Json::as_array).into_iter().flatten() {
            bundle = bundle.require(&self.request(name).unwrap().key().unwrap());
        }
        bundle
    }

    fn keep(&mut self, step: &Json, artifact: Artifact) {
        if let Some(name) = step.get("as") {
            self.artifacts.insert(name.as_str().unwrap().to_owned(), artifact);
        }
    }

    fn found(&mut self, step: &Json, found: tlcache::Result<Option<Artifact>>) -> Came {
        match found {
            Ok(Some(artifact)) => {
                self.keep(step, artifact);
                ("TLC_OK".to_owned(), String::new())
            }
            Ok(None) => ("TLC_MISS".to_owned(), String::new()),
            Err(error) => failed(&error),
        }
    }

    fn published(&mut self, step: &Json, done: tlcache::Result<Published>) -> Came {
        match done {
            Ok(done) => {
                self.keep(step, done.artifact);
                let status = match done.outcome {
                    Outcome::Stored => "TLC_OK",
                    Outcome::Existed => "TLC_EXISTED",
                    Outcome::NotStored => "TLC_NOT_STORED",
                    Outcome::TooLarge => "TLC_TOO_LARGE",
                };
                (status.to_owned(), done.reason)
            }
            Err(error) => failed(&error),
        }
    }

    fn open(&mut self, step: &Json, name: &str) -> Came {
        let mut options = Cache::options().directory(self.folder.join("store")).ignore_environment(true);
        if let Some(limit) = step.get("limit") {
            options = options.limit(limit.as_u64().unwrap());
        }
        for option in step.get("options").and_then(Json::as_array).into_iter().flatten() {
            options = match option.as_str().unwrap() {
                "strict" => options.strict(true),
                "read_only" => options.read_only(true),
                "memory" => options.memory(true),
                other => panic!("no option {}", other),
            };
        }
        yes(options.open().map(|cache| {
            self.caches.insert(name.to_owned(), cache);
            true
        }))
    }

    fn check(&self, step: &Json) {
        let artifact = &self.artifacts[step["artifact"].as_str().unwrap()];
        let theirs: HashMap<String, Vec<u8>> =
            artifact.members().map(|m| (m.name.to_owned(), m.data.to_vec())).collect();
        let ours: HashMap<String, Vec<u8>> =
            step["members"].as_object().unwrap().iter().map(|(name, of)| (name.clone(), bytes(of))).collect();
        assert_eq!(theirs, ours);
        for name in ours.keys() {
            assert_eq!(artifact.read(name).unwrap(), ours[name]);
        }
        let info = artifact.info().unwrap();
        if let Some(namespace) = step.get("namespace") {
            assert_eq!(info.namespace, namespace.as_str().unwrap());
        }
        if let Some(label) = step.get("label") {
            assert_eq!(info.label, label.as_str().unwrap());
        }
    }

    fn get_or_compile(&mut self, step: &Json, cache: &Cache) -> Came {
        let request = self.request(&step["request"]).unwrap();
        let compile = &step["compile"];
        let flag = |name: &str| step.get(name).map_or(false, |given| given.as_bool().unwrap());
        let options =
            CompileOptions { keep_failure: flag("keep_failure"), closed: flag("closed"), ..CompileOptions::default() };
        let made = compile.get("members").map(|_| self.bundle(compile));
        let mut compiled = false;
        let done = cache.get_or_compile_with(&request, &options, |job| -> Result<Bundle, BoxError> {
            compiled = true;
            job.log(compile.get("log").and_then(Json::as_str).unwrap_or(""));
            match made {
                Some(made) => Ok(made),
                None => {
                    let text = compile["text"].as_str().unwrap();
                    Err(Error::new(kind(compile["fails"].as_str().unwrap()), text).into())
                }
            }
        });
        assert_eq!(compiled, step["compiled"].as_bool().unwrap(), "compiled");
        let said = match &done {
            Ok(done) => done.log.clone(),
            Err(error) => error.log().map(str::to_owned).or_else(|| Some(String::new())),
        };
        if let Some(log) = step.get("log").and_then(Json::as_str) {
            if done.is_ok() || !compiled {
                assert_eq!(said.as_deref(), Some(log));
            }
        }
        self.found(step, done.map(|done| Some(done.artifact)))
    }

    fn stats(&self, step: &Json, cache: &Cache) -> Came {
        let stats = match step.get("namespace").and_then(Json::as_str) {
            Some(namespace) => cache.namespace_stats(namespace),
            None => cache.stats(),
        };
        let Stats { hits, misses, puts, compiles, entries, .. } = match stats {
            Ok(stats) => stats,
            Err(error) => return failed(&error),
        };
        for (name, wanted) in step["is"].as_object().unwrap() {
            let counters =
                [("hits", hits), ("misses", misses), ("puts", puts), ("compiles", compiles), ("entries", entries)];
            let found = counters.iter().find(|(counter, _)| counter == name).expect("a counter").1;
            assert_eq!(Some(found), wanted.as_u64(), "{}", name);
        }
        ("TLC_OK".to_owned(), String::new())
    }

    fn step(&mut self, step: &Json) -> Came {
        let name = step.get("cache").and_then(Json::as_str).unwrap_or("c").to_owned();
        let ok = || ("TLC_OK".to_owned(), String::new());
        let operation = step["do"].as_str().unwrap();
        match operation {
            "open" => return self.open(step, &name),
            "close" => {
                self.caches.remove(&name).unwrap().close();
                return ok();
            }
            "file" => {
                std::fs::write(self.folder.join(step["folder"].as_str().unwrap()), "no folder").unwrap();
                return ok();
            }
            "key" => return yes(self.request(&step["request"]).and_then(|r| r.key()).map(|_| true)),
            "check" => {
                self.check(step);
                return ok();
            }
            "member" => {
                let artifact = &self.artifacts[step["artifact"].as_str().unwrap()];
                return yes(artifact.member(step["name"].as_str().unwrap()).map(|_| true));
            }
            "publish" => {
                let lock = self.locks.remove(step["lock"].as_str().unwrap()).unwrap();
                let done = lock.publish(&self.bundle(step));
                return self.published(step, done);
            }
            "abandon" => {
                self.locks.remove(step["lock"].as_str().unwrap()).unwrap().abandon();
                return ok();
            }
            "fail" => {
                let lock = self.locks.remove(step["lock"].as_str().unwrap()).unwrap();
                lock.fail(kind(step["status"].as_str().unwrap()), step["text"].as_str().unwrap());
                return ok();
            }
            _ => (),
        }
        let cache = self.caches[&name].clone();
        match operation {
            "cache_key" => yes(cache.key(&self.request(&step["request"]).unwrap()).map(|_| true)),
            "get" => {
                let found = cache.get(&self.key(step)).map(Lookup::hit);
                self.found(step, found)
            }
            "put" => {
                let done = cache.put(&self.key(step), &self.bundle(step));
                self.published(step, done)
            }
            "replace" => {
                let seen = step["seen"].as_str().map(|name| &self.artifacts[name]);
                let done = cache.replace(&self.key(step), seen, &self.bundle(step));
                self.published(step, done)
            }
            "amend" => {
                let seen = &self.artifacts[step["seen"].as_str().unwrap()];
                let done = cache.amend(&self.key(step), seen, &self.bundle(step));
                self.published(step, done)
            }
            "remove" => yes(cache.remove(&self.key(step))),
            "invalidate" => yes(cache.invalidate(&self.artifacts[step["artifact"].as_str().unwrap()])),
            "link" => {
                let key = |name: &str| self.request(&step[name]).unwrap().key().unwrap();
                yes(cache.link(&key("from"), &key("to")).map(|()| true))
            }
            "find" => {
                let digest = self.key(step).digest().to_string();
                let found = cache.find(&digest[..step["digits"].as_u64().unwrap() as usize]);
                self.found(step, found)
            }
            "clear" => {
                let removed = match step["namespace"].as_str() {
                    Some(namespace) => cache.clear(namespace),
                    None => cache.clear_all(),
                };
                yes(removed.map(|removed| {
                    assert_eq!(Some(removed), step["removed"].as_u64());
                    true
                }))
            }
            "begin" => match cache.begin(&self.key(step)) {
                Ok(Begin::Hit(artifact)) => self.found(step, Ok(Some(artifact))),
                Ok(Begin::Lock(lock)) => {
                    self.locks.insert(step["lock"].as_str().unwrap().to_owned(), lock);
                    ("TLC_LOCKED".to_owned(), String::new())
                }
                Err(error) => failed(&error),
            },
            "get_or_compile" => self.get_or_compile(step, &cache),
            "stats" => self.stats(step, &cache),
            other => panic!("no operation {}", other),
        }
    }
}

#[test]
fn the_scenarios_come_out_as_they_say() {
    let file = match conformance("scenarios.json") {
        Some(file) => file,
        None => return,
    };
    let mut count = 0;
    for scenario in file["scenarios"].as_array().unwrap() {
        let folder = Folder::new();
        let mut run = Run {
            folder: &folder.0,
            requests: &file["requests"],
            caches: HashMap::new(),
            artifacts: HashMap::new(),
            locks: HashMap::new(),
        };
        for (number, step) in scenario["steps"].as_array().unwrap().iter().enumerate() {
            let (status, message) = run.step(step);
            let place = format!("{} step {}: {}: {} ({})", scenario["name"], number + 1, step, status, message);
            let expect = step.get("expect").cloned().unwrap_or_else(|| "TLC_OK".into());
            let wanted = expect.as_array().cloned().unwrap_or_else(|| vec![expect.clone()]);
            assert!(wanted.iter().any(|one| one == status.as_str()), "{}", place);
            if let Some(part) = step.get("message") {
                assert!(message.contains(part.as_str().unwrap()), "{}", place);
            }
            count += 1;
        }
    }
    assert!(count > 100, "only {} steps", count);
}
