// SPDX-License-Identifier: MIT
//! A process that does what it is told, a command a line. usage: worker FOLDER NOTES NAME
use std::io::{BufRead, Write};

fn main() -> Result<(), tlcache::BoxError> {
    let arguments: Vec<String> = std::env::args().collect();
    let worker = consumer::Worker::open(&arguments[1], &arguments[2], &arguments[3])?;
    let mut out = std::io::stdout();
    writeln!(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", worker.command(&line?)?)?;
        out.flush()?;
    }
    Ok(())
}
