# SPDX-License-Identifier: MIT
# The functions of include/tlcache/tlcache.h, one `@bind` each, with the header's parameters in the header's order.
#
# tools/checks/julia_abi.py reads these declarations, compares each with tests/abi/abi.json, and refuses a ccall anywhere
# else in the package. A keyword of Julia as a parameter's name has an underscore behind it.
#
# `gcsafe` marks what may wait: for a file, a lock, a compiler, a first read of many bytes. While such a call runs, other
# threads may collect garbage; without the mark they would wait for it.

# Addresses are those of the process, so they are found when the package is loaded (library.jl), not when it is compiled.
const ADDRESSES = Pair{Symbol,Base.RefValue{Ptr{Cvoid}}}[]

# `@ccall gc_safe = true` came with Julia 1.12.
const HAS_GC_SAFE = VERSION >= v"1.12.0"

macro bind(arguments...)
    signature = arguments[end]
    gcsafe = length(arguments) == 2 && arguments[1] === :gcsafe
    call, result = signature.args
    name = call.args[1]
    names = Any[parameter.args[1] for parameter in call.args[2:end]]
    types = Any[parameter.args[2] for parameter in call.args[2:end]]
    address = Symbol("address_of_", name)
    body = gcsafe ? safe_call(names, types, result) : plain_call(names, types, result)
    return esc(quote
        const $address = Ref{Ptr{Cvoid}}(C_NULL)
        push!(ADDRESSES, $(QuoteNode(name)) => $address)
        @inline function $name($(names...))
            address_here = $address[]
            $body
        end
    end)
end

# Expressions for the body of a bound function. ccall converts the arguments and keeps them alive.
function plain_call(names, types, result)
    return Expr(:call, :ccall, :address_here, result, Expr(:tuple, types...), names...)
end

function safe_call(names, types, result)
    if HAS_GC_SAFE
        typed = Any[Expr(:(::), name, type) for (name, type) in zip(names, types)]
        call = Expr(:(::), Expr(:call, Expr(:$, :address_here), typed...), result)
        option = Expr(:(=), :gc_safe, true)
        return Expr(:macrocall, Symbol("@ccall"), LineNumberNode(@__LINE__, @__FILE__), option, call)
    end
    # Julia 1.10 and 1.11: convert first, so that nothing of Julia's runs between entering and leaving.
    kept = Any[gensym(name) for name in names]
    converted = Any[gensym(name) for name in names]
    converts = Any[:($k = Base.cconvert($t, $n)) for (k, t, n) in zip(kept, types, names)]
    pointers = Any[:($c = Base.unsafe_convert($t, $k)) for (c, t, k) in zip(converted, types, kept)]
    inner = plain_call(converted, types, result)
    return quote
        $(converts...)
        GC.@preserve $(kept...) begin
            $(pointers...)
            gc_state = ccall(:jl_gc_safe_enter, Int8, ())
            answer = $inner
            ccall(:jl_gc_safe_leave, Cvoid, (Int8,), gc_state)
            answer
        end
    end
end

@bind tlc_error_init(error::Ptr{tlc_error})::Cvoid
@bind tlc_status_name(status::tlc_status)::Ptr{UInt8}
@bind tlc_status_message(status::tlc_status)::Ptr{UInt8}
@bind tlc_blob_data(blob::Ptr{tlc_blob}, len::Ptr{Csize_t})::Ptr{UInt8}
@bind tlc_blob_release(blob::Ptr{tlc_blob})::Cvoid
@bind tlc_version()::UInt32
@bind tlc_version_string()::Ptr{UInt8}
@bind tlc_abi_version()::UInt32
@bind tlc_build_info()::Ptr{UInt8}
@bind tlc_abi_layout(count::Ptr{Csize_t})::Ptr{tlc_layout}
@bind tlc_abi_constants(count::Ptr{Csize_t})::Ptr{tlc_constant}
@bind gcsafe tlc_cache_open(
    options::Ptr{tlc_cache_options}, cache::Ptr{Ptr{tlc_cache}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_close(cache::Ptr{tlc_cache})::Cvoid
@bind tlc_request_create(name_space::tlc_str, request::Ptr{Ptr{tlc_request}}, error::Ptr{tlc_error})::tlc_status
@bind tlc_request_destroy(request::Ptr{tlc_request})::Cvoid
@bind tlc_request_set_target(request::Ptr{tlc_request}, target::tlc_str, error::Ptr{tlc_error})::tlc_status
@bind tlc_request_set_engine(request::Ptr{tlc_request}, engine::tlc_str, error::Ptr{tlc_error})::tlc_status
@bind tlc_request_set_toolchain(
    request::Ptr{tlc_request}, data::Ptr{Cvoid}, len::Csize_t, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_set_no_toolchain(request::Ptr{tlc_request}, error::Ptr{tlc_error})::tlc_status
@bind tlc_request_set_label(request::Ptr{tlc_request}, label::tlc_str, error::Ptr{tlc_error})::tlc_status
@bind tlc_request_require_member(request::Ptr{tlc_request}, name::tlc_str, error::Ptr{tlc_error})::tlc_status
@bind tlc_request_add_null(request::Ptr{tlc_request}, name::tlc_str, flags::UInt32, error::Ptr{tlc_error})::tlc_status
@bind tlc_request_add_bool(
    request::Ptr{tlc_request}, name::tlc_str, value::Int32, flags::UInt32, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_add_int(
    request::Ptr{tlc_request}, name::tlc_str, value::Int64, flags::UInt32, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_add_uint(
    request::Ptr{tlc_request}, name::tlc_str, value::UInt64, flags::UInt32, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_add_f64(
    request::Ptr{tlc_request}, name::tlc_str, value::Float64, flags::UInt32, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_add_text(
    request::Ptr{tlc_request}, name::tlc_str, value::tlc_str, flags::UInt32, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_add_bytes(
    request::Ptr{tlc_request}, name::tlc_str, data::Ptr{Cvoid}, len::Csize_t, flags::UInt32, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_add_digest(
    request::Ptr{tlc_request}, name::tlc_str, digest::Ptr{UInt8}, flags::UInt32, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_begin_list(
    request::Ptr{tlc_request}, name::tlc_str, flags::UInt32, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_begin_map(
    request::Ptr{tlc_request}, name::tlc_str, flags::UInt32, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_request_end(request::Ptr{tlc_request}, error::Ptr{tlc_error})::tlc_status
@bind gcsafe tlc_cache_key(
    cache::Ptr{tlc_cache}, request::Ptr{tlc_request}, key::Ptr{Ptr{tlc_key}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_request_key(request::Ptr{tlc_request}, key::Ptr{Ptr{tlc_key}}, error::Ptr{tlc_error})::tlc_status
@bind tlc_key_decode(encoding::Ptr{Cvoid}, len::Csize_t, key::Ptr{Ptr{tlc_key}}, error::Ptr{tlc_error})::tlc_status
@bind tlc_key_release(key::Ptr{tlc_key})::Cvoid
@bind tlc_key_digest(key::Ptr{tlc_key})::Ptr{UInt8}
@bind tlc_key_encoding(key::Ptr{tlc_key}, len::Ptr{Csize_t})::Ptr{UInt8}
@bind tlc_key_describe(key::Ptr{tlc_key}, json::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error})::tlc_status
@bind tlc_key_diff(was::Ptr{tlc_key}, now::Ptr{tlc_key}, json::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error})::tlc_status
@bind tlc_bundle_create(bundle::Ptr{Ptr{tlc_bundle}}, error::Ptr{tlc_error})::tlc_status
@bind tlc_bundle_destroy(bundle::Ptr{tlc_bundle})::Cvoid
@bind tlc_bundle_add(
    bundle::Ptr{tlc_bundle}, name::tlc_str, type::UInt32, data::Ptr{Cvoid}, len::Csize_t, flags::UInt32,
    error::Ptr{tlc_error}
)::tlc_status
@bind tlc_bundle_set_compile_time(bundle::Ptr{tlc_bundle}, microseconds::UInt64, error::Ptr{tlc_error})::tlc_status
@bind tlc_bundle_set_label(bundle::Ptr{tlc_bundle}, label::tlc_str, error::Ptr{tlc_error})::tlc_status
@bind tlc_bundle_add_guard(
    bundle::Ptr{tlc_bundle}, path::tlc_str, digest::Ptr{UInt8}, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_bundle_add_absent(bundle::Ptr{tlc_bundle}, path::tlc_str, error::Ptr{tlc_error})::tlc_status
@bind tlc_bundle_add_requirement(bundle::Ptr{tlc_bundle}, key::Ptr{tlc_key}, error::Ptr{tlc_error})::tlc_status
@bind tlc_artifact_release(artifact::Ptr{tlc_artifact})::Cvoid
@bind tlc_artifact_get_info(
    artifact::Ptr{tlc_artifact}, info::Ptr{tlc_artifact_info}, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_artifact_member_count(artifact::Ptr{tlc_artifact})::Csize_t
@bind tlc_artifact_member_at(
    artifact::Ptr{tlc_artifact}, index::Csize_t, member::Ptr{tlc_member}, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_artifact_find(
    artifact::Ptr{tlc_artifact}, name::tlc_str, member::Ptr{tlc_member}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_artifact_read(
    artifact::Ptr{tlc_artifact}, index::Csize_t, buffer::Ptr{Cvoid}, capacity::Csize_t, error::Ptr{tlc_error}
)::tlc_status
@bind tlc_artifact_key_encoding(artifact::Ptr{tlc_artifact}, len::Ptr{Csize_t})::Ptr{UInt8}
@bind gcsafe tlc_artifact_folder(
    artifact::Ptr{tlc_artifact}, path::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_get(
    cache::Ptr{tlc_cache}, key::Ptr{tlc_key}, artifact::Ptr{Ptr{tlc_artifact}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_outline(
    cache::Ptr{tlc_cache}, key::Ptr{tlc_key}, fn::Ptr{Cvoid}, user_data::Ptr{Cvoid}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_put(
    cache::Ptr{tlc_cache}, key::Ptr{tlc_key}, bundle::Ptr{tlc_bundle}, artifact::Ptr{Ptr{tlc_artifact}},
    error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_replace(
    cache::Ptr{tlc_cache}, key::Ptr{tlc_key}, seen::Ptr{tlc_artifact}, bundle::Ptr{tlc_bundle},
    artifact::Ptr{Ptr{tlc_artifact}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_amend(
    cache::Ptr{tlc_cache}, key::Ptr{tlc_key}, seen::Ptr{tlc_artifact}, bundle::Ptr{tlc_bundle},
    artifact::Ptr{Ptr{tlc_artifact}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_link(
    cache::Ptr{tlc_cache}, from::Ptr{tlc_key}, to::Ptr{tlc_key}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_remove(cache::Ptr{tlc_cache}, key::Ptr{tlc_key}, error::Ptr{tlc_error})::tlc_status
@bind gcsafe tlc_cache_invalidate(
    cache::Ptr{tlc_cache}, artifact::Ptr{tlc_artifact}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_clear(
    cache::Ptr{tlc_cache}, name_space::tlc_str, removed::Ptr{UInt64}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_begin(
    cache::Ptr{tlc_cache}, key::Ptr{tlc_key}, timeout_ms::Int64, cancel::Ptr{tlc_cancel},
    artifact::Ptr{Ptr{tlc_artifact}}, lock::Ptr{Ptr{tlc_lock}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_lock_publish(
    lock::Ptr{tlc_lock}, bundle::Ptr{tlc_bundle}, artifact::Ptr{Ptr{tlc_artifact}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_lock_fail(lock::Ptr{tlc_lock}, status::tlc_status, message::tlc_str)::Cvoid
@bind gcsafe tlc_lock_abandon(lock::Ptr{tlc_lock})::Cvoid
@bind tlc_log_append(log::Ptr{tlc_log}, text::tlc_str)::Cvoid
@bind gcsafe tlc_cache_get_or_compile(
    cache::Ptr{tlc_cache}, request::Ptr{tlc_request}, options::Ptr{tlc_compile_options},
    artifact::Ptr{Ptr{tlc_artifact}}, log::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_load(
    cache::Ptr{tlc_cache}, artifact::Ptr{tlc_artifact}, options::Ptr{tlc_load_options},
    module_::Ptr{Ptr{tlc_module}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_artifact_describe(
    artifact::Ptr{tlc_artifact}, cache::Ptr{tlc_cache}, json::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_module_symbol(
    module_::Ptr{tlc_module}, name::tlc_str, address::Ptr{Ptr{Cvoid}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_module_native(module_::Ptr{tlc_module})::Ptr{Cvoid}
@bind gcsafe tlc_module_release(module_::Ptr{tlc_module})::Cvoid
@bind gcsafe tlc_cache_get_stats(
    cache::Ptr{tlc_cache}, name_space::tlc_str, stats::Ptr{tlc_stats}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_stats_json(cache::Ptr{tlc_cache}, json::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error})::tlc_status
@bind gcsafe tlc_cache_list(
    cache::Ptr{tlc_cache}, name_space::tlc_str, fn::Ptr{Cvoid}, user_data::Ptr{Cvoid}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_find(
    cache::Ptr{tlc_cache}, hex_prefix::tlc_str, artifact::Ptr{Ptr{tlc_artifact}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_explain(
    cache::Ptr{tlc_cache}, key::Ptr{tlc_key}, json::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_verify(
    cache::Ptr{tlc_cache}, flags::UInt32, progress::Ptr{Cvoid}, user_data::Ptr{Cvoid}, json::Ptr{Ptr{tlc_blob}},
    error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_gc(
    cache::Ptr{tlc_cache}, max_bytes::UInt64, progress::Ptr{Cvoid}, user_data::Ptr{Cvoid},
    json::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_configure(
    cache::Ptr{tlc_cache}, name::tlc_str, value::tlc_str, error::Ptr{tlc_error}
)::tlc_status
@bind gcsafe tlc_cache_describe(cache::Ptr{tlc_cache}, json::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error})::tlc_status
@bind gcsafe tlc_cache_backends(cache::Ptr{tlc_cache}, json::Ptr{Ptr{tlc_blob}}, error::Ptr{tlc_error})::tlc_status
@bind gcsafe tlc_load_plugin(path::tlc_str, error::Ptr{tlc_error})::tlc_status
