# SPDX-License-Identifier: MIT
# The tests of the Julia package. They need libtlcache (TLCACHE_LIBRARY) and nothing but Julia's standard library:
#
#   TLCACHE_LIBRARY=/path/libtlcache.so.0 julia --project=bindings/julia --threads=4 bindings/julia/test/runtests.jl [NAME...]
#
# TLC_TEST_LONG=1: the long version of the soak tests (a million gets). TLC_JUNIT=FILE: a report as JUnit XML.

using Test
using TLCache

include("support.jl")

const FILES = ["library", "keys", "conformance", "scenarios", "artifacts", "flow", "wrong_use", "cpu", "reports", "processes", "examples", "tour", "soak"]

function escaped(text)
    for (plain, entity) in ('&' => "&amp;", '<' => "&lt;", '>' => "&gt;", '"' => "&quot;")
        text = replace(text, plain => entity)
    end
    return text
end

# A test that could not run says why; the report has it as skipped.
const SKIPPED = Pair{String,String}[]
skip_test(name, reason) = (push!(SKIPPED, name => reason); println("skipped: ", name, ": ", reason); nothing)

function write_report(path, results)
    open(path, "w") do io
        println(io, "<testsuites><testsuite name=\"julia\">")
        for (name, seconds, problem) in results
            print(io, "<testcase classname=\"julia\" name=\"", name, "\" time=\"", round(seconds; digits=3), "\">")
            problem === nothing || print(io, "<failure message=\"", escaped(problem), "\"/>")
            println(io, "</testcase>")
        end
        for (name, reason) in SKIPPED
            println(io, "<testcase classname=\"julia\" name=\"", escaped(name), "\"><skipped message=\"", escaped(reason), "\"/></testcase>")
        end
        println(io, "</testsuite></testsuites>")
    end
end

function run_files(names)
    results = Tuple{String,Float64,Union{Nothing,String}}[]
    for name in names
        started = time()
        problem = nothing
        try
            include(joinpath(@__DIR__, "test_$name.jl"))
        catch exception
            problem = String(first(split(sprint(showerror, exception), '\n')))
            println(stderr, "test_$name.jl: ", sprint(showerror, exception))
        end
        push!(results, (name, time() - started, problem))
    end
    return results
end

results = run_files(isempty(ARGS) ? FILES : ARGS)
haskey(ENV, "TLC_JUNIT") && write_report(ENV["TLC_JUNIT"], results)
failed = [name for (name, _, problem) in results if problem !== nothing]
println(isempty(failed) ? "all files passed" : "failed: " * join(failed, ", "))
isempty(failed) || exit(1)
