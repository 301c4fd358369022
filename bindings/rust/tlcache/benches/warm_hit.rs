// SPDX-License-Identifier: MIT
//! What a warm hit costs in Rust over C, in one run: `cargo bench --bench warm_hit`.
//!
//! A hit is: look up, address of the first member, let go. The same three calls are made of C's functions directly and by
//! the safe interface, in turns of 10,000, for some seconds (`TLCACHE_BENCH_SECONDS`, default 5). Printed are the medians
//! of the turns, and of their differences pair by pair. With `cargo test` it runs one short turn, so that it keeps working.
use std::time::{Duration, Instant};

use tlcache::{Bundle, Cache, Request};
use tlcache_sys as sys;

const TURN: usize = 10_000;

/// Hides a value's origin from the optimiser. (std's own is newer than the oldest Rust that this crate is for.)
fn black_box<T: Copy>(value: T) -> T {
    // SAFETY: a valid value of a type that may be copied.
    unsafe { std::ptr::read_volatile(&value) }
}

/// The store of the benchmark opened a second time, by C's functions: what the safe interface stands on.
struct Bare {
    cache: *mut sys::tlc_cache,
    key: *mut sys::tlc_key,
}

impl Bare {
    fn open(folder: &std::path::Path, encoding: &[u8]) -> Bare {
        let (mut cache, mut key) = (std::ptr::null_mut(), std::ptr::null_mut());
        let text = folder.to_str().expect("a folder in UTF-8");
        // SAFETY: options are zero but for what is set; outs are ours; NULL is no error wanted.
        unsafe {
            let mut options: sys::tlc_cache_options = std::mem::zeroed();
            sys::tlc_cache_options_init_sized(&mut options, std::mem::size_of::<sys::tlc_cache_options>());
            options.directory = sys::tlc_str { data: text.as_ptr().cast(), len: text.len() };
            assert_eq!(sys::tlc_cache_open(&options, &mut cache, std::ptr::null_mut()), sys::TLC_OK);
            let none = std::ptr::null_mut();
            assert_eq!(sys::tlc_key_decode(encoding.as_ptr().cast(), encoding.len(), &mut key, none), sys::TLC_OK);
        }
        Bare { cache, key }
    }

    fn turn(&self, count: usize) -> u64 {
        let mut sum = 0;
        for _ in 0..count {
            let (mut artifact, mut size) = (std::ptr::null_mut(), 0);
            // SAFETY: all are alive; the first byte is read while the artifact is held.
            unsafe {
                let status = sys::tlc_cache_get(self.cache, black_box(self.key), &mut artifact, std::ptr::null_mut());
                assert_eq!(status, sys::TLC_OK);
                let data = sys::tlc_artifact_data(artifact, 0, &mut size);
                sum += u64::from(*data.cast::<u8>()) + size as u64;
                sys::tlc_artifact_release(artifact);
            }
        }
        sum
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // SAFETY: ours.
        unsafe {
            sys::tlc_key_release(self.key);
            sys::tlc_cache_close(self.cache);
        }
    }
}

fn safe_turn(cache: &Cache, key: &tlcache::Key, count: usize) -> u64 {
    let mut sum = 0;
    for _ in 0..count {
        let artifact = cache.get(black_box(key)).expect("a look-up").hit().expect("a hit");
        let data = artifact.data(0).expect("a member");
        sum += u64::from(data[0]) + data.len() as u64;
    }
    sum
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(|a, b| a.total_cmp(b));
    numbers[numbers.len() / 2]
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let seconds = std::env::var("TLCACHE_BENCH_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(5.0);
    let length = if is_bench { Duration::from_secs_f64(seconds) } else { Duration::from_millis(50) };
    let folder = std::env::temp_dir().join(format!("tlcache-bench-{}", std::process::id()));
    {
        let cache = Cache::options().directory(&folder).strict(true).open().expect("a store");
        let request =
            Request::builder("bench").no_toolchain().field("source", "x".repeat(2000)).build().expect("a request");
        let key = request.key().expect("a key");
        cache.put(&key, &Bundle::new().member("kernel", vec![7; 4096])).expect("a put");
        let bare = Bare::open(&folder, key.encoding());
        assert_eq!(bare.turn(10), safe_turn(&cache, &key, 10));
        let (mut c, mut rust, mut more) = (Vec::new(), Vec::new(), Vec::new());
        let until = Instant::now() + length;
        while Instant::now() < until || c.len() < 3 {
            let time = |turn: &dyn Fn() -> u64| {
                let start = Instant::now();
                black_box(turn());
                start.elapsed().as_nanos() as f64 / TURN as f64
            };
            // Which of them is first changes, so that neither has the warmer caches.
            let (by_c, by_rust) = if c.len() % 2 == 0 {
                let by_c = time(&|| bare.turn(TURN));
                (by_c, time(&|| safe_turn(&cache, &key, TURN)))
            } else {
                let by_rust = time(&|| safe_turn(&cache, &key, TURN));
                (time(&|| bare.turn(TURN)), by_rust)
            };
            c.push(by_c);
            rust.push(by_rust);
            more.push(by_rust - by_c);
        }
        let (turns, c, rust, more) = (c.len(), median(c), median(rust), median(more));
        println!(
            "warm hit: C {:.1} ns, Rust {:.1} ns, Rust over C {:.1} ns, ratio {:.3} ({} turns of {})",
            c,
            rust,
            more,
            rust / c,
            turns,
            TURN
        );
    }
    let _ = std::fs::remove_dir_all(folder);
}
