# SPDX-License-Identifier: MIT
# Modules: artifacts loaded on a device.

"""
    LoadedModule

An artifact loaded on a device, shared by all who load it there in this process; from `load_module`. It is unloaded when nothing
refers to it any more: keep it, or use `GC.@preserve`, while its symbols are used. `close` lets go of it early.
"""
mutable struct LoadedModule
    @atomic ptr::Ptr{tlc_module}

    function LoadedModule(ptr::Ptr{tlc_module})
        loaded = new(ptr)
        return finalizer(unload_later, loaded)
    end
end

take_handle(loaded::LoadedModule) = (@atomicswap loaded.ptr = Ptr{tlc_module}(C_NULL))

# A finalizer must not wait, and a driver may when it unloads: a task does it.
function unload_later(loaded::LoadedModule)
    ptr = take_handle(loaded)
    (ptr == C_NULL || ENDING[]) || Threads.@spawn tlc_module_release(ptr)
    return nothing
end

"""
    close(loaded)

Lets go of the module now. Its symbols, and what was made of them, must not be used any more.
"""
function Base.close(loaded::LoadedModule)
    ptr = take_handle(loaded)
    ptr == C_NULL || tlc_module_release(ptr)
    return nothing
end

Base.isopen(loaded::LoadedModule) = (@atomic loaded.ptr) != C_NULL
Base.show(io::IO, loaded::LoadedModule) = print(io, isopen(loaded) ? "LoadedModule(loaded)" : "LoadedModule(closed)")

# The handle, for a call inside GC.@preserve.
function module_handle(loaded::LoadedModule)
    ptr = @atomic loaded.ptr
    ptr == C_NULL && throw(ArgumentError("the module was closed; load the artifact again with load_module"))
    return ptr
end

"""
    load_module(cache, artifact; device=nothing, member=nothing, context=C_NULL)

Checks the artifact for the device and loads it by the backend of its target and engine.

- `device`: ordinal of the device; `nothing`: the backend's current one
- `member`: which member; `nothing`: the backend chooses
- `context`: the backend's own context handle; `C_NULL`: its current one
"""
function load_module(cache::Cache, artifact::Artifact; device::Union{Nothing,Integer}=nothing,
                     member::Union{Nothing,AbstractString}=nothing, context::Ptr=C_NULL)
    lend(artifact)
    out, err = Ref{Ptr{tlc_module}}(C_NULL), new_error()
    name = member === nothing ? "" : String(member)
    ordinal = device === nothing ? Int64(-1) : Int64(device)
    status = GC.@preserve name begin
        chosen = isempty(name) ? EMPTY_STR : tlc_str(pointer(name), sizeof(name))
        options = Ref(tlc_load_options(size_to_last(tlc_load_options), ordinal, context, chosen))
        using_cache(() -> tlc_cache_load(cache, artifact, options, out, err), cache)
    end
    check(status, err)
    return LoadedModule(out[])
end

"""
    symbol(loaded, name)

Address of a symbol: a function for `ccall` on a CPU, the driver's function handle on a device. It is valid while the module is:

```julia
GC.@preserve kernel ccall(symbol(kernel, "add"), Cint, (Cint, Cint), 1, 2)
```
"""
function symbol(loaded::LoadedModule, name::Union{AbstractString,Symbol})
    out, err = Ref{Ptr{Cvoid}}(C_NULL), new_error()
    GC.@preserve loaded check(tlc_module_symbol(module_handle(loaded), String(name), out, err), err)
    return out[]
end

"""
    TLCache.native_handle(loaded)

The backend's own handle of the module, a `Ptr{Cvoid}`; null in a child process that may not use it.
"""
native_handle(loaded::LoadedModule) = GC.@preserve loaded tlc_module_native(module_handle(loaded))
