# SPDX-License-Identifier: MIT
# The key vectors that every language is tested with (tests/conformance/keys.json): the same bytes from Julia.

const VECTORS = joinpath(@__DIR__, "..", "..", "..", "tests", "conformance", "keys.json")

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
