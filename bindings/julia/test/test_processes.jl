# SPDX-License-Identifier: MIT
# Several processes of Julia on one store; and a process that ends in the middle of things.

# Compiles (counted by a byte in a file) or finds, and prints what it has.
const WORKER = """
using TLCache
folder = ENV["TEST_FOLDER"]
Cache(joinpath(folder, "store"); ignore_environment=true) do cache
    request = Request("test"; toolchain=NO_TOOLCHAIN, fields=(name="a",))
    artifact = get_or_compile(cache, request) do _, _
        open(io -> write(io, "x"), joinpath(folder, "compiles"), "a")
        sleep(1)
        "a" => "made"
    end
    print(String(artifact["a"]))
end
"""

# Ends without closing anything, holding all there is to hold.
const LEAVER = """
using TLCache
cache = Cache(joinpath(ENV["TEST_FOLDER"], "store"); ignore_environment=true)
held = put!(cache, Key(Request("test"; toolchain=NO_TOOLCHAIN, fields=(name="held",))), "a" => "1")
member = held["a"]
lock_held = begin_compile(cache, Key(Request("test"; toolchain=NO_TOOLCHAIN, fields=(name="locked",))))
Threads.@spawn get_or_compile((_, _) -> (sleep(60); "a" => "1"), cache, Request("test"; toolchain=NO_TOOLCHAIN, fields=(name="slow",)))
sleep(0.1)
print("left")
"""

@testset "processes" begin
    @testset "one compile among processes" begin
        mktempdir() do folder
            tasks = [@async(run_julia(WORKER; environment=("TEST_FOLDER" => folder,))) for _ in 1:3]
            for task in tasks
                ok, said = fetch(task)
                @test ok
                @test endswith(said, "made")
            end
            @test filesize(joinpath(folder, "compiles")) == 1
        end
    end

    @testset "a process that just ends" begin
        mktempdir() do folder
            ok, said = run_julia(LEAVER; environment=("TEST_FOLDER" => folder,))
            @test ok
            @test endswith(said, "left")
            Cache(joinpath(folder, "store"); ignore_environment=true) do cache
                @test haskey(cache, plain_key("held"))
                lock = begin_compile(cache, plain_key("locked"); timeout=5)
                @test lock isa CompileLock
                abandon!(lock)
            end
        end
    end
end
