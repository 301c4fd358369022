# SPDX-License-Identifier: MIT
# Bundles: what is published under a key.

const MEMBER_TYPES = (
    opaque=TLC_MEMBER_OPAQUE, shared_object=TLC_MEMBER_SHARED_OBJECT, device_binary=TLC_MEMBER_DEVICE_BINARY,
    device_ir=TLC_MEMBER_DEVICE_IR, source=TLC_MEMBER_SOURCE, json=TLC_MEMBER_JSON, object=TLC_MEMBER_OBJECT,
)

# The library's number of a member's type. A number stays as it is: a type this version does not know.
member_type_value(type::Integer) = UInt32(type)
function member_type_value(type::Symbol)
    haskey(MEMBER_TYPES, type) ||
        throw(ArgumentError("$(repr(type)) is no type of a member; give one of $(join(map(repr, keys(MEMBER_TYPES)), ", "))"))
    return MEMBER_TYPES[type]
end

# The name of a member's type, or the number if this version does not know it.
function member_type_name(value::UInt32)
    for (name, known) in pairs(MEMBER_TYPES)
        known == value && return name
    end
    return Int(value)
end

struct BundleMember
    name::String
    bytes::Vector{UInt8}
    type::UInt32
end

"""
    Bundle(members...; label, compile_time, types, log)

Members to publish: pairs of name and bytes (or text), or one collection of such pairs. A plain `Dict` or a single pair is
taken wherever a `Bundle` is; a `Bundle` can say more:

- `label`: for people
- `compile_time`: seconds the compile took: weighs against eviction, and is what a hit saves
- `types`: the type of a member by its name: `:opaque`, `:shared_object`, `:device_binary`, `:device_ir`, `:source`, `:json`,
  `:object`
- `log`: the compiler's output

`push!(bundle, name => bytes; type=:opaque)`, `guard!`, `absent!` and `require!` add to it. One task at a time.
"""
mutable struct Bundle
    members::Vector{BundleMember}
    guards::Vector{Tuple{String,Union{Nothing,Digest}}}
    absents::Vector{String}
    requirements::Vector{Key}
    label::Union{Nothing,String}
    compile_time::Union{Nothing,Float64}
    log::String

    function Bundle(members...; label=nothing, compile_time=nothing, types=(), log::AbstractString="")
        seconds = compile_time === nothing ? nothing : Float64(compile_time)
        seconds === nothing || seconds >= 0 ||
            throw(ArgumentError("compile_time is $seconds; it is seconds, 0 or more"))
        bundle = new(BundleMember[], Tuple{String,Union{Nothing,Digest}}[], String[], Key[],
                     optional_text(label, "label"), seconds, String(log))
        type_of = Dict{String,Any}(named_fields(types))
        for group in members
            for member in member_pairs(group)
                name = field_name(member.first, "members")
                push!(bundle, name => member.second; type=pop!(type_of, name, :opaque))
            end
        end
        isempty(type_of) ||
            throw(ArgumentError("types names $(join(map(repr, collect(keys(type_of))), ", ")), which is not among the members"))
        return bundle
    end
end

member_pairs(member::Pair) = (member,)
member_pairs(members::Union{AbstractDict,NamedTuple}) = pairs_of(members)
function member_pairs(members)
    applicable(iterate, members) || throw(ArgumentError(not_members(members)))
    for member in members
        member isa Pair || throw(ArgumentError(not_members(member)))
    end
    return members
end
pairs_of(members) = Pair[name => value for (name, value) in pairs(members)]
not_members(other) = "members are pairs of a name and bytes or text, or a Bundle; this is a value of type $(typeof(other))"

function Base.push!(bundle::Bundle, member::Pair; type::Union{Symbol,Integer}=:opaque)
    name = field_name(member.first, "members")
    bytes = member.second
    bytes isa Union{AbstractVector{UInt8},AbstractString} ||
        throw(ArgumentError("member $(repr(name)) is of type $(typeof(bytes)); give bytes (a Vector{UInt8}) or text"))
    push!(bundle.members, BundleMember(name, as_bytes(bytes), member_type_value(type)))
    return bundle
end

"""
    guard!(bundle, path; digest=nothing)

A file the compile read: the artifact is found only while it has this content. `digest` is BLAKE2b-256 of the content that
the compile saw, as a `Digest`; `nothing`: it is read when the bundle is published.
"""
function guard!(bundle::Bundle, path::AbstractString; digest::Union{Nothing,Digest}=nothing)
    push!(bundle.guards, (abspath(String(path)), digest))
    return bundle
end

"""
    absent!(bundle, path)

A path where the compile looked and found nothing: the artifact is found only while nothing is there.
"""
function absent!(bundle::Bundle, path::AbstractString)
    push!(bundle.absents, abspath(String(path)))
    return bundle
end

"""
    require!(bundle, key)

Another key that must be present for a look-up with `closed=true` to find this artifact.
"""
function require!(bundle::Bundle, key::Key)
    push!(bundle.requirements, key)
    return bundle
end

Base.show(io::IO, bundle::Bundle) = print(io, "Bundle(", join((repr(member.name) for member in bundle.members), ", "), ")")

# A Bundle of what a caller gave; what is said beside it overrides what a Bundle says itself.
function as_bundle(members::Bundle, label, compile_time, types)
    isempty(types) || throw(ArgumentError("types goes with plain members; a Bundle says its types itself"))
    label === nothing && compile_time === nothing && return members
    bundle = Bundle(; label=label === nothing ? members.label : label,
                    compile_time=compile_time === nothing ? members.compile_time : compile_time, log=members.log)
    append!(bundle.members, members.members)
    append!(bundle.guards, members.guards)
    append!(bundle.absents, members.absents)
    append!(bundle.requirements, members.requirements)
    return bundle
end
function as_bundle(members, label, compile_time, types)
    return Bundle(members; label=label, compile_time=compile_time, types=types)
end

# Adds everything to a native bundle, which copies it.
function fill_bundle(native::Ptr{tlc_bundle}, bundle::Bundle)
    err = new_error()
    for member in bundle.members
        bytes = member.bytes
        check(tlc_bundle_add(native, member.name, member.type, bytes, length(bytes), UInt32(0), err), err)
    end
    seconds = bundle.compile_time
    if seconds !== nothing
        microseconds = round(UInt64, min(seconds * 1e6, 1e18))
        check(tlc_bundle_set_compile_time(native, microseconds, err), err)
    end
    if bundle.label !== nothing
        check(tlc_bundle_set_label(native, bundle.label, err), err)
    end
    for (path, digest) in bundle.guards
        seen = digest === nothing ? C_NULL : collect(digest.bytes)
        check(tlc_bundle_add_guard(native, path, seen, err), err)
    end
    for path in bundle.absents
        check(tlc_bundle_add_absent(native, path, err), err)
    end
    for key in bundle.requirements
        check(tlc_bundle_add_requirement(native, key, err), err)
    end
    return nothing
end

# Calls f with a native bundle that has everything of this one, and ends it.
function with_native(f::F, bundle::Bundle) where {F}
    out, err = Ref{Ptr{tlc_bundle}}(C_NULL), new_error()
    check(tlc_bundle_create(out, err), err)
    try
        fill_bundle(out[], bundle)
        return f(out[])
    finally
        tlc_bundle_destroy(out[])
    end
end
