// SPDX-License-Identifier: MIT
//! CUDA C++ by NVRTC to PTX, from the cache; loaded and launched by cudarc where there is a card.
use std::error::Error;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use tlcache::{Artifact, Cache, Request, Result};

/// `y += a x`, by a thread an element.
pub const AXPY: &str = "extern \"C\" __global__ void axpy(const float* x, float* y, float a, unsigned long long n) {
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
";

/// The kernel's PTX. Needs NVRTC if nobody has compiled it, and no card.
pub fn compile(cache: &Cache, source: &str) -> Result<Artifact> {
    let request = Request::builder("clients/cuda")
        .target("cuda:compute_80")
        .engine("nvrtc")
        .field("source", source)
        .field("output", "ptx")
        .label("axpy")
        .build()?;
    cache.get_or_compile_by_backend(&request)
}

/// Whether there is a driver and a card.
pub fn has_card() -> bool {
    // SAFETY: only looks whether the driver's library can be opened.
    let is_present = unsafe { cudarc::driver::sys::is_culib_present() };
    is_present && CudaContext::device_count().is_ok_and(|count| count > 0)
}

/// Launches it on the first card: `y += a x`.
pub fn launch(artifact: &Artifact, x: &[f32], y: &mut [f32], a: f32) -> std::result::Result<(), Box<dyn Error>> {
    let ptx = std::str::from_utf8(&artifact["kernel.ptx"])?.trim_end_matches('\0');
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let function = context.load_module(Ptx::from_src(ptx))?.load_function("axpy")?;
    let (on_card, mut result) = (stream.clone_htod(x)?, stream.clone_htod(&*y)?);
    let n = x.len() as u64;
    let mut launch = stream.launch_builder(&function);
    launch.arg(&on_card).arg(&mut result).arg(&a).arg(&n);
    // SAFETY: these are the types of the source's parameters, and both arrays have n elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n as u32)) }?;
    stream.memcpy_dtoh(&result, y)?;
    stream.synchronize()?;
    Ok(())
}
