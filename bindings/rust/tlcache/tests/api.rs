// SPDX-License-Identifier: MIT
//! The interface as a program uses it: keys, artifacts, closures that fail or panic, errors that say what to do.
mod common;

use std::collections::BTreeMap;
use std::error::Error as _;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc;
use std::time::Duration;

use common::{key, request, Folder};
use tlcache::{
    Begin, Bundle, Bytes, Cache, Cancel, CompileOptions, Digest, Error, ErrorKind, Lookup, Outcome, Request, Value,
};

fn one_member(data: &str) -> Bundle {
    Bundle::new().member("kernel", data)
}

#[test]
fn types_that_mean_the_same_give_the_same_key() {
    let of = |add: &dyn Fn(tlcache::RequestBuilder) -> tlcache::RequestBuilder| {
        add(Request::builder("t").no_toolchain()).build().unwrap().key().unwrap()
    };
    assert_eq!(of(&|b| b.field("n", 5i8)), of(&|b| b.field("n", 5usize)));
    assert_eq!(of(&|b| b.field("x", 0.5f32)), of(&|b| b.field("x", 0.5f64)));
    assert_eq!(of(&|b| b.field("l", ["-O3", "-g"])), of(&|b| b.field("l", vec!["-O3".to_owned(), "-g".to_owned()])));
    assert_eq!(of(&|b| b.field("o", None::<i32>)), of(&|b| b.field("o", ())));
    assert_eq!(of(&|b| b.field("o", Some(3))), of(&|b| b.field("o", 3)));
    assert_eq!(of(&|b| b.field("b", vec![1u8, 2])), of(&|b| b.field("b", [1u8, 2])));
    let map = BTreeMap::from([("N", 4), ("M", 5)]);
    let entries = vec![("M".to_owned(), Value::Int(5)), ("N".to_owned(), Value::Int(4))];
    assert_eq!(of(&|b| b.field("d", &map)), of(&|b| b.field("d", Value::Map(entries.clone()))));
    assert_ne!(of(&|b| b.field("n", 1)), of(&|b| b.field("n", true)));
    assert_ne!(of(&|b| b.field("s", "1")), of(&|b| b.field("s", b"1")));
    assert_ne!(of(&|b| b.field("n", 1)), of(&|b| b.digest_only("n", 1)));
}

#[test]
fn what_is_no_value_says_which_field_and_what_to_do() {
    let mut deep = Value::Int(1);
    for _ in 0..17 {
        deep = Value::List(vec![deep]);
    }
    let error = Request::builder("t").no_toolchain().field("options", deep).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().starts_with("field 'options[0]"), "{}", error);
    let error = Value::integer(1 << 64).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Uncacheable);
    assert!(error.message().contains("out of range") && error.message().contains("as text"), "{}", error);
    let error = Request::builder("t").field("", 1).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    // The first error is the one that is told.
    let error = Request::builder("a b").field("", 1).build().unwrap_err();
    assert!(error.message().contains("namespace"), "{}", error);
    assert!("12".parse::<Digest>().unwrap_err().message().contains("64 hex digits"));
    let empty = Cache::options().directory("").open().unwrap_err();
    assert!(empty.message().contains("give a folder"), "{}", empty);
}

#[test]
fn members_borrow_and_bytes_own() {
    let folder = Folder::new();
    let cache = folder.cache();
    let bundle = Bundle::new().member("a", "first").member("b", vec![1, 2, 3]).member("empty", "");
    let published = cache.put(&key(1), &bundle).unwrap();
    assert_eq!((published.outcome, published.reason.as_str()), (Outcome::Stored, ""));
    let artifact = cache.get(&key(1)).unwrap().hit().unwrap();
    assert_eq!(&artifact["a"], b"first");
    assert_eq!(artifact.data(0).unwrap().as_ptr() as usize % 64, 0);
    assert_eq!(artifact.data(3), None);
    let names: Vec<_> = artifact.members().map(|m| m.name).collect();
    assert_eq!(names, ["a", "b", "empty"]);
    assert_eq!(artifact.members().next_back().unwrap().len(), 0);
    assert_eq!(artifact.members().len(), 3);
    let owned: Bytes = artifact.bytes("a").unwrap();
    let part = owned.slice(1..=3);
    drop((cache, artifact, published, owned));
    drop(folder); // the store is gone, the bytes are not
    assert_eq!(&*std::thread::spawn(move || part).join().unwrap(), b"irs");
}

#[test]
fn a_member_that_is_not_there_is_an_error_or_a_panic_that_lists_the_names() {
    let folder = Folder::new();
    let artifact = folder.cache().put(&key(1), &one_member("x")).unwrap().artifact;
    let error = artifact.member("kernel.so").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("kernel"), "{}", error);
    let panic = catch_unwind(AssertUnwindSafe(|| artifact["kernel.so"].len())).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("kernel"));
}

#[test]
fn a_closure_that_fails_hands_its_error_on() {
    #[derive(Debug, thiserror::Error)]
    #[error("the licence server is gone")]
    struct Gone;
    let folder = Folder::new();
    let cache = folder.cache();
    let error = cache.get_or_compile(&request(1), |_| Err(Gone.into())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Callback);
    assert_eq!(error.message(), "the licence server is gone");
    assert!(error.source().unwrap().downcast_ref::<Gone>().is_some());
    let refused = |_: &mut tlcache::Job<'_>| Err(Error::compile("line 3", "error: line 3\n").into());
    let error = cache.get_or_compile(&request(1), refused).unwrap_err();
    assert_eq!((error.kind(), error.log()), (ErrorKind::Compile, Some("error: line 3\n")));
    // A field that is missing, and one of another type.
    let error = cache.get_or_compile(&request(1), |job| Ok(one_member(job.request().text("source")?))).unwrap_err();
    assert!(error.message().contains("no field 'source'"), "{}", error);
    let error = cache.get_or_compile(&request(1), |job| Ok(one_member(job.request().text("n")?))).unwrap_err();
    assert!(error.message().contains("field 'n': it is an int; give a text"), "{}", error);
    // A bundle that the library refuses.
    let error = cache.get_or_compile(&request(1), |_| Ok(Bundle::new().member("a/b", "x"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(!cache.get(&key(1)).unwrap().is_hit());
}

#[test]
fn a_panic_in_a_closure_goes_on_in_the_caller_and_frees_the_lock() {
    let folder = Folder::new();
    let cache = folder.cache();
    for _ in 0..50 {
        let panic = catch_unwind(AssertUnwindSafe(|| cache.get_or_compile(&request(1), |_| panic!("at the disco"))));
        assert_eq!(*panic.unwrap_err().downcast_ref::<&str>().unwrap(), "at the disco");
    }
    let artifact = cache.get_or_compile(&request(1), |_| Ok(one_member("x"))).unwrap();
    assert_eq!(&artifact["kernel"], b"x");
}

#[test]
fn an_error_whose_text_panics_is_a_panic_of_the_closure() {
    #[derive(Debug)]
    struct Mute;
    impl std::fmt::Display for Mute {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no words for it")
        }
    }
    impl std::error::Error for Mute {}
    let folder = Folder::new();
    let cache = folder.cache();
    let panic = catch_unwind(AssertUnwindSafe(|| cache.get_or_compile(&request(1), |_| Err(Mute.into()))));
    assert_eq!(*panic.unwrap_err().downcast_ref::<&str>().unwrap(), "no words for it");
    assert_eq!(&cache.get_or_compile(&request(1), |_| Ok(one_member("x"))).unwrap()["kernel"], b"x");
}

#[test]
fn who_waits_for_a_closure_that_panics_gets_its_text() {
    let folder = Folder::new();
    let cache = folder.cache();
    let (started, wait) = mpsc::channel();
    let compiling = {
        let cache = cache.clone();
        std::thread::spawn(move || {
            let _ = cache.get_or_compile(&request(1), |_| {
                started.send(()).unwrap();
                std::thread::sleep(Duration::from_millis(300));
                panic!("no memory for it")
            });
        })
    };
    wait.recv().unwrap();
    let answer = cache.get_or_compile(&request(1), |_| Ok(one_member("mine")));
    assert!(compiling.join().is_err());
    // It waited, or came when the other had ended and compiled itself.
    if let Err(error) = answer {
        assert_eq!(error.kind(), ErrorKind::Callback);
        assert!(error.message().contains("no memory for it"), "{}", error);
    }
}

#[test]
fn a_thread_that_dies_with_the_lock_lets_the_next_compile() {
    let folder = Folder::new();
    let cache = folder.cache();
    for round in 0..20 {
        let held = cache.clone();
        let died = std::thread::spawn(move || match held.begin(&key(7)).unwrap() {
            Begin::Lock(_lock) => panic!("round {}", round),
            Begin::Hit(_) => (),
        });
        assert!(died.join().is_err());
    }
    match cache.begin_with(&key(7), Some(Duration::ZERO), None).unwrap() {
        Begin::Lock(lock) => drop(lock.publish(&one_member("x")).unwrap()),
        Begin::Hit(_) => panic!("nobody published"),
    }
    assert!(matches!(cache.begin(&key(7)).unwrap(), Begin::Hit(_)));
}

#[test]
fn a_lock_may_be_ended_by_another_thread_and_a_wait_by_a_token() {
    let folder = Folder::new();
    let cache = folder.cache();
    let lock = match cache.begin(&key(1)).unwrap() {
        Begin::Lock(lock) => lock,
        Begin::Hit(_) => panic!("nobody published"),
    };
    let waiting = cache.clone();
    let cancel = Cancel::new().unwrap();
    let token = cancel.clone();
    let waiter = std::thread::spawn(move || {
        let error = waiting.begin_with(&key(1), Some(Duration::from_millis(1)), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        waiting.begin_with(&key(1), None, Some(&token)).map(drop).unwrap_err()
    });
    std::thread::sleep(Duration::from_millis(50));
    cancel.trigger();
    assert_eq!(waiter.join().unwrap().kind(), ErrorKind::Cancelled);
    std::thread::spawn(move || lock.publish(&one_member("x")).unwrap()).join().unwrap();
    assert!(matches!(cache.get(&key(1)).unwrap(), Lookup::Hit(_)));
}

#[test]
fn only_looking_is_a_miss() {
    let folder = Folder::new();
    let options = CompileOptions { never: true, ..CompileOptions::default() };
    let error = folder.cache().get_or_compile_with(&request(1), &options, |_| Ok(one_member("x"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Miss);
}

#[test]
fn reports_and_visits_and_their_panics() {
    let folder = Folder::new();
    let cache = folder.cache();
    for n in 0..3 {
        cache.put(&key(n), &one_member("x").label("k")).unwrap();
    }
    let entries = cache.list(Some("rust/test")).unwrap();
    assert_eq!(entries.len(), 3);
    assert!(entries.iter().all(|e| e.label == "k" && e.kind == "artifact"));
    let mut seen = 0;
    cache
        .visit(None, |_| {
            seen += 1;
            false
        })
        .unwrap();
    assert_eq!(seen, 1);
    let panicked = catch_unwind(AssertUnwindSafe(|| cache.visit(None, |_| panic!("in a visit"))));
    assert_eq!(*panicked.unwrap_err().downcast_ref::<&str>().unwrap(), "in a visit");
    let report: serde_json::Value = serde_json::from_str(&cache.verify(false, |_, _| true).unwrap()).unwrap();
    assert_eq!(report["entries"], 3);
    assert_eq!(cache.verify(false, |_, _| false).unwrap_err().kind(), ErrorKind::Cancelled);
    let why: serde_json::Value = serde_json::from_str(&cache.explain(&key(9)).unwrap()).unwrap();
    assert_eq!(why["outcome"], "never");
    assert!(key(1).diff(&key(2)).unwrap().contains("\"n\""));
    cache.configure("limit", "128M").unwrap();
    assert_eq!(cache.stats().unwrap().limit_bytes, 128 << 20);
}

#[test]
fn the_types_may_cross_threads() {
    fn both<T: Send + Sync>() {}
    both::<Cache>();
    both::<Request>();
    both::<tlcache::Key>();
    both::<tlcache::Artifact>();
    both::<Bytes>();
    both::<tlcache::Module>();
    both::<Cancel>();
    both::<tlcache::CompileLock>();
    both::<Error>();
}
