# SPDX-License-Identifier: MIT
# The tour, docs/julia.md: its blocks of Julia run as they stand, one after the other, in a process with a store of its own.

@testset "tour" begin
    page = joinpath(@__DIR__, "..", "..", "..", "docs", "julia.md")
    if !isfile(page)
        skip_test("docs/julia.md", "the page is only in the repository")
    elseif Sys.which("cc") === nothing
        skip_test("docs/julia.md", "there is no cc")
    else
        blocks = [found.captures[1] for found in eachmatch(r"^```julia\n(.*?)^```$"ms, read(page, String))]
        @test length(blocks) >= 3
        mktempdir() do folder
            ok, said = run_julia(join(blocks, "\n") * "\nprint(\"whole\")"; environment=("TLC_DIR" => joinpath(folder, "store"),))
            @test ok
            @test endswith(said, "whole")
        end
    end
end
