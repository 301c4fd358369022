// SPDX-License-Identifier: MIT
//! Each program, twice in processes of its own: the second compiles nothing and comes to the same. And what goes wrong.
use std::path::PathBuf;
use std::process::Command;

use tlcache::{Cache, ErrorKind};
use tlcache_clients::kernels::{example, Kernel};
use tlcache_clients::{cuda, wgsl};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tlcache-clients-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn cache(&self) -> Cache {
        Cache::options().directory(self.0.join("store")).strict(true).open().unwrap()
    }

    /// What a program prints, and at the end how much it compiled.
    fn run(&self, program: &str) -> (String, u64) {
        let done = Command::new(program).arg(self.0.join("store")).output().unwrap();
        let printed = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success(), "{printed}{}", String::from_utf8_lossy(&done.stderr));
        let (result, last) = printed.trim_end().rsplit_once('\n').unwrap();
        let compiled = last.strip_prefix("compiled ").unwrap().strip_suffix(" here").unwrap().parse().unwrap();
        (result.to_owned(), compiled)
    }

    fn twice(&self, program: &str, compiles: u64) {
        let first = self.run(program);
        assert_eq!(first.1, compiles, "{}", first.0);
        assert_eq!(self.run(program), (first.0, 0));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn shaders_are_compiled_by_the_first_process_only() {
    Folder::new("wgsl").twice(env!("CARGO_BIN_EXE_wgsl"), 2);
}

#[test]
fn an_edited_shader_is_another_and_a_wrong_one_says_where() {
    let folder = Folder::new("wgsl-edited");
    let cache = folder.cache();
    wgsl::register(&cache).unwrap();
    let get = |source: &str, target: &str| cache.get_or_compile_by_backend(&wgsl::request(source, target)?);
    let words = wgsl::words(&get(wgsl::BLUR, "spirv:1.3").unwrap()["kernel.spv"]).unwrap();
    assert_eq!((words[0], words[1]), (0x0723_0203, 0x0001_0300));
    let edited = wgsl::BLUR.replace("0.5 *", "0.25 *");
    assert_ne!(wgsl::words(&get(&edited, "spirv:1.3").unwrap()["kernel.spv"]).unwrap(), words);
    let error = get(&wgsl::BLUR.replace("last)", "lost)"), "spirv:1.3").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compile);
    assert!(error.log().unwrap().contains("lost"), "{error:?}");
    assert!(get(wgsl::BLUR, "spirv:9").unwrap_err().message().contains("none of spirv:1.0"));
    assert_eq!(cache.stats().unwrap().entries, 2);
}

#[test]
fn kernels_are_compiled_by_the_first_process_only() {
    let folder = Folder::new("kernels");
    match Kernel::<f32>::new(&folder.cache(), &example(), 4) {
        Err(error) if error.kind() == ErrorKind::Unavailable => return eprintln!("skipped: {error}"),
        other => drop(other.unwrap()),
    }
    folder.cache().clear_all().unwrap();
    folder.twice(env!("CARGO_BIN_EXE_kernels"), 3);
}

#[test]
fn a_generated_kernel_does_what_rust_does() {
    let folder = Folder::new("kernel-right");
    let kernel = match Kernel::<f32>::new(&folder.cache(), &example(), 4) {
        Err(error) if error.kind() == ErrorKind::Unavailable => return eprintln!("skipped: {error}"),
        other => other.unwrap(),
    };
    let x: Vec<f32> = (0..1001).map(|i| i as f32 * 0.5 - 100.0).collect();
    let y: Vec<f32> = (0..1001).map(|i| 7.0 - i as f32 * 0.25).collect();
    let mut out = vec![0.0; 1001];
    kernel.call(&x, &y, &mut out);
    let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| if x * y > x + y { x * y } else { x + y }).collect();
    assert_eq!(out, wanted);
    assert!(std::panic::catch_unwind(|| kernel.call(&x, &y[1..], &mut vec![0.0; 1001])).is_err());
}

/// NVRTC for the cuda backend, where the tests' setting names it.
fn has_nvrtc() -> bool {
    if let Some(library) = std::env::var_os("TLC_TEST_NVRTC") {
        std::env::set_var("TLC_NVRTC", library);
    }
    let folder = Folder::new("nvrtc");
    match cuda::compile(&folder.cache(), cuda::AXPY) {
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            eprintln!("skipped: {error}");
            false
        }
        other => other.map(|_| true).unwrap(),
    }
}

#[test]
fn ptx_is_compiled_by_the_first_process_only() {
    if has_nvrtc() {
        Folder::new("cuda").twice(env!("CARGO_BIN_EXE_cuda"), 1);
    }
}

#[test]
fn ptx_from_the_cache_runs_under_cudarc() {
    if !has_nvrtc() {
        return;
    }
    let folder = Folder::new("cuda-launch");
    let artifact = cuda::compile(&folder.cache(), cuda::AXPY).unwrap();
    assert!(std::str::from_utf8(&artifact["kernel.ptx"]).unwrap().contains(".entry axpy"));
    if !cuda::has_card() {
        return eprintln!("skipped: there is no card to launch on");
    }
    let (x, mut y) = (vec![2.0f32; 100_000], vec![1.0f32; 100_000]);
    cuda::launch(&artifact, &x, &mut y, 3.0).unwrap();
    assert!(y.iter().all(|v| *v == 7.0));
}
