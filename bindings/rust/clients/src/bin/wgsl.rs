// SPDX-License-Identifier: MIT
//! Compiles a shader for two versions of SPIR-V, once for all who run this.
use tlcache_clients::{cache_of_arguments, say_compiles, wgsl};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cache = cache_of_arguments()?;
    wgsl::register(&cache)?;
    let before = cache.stats()?;
    for target in ["spirv:1.3", "spirv:1.5"] {
        let artifact = cache.get_or_compile_by_backend(&wgsl::request(wgsl::BLUR, target)?)?;
        let words = wgsl::words(&artifact["kernel.spv"])?;
        println!("{target}: {} words, entry {}", words.len(), std::str::from_utf8(&artifact["entries"])?);
    }
    Ok(say_compiles(before, &cache)?)
}
