# SPDX-License-Identifier: MIT
# Artifacts: what is found. A dictionary of member names to read-only bytes in the store's own mapping.

"""
    Artifact

A verified, immutable artifact: an `AbstractDict` of member names to `Member`s, which are read-only bytes in memory that the
store has mapped. Each member keeps the artifact by itself; nothing has to be closed, and an eviction does no harm. `close`
lets go of it early, where no member of it was handed out.

`artifact.status` is `TLCache.TLC_OK`; for what was published also `TLC_EXISTED` (another was there already, which this one
then is), `TLC_NOT_STORED` or `TLC_TOO_LARGE` (it is in memory only; `artifact.reason` says why). `artifact.log` is the
compiler's output if this call compiled, else `nothing`.
"""
mutable struct Artifact <: AbstractDict{String,AbstractVector{UInt8}}
    ptr::Ptr{tlc_artifact}
    @atomic closed::Bool
    @atomic lent::Bool
    status::Int32
    reason::String
    log::Union{Nothing,String}

    # Takes the reference over.
    function Artifact(ptr::Ptr{tlc_artifact}, status::Int32=TLC_OK, reason::String="", log::Union{Nothing,String}=nothing)
        artifact = new(ptr, false, false, status, reason, log)
        return finalizer(release_artifact, artifact)
    end
end

# As a finalizer: it takes no lock that a thread could hold while Julia runs on it.
function release_artifact(artifact::Artifact)
    ptr = artifact.ptr
    artifact.ptr = C_NULL
    tlc_artifact_release(ptr)
    return nothing
end

# For a call that reads the artifact. From now on `close` leaves the release to the garbage collector.
@inline function lend(artifact::Artifact)
    (@atomic :monotonic artifact.lent) || (@atomic artifact.lent = true)
    (@atomic artifact.closed) && throw_released()
    return artifact.ptr
end
@noinline throw_released() = throw(ArgumentError("the artifact was closed; look its key up again, and close it after its last use"))

"""
    close(artifact)

Lets go of the artifact: it cannot be used any more. Members that were taken from it stay valid; without any, what it keeps
is free at once. Not needed: the garbage collector does the same.
"""
function Base.close(artifact::Artifact)
    (@atomicswap artifact.closed = true) && return nothing
    # Not finalize(artifact), which searches all that has a finalizer.
    (@atomic artifact.lent) || release_artifact(artifact)
    return nothing
end
Base.isopen(artifact::Artifact) = !(@atomic artifact.closed)

"""
    Member

A member's bytes: a read-only `DenseVector{UInt8}` over memory of the store. It keeps its artifact, and so does whatever keeps
it, such as `view(member, 1:16)` or `reinterpret(Float32, member)`. `Vector{UInt8}(member)` copies it, `String(member)` too.
In a `ccall` pass it as `Ptr{UInt8}`; a bare `pointer(member)` is valid inside `GC.@preserve member`.
"""
struct Member <: DenseVector{UInt8}
    ptr::Ptr{UInt8}
    length::Int
    owner::Artifact
end

Base.size(member::Member) = (member.length,)
Base.length(member::Member) = member.length
Base.IndexStyle(::Type{Member}) = IndexLinear()
Base.elsize(::Type{Member}) = 1
Base.strides(::Member) = (1,)
Base.unsafe_convert(::Type{Ptr{UInt8}}, member::Member) = member.ptr
Base.pointer(member::Member) = member.ptr

Base.@propagate_inbounds function Base.getindex(member::Member, index::Int)
    @boundscheck checkbounds(member, index)
    owner = member.owner
    return GC.@preserve owner unsafe_load(member.ptr, index)
end

function Base.setindex!(::Member, _, ::Int)
    throw(ArgumentError("a member of an artifact is read-only; change a copy, Vector{UInt8}(member)"))
end

function Base.Vector{UInt8}(member::Member)
    owner = member.owner
    return GC.@preserve owner copy_bytes(member.ptr, member.length)
end
Base.copy(member::Member) = Vector{UInt8}(member)

# The member of this name as the library knows it, or nothing. The pointer is valid while the artifact is.
function find_member(artifact::Artifact, name::AbstractString)
    lend(artifact)
    found = Ref(tlc_member(size_to_last(tlc_member), EMPTY_STR, C_NULL, 0, 0))
    status = tlc_artifact_find(artifact, name, found, C_NULL)
    status == TLC_OK && return found[]
    status == TLC_E_NOT_FOUND && return nothing
    err = new_error()
    check(tlc_artifact_find(artifact, name, found, err), err)
    return found[]
end

# The member at a place, counted from 1.
function member_at(artifact::Artifact, index::Int)
    lend(artifact)
    found = Ref(tlc_member(size_to_last(tlc_member), EMPTY_STR, C_NULL, 0, 0))
    err = new_error()
    check(tlc_artifact_member_at(artifact, index - 1, found, err), err)
    return found[]
end

Base.unsafe_convert(::Type{Ptr{tlc_artifact}}, artifact::Artifact) = artifact.ptr

as_member(artifact::Artifact, member::tlc_member) = Member(Ptr{UInt8}(member.data), Int(member.size), artifact)

function Base.getindex(artifact::Artifact, name::AbstractString)
    member = find_member(artifact, name)
    member === nothing && throw(KeyError(name))
    return as_member(artifact, member)
end

function Base.get(artifact::Artifact, name::AbstractString, default)
    member = find_member(artifact, name)
    return member === nothing ? default : as_member(artifact, member)
end

Base.haskey(artifact::Artifact, name::AbstractString) = find_member(artifact, name) !== nothing

function Base.length(artifact::Artifact)
    lend(artifact)
    return Int(tlc_artifact_member_count(artifact))
end

function Base.iterate(artifact::Artifact, index::Int=1)
    index > length(artifact) && return nothing
    member = member_at(artifact, index)
    name = GC.@preserve artifact julia_string(member.name)
    return (Pair{String,AbstractVector{UInt8}}(name, as_member(artifact, member)), index + 1)
end

Base.:(==)(one::Artifact, other::Artifact) = one === other
Base.isequal(one::Artifact, other::Artifact) = one === other
Base.hash(artifact::Artifact, seed::UInt) = hash(objectid(artifact), seed)

function Base.show(io::IO, artifact::Artifact)
    if !isopen(artifact)
        print(io, "Artifact(closed)")
        return nothing
    end
    print(io, "Artifact(", bytes2hex(digest(artifact))[1:16])
    for (name, member) in artifact
        print(io, ", ", repr(name), ": ", length(member), " bytes")
    end
    print(io, ")")
    return nothing
end
Base.show(io::IO, ::MIME"text/plain", artifact::Artifact) = show(io, artifact)

"""
    TLCache.member_type(artifact, name)

What the member is: `:opaque`, `:shared_object`, `:device_binary`, `:device_ir`, `:source`, `:json`, `:object`, or a number
that this version does not know.
"""
function member_type(artifact::Artifact, name::AbstractString)
    member = find_member(artifact, name)
    member === nothing && throw(KeyError(name))
    return member_type_name(member.type)
end

"""
    TLCache.read_member(artifact, name)

A copy of a member, read from its file and verified again: faster than the mapping for bytes that are read once, and safe
where somebody may truncate the store's files.
"""
function read_member(artifact::Artifact, name::AbstractString)
    for index in 1:length(artifact)
        member = member_at(artifact, index)
        (GC.@preserve artifact julia_string(member.name)) == name || continue
        bytes = Vector{UInt8}(undef, member.size)
        err = new_error()
        check(tlc_artifact_read(artifact, index - 1, bytes, length(bytes), err), err)
        return bytes
    end
    throw(KeyError(name))
end

"""
    TLCache.folder(artifact)

Path of a folder with the members as files, for loaders that want a path: read-only, verified, never changed; there at least
as long as the artifact and its cache are open in this process.
"""
function folder(artifact::Artifact)
    lend(artifact)
    out, err = Ref{Ptr{tlc_blob}}(C_NULL), new_error()
    check(tlc_artifact_folder(artifact, out, err), err)
    return take_string(out)
end

const TIERS = (memory=TLC_TIER_MEMORY, store=TLC_TIER_STORE, pack=TLC_TIER_PACK, remote=TLC_TIER_REMOTE)

function tier_name(value::UInt32)
    for (name, known) in pairs(TIERS)
        known == value && return name
    end
    return Int(value)
end

"""
    TLCache.info(artifact)

Facts about an artifact, as a `NamedTuple`: `namespace`, `label`, `digest` (of its key), `generation` (grows with each publish
in this store), `created` (seconds since 1970), `compile_time` (seconds), `size` (bytes of all members), `member_count`,
`tier` (`:memory`, `:store`, `:pack` or `:remote`).
"""
function info(artifact::Artifact)
    lend(artifact)
    out = Ref(tlc_artifact_info(size_to_last(tlc_artifact_info), EMPTY_STR, EMPTY_STR, C_NULL, 0, 0, 0, 0, 0, 0))
    err = new_error()
    GC.@preserve artifact begin
        check(tlc_artifact_get_info(artifact, out, err), err)
        facts = out[]
        return (namespace=julia_string(facts.name_space), label=julia_string(facts.label), digest=load_digest(facts.digest),
                generation=Int(facts.generation), created=facts.created_ns / 1e9, compile_time=facts.compile_us / 1e6,
                size=Int(facts.size), member_count=Int(facts.member_count), tier=tier_name(facts.tier))
    end
end

digest(artifact::Artifact) = info(artifact).digest

function encoding(artifact::Artifact)
    lend(artifact)
    length_of = Ref{Csize_t}(0)
    GC.@preserve artifact begin
        data = tlc_artifact_key_encoding(artifact, length_of)
        return data == C_NULL ? nothing : copy_bytes(data, length_of[])
    end
end

"""
    TLCache.is_stored(artifact)

Whether it is kept, beyond this process's memory of it.
"""
is_stored(artifact::Artifact) = artifact.status == TLC_OK || artifact.status == TLC_EXISTED
