# SPDX-License-Identifier: MIT
# Requests and keys.

# The digest of a request with one field.
digest_of(value) = Key(Request("test"; toolchain=NO_TOOLCHAIN, fields=("f" => value,))).digest

@testset "keys" begin
    @testset "a key" begin
        key = plain_key("a")
        @test key == plain_key("a")
        @test hash(key) == hash(plain_key("a"))
        @test key != plain_key("b")
        @test Key(TLCache.encoding(key)) == key
        @test length(bytes2hex(key.digest)) == 64
        @test Digest(bytes2hex(key.digest)) == key.digest
        @test Dict(key => 1)[plain_key("a")] == 1
        @test contains(sprint(show, key), bytes2hex(key.digest))
        described = read_json(TLCache.describe(key))
        @test described["namespace"] == "test"
        difference = read_json(TLCache.difference(key, plain_key("b")))
        @test length(difference) == 1
        @test difference[1]["path"] == "name"
    end

    @testset "types that are one value" begin
        @test digest_of(5) == digest_of(Int8(5)) == digest_of(UInt64(5)) == digest_of(big(5)) == digest_of(Int128(5))
        @test digest_of(0.5) == digest_of(0.5f0) == digest_of(Float16(0.5))
        @test digest_of("ab") == digest_of(SubString("xab", 2))
        @test digest_of(UInt8[1, 2]) == digest_of(view(UInt8[0, 1, 2], 2:3))
        @test digest_of([1, 2]) == digest_of((1, 2)) == digest_of(1:2) == digest_of(Any[1, 0x02])
        @test digest_of(Dict("a" => 1, "b" => 2)) == digest_of((b=2, a=1)) == digest_of(Dict(:b => 2, :a => 1))
        @test digest_of(NaN) == digest_of(-NaN)
    end

    @testset "values that differ" begin
        values = Any[nothing, false, true, 0, 1, 0.0, -0.0, 1.0, "", "1", UInt8[], UInt8[0x31], Digest(zeros(UInt8, 32)), zeros(UInt8, 32),
                     (), Any[], (1,), ((1,),), NamedTuple(), (a=1,), (a=nothing,), ["-a", "b"], ["-ab"], typemin(Int64), typemax(UInt64)]
        digests = map(digest_of, values)
        # A list is a list, however it is made.
        @test length(unique(digests)) == length(values) - 1
        @test digest_of(()) == digest_of(Any[])
    end

    @testset "what is in the key, and what is not" begin
        base = (target="cuda:sm_90", engine="nvrtc", toolchain="1.2", fields=(n=1,))
        key = Key(Request("test"; base...))
        @test Key(Request("test"; base..., label="for people", require=["a.so"])) == key
        @test Key(Request("test"; base..., toolchain=Vector{UInt8}("1.2"))) == key
        for changed in ((target="cuda:sm_90a",), (engine="other",), (toolchain="1.3",), (toolchain=NO_TOOLCHAIN,), (fields=(n=2,),))
            @test Key(Request("test"; base..., changed...)) != key
        end
        @test Key(Request("other"; base...)) != key
        @test Key(Request("test"; base..., digest_only=["n"])) != key
    end

    @testset "a request" begin
        request = Request("test"; target="cuda:sm_90", engine="nvrtc", toolchain="1", label="l", fields=["a" => 1, "b" => [1, 2]])
        @test request.fields == Dict("a" => 1, "b" => [1, 2])
        @test request.namespace == "test"
        @test request.target == "cuda:sm_90"
        @test contains(sprint(show, request), "cuda:sm_90")
    end
end
