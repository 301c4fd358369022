# SPDX-License-Identifier: MIT
# What is there, and why. Reports that are JSON are given as text: any JSON package reads it.

# What a callback needs, and the exception that it met.
mutable struct Pending
    call::Any
    exception::Any
end
Pending(call) = Pending(call, nothing)

function raise(pending::Pending)
    pending.exception === nothing || throw(pending.exception)
    return nothing
end

# A task that C calls back into must come back on the thread it left.
function pinned(f::F) where {F}
    task = current_task()
    before = task.sticky
    task.sticky = true
    try
        return f()
    finally
        task.sticky = before
    end
end

"""
    TLCache.stats(cache, namespace=nothing)

Counters across processes and since the store was made, as a `NamedTuple`; sizes are of now: `hits`, `misses`, `rejections`,
`puts`, `not_stored`, `compiles`, `compile_time` and `saved_time` (seconds), `evictions`, `youngest_evicted` (seconds; small: the
limit is too small; 0: none), `entries` (0 in a namespace's), and in bytes `disk_bytes`, `limit_bytes`, `mapped_bytes`,
`unlinked_bytes`, `memory_bytes`; of remotes `remote_gets`, `remote_hits`, `remote_puts`, `remote_errors`.
"""
function stats(cache::Cache, namespace::Union{Nothing,AbstractString}=nothing)
    out = Ref(tlc_stats(size_to_last(tlc_stats), ntuple(_ -> 0, fieldcount(tlc_stats) - 1)...))
    err = new_error()
    check(using_cache(() -> tlc_cache_get_stats(cache, namespace, out, err), cache), err)
    now = out[]
    return (hits=Int(now.hits), misses=Int(now.misses), rejections=Int(now.rejections), puts=Int(now.puts),
            not_stored=Int(now.not_stored), compiles=Int(now.compiles), compile_time=now.compile_us / 1e6,
            saved_time=now.saved_us / 1e6, evictions=Int(now.evictions), youngest_evicted=Int(now.youngest_evicted_s),
            entries=Int(now.entries), disk_bytes=Int(now.disk_bytes), limit_bytes=Int(now.limit_bytes),
            mapped_bytes=Int(now.mapped_bytes), unlinked_bytes=Int(now.unlinked_bytes), memory_bytes=Int(now.memory_bytes),
            remote_gets=Int(now.remote_gets), remote_hits=Int(now.remote_hits), remote_puts=Int(now.remote_puts),
            remote_errors=Int(now.remote_errors))
end

# The text that a call of the library gives.
function json_of(f::F, cache::Cache) where {F}
    out, err = Ref{Ptr{tlc_blob}}(C_NULL), new_error()
    check(using_cache(() -> f(out, err), cache), err)
    return take_string(out)
end

"""
    TLCache.report(cache)

The stats of all, and of each namespace and backend, as JSON.
"""
report(cache::Cache) = json_of((out, err) -> tlc_cache_stats_json(cache, out, err), cache)

"""
    TLCache.explain(cache, key)

Why the key hits or misses, as a JSON object: `outcome`, `guards` that no longer hold, and `nearest`, the stored key most like it
with the `differences`.
"""
explain(cache::Cache, key::Key) = json_of((out, err) -> tlc_cache_explain(cache, key, out, err), cache)

"""
    describe(cache)

Where the store is and why, settings with their origin, warnings, as JSON.
"""
describe(cache::Cache) = json_of((out, err) -> tlc_cache_describe(cache, out, err), cache)

"""
    describe(artifact, cache)

What the artifact's binaries say of themselves, read by the backend of its target and engine, as JSON.
"""
function describe(artifact::Artifact, cache::Cache)
    lend(artifact)
    return json_of((out, err) -> tlc_artifact_describe(artifact, cache, out, err), cache)
end

"""
    TLCache.backends(cache)

Registered backends, what each found on this machine, and why one is unavailable, as JSON.
"""
backends(cache::Cache) = json_of((out, err) -> tlc_cache_backends(cache, out, err), cache)

# tlc_progress_fn. Lets no exception out.
function on_progress(done::UInt64, total::UInt64, user_data::Ptr{Cvoid})::Int32
    try
        pending = unsafe_pointer_to_objref(user_data)::Pending
        try
            return pending.call(Int(done), Int(total)) === false ? Int32(1) : Int32(0)
        catch exception
            pending.exception = exception
            return Int32(1)
        end
    catch
        return Int32(1)
    end
end

# f(progress function, user data, out, error) with the caller's function, or none.
function long_work(f::F, cache::Cache, progress) where {F}
    progress === nothing && return json_of((out, err) -> f(C_NULL, C_NULL, out, err), cache)
    pending = Pending(progress)
    callback = @cfunction(on_progress, Int32, (UInt64, UInt64, Ptr{Cvoid}))
    out, err = Ref{Ptr{tlc_blob}}(C_NULL), new_error()
    status = GC.@preserve pending begin
        data = pointer_from_objref(pending)
        pinned(() -> using_cache(() -> f(callback, data, out, err), cache))
    end
    text = take_string(out)
    raise(pending)
    check(status, err)
    return text
end

"""
    TLCache.verify(cache; repair=false, progress=nothing)

Reads everything and checks it; JSON. `progress(done, total)` may return `false` to stop.
"""
function verify(cache::Cache; repair::Bool=false, progress=nothing)
    flags = repair ? TLC_VERIFY_REPAIR : UInt32(0)
    return long_work(cache, progress) do callback, data, out, err
        tlc_cache_verify(cache, flags, callback, data, out, err)
    end
end

"""
    TLCache.collect_garbage!(cache; max_bytes=0, progress=nothing)

Evicts down to `max_bytes` (0: the limit) and removes leftovers of killed processes; JSON.
"""
function collect_garbage!(cache::Cache; max_bytes::Integer=0, progress=nothing)
    return long_work(cache, progress) do callback, data, out, err
        tlc_cache_gc(cache, UInt64(max_bytes), callback, data, out, err)
    end
end

"""
    TLCache.configure!(cache, name, value)

Sets a property of the store: `configure!(cache, "limit", "20G")`.
"""
function configure!(cache::Cache, name::AbstractString, value::Union{AbstractString,Integer})
    err = new_error()
    check(using_cache(() -> tlc_cache_configure(cache, name, string(value), err), cache), err)
    return nothing
end

# tlc_entry_fn. Lets no exception out.
function on_entry(entry::Ptr{tlc_entry}, user_data::Ptr{Cvoid})::tlc_status
    try
        pending = unsafe_pointer_to_objref(user_data)::Pending
        try
            pending.call(read_entry(unsafe_load(entry)))
            return TLC_OK
        catch exception
            pending.exception = exception
            return TLC_E_CALLBACK
        end
    catch
        return TLC_E_CALLBACK
    end
end

function read_entry(entry::tlc_entry)
    has_key = entry.key_encoding != C_NULL && entry.key_length > 0
    return (digest=load_digest(entry.digest), key_encoding=has_key ? copy_bytes(entry.key_encoding, entry.key_length) : UInt8[],
            namespace=julia_string(entry.name_space), label=julia_string(entry.label), kind=Symbol(julia_string(entry.kind)),
            size=Int(entry.size), created=entry.created_ns / 1e9, last_used=Int(entry.last_used_s),
            compile_time=entry.compile_us / 1e6, generation=Int(entry.generation))
end

"""
    TLCache.entries(cache, namespace=nothing)
    TLCache.entries(f, cache, namespace=nothing)

The entries of the store, or of one namespace of it, in no order, as `NamedTuple`s: `digest`, `key_encoding` (`Key` reads it),
`namespace`, `label`, `kind` (`:artifact`, `:link` or `:failure`), `size` (bytes in the store), `created` and `last_used` (seconds
since 1970), `compile_time` (seconds), `generation`. With `f`, calls `f(entry)` for each; what it throws ends the visit.
"""
function entries(f, cache::Cache, namespace::Union{Nothing,AbstractString}=nothing)
    pending = Pending(f)
    callback = @cfunction(on_entry, tlc_status, (Ptr{tlc_entry}, Ptr{Cvoid}))
    err = new_error()
    status = GC.@preserve pending begin
        data = pointer_from_objref(pending)
        pinned(() -> using_cache(() -> tlc_cache_list(cache, namespace, callback, data, err), cache))
    end
    raise(pending)
    check(status, err)
    return nothing
end

function entries(cache::Cache, namespace::Union{Nothing,AbstractString}=nothing)
    found = NamedTuple[]
    entries(entry -> push!(found, entry), cache, namespace)
    return found
end
