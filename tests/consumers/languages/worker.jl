# SPDX-License-Identifier: MIT
# The worker of languages.py in Julia; worker.py says what each command does. usage: worker.jl FOLDER NOTES NAME
using TLCache

const CONTENT_SIZE = 4096
const ROWS, COLUMNS = 37, 129
const FOLDER, NOTES, NAME = ARGS
const CACHE = Cache(FOLDER; strict=true, ignore_environment=true)

# What every language makes of a key: its name and a zero byte, again and again.
function content(key)
    text = vcat(Vector{UInt8}(key), 0x00)
    return [text[(i - 1) % length(text) + 1] for i in 1:CONTENT_SIZE]
end

request_of(key) = Request("languages"; toolchain=NO_TOOLCHAIN, fields=(name=key, numbers=Any[length(key), 0.5]))
members(key) = ("code" => content(key), "maker" => NAME)

function taken(key, artifact)
    artifact["code"] == content(key) || error("worker in Julia: the content of $key is another")
    return String(artifact["maker"])
end

function compile(key; hold=false)
    artifact = get_or_compile(CACHE, request_of(key)) do _, _
        open(io -> write(io, "$NAME $(getpid()) $key\n"), NOTES, "a")
        sleep(hold ? 1.0e6 : 0.005)
        Bundle(members(key)...)
    end
    return taken(key, artifact)
end

# A real kernel of the folder, by the cpu backend, on arrays of Julia.
function softmax(folder)
    fields = (source=read(joinpath(folder, "softmax.c"), String), language="c", options=["-O3", "-lm", "-iquote", folder])
    artifact = get_or_compile(CACHE, Request("languages"; target="cpu:native", fields=fields))
    kernel = load_module(CACHE, artifact)
    x = Float32[((i * 7 + 3) % 23 - 11) / 8 for i in 0:(ROWS * COLUMNS - 1)]
    y = zeros(Float32, ROWS * COLUMNS)
    GC.@preserve kernel ccall(symbol(kernel, "softmax"), Cvoid, (Ptr{Float32}, Ptr{Float32}, Cint, Cint), x, y, ROWS, COLUMNS)
    hash = foldl((h, byte) -> (h ⊻ byte) * 1099511628211, reinterpret(UInt8, y); init=14695981039346656037 % UInt64)
    return "$hash $(artifact.log === nothing ? "found" : "compiled")"
end

function command(line)
    word, rest... = split(line)
    if word == "hammer"
        count, seed = parse.(Int, rest)
        foreach(i -> compile("key-$((seed + i * (2seed + 1)) & (count - 1))"), 0:(count - 1))
        return join((compile("key-$i") for i in 0:(count - 1)), " ")
    end
    key = String(rest[1])
    word == "softmax" && return softmax(key)
    word == "compile" && return compile(key)
    word == "hold" && return compile(key; hold=true)
    word == "put" && return taken(key, put!(CACHE, Key(CACHE, request_of(key)), members(key)...))
    word == "get" || error(line)
    artifact = get(CACHE, Key(CACHE, request_of(key)), nothing)
    return artifact === nothing ? "miss" : taken(key, artifact)
end

println("ready")
flush(stdout)
for line in eachline(stdin)
    println(command(line))
    flush(stdout)
end
