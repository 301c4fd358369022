// SPDX-License-Identifier: MIT
//! Memory and handles stay flat: a million gets, artifacts dropped in any order, callbacks that panic, threads that die.
mod common;

use std::panic::{catch_unwind, AssertUnwindSafe};

use common::{key, request, Folder};
use tlcache::{Begin, Bundle, Cache};

/// Resident bytes of this process, and its open files.
fn resident() -> (usize, usize) {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    (pages * 4096, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

fn round(cache: &Cache, gets: usize, seed: &mut u64) {
    let keys: Vec<_> = (0..16).map(key).collect();
    let mut held = Vec::new();
    for n in 0..gets {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let random = (*seed >> 33) as usize;
        let artifact = cache.get(&keys[n % 16]).unwrap().hit().unwrap();
        assert_eq!(artifact.data(0).unwrap()[0], n as u8 % 16);
        held.push((artifact.bytes("kernel").unwrap(), artifact));
        if held.len() == 64 {
            // In any order: some of them, from anywhere.
            for _ in 0..32 {
                let gone = held.swap_remove(random % held.len());
                if random % 5 == 0 {
                    drop((gone.1, gone.0));
                }
            }
        }
    }
    for n in 0..gets / 1000 {
        let missing = 1000 + n as i64;
        let caught =
            catch_unwind(AssertUnwindSafe(|| cache.get_or_compile(&request(missing), |_| panic!("on purpose"))));
        assert!(caught.is_err());
        let held = cache.clone();
        let died = std::thread::spawn(move || {
            let artifact = held.get(&key(3)).unwrap().hit().unwrap();
            let lock = held.begin(&key(missing)).unwrap();
            assert!(matches!(lock, Begin::Lock(_)));
            panic!("with {} bytes and a lock", artifact["kernel"].len());
        });
        assert!(died.join().is_err());
    }
}

#[test]
fn a_million_gets_keep_nothing() {
    std::panic::set_hook(Box::new(|_| ())); // thousands of panics on purpose
    let folder = Folder::new();
    let cache = folder.cache();
    for n in 0..16u8 {
        let mut data = vec![n; 4096];
        data[0] = n;
        cache.put(&key(i64::from(n)), &Bundle::new().member("kernel", data)).unwrap();
    }
    let mut seed = 1;
    round(&cache, 50_000, &mut seed); // whatever is made once is made now
    let (stats, before) = (cache.stats().unwrap(), resident());
    round(&cache, 1_000_000, &mut seed);
    let (after, now) = (cache.stats().unwrap(), resident());
    let _ = std::panic::take_hook();
    assert_eq!(now.1, before.1, "open files");
    assert_eq!(
        (after.mapped_bytes, after.memory_bytes, after.unlinked_bytes),
        (stats.mapped_bytes, stats.memory_bytes, 0)
    );
    // One leaked artifact handle a get would be tens of megabytes.
    assert!(now.0 < before.0 + (4 << 20), "resident {} before, {} after", before.0, now.0);
}
