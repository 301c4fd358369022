# SPDX-License-Identifier: MIT
# One compile for many: tasks of this process, compiles that throw, that wait, that ask for their own key, that die.

# A compile that gives way again and again, and so may move to another thread.
function wandering(i)
    return function (_, _)
        for _ in 1:20
            yield()
            sleep(0.001)
        end
        return "a" => fetch(Threads.@spawn(string(i)))
    end
end

@testset "flow" begin
    @testset "compiled once" begin
        with_cache() do cache
            request = plain_request("a"; label="for people")
            compiles = 0
            made = get_or_compile(cache, request) do given, key
                compiles += 1
                @test given === request
                @test key == plain_key("a")
                Bundle("a" => given.fields["name"]; log="a warning")
            end
            @test String(made["a"]) == "a"
            @test made.log == "a warning"
            @test TLCache.info(made).label == "for people"
            found = get_or_compile((_, _) -> error("compiled again"), cache, request)
            @test String(found["a"]) == "a"
            @test found.log === nothing
            @test compiles == 1
            now = TLCache.stats(cache, "test")
            @test now.compiles == 1
            @test now.hits >= 1
        end
    end

    @testset "many tasks, one compile" begin
        with_cache() do cache
            compiles = Threads.Atomic{Int}(0)
            compile = (_, _) -> (Threads.atomic_add!(compiles, 1); sleep(0.2); Dict("a" => "1"))
            for spawn in (f -> Threads.@spawn(f()), f -> @async(f()))
                compiles[] = 0
                name = "many $(objectid(spawn))"
                tasks = [spawn(() -> get_or_compile(compile, cache, plain_request(name))) for _ in 1:50]
                @test all(task -> String(fetch(task)["a"]) == "1", tasks)
                @test compiles[] == 1
            end
            @test isempty(TLCache.FLIGHTS)
        end
    end

    @testset "several caches of one store" begin
        mktempdir() do folder
            caches = [Cache(folder; ignore_environment=true) for _ in 1:4]
            compiles = Threads.Atomic{Int}(0)
            compile = (_, _) -> (Threads.atomic_add!(compiles, 1); sleep(0.2); Dict("a" => "1"))
            tasks = [Threads.@spawn(get_or_compile(compile, cache, plain_request("a"))) for cache in caches]
            @test all(task -> String(fetch(task)["a"]) == "1", tasks)
            @test compiles[] == 1
            foreach(close, caches)
        end
    end

    @testset "a compile that throws" begin
        with_cache() do cache
            request = plain_request("a")
            @test thrown_by(() -> get_or_compile((_, _) -> throw(DomainError(1, "mine")), cache, request)) isa DomainError
            failed = thrown_by(() -> get_or_compile((_, _) -> throw(CompileError("bad source"; log="line 1")), cache, request))
            @test failed isa CompileError
            @test failed.log == "line 1"
            @test contains(message_of(failed), "bad source")
            @test contains(message_of(thrown_by(() -> get_or_compile((_, _) -> 5, cache, request))), "members are pairs")
            @test contains(message_of(thrown_by(() -> get_or_compile((_, _) -> Bundle(), cache, request))), "no members")
            # Nothing is left behind: the next one compiles.
            @test String(get_or_compile((_, _) -> "a" => "1", cache, request)["a"]) == "1"
            @test isempty(TLCache.FLIGHTS)
        end
    end

    @testset "those who wait get the failure" begin
        with_cache() do cache
            compiles = Threads.Atomic{Int}(0)
            compile = (_, _) -> (Threads.atomic_add!(compiles, 1); sleep(0.3); throw(CompileError("bad source")))
            tasks = [Threads.@spawn(thrown_by(() -> get_or_compile(compile, cache, plain_request("a")))) for _ in 1:10]
            outcomes = map(fetch, tasks)
            @test all(outcome -> outcome isa CompileError, outcomes)
            @test compiles[] < 10
        end
    end

    @testset "a failure that is kept" begin
        with_cache() do cache
            request = plain_request("a")
            compile = (_, _) -> throw(CompileError("bad source"))
            @test thrown_by(() -> get_or_compile(compile, cache, request; keep_failure=true)) isa CompileError
            again = thrown_by(() -> get_or_compile((_, _) -> error("compiled again"), cache, request; keep_failure=true))
            @test again isa CompileError
            @test contains(again.message, "bad source")
            # Who does not ask for it compiles.
            @test haskey(get_or_compile((_, _) -> "a" => "1", cache, request), "a")
            @test haskey(get_or_compile((_, _) -> error("compiled again"), cache, request; keep_failure=true), "a")
        end
    end

    @testset "a compile that asks for its own key" begin
        with_cache() do cache
            request = plain_request("a")
            made = get_or_compile(cache, request) do _, _
                inner = get_or_compile((_, _) -> "a" => "inner", cache, request)
                "a" => String(inner["a"]) * " and outer"
            end
            @test String(made["a"]) == "inner"    # it was there when the outer one published
        end
    end

    @testset "a compile that moves to another thread" begin
        with_cache() do cache
            tasks = [Threads.@spawn(get_or_compile(wandering(i), cache, plain_request("moves $i"))) for i in 1:20]
            @test [String(fetch(task)["a"]) for task in tasks] == string.(1:20)
        end
    end

    @testset "incomplete artifacts" begin
        with_cache() do cache
            put!(cache, plain_key("a"), "a" => "1")
            request = plain_request("a"; require=["a", "b"])
            made = get_or_compile((_, _) -> Dict("a" => "2", "b" => "3"), cache, request)
            @test String(made["b"]) == "3"
            lacking = plain_request("c"; require="b")
            @test contains(message_of(thrown_by(() -> get_or_compile((_, _) -> "a" => "1", cache, lacking))), "b")
        end
    end

    @testset "closed look-ups" begin
        with_cache() do cache
            part, whole = plain_key("part"), plain_request("whole")
            put!(cache, part, "a" => "1")
            compiles = 0
            compile = (_, _) -> (compiles += 1; require!(Bundle("a" => "1"), part))
            get_or_compile(compile, cache, whole; closed=true)
            get_or_compile(compile, cache, whole; closed=true)
            @test compiles == 1
            TLCache.remove!(cache, part)
            get_or_compile(compile, cache, whole)
            @test compiles == 1
            get_or_compile(compile, cache, whole; closed=true)
            @test compiles == 2
        end
    end

    @testset "compile locks" begin
        with_cache() do cache
            key = plain_key("a")
            lock = begin_compile(cache, key)
            @test lock isa CompileLock
            @test isopen(lock)
            waits = Threads.@spawn begin_compile(cache, key; timeout=30)
            timed_out = thrown_by(() -> begin_compile(cache, key; timeout=0))
            @test timed_out isa TLCacheError
            @test timed_out.status == TLCache.TLC_TIMEOUT
            @test contains(timed_out.message, "compile for yourself")
            made = publish!(lock, "a" => "1"; label="l")
            @test String(made["a"]) == "1"
            @test !isopen(lock)
            @test fetch(waits) isa Artifact
            for use in (l -> publish!(l, "a" => "1"), l -> fail!(l, "x"))
                @test contains(message_of(thrown_by(() -> use(lock))), "ended already")
            end
            @test abandon!(lock) === nothing
            @test begin_compile(cache, key) isa Artifact

            other = plain_key("b")
            abandon!(begin_compile(cache, other))
            fail!(begin_compile(cache, other), "bad source")
            @test String(begin_compile(_ -> "a" => "2", cache, other)["a"]) == "2"
            third = plain_key("c")
            @test thrown_by(() -> begin_compile(_ -> error("mine"), cache, third)) isa ErrorException
            @test String(begin_compile(lock -> publish!(lock, "a" => "3"), cache, third)["a"]) == "3"
        end
    end

    @testset "a task that dies with the lock" begin
        with_cache() do cache
            key = plain_key("a")
            task = @async (begin_compile(cache, key); error("dies"))
            @test thrown_by(() -> wait(task)) isa TaskFailedException
            task = nothing
            next = nothing
            for _ in 1:50
                GC.gc(true)
                next = TLCache.try_begin(cache, key)
                next === nothing || break
                sleep(0.1)
            end
            @test next isa CompileLock
            abandon!(next)
        end
    end

    @testset "a wait that is interrupted" begin
        with_cache() do cache
            key = plain_key("a")
            lock = begin_compile(cache, key)
            waits = @async get_or_compile((_, _) -> "a" => "1", cache, plain_request("a"))
            sleep(0.2)
            schedule(waits, InterruptException(); error=true)
            @test thrown_by(() -> wait(waits)) isa TaskFailedException
            abandon!(lock)
            @test String(get_or_compile((_, _) -> "a" => "2", cache, plain_request("a"))["a"]) == "2"
            @test isempty(TLCache.FLIGHTS)
        end
    end
end
