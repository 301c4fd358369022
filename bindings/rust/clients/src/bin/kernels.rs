// SPDX-License-Identifier: MIT
//! Makes kernels for three element types and runs them, compiled once for all who run this.
use tlcache_clients::kernels::{example, Kernel};
use tlcache_clients::{cache_of_arguments, say_compiles};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cache = cache_of_arguments()?;
    let before = cache.stats()?;
    let mut out = [0.0f32; 4];
    Kernel::<f32>::new(&cache, &example(), 4)?.call(&[1.0, 2.0, 3.0, 4.0], &[0.5; 4], &mut out);
    println!("float: {out:?}");
    let mut out = [0.0f64; 2];
    Kernel::<f64>::new(&cache, &example(), 4)?.call(&[3.0, 5.0], &[3.0, 0.0], &mut out);
    println!("double: {out:?}");
    let mut out = [0; 3];
    Kernel::<i32>::new(&cache, &example(), 8)?.call(&[7, -7, 0], &[2, 2, 2], &mut out);
    println!("int: {out:?}");
    Ok(say_compiles(before, &cache)?)
}
