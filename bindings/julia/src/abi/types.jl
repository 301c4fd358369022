# SPDX-License-Identifier: MIT
# The C types of include/tlcache/tlcache.h: handles, and structs with the same members in the same places.
#
# tools/checks/julia_abi.py compares every struct here with tests/abi/abi.json, member by member; library.jl compares
# them again with the library that is loaded (tlc_abi_layout). A struct is written one member a line.

const tlc_status = Int32

# Handles: only pointers to them exist.
abstract type tlc_cache end
abstract type tlc_request end
abstract type tlc_value end
abstract type tlc_key end
abstract type tlc_bundle end
abstract type tlc_artifact end
abstract type tlc_blob end
abstract type tlc_lock end
abstract type tlc_cancel end
abstract type tlc_log end
abstract type tlc_module end

struct tlc_str
    data::Ptr{UInt8}
    len::Csize_t
end

struct tlc_error
    struct_size::Csize_t
    code::Int32
    sys_errno::Int32
    backend_code::Int64
    message_length::UInt64
    message::NTuple{512,UInt8}
end

struct tlc_layout
    struct_name::Ptr{UInt8}
    member::Ptr{UInt8}
    offset::UInt64
    size::UInt64
end

struct tlc_constant
    name::Ptr{UInt8}
    value::Int64
end

struct tlc_cache_options
    struct_size::Csize_t
    directory::tlc_str
    limit_bytes::UInt64
    flags::UInt64
    remotes::tlc_str
end

struct tlc_member
    struct_size::Csize_t
    name::tlc_str
    data::Ptr{Cvoid}
    size::UInt64
    type::UInt32
end

struct tlc_artifact_info
    struct_size::Csize_t
    name_space::tlc_str
    label::tlc_str
    digest::Ptr{UInt8}
    generation::UInt64
    created_ns::UInt64
    compile_us::UInt64
    size::UInt64
    member_count::UInt32
    tier::UInt32
end

struct tlc_compile_options
    struct_size::Csize_t
    compile::Ptr{Cvoid}
    user_data::Ptr{Cvoid}
    destroy::Ptr{Cvoid}
    cancel::Ptr{tlc_cancel}
    timeout_ms::Int64
    flags::UInt64
end

struct tlc_load_options
    struct_size::Csize_t
    device::Int64
    context::Ptr{Cvoid}
    member::tlc_str
end

struct tlc_stats
    struct_size::Csize_t
    hits::UInt64
    misses::UInt64
    rejections::UInt64
    puts::UInt64
    not_stored::UInt64
    compiles::UInt64
    compile_us::UInt64
    saved_us::UInt64
    evictions::UInt64
    youngest_evicted_s::UInt64
    entries::UInt64
    disk_bytes::UInt64
    limit_bytes::UInt64
    mapped_bytes::UInt64
    unlinked_bytes::UInt64
    memory_bytes::UInt64
    remote_gets::UInt64
    remote_hits::UInt64
    remote_puts::UInt64
    remote_errors::UInt64
end

struct tlc_entry
    struct_size::Csize_t
    digest::Ptr{UInt8}
    key_encoding::Ptr{UInt8}
    key_length::Csize_t
    name_space::tlc_str
    label::tlc_str
    kind::tlc_str
    size::UInt64
    created_ns::UInt64
    last_used_s::UInt64
    compile_us::UInt64
    generation::UInt64
end

# What library.jl compares with the library.
const MIRRORS = (
    tlc_str, tlc_error, tlc_layout, tlc_constant, tlc_cache_options, tlc_member, tlc_artifact_info,
    tlc_compile_options, tlc_load_options, tlc_stats, tlc_entry,
)

# What struct_size holds: the end of the last member, not sizeof.
function size_to_last(::Type{T}) where {T}
    last = fieldcount(T)
    return Csize_t(fieldoffset(T, last) + sizeof(fieldtype(T, last)))
end

const EMPTY_STR = tlc_str(C_NULL, 0)

# A text argument is a String (or nothing: empty); ccall keeps it for the length of the call.
Base.cconvert(::Type{tlc_str}, text::AbstractString) = String(text)
Base.cconvert(::Type{tlc_str}, ::Nothing) = nothing
Base.cconvert(::Type{tlc_str}, text::tlc_str) = text
Base.unsafe_convert(::Type{tlc_str}, text::String) = tlc_str(pointer(text), sizeof(text))
Base.unsafe_convert(::Type{tlc_str}, ::Nothing) = EMPTY_STR
Base.unsafe_convert(::Type{tlc_str}, text::tlc_str) = text

# A copy of a text of the library's.
julia_string(text::tlc_str) = text.len == 0 ? "" : unsafe_string(text.data, text.len)
