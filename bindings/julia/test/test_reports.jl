# SPDX-License-Identifier: MIT
# What is there and why; callbacks from C that throw, stop, or use the cache.

@testset "reports" begin
    with_cache() do cache
        for i in 1:5
            close(put!(cache, plain_key("k$i"), "a" => "1"; label="label $i"))
        end
        @testset "entries" begin
            found = TLCache.entries(cache)
            @test length(found) == 5
            @test sort!([entry.label for entry in found]) == ["label $i" for i in 1:5]
            entry = found[1]
            @test entry.kind === :artifact
            @test entry.namespace == "test"
            @test Key(entry.key_encoding).digest == entry.digest
            @test isempty(TLCache.entries(cache, "other"))
        end

        @testset "a visitor that throws" begin
            seen = 0
            @test thrown_by(() -> TLCache.entries(cache) do _
                seen += 1
                throw(DomainError(1, "mine"))
            end) isa DomainError
            @test seen == 1
        end

        @testset "a visitor that uses the cache, waits and collects garbage" begin
            seen = 0
            TLCache.entries(cache) do entry
                seen += 1
                @test haskey(cache, Key(entry.key_encoding))
                GC.gc(false)
                yield()
                sleep(0.001)
            end
            @test seen == 5
        end

        @testset "verify and collect garbage" begin
            checked = read_json(TLCache.verify(cache))
            @test checked["entries"] == 5
            @test isempty(checked["damaged"])
            steps = 0
            TLCache.verify(cache; progress=(_, _) -> (steps += 1; GC.gc(false); nothing))
            @test steps > 0
            @test thrown_by(() -> TLCache.verify(cache; progress=(_, _) -> error("mine"))) isa ErrorException
            stopped = thrown_by(() -> TLCache.verify(cache; progress=(_, _) -> false))
            @test stopped isa TLCacheError
            @test stopped.status == TLCache.TLC_E_CANCELLED
            @test haskey(read_json(TLCache.collect_garbage!(cache)), "freed_bytes")
        end

        @testset "why, where, how much" begin
            why = read_json(TLCache.explain(cache, plain_key("k6")))
            @test why["outcome"] == "never"
            @test haskey(why, "nearest")
            @test read_json(TLCache.describe(cache)) isa AbstractDict
            @test read_json(TLCache.report(cache)) isa AbstractDict
            @test read_json(TLCache.backends(cache)) isa Union{AbstractDict,AbstractVector}
            now = TLCache.stats(cache)
            @test now.puts == 5
            @test now.entries == 5
            @test now.limit_bytes > now.disk_bytes > 0
            TLCache.configure!(cache, "limit", "100M")
            @test TLCache.stats(cache).limit_bytes == 100 << 20
        end
    end
end
