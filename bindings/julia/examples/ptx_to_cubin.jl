# SPDX-License-Identifier: MIT
# PTX to cubin, cached: the step of CUDA.jl's compiler that starts `ptxas`, with libtlcache around it.
#
#   TLCACHE_LIBRARY=/path/libtlcache.so.0 julia --project=bindings/julia bindings/julia/examples/ptx_to_cubin.jl [ARCH]
#
# CUDA.jl makes PTX from a method (GPUCompiler), hands it to `ptxas`, and keeps the cubin in the memory of one session. Here the
# cubin is kept for every process of this user. The key is what determines it: the text of the PTX, the arch, the options, and
# ptxas itself by the hash of its file's bytes and not by a version that it states. Needs a ptxas on the PATH (or CUDA_HOME), no
# card: with one, CUDA.jl takes the bytes as `CuModule(Vector{UInt8}(cubin))`.

using TLCache
using TLCache: info, stats

# What GPUCompiler gives for y[i] = a * x[i] + y[i].
const PTX = """
.version 7.0
.target sm_52
.address_size 64

.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .f32 %f<5>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<8>;
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.s32 %rd5, %r4, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
    ret;
}
"""

function find_ptxas()
    home = get(ENV, "CUDA_HOME", "")
    inside = joinpath(home, "bin", "ptxas")
    return !isempty(home) && isfile(inside) ? inside : Sys.which("ptxas")
end

# The identity of the assembler: its bytes. TLCache hashes a long value when it makes a key, so they are given as they are.
toolchain_of(ptxas) = Key(Request("ptxas"; toolchain=NO_TOOLCHAIN, fields=(program=read(ptxas),), digest_only="program")).digest

# One run of ptxas, as CUDA.jl starts it.
function assemble(ptxas, ptx, arch, options)
    mktempdir() do folder
        input, output = joinpath(folder, "kernel.ptx"), joinpath(folder, "kernel.cubin")
        write(input, ptx)
        said = IOBuffer()
        done = run(pipeline(ignorestatus(`$ptxas $options --gpu-name $arch --output-file $output $input`); stdout=said, stderr=said))
        log = String(take!(said))
        success(done) || throw(CompileError("ptxas refused the PTX"; log=log))
        return (read(output), log)
    end
end

# What CUDA.jl's compile step becomes: the cubin's bytes, from the cache or from ptxas.
function cached_cubin(cache, ptxas, toolchain, ptx, arch; options=["--verbose"])
    request = Request("cuda.jl/example"; target="cuda:$arch", engine="ptxas", toolchain=collect(toolchain.bytes),
                      label="saxpy for $arch", fields=(ptx=ptx, options=options))
    artifact = get_or_compile(cache, request) do wanted, _
        cubin, log = assemble(ptxas, wanted.fields["ptx"], arch, wanted.fields["options"])
        Bundle("kernel.cubin" => cubin, "kernel.ptx" => ptx; types=("kernel.cubin" => :device_binary, "kernel.ptx" => :device_ir), log=log)
    end
    return artifact
end

function example(arch)
    ptxas = find_ptxas()
    if ptxas === nothing
        println("There is no ptxas on the PATH, nor in CUDA_HOME: nothing to show.")
        return 77
    end
    Cache() do cache
        toolchain = toolchain_of(ptxas)
        for turn in 1:2
            started = time()
            artifact = cached_cubin(cache, ptxas, toolchain, PTX, arch)
            cubin = artifact["kernel.cubin"]
            cubin[1:4] == UInt8[0x7f, 0x45, 0x4c, 0x46] || error("this is no ELF file")
            how = artifact.log === nothing ? "found" : "assembled"
            println(how, " ", length(cubin), " bytes of cubin for ", arch, " in ", round(1000 * (time() - started); digits=2), " ms")
            artifact.log === nothing || print(artifact.log)
        end
        now = stats(cache, "cuda.jl/example")
        println(now.compiles, " compiled, ", now.hits, " found, of all processes")
    end
    return 0
end

exit(example(isempty(ARGS) ? "sm_80" : ARGS[1]))
