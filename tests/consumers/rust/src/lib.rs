// SPDX-License-Identifier: MIT
//! The worker of ../languages/languages.py in Rust; worker.py says what each command does. As a shared library it gives the same
//! to a program of another language, by `consumer_*`.
use std::ffi::{c_char, c_int, CStr, CString};
use std::io::Write;
use std::time::Duration;

use tlcache::{Artifact, Bundle, Cache, CompileOptions, Lookup, Request, Value};

const CONTENT_SIZE: usize = 4096;
const ROWS: usize = 37;
const COLUMNS: usize = 129;

type Result<T> = std::result::Result<T, tlcache::BoxError>;

pub struct Worker {
    cache: Cache,
    notes: String,
    name: String,
    answer: CString,
}

/// What every language makes of a key: its name and a zero byte, again and again.
fn content(key: &str) -> Vec<u8> {
    key.bytes().chain([0]).cycle().take(CONTENT_SIZE).collect()
}

fn request_of(key: &str) -> Result<Request> {
    let numbers = Value::List(vec![Value::Int(key.len() as i64), Value::F64(0.5)]);
    Ok(Request::builder("languages").no_toolchain().field("name", key).field("numbers", numbers).build()?)
}

impl Worker {
    pub fn open(folder: &str, notes: &str, name: &str) -> Result<Worker> {
        let cache = Cache::options().directory(folder).strict(true).ignore_environment(true).open()?;
        Ok(Worker { cache, notes: notes.to_owned(), name: name.to_owned(), answer: CString::default() })
    }

    fn bundle(&self, key: &str) -> Bundle {
        Bundle::new().member("code", content(key)).member("maker", self.name.as_str())
    }

    fn taken(&self, key: &str, artifact: &Artifact) -> Result<String> {
        assert_eq!(artifact["code"], content(key)[..], "worker in Rust: the content of {} is another", key);
        Ok(String::from_utf8(artifact["maker"].to_vec())?)
    }

    fn compile(&self, key: &str, hold: bool) -> Result<String> {
        let artifact = self.cache.get_or_compile(&request_of(key)?, |_| {
            let line = format!("{} {} {}\n", self.name, std::process::id(), key);
            std::fs::OpenOptions::new().append(true).create(true).open(&self.notes)?.write_all(line.as_bytes())?;
            while hold {
                std::thread::park();
            }
            std::thread::sleep(Duration::from_millis(5));
            Ok(self.bundle(key))
        })?;
        self.taken(key, &artifact)
    }

    fn hammer(&self, count: usize, seed: usize) -> Result<String> {
        for i in 0..count {
            self.compile(&format!("key-{}", (seed + i * (2 * seed + 1)) & (count - 1)), false)?;
        }
        let makers: Result<Vec<_>> = (0..count).map(|i| self.compile(&format!("key-{}", i), false)).collect();
        Ok(makers?.join(" "))
    }

    fn softmax(&self, folder: &str) -> Result<String> {
        let request = Request::builder("languages")
            .target("cpu:native")
            .field("source", std::fs::read_to_string(format!("{}/softmax.c", folder))?)
            .field("language", "c")
            .field("options", ["-O3", "-lm", "-iquote", folder])
            .build()?;
        let done = self.cache.get_or_compile_by_backend_with(&request, &CompileOptions::default())?;
        let module = self.cache.load(&done.artifact)?;
        let address = module.symbol("softmax")?.address();
        // SAFETY: that is its type in the source, and the module lives to the end of the function.
        let kernel: extern "C" fn(*const f32, *mut f32, c_int, c_int) = unsafe { std::mem::transmute(address) };
        let x: Vec<f32> = (0..ROWS * COLUMNS).map(|i| (((i * 7 + 3) % 23) as f32 - 11.0) / 8.0).collect();
        let mut y = vec![0.0; x.len()];
        kernel(x.as_ptr(), y.as_mut_ptr(), ROWS as c_int, COLUMNS as c_int);
        let bytes = y.iter().flat_map(|v| v.to_ne_bytes());
        let hash = bytes.fold(14695981039346656037u64, |h, byte| (h ^ u64::from(byte)).wrapping_mul(1099511628211));
        Ok(format!("{} {}", hash, if done.log.is_some() { "compiled" } else { "found" }))
    }

    pub fn command(&self, line: &str) -> Result<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["hammer", count, seed] => self.hammer(count.parse()?, seed.parse()?),
            ["compile", key] => self.compile(key, false),
            ["hold", key] => self.compile(key, true),
            ["put", key] => {
                let published = self.cache.put(&self.cache.key(&request_of(key)?)?, &self.bundle(key))?;
                self.taken(key, &published.artifact)
            }
            ["get", key] => match self.cache.get(&self.cache.key(&request_of(key)?)?)? {
                Lookup::Hit(artifact) => self.taken(key, &artifact),
                _ => Ok("miss".to_owned()),
            },
            ["softmax", folder] => self.softmax(folder),
            // Where the text of the library that is called lies: another address is another copy.
            ["library"] => Ok((tlcache::version().as_ptr() as usize).to_string()),
            _ => Err(format!("no command: {}", line).into()),
        }
    }
}

/// # Safety
/// Three texts of C.
#[no_mangle]
pub unsafe extern "C" fn consumer_open(folder: *const c_char, notes: *const c_char, name: *const c_char) -> *mut Worker {
    let text = |given| CStr::from_ptr(given).to_str().expect("text");
    Box::into_raw(Box::new(Worker::open(text(folder), text(notes), text(name)).expect("a cache")))
}

/// # Safety
/// A worker that one thread uses, and a text of C. The answer is valid until the next call.
#[no_mangle]
pub unsafe extern "C" fn consumer_command(worker: *mut Worker, line: *const c_char) -> *const c_char {
    let answer = (*worker).command(CStr::from_ptr(line).to_str().expect("text")).unwrap_or_else(|e| format!("error: {}", e));
    (*worker).answer = CString::new(answer).expect("no zero bytes");
    (*worker).answer.as_ptr()
}

/// # Safety
/// A worker that nobody uses any more.
#[no_mangle]
pub unsafe extern "C" fn consumer_close(worker: *mut Worker) {
    drop(Box::from_raw(worker));
}
