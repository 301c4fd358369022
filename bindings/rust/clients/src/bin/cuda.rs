// SPDX-License-Identifier: MIT
//! Compiles a kernel to PTX and, where there is a card, launches it.
use tlcache_clients::{cache_of_arguments, cuda, say_compiles};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cache = cache_of_arguments()?;
    let before = cache.stats()?;
    let artifact = cuda::compile(&cache, cuda::AXPY)?;
    println!("{} bytes of PTX", artifact["kernel.ptx"].len());
    if cuda::has_card() {
        let (x, mut y) = (vec![2.0f32; 1000], vec![1.0f32; 1000]);
        cuda::launch(&artifact, &x, &mut y, 3.0)?;
        assert!(y.iter().all(|v| *v == 7.0));
        println!("launched: right");
    } else {
        println!("not launched: there is no card");
    }
    Ok(say_compiles(before, &cache)?)
}
