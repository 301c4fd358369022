# SPDX-License-Identifier: MIT
"""
    TLCache

One cache of compiled kernels for every backend and every language: the Julia package of libtlcache.

```julia
using TLCache

Cache() do cache
    request = Request("myapp"; target="cpu:native", fields=(source=SOURCE, options=["-O3"]))
    artifact = get_or_compile(cache, request)             # by the host's C compiler, once for all processes
    kernel = load_module(cache, artifact)
    GC.@preserve kernel begin
        ccall(symbol(kernel, "scale"), Cvoid, (Ptr{Float64}, Csize_t, Float64), data, length(data), 2.0)
    end
end
```

`docs/julia.md` in the repository is the tour.
"""
module TLCache

using Libdl: Libdl

export Cache, Request, Key, Digest, Artifact, Member, Bundle, CompileLock, LoadedModule
export TLCacheError, CompileError, NO_TOOLCHAIN
export get_or_compile, begin_compile, publish!, fail!, abandon!
export guard!, absent!, require!
export load_module, symbol
# All else that docs/julia.md names is public too, as TLCache.stats, TLCache.explain, and so on.

include("abi/types.jl")
include("abi/constants.jl")
include("abi/functions.jl")
include("library.jl")
include("errors.jl")
include("key.jl")
include("request.jl")
include("bundle.jl")
include("artifact.jl")
include("cache.jl")
include("flow.jl")
include("loaded_module.jl")
include("reports.jl")

end
