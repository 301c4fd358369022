# SPDX-License-Identifier: MIT
# Requests: what is wanted, as typed fields.
#
#   Julia                                 type in the key
#   nothing                               null
#   Bool                                  bool
#   Integer, -2^63 to 2^64 - 1            int
#   Float64, Float32, Float16             f64
#   AbstractString                        text
#   AbstractVector{UInt8}                 bytes
#   Digest                                digest
#   other AbstractVector, Tuple           list
#   AbstractDict with text or Symbol keys, NamedTuple    map

struct NoToolchain end
Base.show(io::IO, ::NoToolchain) = print(io, "NO_TOOLCHAIN")

"""
    NO_TOOLCHAIN

As a request's `toolchain`: nothing compiles this artifact, so that its key needs none.
"""
const NO_TOOLCHAIN = NoToolchain()

"""
    Request(namespace; target, engine, toolchain, label, fields, digest_only, require)

What is wanted. Immutable once it is made; any task may use it.

- `namespace`: 1 to 128 of `[A-Za-z0-9._/+-]`; listing and clearing go by it
- `target`: `kind[:arch[:feature...]]`; `nothing`: for no particular target
- `engine`: what compiles for the target; `nothing`: the default of the target's kind
- `toolchain`: identity of what compiles (a version and build, a digest), as text or bytes; `NO_TOOLCHAIN` where nothing
  does; `nothing` where a registered backend knows
- `label`: for people; never in the key
- `fields`: what determines the artifact: a `NamedTuple`, an `AbstractDict`, or pairs of name and value
- `digest_only`: names of fields of which only type, length and digest are kept
- `require`: names of members without which an artifact is incomplete

`request.fields` is a `Dict` of the fields, `request.namespace` and the others are as they were given. A value that has no
place in a key is an `ArgumentError` that names the field.
"""
mutable struct Request
    ptr::Ptr{tlc_request}
    namespace::String
    target::Union{Nothing,String}
    engine::Union{Nothing,String}
    toolchain::Union{Nothing,NoToolchain,String,Vector{UInt8}}
    label::Union{Nothing,String}
    fields::Dict{String,Any}
    required::Vector{String}

    function Request(namespace::AbstractString; target=nothing, engine=nothing, toolchain=nothing, label=nothing,
                     fields=(), digest_only=(), require=())
        require_library()
        given, hidden = named_fields(fields), names_of(digest_only)
        out, err = Ref{Ptr{tlc_request}}(C_NULL), new_error()
        request = new(C_NULL, String(namespace), optional_text(target, "target"), optional_text(engine, "engine"),
                      toolchain_of(toolchain), optional_text(label, "label"), Dict{String,Any}(given), names_of(require))
        check(tlc_request_create(request.namespace, out, err), err)
        request.ptr = out[]
        finalizer(destroy_request, request)
        set_options(request, err)
        add_fields(request, given, hidden, err)
        return request
    end
end

function destroy_request(request::Request)
    tlc_request_destroy(request.ptr)
    request.ptr = C_NULL
    return nothing
end

Base.unsafe_convert(::Type{Ptr{tlc_request}}, request::Request) = request.ptr

function Base.show(io::IO, request::Request)
    print(io, "Request(", repr(request.namespace))
    request.target === nothing || print(io, ", target=", repr(request.target))
    request.engine === nothing || print(io, ", engine=", repr(request.engine))
    request.label === nothing || print(io, ", label=", repr(request.label))
    print(io, ", fields=", sort!(collect(keys(request.fields))), ")")
    return nothing
end

optional_text(::Nothing, ::String) = nothing
optional_text(text::AbstractString, ::String) = String(text)
function optional_text(other, what::String)
    throw(ArgumentError("$what is $(repr(other)), of type $(typeof(other)); give text, or nothing"))
end

toolchain_of(::Nothing) = nothing
toolchain_of(::NoToolchain) = NO_TOOLCHAIN
toolchain_of(text::AbstractString) = String(text)
toolchain_of(bytes::AbstractVector{UInt8}) = Vector{UInt8}(bytes)
function toolchain_of(other)
    throw(ArgumentError("toolchain is of type $(typeof(other)); give text or bytes that identify the compiler, or NO_TOOLCHAIN"))
end

# One name, or several.
names_of(name::Union{AbstractString,Symbol}) = String[String(name)]
names_of(names) = String[String(name) for name in names]

# Fields in the order they were given.
function named_fields(fields)
    named = Pair{String,Any}[]
    for (name, value) in field_pairs(fields)
        push!(named, field_name(name, "fields") => value)
    end
    return named
end

field_pairs(fields::NamedTuple) = pairs(fields)
field_pairs(fields::AbstractDict) = fields
function field_pairs(fields)
    for field in fields
        field isa Pair || throw(ArgumentError("fields has $(repr(field)); give a NamedTuple, a Dict, or pairs of name and value"))
    end
    return fields
end
field_pairs(field::Pair) = (field,)

field_name(name::AbstractString, ::String) = String(name)
field_name(name::Symbol, ::String) = String(name)
function field_name(name, path::String)
    throw(ArgumentError("field `$path`: the name $(repr(name)) is of type $(typeof(name)); give text or a Symbol"))
end

function set_options(request::Request, err)
    if request.target !== nothing
        check(tlc_request_set_target(request, request.target, err), err)
    end
    if request.engine !== nothing
        check(tlc_request_set_engine(request, request.engine, err), err)
    end
    toolchain = request.toolchain
    if toolchain isa NoToolchain
        check(tlc_request_set_no_toolchain(request, err), err)
    elseif toolchain !== nothing
        bytes = as_bytes(toolchain)
        check(tlc_request_set_toolchain(request, bytes, length(bytes), err), err)
    end
    if request.label !== nothing
        check(tlc_request_set_label(request, request.label, err), err)
    end
    for name in request.required
        check(tlc_request_require_member(request, name, err), err)
    end
    return nothing
end

function add_fields(request::Request, fields::Vector{Pair{String,Any}}, hidden::Vector{String}, err)
    for name in hidden
        any(field -> field.first == name, fields) ||
            throw(ArgumentError("digest_only names $(repr(name)), which is not among the fields"))
    end
    for (name, value) in fields
        flags = name in hidden ? TLC_FIELD_DIGEST_ONLY : UInt32(0)
        add_value(request, name, value, flags, name, err)
    end
    return nothing
end

# Throws unless the status is TLC_OK; the message names the field. path: how the value is called in an error.
check_field(status::Int32, path::String, err) = check(status, err, "field `$path`: ")

# Adds a value under a name (empty in a list).
function add_value(request::Request, name::String, ::Nothing, flags::UInt32, path::String, err)
    return check_field(tlc_request_add_null(request, name, flags, err), path, err)
end

function add_value(request::Request, name::String, value::Bool, flags::UInt32, path::String, err)
    return check_field(tlc_request_add_bool(request, name, Int32(value), flags, err), path, err)
end

function add_value(request::Request, name::String, value::Integer, flags::UInt32, path::String, err)
    if typemin(Int64) <= value <= typemax(Int64)
        status = tlc_request_add_int(request, name, Int64(value), flags, err)
    elseif 0 <= value <= typemax(UInt64)
        status = tlc_request_add_uint(request, name, UInt64(value), flags, err)
    else
        throw(ArgumentError("field `$path`: $value is out of range; an int is -2^63 to 2^64 - 1, give text or bytes instead"))
    end
    return check_field(status, path, err)
end

function add_value(request::Request, name::String, value::Base.IEEEFloat, flags::UInt32, path::String, err)
    return check_field(tlc_request_add_f64(request, name, Float64(value), flags, err), path, err)
end

function add_value(request::Request, name::String, value::AbstractString, flags::UInt32, path::String, err)
    return check_field(tlc_request_add_text(request, name, value, flags, err), path, err)
end

function add_value(request::Request, name::String, value::AbstractVector{UInt8}, flags::UInt32, path::String, err)
    bytes = as_bytes(value)
    return check_field(tlc_request_add_bytes(request, name, bytes, length(bytes), flags, err), path, err)
end

function add_value(request::Request, name::String, value::Digest, flags::UInt32, path::String, err)
    bytes = collect(value.bytes)
    return check_field(tlc_request_add_digest(request, name, bytes, flags, err), path, err)
end

function add_value(request::Request, name::String, value::Union{AbstractVector,Tuple}, flags::UInt32, path::String, err)
    check_field(tlc_request_begin_list(request, name, flags, err), path, err)
    for (index, item) in enumerate(value)
        add_value(request, "", item, UInt32(0), "$path[$index]", err)
    end
    return check_field(tlc_request_end(request, err), path, err)
end

function add_value(request::Request, name::String, value::Union{AbstractDict,NamedTuple}, flags::UInt32, path::String, err)
    check_field(tlc_request_begin_map(request, name, flags, err), path, err)
    for (entry, item) in pairs(value)
        label = field_name(entry, path)
        add_value(request, label, item, UInt32(0), "$path.$label", err)
    end
    return check_field(tlc_request_end(request, err), path, err)
end

function add_value(::Request, ::String, value, ::UInt32, path::String, err)
    throw(ArgumentError("field `$path`: a value of type $(typeof(value)) has no place in a key; give nothing, Bool, Integer, " *
                        "Float64, text, bytes, Digest, a Vector or Tuple, or a Dict or NamedTuple with names as keys"))
end

"""
    Key(request)

The request's key without a cache or a backend: target, engine and toolchain must be stated.
"""
function Key(request::Request)
    out, err = Ref{Ptr{tlc_key}}(C_NULL), new_error()
    check(tlc_request_key(request, out, err), err)
    return Key(out[])
end
