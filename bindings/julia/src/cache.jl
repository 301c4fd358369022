# SPDX-License-Identifier: MIT
# The cache: open, close, look up, publish, remove.
#
# A handle must not be closed while a call is in it. Calls are counted, in 16 places by thread, so that readers share no
# written cache line; `close` waits for the counts to be zero.

mutable struct UseCount
    @atomic now::Int
    padding::NTuple{15,Int}
    UseCount() = new(0, ntuple(_ -> 0, 15))
end

const USE_COUNTS = 16

"""
    Cache(directory=nothing; limit, strict, read_only, durable, verify_strict, memory, ignore_environment, allow_plugins, remotes)
    Cache(f, arguments...; options...)

An open cache; several on the same folder share one store, in all processes. With `f` it is closed when `f(cache)` ends.

- `directory`: the store's folder; `nothing`: `TLC_DIR`, else `\$XDG_CACHE_HOME/tlcache`, else `~/.cache/tlcache`
- `limit`: bytes, of a store that this call creates; 0: the default
- `strict=true`: throw where the store cannot be used, instead of working from memory
- `read_only=true`: never write to the store
- `durable=true`: sync a payload before it is published
- `verify_strict=true`: check content hashes under the store's MAC
- `memory=true`: no store; keep artifacts in this process only
- `ignore_environment=true`: ignore `TLC_*` variables
- `allow_plugins=true`: load plugin files from `TLC_BACKEND_PATH`
- `remotes`: URLs of remotes, asked in this order: a text or several; `"none"`: not even one that is made of a network folder

`cache[key]` and `get(cache, key, default)` look up. Any task may use it. `close(cache)` ends it; artifacts, modules and compile
locks stay valid.
"""
mutable struct Cache
    ptr::Ptr{tlc_cache}
    @atomic closed::Bool
    uses::Vector{UseCount}

    function Cache(directory::Union{Nothing,AbstractString}=nothing; limit::Integer=0, strict::Bool=false, read_only::Bool=false,
                   durable::Bool=false, verify_strict::Bool=false, memory::Bool=false, ignore_environment::Bool=false,
                   allow_plugins::Bool=false, remotes=())
        require_library()
        limit >= 0 || throw(ArgumentError("limit is $limit; it is bytes, 0 for the default"))
        flags = UInt64(0)
        strict && (flags |= TLC_OPEN_STRICT)
        read_only && (flags |= TLC_OPEN_READ_ONLY)
        durable && (flags |= TLC_OPEN_DURABLE)
        verify_strict && (flags |= TLC_OPEN_VERIFY_STRICT)
        memory && (flags |= TLC_OPEN_MEMORY)
        ignore_environment && (flags |= TLC_OPEN_NO_ENV)
        allow_plugins && (flags |= TLC_OPEN_ALLOW_PLUGINS)
        path = directory === nothing ? "" : String(directory)
        urls = join(names_of(remotes), " ")
        out, err = Ref{Ptr{tlc_cache}}(C_NULL), new_error()
        GC.@preserve path urls begin
            folder = isempty(path) ? EMPTY_STR : tlc_str(pointer(path), sizeof(path))
            elsewhere = isempty(urls) ? EMPTY_STR : tlc_str(pointer(urls), sizeof(urls))
            options = Ref(tlc_cache_options(size_to_last(tlc_cache_options), folder, UInt64(limit), flags, elsewhere))
            check(tlc_cache_open(options, out, err), err)
        end
        cache = new(out[], false, [UseCount() for _ in 1:USE_COUNTS])
        finalizer(close_later, cache)
        OPEN_CACHES[cache] = nothing
        return cache
    end
end

function Cache(f::Function, arguments...; options...)
    cache = Cache(arguments...; options...)
    try
        return f(cache)
    finally
        close(cache)
    end
end

# Closed when the process ends, so that its counters reach the store.
const OPEN_CACHES = WeakKeyDict{Cache,Nothing}()

Base.hash(cache::Cache, seed::UInt) = hash(objectid(cache), seed)
Base.unsafe_convert(::Type{Ptr{tlc_cache}}, cache::Cache) = cache.ptr
Base.isopen(cache::Cache) = !(@atomic cache.closed)
Base.show(io::IO, cache::Cache) = print(io, isopen(cache) ? "Cache(open)" : "Cache(closed)")
Base.broadcastable(cache::Cache) = Ref(cache)

# A call begins. What it returns is for `leave`, whatever thread the task is on by then.
@inline function enter(cache::Cache)
    count = @inbounds cache.uses[(Threads.threadid() & (USE_COUNTS - 1)) + 1]
    @atomic count.now += 1
    if @atomic cache.closed
        leave(count)
        throw_closed()
    end
    return count
end
@inline function leave(count::UseCount)
    @atomic count.now -= 1
    return nothing
end
@noinline throw_closed() = throw(ArgumentError("the cache is closed; open it again with Cache(...)"))

# Calls f while the cache cannot be closed.
@inline function using_cache(f::F, cache::Cache) where {F}
    count = enter(cache)
    try
        return f()
    finally
        leave(count)
    end
end

in_use(cache::Cache) = any(count -> (@atomic count.now) != 0, cache.uses)

"""
    close(cache)

Closes the cache, when the calls that other tasks have in it are done. Artifacts, modules and compile locks taken from it stay
valid. Any later use is an `ArgumentError`.
"""
Base.close(cache::Cache) = shut(cache, 10.0)

# A call that does not end within so many seconds leaves the rest to the garbage collector.
function shut(cache::Cache, seconds::Float64)
    (@atomicswap cache.closed = true) && return nothing
    deadline = time() + seconds
    while in_use(cache)
        time() > deadline && return nothing
        sleep(0.001)
    end
    ptr = cache.ptr
    cache.ptr = C_NULL
    delete!(OPEN_CACHES, cache)
    tlc_cache_close(ptr)
    return nothing
end

function close_all()
    ENDING[] = true
    for cache in collect(keys(OPEN_CACHES))
        shut(cache, 0.2)
    end
    return nothing
end

# A finalizer must not wait, and closing may: a task does it.
function close_later(cache::Cache)
    ptr = cache.ptr
    (ptr == C_NULL || ENDING[]) && return nothing
    cache.ptr = C_NULL
    Threads.@spawn tlc_cache_close(ptr)
    return nothing
end

# ---------------------------------------------------------------- keys

"""
    Key(cache, request)

The request's key: resolves `auto` and `native` in the target, picks the default engine, adds the toolchain's identity, each by
the registered backend. Starts no compiler where the backend's answers are remembered.
"""
function Key(cache::Cache, request::Request)
    out, err = Ref{Ptr{tlc_key}}(C_NULL), new_error()
    status = using_cache(() -> tlc_cache_key(cache, request, out, err), cache)
    check(status, err)
    return Key(out[])
end

# ---------------------------------------------------------------- look up

"""
    get(cache, key, default)

The artifact of the key, or `default`. Makes no system call when this process has seen the artifact. `cache[key]` throws a
`KeyError` instead.
"""
@inline function Base.get(cache::Cache, key::Key, default)
    # Without try and finally, which would cost more than the rest: where Ctrl-C strikes between `enter` and `leave`, `close` waits
    # in vain and leaves the cache to the garbage collector.
    out = Ref{Ptr{tlc_artifact}}(C_NULL)
    count = enter(cache)
    status = tlc_cache_get(cache, key, out, C_NULL)
    leave(count)
    status == TLC_OK && return Artifact(out[])
    (status == TLC_MISS || status == TLC_REJECTED) && return default
    return get_again(cache, key, default)
end

# Once more, for the message.
@noinline function get_again(cache::Cache, key::Key, default)
    out, err = Ref{Ptr{tlc_artifact}}(C_NULL), new_error()
    status = using_cache(() -> tlc_cache_get(cache, key, out, err), cache)
    status == TLC_OK && return Artifact(out[])
    (status == TLC_MISS || status == TLC_REJECTED) && return default
    throw(make_error(status, err))
end

function Base.getindex(cache::Cache, key::Key)
    artifact = get(cache, key, nothing)
    artifact === nothing && throw(KeyError(key))
    return artifact
end

function Base.haskey(cache::Cache, key::Key)
    artifact = get(cache, key, nothing)
    artifact === nothing && return false
    close(artifact)
    return true
end

"""
    TLCache.find_artifact(cache, hex)

An artifact by the first hex digits (4 or more) of its digest, or `nothing`.
"""
function find_artifact(cache::Cache, hex::AbstractString)
    out, err = Ref{Ptr{tlc_artifact}}(C_NULL), new_error()
    status = using_cache(() -> tlc_cache_find(cache, hex, out, err), cache)
    status == TLC_MISS && return nothing
    check(status, err)
    return Artifact(out[])
end

# ---------------------------------------------------------------- publish

# The artifact that a publishing call handed out, or its error.
function published(status::Int32, out::Base.RefValue{Ptr{tlc_artifact}}, err, log::Union{Nothing,String}=nothing)
    stored = status == TLC_OK || status == TLC_EXISTED
    kept = stored || status == TLC_NOT_STORED || status == TLC_TOO_LARGE
    (kept && out[] != C_NULL) || throw(make_error(status, err))
    return Artifact(out[], status, stored ? "" : first(error_details(status, err)), log)
end

"""
    put!(cache, key, members; label, compile_time, types)

Publishes members (a `Bundle`, a `Dict` of names to bytes, a pair) if the key is absent. All or nothing. Returns what the key
stands for now; its `status` is `TLC_OK`, `TLC_EXISTED` where there was an artifact already, which this one then is, or
`TLC_NOT_STORED` or `TLC_TOO_LARGE` where it could not be kept and is in memory, with the `reason`.
"""
function Base.put!(cache::Cache, key::Key, members; label=nothing, compile_time=nothing, types=())
    bundle = as_bundle(members, label, compile_time, types)
    out, err = Ref{Ptr{tlc_artifact}}(C_NULL), new_error()
    status = with_native(bundle) do native
        using_cache(() -> tlc_cache_put(cache, key, native, out, err), cache)
    end
    return published(status, out, err)
end

"""
    TLCache.replace_generation!(cache, key, members; seen, label, compile_time, types)

Publishes a new generation in place of the artifact that was `seen` (`nothing`: there was none). A `TLCacheError` with status
`TLC_CONFLICT` where another generation stands there.
"""
function replace_generation!(cache::Cache, key::Key, members; seen::Union{Nothing,Artifact}, label=nothing, compile_time=nothing,
                             types=())
    bundle = as_bundle(members, label, compile_time, types)
    out, err = Ref{Ptr{tlc_artifact}}(C_NULL), new_error()
    seen === nothing || lend(seen)
    old = seen === nothing ? C_NULL : seen
    status = with_native(bundle) do native
        using_cache(() -> tlc_cache_replace(cache, key, old, native, out, err), cache)
    end
    return published(status, out, err)
end

"""
    TLCache.amend!(cache, key, members; seen, label, compile_time, types)

Publishes a new generation with the members of `seen` and these; one of the same name is replaced. Throws as
`replace_generation!`.
"""
function amend!(cache::Cache, key::Key, members; seen::Artifact, label=nothing, compile_time=nothing, types=())
    bundle = as_bundle(members, label, compile_time, types)
    out, err = Ref{Ptr{tlc_artifact}}(C_NULL), new_error()
    lend(seen)
    status = with_native(bundle) do native
        using_cache(() -> tlc_cache_amend(cache, key, seen, native, out, err), cache)
    end
    return published(status, out, err)
end

"""
    TLCache.link!(cache, from, to)

Lets a look-up of the key `from` find what the key `to` stands for.
"""
function link!(cache::Cache, from::Key, to::Key)
    err = new_error()
    check(using_cache(() -> tlc_cache_link(cache, from, to, err), cache), err)
    return nothing
end

# ---------------------------------------------------------------- take out

"""
    TLCache.remove!(cache, key)

Removes a key; `false` if it was not there.
"""
function remove!(cache::Cache, key::Key)
    err = new_error()
    status = using_cache(() -> tlc_cache_remove(cache, key, err), cache)
    status == TLC_MISS && return false
    check(status, err)
    return true
end

"""
    TLCache.invalidate!(cache, artifact)

Takes this generation of the artifact out, because it turned out unusable; `false` if it was gone. A newer one is left alone.
"""
function invalidate!(cache::Cache, artifact::Artifact)
    lend(artifact)
    err = new_error()
    status = using_cache(() -> tlc_cache_invalidate(cache, artifact, err), cache)
    (status == TLC_MISS || status == TLC_CONFLICT) && return false
    check(status, err)
    return true
end

"""
    TLCache.clear!(cache, namespace)

Removes all entries of a namespace, or with `nothing` all there are; returns how many. Artifacts that are held stay valid.
"""
function clear!(cache::Cache, namespace::Union{Nothing,AbstractString})
    namespace !== nothing && isempty(namespace) &&
        throw(ArgumentError("namespace is empty; give a name, or nothing to remove everything"))
    removed, err = Ref{UInt64}(0), new_error()
    check(using_cache(() -> tlc_cache_clear(cache, namespace, removed, err), cache), err)
    return Int(removed[])
end
