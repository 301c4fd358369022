# SPDX-License-Identifier: MIT
# Which library is opened, and what is refused.

# A library of another ABI: only what is asked first.
const OTHER_LIBRARY = """
    unsigned tlc_abi_version(void) { return MAJOR << 16 | MINOR; }
    const char* tlc_version_string(void) { return "9.9.9"; }
"""

function build_library(folder, major, minor)
    source = joinpath(folder, "other.c")
    write(source, OTHER_LIBRARY)
    library = joinpath(folder, "libother-$major-$minor.so")
    run(`cc -shared -fPIC -DMAJOR=$(major)u -DMINOR=$(minor)u -o $library $source`)
    return library
end

const USE = "using TLCache; try; Cache(); println(\"no error\"); catch e; println(sprint(showerror, e)); end"

@testset "library" begin
    @testset "the one that runs" begin
        @test TLCache.library_version() isa VersionNumber
        @test TLCache.abi_version() >= (Int(TLCache.TLC_ABI_MAJOR), Int(TLCache.TLC_ABI_MINOR))
        @test !isempty(TLCache.build_info())
        @test !isempty(TLCache.library_path())
        @test TLCache.status_name(TLCache.TLC_E_IO) == "TLC_E_IO"
    end

    @testset "every exported name has a docstring" begin
        documented = Base.Docs.meta(TLCache)
        lacking = [name for name in names(TLCache) if name !== :TLCache && !haskey(documented, Base.Docs.Binding(TLCache, name))]
        @test lacking == Symbol[]
    end

    @testset "structs and constants are compared" begin
        @test TLCache.layout_differences(TLCache.library_layout()) == String[]
        @test TLCache.constant_differences(TLCache.library_constants()) == String[]
        moved = copy(TLCache.library_layout())
        moved[("tlc_stats", "hits")] = (16, 8)
        delete!(moved, ("tlc_entry", "label"))
        differences = TLCache.layout_differences(moved)
        @test length(differences) == 2
        @test any(contains("tlc_stats.hits"), differences)
        @test any(contains("tlc_entry.label"), differences)
        @test TLCache.constant_differences(Dict("TLC_E_IO" => -4, "TLC_SOMETHING_NEW" => 1)) == ["TLC_E_IO is -4, here -3"]
    end

    @testset "versions" begin
        ours = (UInt32(TLCache.TLC_ABI_MAJOR) << 16) | UInt32(TLCache.TLC_ABI_MINOR)
        @test TLCache.version_problem(ours) == ""
        @test TLCache.version_problem(ours + UInt32(1)) == ""
        @test contains(TLCache.version_problem(ours - UInt32(1)), "update the library")
        @test contains(TLCache.version_problem(ours + UInt32(0x10000)), "use the TLCache package of the library's version")
    end

    @testset "a library that is not there" begin
        ok, said = run_julia(USE; environment=("TLCACHE_LIBRARY" => "/nonexistent/libtlcache.so.0",))
        @test ok
        @test contains(said, "/nonexistent/libtlcache.so.0")
        @test contains(said, "set TLCACHE_LIBRARY")
    end

    if Sys.which("cc") === nothing
        skip_test("a library of another version", "there is no cc")
    else
        @testset "a library of another version" begin
            mktempdir() do folder
                for (major, minor, words) in ((7, 0, "this package needs ABI"), (Int(TLCache.TLC_ABI_MAJOR), 0, "update the library"))
                    library = build_library(folder, major, minor)
                    ok, said = run_julia(USE; environment=("TLCACHE_LIBRARY" => library,))
                    @test ok
                    @test contains(said, "does not fit")
                    @test contains(said, words)
                end
                # Of this version by its own word, and without the functions.
                library = build_library(folder, Int(TLCache.TLC_ABI_MAJOR), Int(TLCache.TLC_ABI_MINOR))
                ok, said = run_julia(USE; environment=("TLCACHE_LIBRARY" => library,))
                @test ok
                @test contains(said, "has no function")
            end
        end
    end
end
