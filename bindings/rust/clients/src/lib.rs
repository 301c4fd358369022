// SPDX-License-Identifier: MIT
//! Programs on the crate `tlcache`: what each binary of this package is made of.
pub mod cuda;
pub mod kernels;
pub mod wgsl;

use std::error::Error;

use tlcache::Cache;

/// The cache of a program's first argument; without one, the user's own.
pub fn cache_of_arguments() -> Result<Cache, Box<dyn Error>> {
    Ok(match std::env::args_os().nth(1) {
        Some(folder) => Cache::options().directory(folder).strict(true).open()?,
        None => Cache::open()?,
    })
}

/// What a program says at its end: how much this process compiled.
pub fn say_compiles(before: tlcache::Stats, cache: &Cache) -> tlcache::Result<()> {
    println!("compiled {} here", cache.stats()?.compiles - before.compiles);
    Ok(())
}
