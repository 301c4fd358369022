# SPDX-License-Identifier: MIT
# Publishing, finding, and the bytes of members.

# A member that is all that keeps its artifact.
lone_member(cache, key) = cache[key]["a"]

@testset "artifacts" begin
    @testset "put and get" begin
        with_cache() do cache
            key = plain_key("a")
            @test get(cache, key, nothing) === nothing
            @test !haskey(cache, key)
            @test thrown_by(() -> cache[key]) isa KeyError
            put = put!(cache, key, Dict("a" => UInt8[1, 2, 3], "empty" => UInt8[], "text" => "grüße"); label="for people",
                       compile_time=2.5, types=("text" => :source,))
            @test put.status == TLCache.TLC_OK
            @test TLCache.is_stored(put)
            found = cache[key]
            @test haskey(cache, key)
            @test sort!(collect(keys(found))) == ["a", "empty", "text"]
            @test length(found) == 3
            @test found["a"] == UInt8[1, 2, 3]
            @test isempty(found["empty"])
            @test String(found["text"]) == "grüße"
            @test TLCache.member_type(found, "text") === :source
            @test TLCache.member_type(found, "a") === :opaque
            @test get(found, "b", nothing) === nothing
            @test thrown_by(() -> found["b"]) isa KeyError
            @test found.log === nothing
            facts = TLCache.info(found)
            @test facts.namespace == "test"
            @test facts.label == "for people"
            @test facts.digest == key.digest
            @test TLCache.digest(found) == key.digest
            @test facts.compile_time == 2.5
            @test facts.member_count == 3
            @test facts.size == 3 + sizeof("grüße")
            @test abs(facts.created - time()) < 3600
            @test TLCache.encoding(found) == TLCache.encoding(key)
            @test contains(sprint(show, found), "\"a\": 3 bytes")
            again = put!(cache, key, "b" => "other")
            @test again.status == TLCache.TLC_EXISTED
            @test haskey(again, "a")
            hex = bytes2hex(key.digest)
            @test TLCache.digest(TLCache.find_artifact(cache, hex[1:12])) == key.digest
            @test TLCache.find_artifact(cache, "00000000") === nothing
        end
    end

    @testset "a member is read-only memory" begin
        with_cache() do cache
            key = plain_key("a")
            numbers = Float32[1, 2, 3, 4]
            put!(cache, key, "a" => Vector{UInt8}(reinterpret(UInt8, numbers)))
            member = cache[key]["a"]
            @test member isa AbstractVector{UInt8}
            @test length(member) == 16
            @test reinterpret(Float32, member) == numbers
            @test UInt(pointer(member)) % 64 == 0
            @test thrown_by(() -> member[1] = 0x00) isa ArgumentError
            @test thrown_by(() -> member[17]) isa BoundsError
            @test Vector{UInt8}(member) == copy(member) == collect(member) == member[:]
            @test view(member, 5:8) == reinterpret(UInt8, Float32[2])
            @test Vector{UInt8}(member) isa Vector{UInt8}
            # As an argument of a call of C.
            total = ccall(:memcmp, Cint, (Ptr{UInt8}, Ptr{UInt8}, Csize_t), member, Vector{UInt8}(member), length(member))
            @test total == 0
        end
    end

    @testset "a member keeps its artifact" begin
        key = plain_key("a")
        bytes = UInt8[i % 251 for i in 1:100_000]
        member = with_cache() do cache
            put!(cache, key, "a" => bytes)
            kept = lone_member(cache, key)
            TLCache.remove!(cache, key)
            GC.gc(true)
            kept
        end
        # The cache is closed and its folder is gone.
        GC.gc(true)
        @test member == bytes
    end

    @testset "close" begin
        with_cache() do cache
            key = plain_key("a")
            close(put!(cache, key, "a" => "1"))
            artifact = cache[key]
            member = artifact["a"]
            close(artifact)
            close(artifact)
            @test !isopen(artifact)
            @test String(member) == "1"
            for use in (a -> a["a"], a -> length(a), a -> TLCache.info(a), a -> TLCache.folder(a), a -> TLCache.read_member(a, "a"))
                @test contains(message_of(thrown_by(() -> use(artifact))), "look its key up again")
            end
            @test sprint(show, artifact) == "Artifact(closed)"
        end
    end

    @testset "copies and folders" begin
        with_cache() do cache
            key = plain_key("a")
            put!(cache, key, ["kernel.py" => "x = 1", "meta.json" => "{}"])
            artifact = cache[key]
            @test TLCache.read_member(artifact, "kernel.py") == codeunits("x = 1")
            @test thrown_by(() -> TLCache.read_member(artifact, "b")) isa KeyError
            folder = TLCache.folder(artifact)
            @test sort!(readdir(folder)) == ["kernel.py", "meta.json"]
            @test read(joinpath(folder, "kernel.py"), String) == "x = 1"
            # An artifact is a dictionary of members, so it can be published again.
            other = put!(cache, plain_key("b"), artifact)
            @test other["meta.json"] == artifact["meta.json"]
        end
    end

    @testset "generations" begin
        with_cache() do cache
            key = plain_key("a")
            first_one = TLCache.replace_generation!(cache, key, "a" => "1"; seen=nothing)
            second = TLCache.replace_generation!(cache, key, "a" => "2"; seen=first_one)
            @test TLCache.info(second).generation > TLCache.info(first_one).generation
            @test String(first_one["a"]) == "1"
            conflict = thrown_by(() -> TLCache.replace_generation!(cache, key, "a" => "3"; seen=first_one))
            @test conflict isa TLCacheError
            @test conflict.status == TLCache.TLC_CONFLICT
            TLCache.amend!(cache, key, "b" => "4"; seen=second)
            @test String(cache[key]["a"]) * String(cache[key]["b"]) == "24"
            @test !TLCache.invalidate!(cache, first_one)
            @test TLCache.invalidate!(cache, cache[key])
            @test !haskey(cache, key)
        end
    end

    @testset "links, removal, namespaces" begin
        with_cache() do cache
            one, other = plain_key("a"), plain_key("b")
            put!(cache, one, "a" => "1")
            TLCache.link!(cache, other, one)
            @test String(cache[other]["a"]) == "1"
            @test TLCache.remove!(cache, one)
            @test !TLCache.remove!(cache, one)
            elsewhere = Key(Request("other"; toolchain=NO_TOOLCHAIN))
            put!(cache, one, "a" => "1")
            put!(cache, elsewhere, "a" => "1")
            @test TLCache.clear!(cache, "other") == 1
            @test haskey(cache, one)
            TLCache.clear!(cache, nothing)
            @test !haskey(cache, one)
        end
    end

    @testset "guards" begin
        mktempdir() do folder
            with_cache() do cache
                key, header, free = plain_key("a"), joinpath(folder, "a.h"), joinpath(folder, "b.h")
                write(header, "1")
                put!(cache, key, absent!(guard!(Bundle("a" => "1"), header), free))
                @test haskey(cache, key)
                write(header, "22")
                @test !haskey(cache, key)
                write(header, "1")
                write(free, "")
                @test !haskey(cache, key)
            end
        end
    end

    @testset "too large" begin
        with_cache(; limit=64 << 20) do cache
            big_one = put!(cache, plain_key("a"), "a" => zeros(UInt8, 9 << 20))
            @test big_one.status == TLCache.TLC_TOO_LARGE
            @test !TLCache.is_stored(big_one)
            @test !isempty(big_one.reason)
            @test length(big_one["a"]) == 9 << 20
        end
    end

    @testset "memory only" begin
        Cache(; memory=true, ignore_environment=true) do cache
            put!(cache, plain_key("a"), "a" => "1")
            @test TLCache.info(cache[plain_key("a")]).tier === :memory
        end
    end
end
