// SPDX-License-Identifier: MIT
//! Backends written in Rust: the whole way, errors and panics of each slot, registering and ending.
mod common;

use std::os::raw::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use common::Folder;
use tlcache::{
    register_backend, Artifact, Backend, BackendModule, Bundle, Cache, Call, CompileCall, Error, ErrorKind, Options,
    Register, Request, RequestRef, Result, Spec,
};

/// Which slot is to panic or fail.
struct Toy {
    panics_in: &'static str,
    fails_in: &'static str,
    compiles: Arc<AtomicUsize>,
    modules: Arc<AtomicUsize>,
    alive: Arc<AtomicUsize>,
}

impl Toy {
    fn new(panics_in: &'static str, fails_in: &'static str) -> Toy {
        Toy::counted(panics_in, fails_in, &Arc::default())
    }

    fn counted(panics_in: &'static str, fails_in: &'static str, alive: &Arc<AtomicUsize>) -> Toy {
        alive.fetch_add(1, Ordering::SeqCst);
        Toy { panics_in, fails_in, compiles: Arc::default(), modules: Arc::default(), alive: alive.clone() }
    }

    fn meet(&self, slot: &str) -> Result<()> {
        if self.panics_in == slot {
            panic!("{} fell over", slot);
        }
        if self.fails_in == slot {
            return Err(Error::new(ErrorKind::Unavailable, format!("{} has no licence", slot)).with_backend_code(7));
        }
        Ok(())
    }
}

impl Drop for Toy {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
        if self.panics_in == "close" {
            panic!("close fell over");
        }
    }
}

struct ToyModule {
    text: Vec<u8>,
    panics_in: &'static str,
    modules: Arc<AtomicUsize>,
}

impl BackendModule for ToyModule {
    fn symbol(&self, name: &str) -> Result<Option<NonNull<c_void>>> {
        if self.panics_in == "symbol" {
            panic!("symbol fell over");
        }
        Ok((name == "text").then(|| NonNull::from(&self.text[0]).cast()))
    }
}

impl Drop for ToyModule {
    fn drop(&mut self) {
        self.modules.fetch_sub(1, Ordering::SeqCst);
        if self.panics_in == "unload" {
            panic!("unload fell over");
        }
    }
}

impl Backend for Toy {
    fn resolve_target(&self, _call: &Call<'_>, target: &str) -> Result<String> {
        self.meet("resolve_target")?;
        Ok(target.replace("native", "v2"))
    }

    fn identify(&self, call: &Call<'_>, _request: RequestRef<'_>, target: &str) -> Result<Vec<u8>> {
        self.meet("identify")?;
        assert!(!target.contains("native"));
        call.remember(b"toy fact", b"known")?;
        assert!(call.remembered(b"toy fact")?.map_or(true, |fact| fact == b"known"));
        Ok(call.file_identity(std::env::current_exe().unwrap())?.0.to_vec())
    }

    fn compile(&self, call: &mut CompileCall<'_>, request: RequestRef<'_>, _target: &str) -> Result<Bundle> {
        self.compiles.fetch_add(1, Ordering::SeqCst);
        call.log("toy: compiling\n");
        self.meet("compile")?;
        let source = request.text("source")?;
        if source.contains("wrong") {
            return Err(Error::compile("toy refused the source", "toy: line 1 is wrong\n"));
        }
        Ok(Bundle::new().member("text", source.to_uppercase()))
    }

    fn validate(&self, _call: &Call<'_>, artifact: &Artifact, _options: &Options<'_>) -> Result<()> {
        self.meet("validate")?;
        match artifact["text"].is_ascii() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Rejected, "not ASCII")),
        }
    }

    fn place(&self, _call: &Call<'_>, _options: &Options<'_>) -> Result<u64> {
        self.meet("place").map(|()| 3)
    }

    fn load(&self, _call: &Call<'_>, artifact: &Artifact, _options: &Options<'_>) -> Result<Box<dyn BackendModule>> {
        self.meet("load")?;
        self.modules.fetch_add(1, Ordering::SeqCst);
        let text = artifact["text"].to_vec();
        Ok(Box::new(ToyModule { text, panics_in: self.panics_in, modules: self.modules.clone() }))
    }

    fn probe(&self, _call: &Call<'_>) -> Result<String> {
        self.meet("probe").map(|()| "{\"toy\": 1}".to_owned())
    }

    fn describe(&self, _call: &Call<'_>, artifact: &Artifact) -> Result<String> {
        self.meet("describe")?;
        Ok(format!("{{\"members\": {{\"text\": {{\"format\": \"toy\", \"bytes\": {}}}}}}}", artifact["text"].len()))
    }
}

fn request(source: &str) -> Request {
    Request::builder("rust/toy").target("toy:native").field("source", source).build().unwrap()
}

fn cache_with(folder: &Folder, toy: Toy) -> Cache {
    let cache = folder.cache();
    cache.register_backend(&Spec::new("toy-engine", ["toy"]).name("Toy"), toy, Register::default()).unwrap();
    cache
}

#[test]
fn the_whole_way_through_a_backend() {
    let folder = Folder::new();
    let toy = Toy::new("", "");
    let (compiles, modules, alive) = (toy.compiles.clone(), toy.modules.clone(), toy.alive.clone());
    let cache = cache_with(&folder, toy);
    let done = cache.get_or_compile_by_backend_with(&request("abc"), &Default::default()).unwrap();
    assert_eq!(done.log.as_deref(), Some("toy: compiling\n"));
    assert_eq!(done.artifact.target(), "toy:v2");
    let again = cache.get_or_compile_by_backend(&request("abc")).unwrap();
    assert_eq!(&again["text"], b"ABC");
    assert_eq!(compiles.load(Ordering::SeqCst), 1);
    let module = cache.load(&again).unwrap();
    let same = cache.load(&done.artifact).unwrap();
    assert_eq!(modules.load(Ordering::SeqCst), 1, "modules are shared per place");
    let address = module.symbol("text").unwrap().address().cast::<u8>();
    // SAFETY: the toy's symbol is its text.
    assert_eq!(unsafe { *address }, b'A');
    assert_eq!(module.symbol("nosuch").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(cache.describe_artifact(&again).unwrap().contains("\"bytes\": 3"));
    assert!(cache.backends().unwrap().contains("\"toy\""));
    let error = cache.get_or_compile_by_backend(&request("wrong")).unwrap_err();
    assert_eq!((error.kind(), error.log()), (ErrorKind::Compile, Some("toy: compiling\ntoy: line 1 is wrong\n")));
    drop((module, same));
    drop(cache);
    assert_eq!((modules.load(Ordering::SeqCst), alive.load(Ordering::SeqCst)), (0, 0));
}

#[test]
fn a_panic_in_any_slot_is_an_error_with_its_text() {
    for slot in ["resolve_target", "identify", "compile", "validate", "place", "load", "symbol", "describe"] {
        for (panics, fails) in [(slot, ""), ("", slot)] {
            if fails == "symbol" {
                continue; // its module has no failing symbol
            }
            let folder = Folder::new();
            let cache = cache_with(&folder, Toy::new(panics, fails));
            let tried = cache.get_or_compile_by_backend(&request("abc")).and_then(|artifact| {
                cache.describe_artifact(&artifact)?;
                cache.load(&artifact)?.symbol("text").map(drop)
            });
            let error = tried.unwrap_err();
            if panics.is_empty() {
                assert_eq!((error.kind(), error.backend_code()), (ErrorKind::Unavailable, 7), "{}: {}", slot, error);
                assert!(error.message().contains("has no licence"), "{}", error);
            } else {
                assert_eq!(error.kind(), ErrorKind::Callback, "{}: {}", slot, error);
                let said = format!("panicked in {}: {} fell over", slot, slot);
                assert!(error.message().contains(&said), "{}", error);
            }
        }
    }
}

#[test]
fn a_panic_where_nobody_can_be_told_is_dropped() {
    for slot in ["unload", "close", "probe"] {
        let folder = Folder::new();
        let toy = Toy::new(slot, "");
        let (alive, modules) = (toy.alive.clone(), toy.modules.clone());
        let cache = cache_with(&folder, toy);
        let artifact = cache.get_or_compile_by_backend(&request("abc")).unwrap();
        drop(cache.load(&artifact).unwrap());
        assert!(cache.backends().unwrap().contains("Toy"));
        drop((cache, artifact));
        assert_eq!((alive.load(Ordering::SeqCst), modules.load(Ordering::SeqCst)), (0, 0), "{}", slot);
    }
}

#[test]
fn registering_for_the_process_and_taking_out() {
    let folder = Folder::new();
    let spec = Spec::new("process-engine", ["toyprocess"]);
    let alive = Arc::default();
    for _ in 0..3 {
        let toy = Toy::counted("", "", &alive);
        let registered = register_backend(&spec, toy, Register::default()).unwrap();
        let refused = register_backend(&spec, Toy::new("", ""), Register::default());
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Exists);
        let cache = folder.cache();
        let request = Request::builder("rust/toy").target("toyprocess:native").field("source", "abc").build().unwrap();
        let artifact = cache.get_or_compile_by_backend(&request).unwrap();
        let module = cache.load(&artifact).unwrap();
        let (registered, busy) = registered.unregister().unwrap_err();
        assert_eq!(busy.kind(), ErrorKind::Busy);
        drop(module);
        registered.unregister().unwrap();
        assert_eq!(alive.load(Ordering::SeqCst), 0);
        let gone = cache.get_or_compile_by_backend(&request).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
    }
    let nameless = register_backend(&Spec::new("", ["x"]), Toy::new("", ""), Register::default()).unwrap_err();
    assert!(nameless.message().contains("the engine is empty: name it"), "{}", nameless);
}
