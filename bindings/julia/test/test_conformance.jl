# SPDX-License-Identifier: MIT
# The key vectors that every language is tested with (tests/conformance/keys.json): the same bytes from Julia.

const VECTORS = joinpath(@__DIR__, "..", "..", "..", "tests", "conformance", "keys.json")

# A vector that Julia's types cannot say.
struct NotExpressible <: Exception end

vector_text(value::AbstractString) = String(value)
vector_text(value::AbstractDict) = String(hex2bytes(value["hex"]))

vector_fields(fields) = Pair{String,Any}[vector_text(field["name"]) => vector_value(field) for field in fields]

function vector_map(fields)
    given = vector_fields(fields)
    length(unique(first.(given))) == length(given) || throw(NotExpressible())    # a name twice in a Dict
    return Dict{String,Any}(given)
end

function vector_value(field)
    kind = field["type"]
    value = get(field, "value", nothing)
    if kind == "null" || kind == "bool"
        return value
    elseif kind == "int"
        return parse(BigInt, value)
    elseif kind == "f64"
        return reinterpret(Float64, parse(UInt64, value[3:end]; base=16))
    elseif kind == "f32"
        return reinterpret(Float32, parse(UInt32, value[3:end]; base=16))
    elseif kind == "text"
        return vector_text(value)
    elseif kind == "bytes"
        return hex2bytes(value)
    elseif kind == "digest"
        return Digest(value)
    end
    any(item -> !isempty(get(item, "flags", [])), value) && throw(NotExpressible())    # flags inside a list or map
    kind == "list" && return Any[vector_value(item) for item in value]
    return vector_map(value)
end

function vector_key(vector)
    toolchain = vector["toolchain"]
    # What a backend adds; a key without a namespace; a target without an engine.
    (haskey(vector, "host") || toolchain === nothing || toolchain isa AbstractVector) && throw(NotExpressible())
    (vector["namespace"] === nothing || vector["engine"] === nothing) && throw(NotExpressible())
    hidden = [vector_text(field["name"]) for field in vector["fields"] if "digest_only" in get(field, "flags", [])]
    return Key(Request(vector_text(vector["namespace"]); target=vector["target"] === nothing ? nothing : vector_text(vector["target"]),
                       engine=vector_text(vector["engine"]), toolchain=toolchain == "none" ? NO_TOOLCHAIN : hex2bytes(toolchain),
                       fields=vector_fields(vector["fields"]), digest_only=hidden))
end

# What is wrong with a vector: "" if nothing is; :skipped where it cannot be said.
function try_vector(vector)
    expected = vector["expect"]
    key = try
        vector_key(vector)
    catch exception
        exception isa NotExpressible && return (:skipped, "")
        exception isa Union{TLCacheError,ArgumentError} || rethrow()
        return (:refused, haskey(expected, "error") ? "" : "$(vector["name"]): $(message_of(exception))")
    end
    same = bytes2hex(TLCache.encoding(key)) == get(expected, "encoding", "") && bytes2hex(key.digest) == get(expected, "digest", "")
    return (:made, same ? "" : "$(vector["name"]): another key")
end

if isfile(VECTORS)
    @testset "conformance: keys" begin
        outcomes = map(try_vector, read_json(read(VECTORS, String))["vectors"])
        @test [problem for (_, problem) in outcomes if !isempty(problem)] == String[]
        @test count(outcome -> outcome[1] === :made, outcomes) > 100
        @test count(outcome -> outcome[1] === :refused, outcomes) > 20
    end
else
    skip_test("conformance: keys", "only in the repository")
end
