# SPDX-License-Identifier: MIT
# Handles and memory stay flat: many gets, artifacts dropped in any order, tasks that die, finalizers on every thread.
# TLC_TEST_LONG=1: a million gets.

const GETS = get(ENV, "TLC_TEST_LONG", "") == "1" ? 1_000_000 : 100_000

# Gets and drops in an order of its own: a window of artifacts and members, of which a random one is replaced each time.
function churn(cache, keys, gets, seed)
    window = Vector{Any}(nothing, 64)
    state = UInt64(seed)
    total = 0
    for i in 1:gets
        state = state * 0x5851f42d4c957f2d + 0x14057b7ef767814f
        artifact = cache[keys[(state >> 33) % length(keys) + 1]]
        member = artifact["a"]
        total += member[1]
        slot = (state >> 40) % 64 + 1
        # A member alone, an artifact alone, one that is closed early.
        window[slot] = i % 3 == 0 ? artifact : i % 3 == 1 ? member : nothing
        i % 7 == 0 && close(artifact)
    end
    return total
end

# The same as many times, by tasks of all threads; allocates enough for many collections.
function churn_everywhere(cache, keys, gets)
    tasks = [Threads.@spawn(churn(cache, keys, gets ÷ 4, seed)) for seed in 1:4]
    return sum(fetch, tasks)
end

function collect_until(stop)
    while !stop[]
        GC.gc(false)
        yield()
    end
end

@testset "soak" begin
    @testset "gets" begin
        with_cache() do cache
            keys = [plain_key("k$i") for i in 1:100]
            for (i, key) in enumerate(keys)
                close(put!(cache, key, "a" => fill(UInt8(i), 4096)))
            end
            churn_everywhere(cache, keys, GETS ÷ 4)    # what there is to compile and to map
            GC.gc(true)
            resident, files = resident_bytes(), open_files()
            @test churn_everywhere(cache, keys, GETS) > 0
            GC.gc(true)
            @test resident_bytes() - resident < 64 << 20
            @test open_files() <= files
            @test TLCache.stats(cache).memory_bytes == 0
            # Nothing is held any more, so an eviction gives all of it back.
            TLCache.clear!(cache, nothing)
            TLCache.collect_garbage!(cache; max_bytes=1)
            @test TLCache.stats(cache).entries == 0
        end
    end

    @testset "objects of every kind" begin
        with_cache() do cache
            make = function (i)
                request = plain_request("r$(i % 10)")
                key = Key(cache, request)
                lock = try
                    begin_compile(cache, key; timeout=0)
                catch exception
                    exception isa TLCacheError || rethrow()
                end
                # Locks are lost every now and then; the others are ended in one of three ways.
                if lock isa CompileLock && i % 5 != 0
                    i % 3 == 0 ? abandon!(lock) : i % 3 == 1 ? fail!(lock, "x") : close(publish!(lock, "a" => "1"))
                end
                i % 11 == 0 && TLCache.remove!(cache, key)
                return nothing
            end
            foreach(make, 1:200)
            GC.gc(true)
            sleep(0.1)
            files = open_files()
            foreach(make, 1:3000)
            GC.gc(true)
            sleep(0.1)
            @test open_files() <= files + 2
        end
    end

    @testset "caches that nobody closes" begin
        mktempdir() do folder
            open_one = i -> (Cache(joinpath(folder, "store"); ignore_environment=true); nothing)
            foreach(open_one, 1:5)
            GC.gc(true)
            sleep(0.2)
            files = open_files()
            for _ in 1:10
                foreach(open_one, 1:20)
                GC.gc(true)
                sleep(0.05)
            end
            @test open_files() <= files + 10
        end
    end

    @testset "tasks that die" begin
        with_cache() do cache
            compile = (_, _) -> (sleep(0.001); error("dies"))
            tasks = [Threads.@spawn(get_or_compile(compile, cache, plain_request("t$(i % 20)"))) for i in 1:400]
            @test all(task -> thrown_by(() -> wait(task)) isa TaskFailedException, tasks)
            @test isempty(TLCache.FLIGHTS)
            @test String(get_or_compile((_, _) -> "a" => "1", cache, plain_request("t1"))["a"]) == "1"
        end
    end

    @testset "garbage collections while calls wait" begin
        with_cache() do cache
            stop = Threads.Atomic{Bool}(false)
            collector = Threads.@spawn(collect_until(stop))
            for i in 1:200
                made = get_or_compile((_, _) -> Dict("a" => string(i), "b" => zeros(UInt8, 10_000)), cache, plain_request("g$i"))
                @test String(made["a"]) == string(i)
            end
            stop[] = true
            wait(collector)
        end
    end
end
