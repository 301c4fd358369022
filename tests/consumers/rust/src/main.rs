// SPDX-License-Identifier: MIT
//! An application in Rust: opens a cache in the folder it is given, puts an artifact, gets it, reads a member.
use tlcache::{Bundle, Cache, Outcome, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: consumer FOLDER")?;
    let cache = Cache::options().directory(folder).strict(true).ignore_environment(true).open()?;
    let key = Request::builder("consumer").no_toolchain().field("source", "int main;").build()?.key()?;
    let published = cache.put(&key, &Bundle::new().member("out.bin", "what a compiler made"))?;
    assert!(matches!(published.outcome, Outcome::Stored | Outcome::Existed));
    let artifact = cache.get(&key)?.hit().ok_or("it was not found")?;
    assert_eq!(&artifact["out.bin"], b"what a compiler made");
    println!("consumer: {} by libtlcache {}", artifact.read("out.bin")?.len(), tlcache::version());
    Ok(())
}
