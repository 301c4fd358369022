# SPDX-License-Identifier: MIT
# What Julia adds to a warm hit: get of an artifact and its first member's bytes, against the same calls of C made directly, in
# one process, turn by turn. The goal: at most 50 ns.
#
#   TLCACHE_LIBRARY=/path/libtlcache.so.0 julia -O2 --project=bindings/julia --threads=8 bindings/julia/bench/overhead.jl
#
# Prints nanoseconds a hit: medians of ROUNDS interleaved rounds. Exit code 1 where the goal is missed.

using TLCache

const ROUNDS = 41
const HITS = 20_000
const GOAL = 50.0

# C, from Julia: handle to member pointer, released at once. What a C program does.
function by_c(cache::Ptr, key::Ptr, out, member, hits)
    sum = UInt(0)
    for _ in 1:hits
        TLCache.tlc_cache_get(cache, key, out, C_NULL)
        artifact = out[]
        TLCache.tlc_artifact_find(artifact, "kernel.so", member, C_NULL)
        sum += UInt(member[].data)
        TLCache.tlc_artifact_release(artifact)
    end
    return sum
end

# The same by the package, let go of at once where nothing was lent, and by the garbage collector where a member was.
function by_julia_get(cache, key, hits)
    found = 0
    for _ in 1:hits
        artifact = get(cache, key, nothing)
        found += artifact === nothing ? 0 : 1
    end
    return found
end

function by_julia_member(cache, key, hits)
    sum = UInt(0)
    for _ in 1:hits
        sum += UInt(pointer(cache[key]["kernel.so"]))
    end
    return sum
end

function by_c_get(cache::Ptr, key::Ptr, out, hits)
    found = 0
    for _ in 1:hits
        TLCache.tlc_cache_get(cache, key, out, C_NULL)
        TLCache.tlc_artifact_release(out[])
        found += 1
    end
    return found
end

nanoseconds(f) = (started = time_ns(); f(); (time_ns() - started) / HITS)

middle(numbers) = sort(numbers)[(length(numbers) + 1) ÷ 2]

# Medians of each of the functions, taken in turn.
function measure(functions)
    foreach(f -> f(), functions)    # compiled before
    times = [Float64[] for _ in functions]
    for _ in 1:ROUNDS
        GC.gc(false)
        for (f, into) in zip(functions, times)
            push!(into, nanoseconds(f))
        end
    end
    return map(middle, times)
end

function bench()
    missed = false
    mktempdir() do folder
        Cache(joinpath(folder, "store"); ignore_environment=true) do cache
            key = Key(Request("bench"; toolchain=NO_TOOLCHAIN, fields=(name="kernel",)))
            close(put!(cache, key, "kernel.so" => zeros(UInt8, 16384)))
            out = Ref{Ptr{TLCache.tlc_artifact}}(C_NULL)
            member = Ref(TLCache.tlc_member(TLCache.size_to_last(TLCache.tlc_member), TLCache.EMPTY_STR, C_NULL, 0, 0))
            GC.@preserve cache key begin
                c_get, c_member, julia_get, julia_member = measure((
                    () -> by_c_get(cache.ptr, key.ptr, out, HITS), () -> by_c(cache.ptr, key.ptr, out, member, HITS),
                    () -> by_julia_get(cache, key, HITS), () -> by_julia_member(cache, key, HITS)))
                show_line("get", c_get, julia_get)
                show_line("get and member", c_member, julia_member)
                missed = julia_get - c_get > GOAL || julia_member - c_member > 2 * GOAL
            end
            threads = Threads.nthreads()
            if threads > 1
                one = nanoseconds(() -> by_julia_get(cache, key, HITS))
                all_of_them = nanoseconds(() -> foreach(wait, [Threads.@spawn(by_julia_get(cache, key, HITS)) for _ in 1:threads]))
                println("$threads threads on one key: ", round(threads * one / all_of_them; digits=1), " x one")
            end
        end
    end
    return missed
end

function show_line(what, c, julia)
    println(rpad(what, 16), " C ", lpad(round(c; digits=1), 7), " ns   Julia ", lpad(round(julia; digits=1), 7), " ns   more: ",
            round(julia - c; digits=1), " ns")
    return nothing
end

exit(bench() ? 1 : 0)
