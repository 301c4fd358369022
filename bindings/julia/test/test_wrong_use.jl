# SPDX-License-Identifier: MIT
# What is used wrongly is answered by the usual exception, with a message that says what to do; never by a crash.

const CC_TARGET = (target="cuda:sm_90", engine="nvrtc", toolchain="1")

struct DateLike end

# The message of the request that has this value as a field.
field_problem(value) = message_of(thrown_by(() -> Request("test"; fields=("f" => value,))))

# Looks up until that throws; what it throws.
function use_until_closed(cache, key, ready)
    wait(ready)
    return thrown_by() do
        while true
            get(cache, key, nothing)
            yield()
        end
    end
end

@testset "wrong use" begin
    @testset "a closed cache" begin
        cache = Cache(; memory=true, ignore_environment=true)
        key = plain_key("a")
        lock = begin_compile(cache, key)
        artifact = put!(cache, plain_key("b"), "a" => "1")
        close(cache)
        close(cache)
        @test !isopen(cache)
        uses = (() -> get(cache, key, nothing), () -> cache[key], () -> put!(cache, key, "a" => "1"), () -> Key(cache, plain_request("a")),
                () -> get_or_compile((_, _) -> "a" => "1", cache, plain_request("a")), () -> get_or_compile(cache, plain_request("a")),
                () -> begin_compile(cache, key), () -> TLCache.stats(cache), () -> TLCache.entries(cache), () -> TLCache.describe(cache),
                () -> TLCache.remove!(cache, key), () -> TLCache.verify(cache), () -> load_module(cache, artifact),
                () -> TLCache.clear!(cache, "test"), () -> TLCache.invalidate!(cache, artifact))
        for use in uses
            exception = thrown_by(use)
            @test exception isa ArgumentError
            @test contains(message_of(exception), "the cache is closed; open it again")
        end
        # What was taken from it goes on.
        @test String(artifact["a"]) == "1"
        @test String(publish!(lock, "a" => "2")["a"]) == "2"
    end

    @testset "a cache that is closed in the middle of calls" begin
        for _ in 1:20
            cache = Cache(; memory=true, ignore_environment=true)
            key = plain_key("a")
            close(put!(cache, key, "a" => "1"))
            ready = Base.Event()
            tasks = [Threads.@spawn(use_until_closed(cache, key, ready)) for _ in 1:8]
            notify(ready)
            sleep(0.005)
            close(cache)
            @test all(task -> fetch(task) isa ArgumentError, tasks)
        end
    end

    @testset "values of no type" begin
        for value in (missing, :symbol, 'c', 1 + 2im, 1 // 2, Set([1]), r"x", sin, big(0.5), DateLike())
            @test contains(field_problem(value), "field `f`: a value of type")
            @test contains(field_problem(value), "give nothing, Bool, Integer")
        end
        @test contains(field_problem([1, Dict("a" => [1, :b])]), "field `f[2].a[2]`")
        @test contains(field_problem(big(2)^64), "out of range")
        @test contains(field_problem(-big(2)^63 - 1), "out of range")
        @test contains(field_problem(Dict(1 => 2)), "give text or a Symbol")
        @test contains(field_problem(zeros(2, 2)), "has no place in a key")
        @test contains(field_problem(String(UInt8[0xff])), "field `f`")
        nested = Any[1]
        for _ in 1:20
            nested = Any[nested]
        end
        @test thrown_by(() -> Request("test"; fields=("f" => nested,))) isa TLCacheError
        endless = Any[]
        push!(endless, endless)
        @test thrown_by(() -> Request("test"; fields=("f" => endless,))) isa TLCacheError
    end

    @testset "wrong requests" begin
        @test thrown_by(() -> Request("a b")).status == TLCache.TLC_E_INVALID
        @test thrown_by(() -> Request("")).status == TLCache.TLC_E_INVALID
        @test thrown_by(() -> Key(Request("test"))).status == TLCache.TLC_E_UNCACHEABLE
        @test thrown_by(() -> Key(Request("test"; CC_TARGET..., target="cuda:native"))).status == TLCache.TLC_E_UNCACHEABLE
        twice = () -> Key(Request("test"; toolchain=NO_TOOLCHAIN, fields=("a" => 1, "a" => 2)))
        @test thrown_by(twice).status == TLCache.TLC_E_INVALID
        @test thrown_by(() -> Request("test"; fields=(1, 2))) isa ArgumentError
        @test contains(message_of(thrown_by(() -> Request("test"; target=5))), "give text, or nothing")
        @test contains(message_of(thrown_by(() -> Request("test"; toolchain=5))), "NO_TOOLCHAIN")
        @test contains(message_of(thrown_by(() -> Request("test"; digest_only="b", fields=(a=1,)))), "not among the fields")
        @test thrown_by(() -> Request(5)) isa MethodError
        @test thrown_by(() -> Key(UInt8[1, 2, 3])) isa TLCacheError
        @test contains(message_of(thrown_by(() -> Digest(UInt8[1]))), "a digest has 32 bytes")
    end

    @testset "wrong bundles" begin
        @test contains(message_of(thrown_by(() -> Bundle("a" => 5))), "give bytes")
        @test contains(message_of(thrown_by(() -> Bundle(5 => "a"))), "give text or a Symbol")
        @test contains(message_of(thrown_by(() -> Bundle("a" => "1"; types=("b" => :source,)))), "not among the members")
        @test contains(message_of(thrown_by(() -> Bundle("a" => "1"; types=("a" => :nonsense,)))), "give one of")
        @test thrown_by(() -> Bundle("a" => "1"; compile_time=-1)) isa ArgumentError
        with_cache() do cache
            for name in ("", "a/b", "..", "a\0b")
                @test thrown_by(() -> put!(cache, plain_key("a"), name => "1")) isa TLCacheError
            end
            @test thrown_by(() -> put!(cache, plain_key("a"), ["a" => "1", "a" => "2"])) isa TLCacheError
            @test thrown_by(() -> put!(cache, plain_key("a"), Bundle())) isa TLCacheError
            @test thrown_by(() -> put!(cache, "no key", "a" => "1")) isa MethodError
            @test thrown_by(() -> get(cache, "no key", nothing)) isa MethodError
            @test !haskey(cache, plain_key("a"))
        end
    end

    @testset "wrong options" begin
        @test thrown_by(() -> Cache(; limit=-1)) isa ArgumentError
        @test thrown_by(() -> Cache(5)) isa MethodError
        @test thrown_by(() -> Cache("/proc/nowhere"; strict=true, ignore_environment=true)) isa TLCacheError
        with_cache() do cache
            @test thrown_by(() -> get_or_compile((_, _) -> "a" => "1", cache, plain_request("a"); timeout=-1)) isa ArgumentError
            @test thrown_by(() -> TLCache.clear!(cache, "")) isa ArgumentError
            @test thrown_by(() -> TLCache.configure!(cache, "limit", "many")) isa TLCacheError
            @test thrown_by(() -> TLCache.stats(cache, "nobody")).status == TLCache.TLC_E_NOT_FOUND
            @test thrown_by(() -> get_or_compile(cache, plain_request("a"))) isa TLCacheError
            @test thrown_by(() -> TLCache.load_plugin("relative.so")) isa TLCacheError
            @test thrown_by(() -> load_module(cache, put!(cache, plain_key("a"), "a" => "1"))) isa TLCacheError
        end
    end
end
