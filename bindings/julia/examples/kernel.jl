# SPDX-License-Identifier: MIT
# A kernel in C, compiled once for all processes and called with Julia's arrays.
#
#   TLCACHE_LIBRARY=/path/libtlcache.so.0 julia --project=bindings/julia bindings/julia/examples/kernel.jl

using TLCache

const SOURCE = """
#include <stddef.h>
void scale(double* x, size_t n, double by) { for (size_t i = 0; i < n; ++i) x[i] *= by; }
"""

Cache() do cache
    request = Request("examples"; target="cpu:native", label="scale", fields=(source=SOURCE, options=["-O3"]))
    artifact = get_or_compile(cache, request)
    println(artifact.log === nothing ? "found" : "compiled", ": ", artifact)
    kernel = load_module(cache, artifact)
    numbers = collect(1.0:5.0)
    GC.@preserve kernel begin
        ccall(symbol(kernel, "scale"), Cvoid, (Ptr{Float64}, Csize_t, Float64), numbers, length(numbers), 10.0)
    end
    println(numbers)
end
