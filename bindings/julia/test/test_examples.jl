# SPDX-License-Identifier: MIT
# The examples, as they are: each in a process of its own, with a store of its own.

const EXAMPLES = joinpath(@__DIR__, "..", "examples")

run_example(name; environment) = run_julia("include($(repr(joinpath(EXAMPLES, name))))"; environment=environment)

# A ptxas that makes what looks like a cubin and counts its runs: what is tested is the way there and back.
const PTXAS = raw"""
#!/bin/sh
echo run >> "$COUNT_RUNS"
while [ $# -gt 0 ]; do
  case "$1" in --output-file) output=$2; shift ;; esac
  shift
done
printf '\177ELF and the rest' > "$output"
echo "ptxas info : all is well"
"""

@testset "examples" begin
    if Sys.which("cc") === nothing
        skip_test("examples/kernel.jl", "there is no cc")
    else
        @testset "kernel.jl" begin
            mktempdir() do folder
                environment = ("TLC_DIR" => joinpath(folder, "store"),)
                ok, said = run_example("kernel.jl"; environment=environment)
                @test ok
                @test contains(said, "compiled") && contains(said, "[10.0, 20.0, 30.0, 40.0, 50.0]")
                ok, said = run_example("kernel.jl"; environment=environment)
                @test ok
                @test contains(said, "found")
            end
        end
    end

    @testset "ptx_to_cubin.jl" begin
        mktempdir() do folder
            mkpath(joinpath(folder, "bin"))
            ptxas = joinpath(folder, "bin", "ptxas")
            write(ptxas, PTXAS)
            chmod(ptxas, 0o755)
            environment = ("TLC_DIR" => joinpath(folder, "store"), "CUDA_HOME" => folder, "COUNT_RUNS" => joinpath(folder, "runs"))
            for _ in 1:2
                ok, said = run_example("ptx_to_cubin.jl"; environment=environment)
                @test ok
                @test contains(said, "found 17 bytes of cubin")
            end
            @test countlines(joinpath(folder, "runs")) == 1
            # Another ptxas: another key.
            write(ptxas, PTXAS * "# newer\n")
            ok, said = run_example("ptx_to_cubin.jl"; environment=environment)
            @test ok
            @test countlines(joinpath(folder, "runs")) == 2
        end
    end
end
