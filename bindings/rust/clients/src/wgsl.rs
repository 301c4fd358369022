// SPDX-License-Identifier: MIT
//! WGSL to SPIR-V by naga, as a backend: target `spirv:1.3`, engine `naga`.
use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use tlcache::{
    Artifact, Backend, Bundle, Cache, Call, CompileCall, Error, ErrorKind, MemberType, Options, Register, Request,
    RequestRef, Result, Spec,
};

/// A shader that blurs a row.
pub const BLUR: &str = "
@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> blurred: array<f32>;

@compute @workgroup_size(64)
fn blur(@builtin(global_invocation_id) id: vec3<u32>) {
    let last = arrayLength(&source) - 1u;
    let i = id.x;
    if (i > last) { return; }
    let before = source[max(i, 1u) - 1u];
    let after = source[min(i + 1u, last)];
    blurred[i] = 0.25 * before + 0.5 * source[i] + 0.25 * after;
}";

struct Naga;

/// `spirv:1.3` as naga wants it.
fn version(target: &str) -> Result<(u8, u8)> {
    match target {
        "spirv:1.0" => Ok((1, 0)),
        "spirv:1.3" => Ok((1, 3)),
        "spirv:1.5" => Ok((1, 5)),
        other => Err(Error::new(ErrorKind::Invalid, format!("{other} is none of spirv:1.0, 1.3, 1.5"))),
    }
}

impl Backend for Naga {
    fn resolve_target(&self, _call: &Call<'_>, target: &str) -> Result<String> {
        version(target).map(|_| target.to_owned())
    }

    /// naga is linked into this program, so that the program's file is the compiler.
    fn identify(&self, call: &Call<'_>, _request: RequestRef<'_>, _target: &str) -> Result<Vec<u8>> {
        let program = std::env::current_exe().map_err(|error| {
            Error::new(ErrorKind::Io, format!("the program's own file: {error}"))
                .with_errno(error.raw_os_error().unwrap_or(0))
        })?;
        Ok(call.file_identity(program)?.0.to_vec())
    }

    fn compile(&self, call: &mut CompileCall<'_>, request: RequestRef<'_>, target: &str) -> Result<Bundle> {
        let source = request.text("source")?;
        let refused = |log: String| Error::compile("naga refused the shader", log);
        let module = naga::front::wgsl::parse_str(source).map_err(|error| refused(error.emit_to_string(source)))?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
            .validate(&module)
            .map_err(|error| refused(error.emit_to_string(source)))?;
        let options = spv::Options { lang_version: version(target)?, ..spv::Options::default() };
        let words = spv::write_vec(&module, &info, &options, None).map_err(|error| refused(error.to_string()))?;
        call.log(&format!("naga: {} words\n", words.len()));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let entries: Vec<&str> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        Ok(Bundle::new().typed_member("kernel.spv", MemberType::DeviceIr, bytes).member("entries", entries.join("\n")))
    }

    fn validate(&self, _call: &Call<'_>, artifact: &Artifact, _options: &Options<'_>) -> Result<()> {
        words(&artifact["kernel.spv"]).map(drop)
    }
}

/// SPIR-V as wgpu and Vulkan take it: words, of which the first is its magic number.
pub fn words(bytes: &[u8]) -> Result<Vec<u32>> {
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    if !bytes.len().is_multiple_of(4) || words.len() < 5 || words[0] != 0x0723_0203 {
        return Err(Error::new(ErrorKind::Rejected, "kernel.spv is no SPIR-V"));
    }
    Ok(words)
}

/// Lets a cache compile WGSL.
pub fn register(cache: &Cache) -> Result<()> {
    cache.register_backend(&Spec::new("naga", ["spirv"]).name("naga (WGSL)"), Naga, Register::default())
}

/// The request of a shader.
pub fn request(source: &str, target: &str) -> Result<Request> {
    Request::builder("clients/wgsl").target(target).engine("naga").field("source", source).label("wgsl").build()
}
