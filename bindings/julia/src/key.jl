# SPDX-License-Identifier: MIT
# Keys: the fields that determine an artifact, encoded, and their digest.

"""
    Digest(bytes)
    Digest(hex)

32 bytes of a digest, or their 64 hex digits. As a field's value it is told apart from plain bytes.
"""
struct Digest
    bytes::NTuple{32,UInt8}
end

function Digest(bytes::AbstractVector{UInt8})
    length(bytes) == TLC_DIGEST_SIZE ||
        throw(ArgumentError("a digest has $TLC_DIGEST_SIZE bytes, not $(length(bytes)); give a BLAKE2b-256 hash, say"))
    return Digest(ntuple(i -> bytes[firstindex(bytes) + i - 1], 32))
end
Digest(hex::AbstractString) = Digest(hex2bytes(String(hex)))

Base.bytes2hex(digest::Digest) = bytes2hex(collect(digest.bytes))
Base.show(io::IO, digest::Digest) = print(io, "Digest(\"", bytes2hex(digest), "\")")

# The digest at an address of the library's.
load_digest(address::Ptr{UInt8}) = Digest(unsafe_load(Ptr{NTuple{32,UInt8}}(address)))

"""
    Key

What names an artifact. Immutable; equal to another with the same digest. Made by `Key(cache, request)`, `Key(request)` or
`Key(encoding)`.
"""
mutable struct Key
    ptr::Ptr{tlc_key}
    digest::Digest

    # Takes the reference over.
    function Key(ptr::Ptr{tlc_key})
        key = new(ptr, load_digest(tlc_key_digest(ptr)))
        return finalizer(release_key, key)
    end
end

# A finalizer may run on any thread wherever memory is allocated: it releases, and does nothing else.
function release_key(key::Key)
    tlc_key_release(key.ptr)
    key.ptr = C_NULL
    return nothing
end

Base.unsafe_convert(::Type{Ptr{tlc_key}}, key::Key) = key.ptr
Base.:(==)(one::Key, other::Key) = one.digest == other.digest
Base.hash(key::Key, seed::UInt) = hash(key.digest, hash(:TLCacheKey, seed))
Base.show(io::IO, key::Key) = print(io, "Key(", bytes2hex(key.digest), ")")

"""
    Key(encoding::AbstractVector{UInt8})

The key of an encoding (`encoding(key)`), which must be canonical.
"""
function Key(encoding::AbstractVector{UInt8})
    require_library()
    out, err = Ref{Ptr{tlc_key}}(C_NULL), new_error()
    bytes = as_bytes(encoding)
    check(tlc_key_decode(bytes, length(bytes), out, err), err)
    return Key(out[])
end

"""
    digest(key)
    digest(artifact)

The 32 bytes that name the artifact, as a `Digest`. `bytes2hex` shows them.
"""
digest(key::Key) = key.digest

"""
    encoding(key)
    encoding(artifact)

The key's fields, encoded; for an artifact `nothing` where it was stored by digest only.
"""
function encoding(key::Key)
    length_of = Ref{Csize_t}(0)
    GC.@preserve key begin
        data = tlc_key_encoding(key, length_of)
        return copy_bytes(data, length_of[])
    end
end

"""
    describe(key)

Digest, namespace, target, engine and the fields, as the text of a JSON object.
"""
function describe(key::Key)
    out, err = Ref{Ptr{tlc_blob}}(C_NULL), new_error()
    check(tlc_key_describe(key, out, err), err)
    return take_string(out)
end

"""
    difference(was::Key, now::Key)

What differs between two keys, as the text of a JSON array of `{path, kind, was, now}`.
"""
function difference(was::Key, now::Key)
    out, err = Ref{Ptr{tlc_blob}}(C_NULL), new_error()
    check(tlc_key_diff(was, now, out, err), err)
    return take_string(out)
end

# Bytes as the library takes them: a Vector, the caller's own where it is one.
as_bytes(bytes::Vector{UInt8}) = bytes
as_bytes(bytes::AbstractVector{UInt8}) = Vector{UInt8}(bytes)
as_bytes(text::AbstractString) = Vector{UInt8}(codeunits(String(text)))

# A copy of bytes of the library's.
function copy_bytes(data::Ptr{UInt8}, count::Integer)
    bytes = Vector{UInt8}(undef, count)
    GC.@preserve bytes unsafe_copyto!(pointer(bytes), data, count)
    return bytes
end
