# SPDX-License-Identifier: MIT
# Errors. What is wrong in a call is an ArgumentError, KeyError or MethodError, as anywhere in Julia; what the library
# answers is a TLCacheError.

"""
    TLCacheError(status, message, errno, backend_code)

An error of the library.

- `status`: one of the constants `TLCache.TLC_E_*`, or a positive outcome that the call could not hand on, such as
  `TLCache.TLC_CONFLICT` or `TLCache.TLC_TIMEOUT`
- `message`: what went wrong
- `errno`: the system's code behind it, or 0
- `backend_code`: the backend's or driver's own code, or 0
"""
struct TLCacheError <: Exception
    status::Int32
    message::String
    errno::Int
    backend_code::Int
end
TLCacheError(status::Integer, message::AbstractString) = TLCacheError(Int32(status), String(message), 0, 0)

"""
    CompileError(message; log="")

The compiler refused the source; `log` is its whole output. A compile function throws it too, where the source is at fault.
"""
struct CompileError <: Exception
    message::String
    log::String
end
CompileError(message::AbstractString; log::AbstractString="") = CompileError(String(message), String(log))

"""
    TLCache.status_name(status)

Name of a status, such as `"TLC_E_IO"`; `"?"` for one that the library does not know.
"""
function status_name(status::Integer)
    require_library()
    return unsafe_string(tlc_status_name(Int32(status)))
end

function Base.showerror(io::IO, exception::TLCacheError)
    print(io, "TLCacheError: ", exception.message)
    name = LIBRARY[] == C_NULL ? string(exception.status) : status_name(exception.status)
    print(io, " (", name, exception.errno == 0 ? "" : ", errno $(exception.errno)", ")")
    return nothing
end

function Base.showerror(io::IO, exception::CompileError)
    print(io, "CompileError: ", exception.message)
    isempty(exception.log) || print(io, "\n", chomp(exception.log))
    return nothing
end

# A tlc_error for one call.
function new_error()
    err = Ref{tlc_error}()
    tlc_error_init(err)
    return err
end

# What was written into an error: message, errno, the backend's code. Not by err[], which would copy 544 bytes.
function error_details(status::Int32, err::Base.RefValue{tlc_error})
    message, errno, backend_code = "", 0, 0
    GC.@preserve err begin
        start = Ptr{UInt8}(Base.unsafe_convert(Ptr{tlc_error}, err))
        if unsafe_load(Ptr{Int32}(start + fieldoffset(tlc_error, 2))) == status
            errno = Int(unsafe_load(Ptr{Int32}(start + fieldoffset(tlc_error, 3))))
            backend_code = Int(unsafe_load(Ptr{Int64}(start + fieldoffset(tlc_error, 4))))
            message = unsafe_string(start + fieldoffset(tlc_error, 6))
        end
    end
    isempty(message) && (message = unsafe_string(tlc_status_message(status)))
    return (message, errno, backend_code)
end

# The exception for a status and what was written with it.
function make_error(status::Int32, err::Base.RefValue{tlc_error}, prefix::String="")
    status == TLC_E_NOMEM && return OutOfMemoryError()
    message, errno, backend_code = error_details(status, err)
    return TLCacheError(status, prefix * message, errno, backend_code)
end

# Throws unless the status is TLC_OK.
function check(status::Int32, err::Base.RefValue{tlc_error}, prefix::String="")
    status == TLC_OK || throw(make_error(status, err, prefix))
    return nothing
end

# Says in a callback's error what went wrong there. The message is cut at a character.
function write_error(err::Ptr{tlc_error}, status::Int32, message::String)
    err == C_NULL && return nothing
    start = Ptr{UInt8}(err)
    room = sizeof(fieldtype(tlc_error, 6)) - 1
    used = sizeof(message) <= room ? sizeof(message) : thisind(message, room + 1) - 1
    GC.@preserve message begin
        unsafe_copyto!(start + fieldoffset(tlc_error, 6), pointer(message), used)
    end
    unsafe_store!(start + fieldoffset(tlc_error, 6) + used, 0x00)
    unsafe_store!(Ptr{UInt64}(start + fieldoffset(tlc_error, 5)), UInt64(sizeof(message)))
    unsafe_store!(Ptr{Int32}(start + fieldoffset(tlc_error, 2)), status)
    return nothing
end

# The bytes of a blob that the library handed over, as text; the blob is released.
function take_string(blob::Base.RefValue{Ptr{tlc_blob}})
    handle = blob[]
    handle == C_NULL && return ""
    length_of = Ref{Csize_t}(0)
    data = tlc_blob_data(handle, length_of)
    text = length_of[] == 0 ? "" : unsafe_string(data, length_of[])
    tlc_blob_release(handle)
    return text
end
