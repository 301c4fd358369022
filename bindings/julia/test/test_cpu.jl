# SPDX-License-Identifier: MIT
# Real kernels by the host's C compiler, called with Julia's arrays.

const SCALE = """
#include <stddef.h>
void scale(double* x, size_t n, double by) { for (size_t i = 0; i < n; ++i) x[i] *= by; }
int add(int a, int b) { return a + b; }
"""

cpu_request(source; options=["-O2"]) = Request("test"; target="cpu:native", engine="cc", fields=(source=source, options=options))

function scaled(kernel, numbers, by)
    GC.@preserve kernel begin
        ccall(symbol(kernel, "scale"), Cvoid, (Ptr{Float64}, Csize_t, Float64), numbers, length(numbers), by)
    end
    return numbers
end

if Sys.which("cc") === nothing && Sys.which("gcc") === nothing
    skip_test("cpu", "there is no C compiler")
else
    @testset "cpu" begin
        with_cache() do cache
            request = cpu_request(SCALE)
            artifact = get_or_compile(cache, request)
            kernel = load_module(cache, artifact)
            @test scaled(kernel, collect(1.0:1000.0), 2.0) == collect(2.0:2.0:2000.0)
            @test GC.@preserve(kernel, ccall(symbol(kernel, :add), Cint, (Cint, Cint), 2, 3)) == 5
            # A warm hit: the same kernel, without a compile.
            again = load_module(cache, get_or_compile(cache, cpu_request(SCALE)))
            @test scaled(again, [1.0, 2.0], 3.0) == [3.0, 6.0]
            @test symbol(again, "scale") == symbol(kernel, "scale")
            @test TLCache.stats(cache, "test").compiles == 1
            get_or_compile(cache, cpu_request(SCALE; options=["-O3"]))
            @test TLCache.stats(cache, "test").compiles == 2
            @test Key(cache, request) == Key(cache, cpu_request(SCALE))

            exception = thrown_by(() -> symbol(kernel, "nothing_of_this_name"))
            @test exception isa TLCacheError
            @test exception.status == TLCache.TLC_E_NOT_FOUND
            @test TLCache.native_handle(kernel) isa Ptr{Cvoid}
            close(kernel)
            @test contains(message_of(thrown_by(() -> symbol(kernel, "scale"))), "the module was closed")

            failed = thrown_by(() -> get_or_compile(cache, cpu_request("int f( {")))
            @test failed isa CompileError
            @test contains(failed.log, "error")
            @test contains(message_of(failed), "error")

            found = read_json(TLCache.describe(artifact, cache))
            @test length(found["members"]) >= 1
            @test any(contains("cc"), [TLCache.backends(cache)])
        end
    end

    @testset "cpu: modules that nobody refers to" begin
        with_cache() do cache
            artifact = get_or_compile(cache, cpu_request(SCALE))
            files = open_files()
            for _ in 1:50
                load_module(cache, artifact)
            end
            GC.gc(true)
            sleep(0.2)
            @test open_files() <= files + 5
            @test scaled(load_module(cache, artifact), [1.0], 2.0) == [2.0]
        end
    end
end
