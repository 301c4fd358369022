# SPDX-License-Identifier: MIT
# What the tests share: caches in folders of their own, requests, a reader of JSON, figures of this process.

# Calls f with a cache in a new folder, untouched by the environment.
function with_cache(f; options...)
    mktempdir() do folder
        Cache(f, joinpath(folder, "store"); ignore_environment=true, strict=true, options...)
    end
end

# A request that nothing has to compile, and its key.
plain_request(name; more...) = Request("test"; toolchain=NO_TOOLCHAIN, fields=(name=name,), more...)
plain_key(name; more...) = Key(plain_request(name; more...))

# The exception that f throws, or nothing.
function thrown_by(f)
    try
        f()
    catch exception
        return exception
    end
    return nothing
end
message_of(exception) = exception === nothing ? "nothing was thrown" : sprint(showerror, exception)

# Resident bytes of this process, and its open files.
resident_bytes() = parse(Int, split(read("/proc/self/statm", String))[2]) * 4096
open_files() = length(readdir("/proc/self/fd"))

# Runs Julia with this project on some code; returns (succeeded, output).
function run_julia(code; environment=())
    out = IOBuffer()
    command = `$(Base.julia_cmd()) --startup-file=no --project=$(dirname(Base.active_project())) -e $code`
    done = run(pipeline(ignorestatus(addenv(command, environment...)); stdout=out, stderr=out))
    return (success(done), String(take!(out)))
end

# ---------------------------------------------------------------- JSON, as far as the tests need it

mutable struct JsonReader
    text::String
    at::Int
end

read_json(text::AbstractString) = read_value(JsonReader(String(text), 1))

function skip_space(reader::JsonReader)
    while reader.at <= ncodeunits(reader.text) && codeunit(reader.text, reader.at) in (0x20, 0x09, 0x0a, 0x0d)
        reader.at += 1
    end
    return nothing
end

function expect(reader::JsonReader, word::String)
    startswith(SubString(reader.text, reader.at), word) || error("JSON: expected $word at byte $(reader.at)")
    reader.at += ncodeunits(word)
    return nothing
end

function read_value(reader::JsonReader)
    skip_space(reader)
    c = reader.text[reader.at]
    if c == '{'
        return read_object(reader)
    elseif c == '['
        return read_array(reader)
    elseif c == '"'
        return read_text(reader)
    elseif c == 't'
        expect(reader, "true")
        return true
    elseif c == 'f'
        expect(reader, "false")
        return false
    elseif c == 'n'
        expect(reader, "null")
        return nothing
    end
    return read_number(reader)
end

function read_object(reader::JsonReader)
    out = Dict{String,Any}()
    expect(reader, "{")
    skip_space(reader)
    if reader.text[reader.at] == '}'
        reader.at += 1
        return out
    end
    while true
        skip_space(reader)
        name = read_text(reader)
        skip_space(reader)
        expect(reader, ":")
        out[name] = read_value(reader)
        skip_space(reader)
        ends = reader.text[reader.at] == '}'
        expect(reader, ends ? "}" : ",")
        ends && return out
    end
end

function read_array(reader::JsonReader)
    out = Any[]
    expect(reader, "[")
    skip_space(reader)
    if reader.text[reader.at] == ']'
        reader.at += 1
        return out
    end
    while true
        push!(out, read_value(reader))
        skip_space(reader)
        ends = reader.text[reader.at] == ']'
        expect(reader, ends ? "]" : ",")
        ends && return out
    end
end

const ESCAPES = Dict('"' => '"', '\\' => '\\', '/' => '/', 'b' => '\b', 'f' => '\f', 'n' => '\n', 'r' => '\r', 't' => '\t')

function read_text(reader::JsonReader)
    expect(reader, "\"")
    out = IOBuffer()
    while true
        c = reader.text[reader.at]
        reader.at = nextind(reader.text, reader.at)
        if c == '"'
            return String(take!(out))
        elseif c != '\\'
            print(out, c)
            continue
        end
        escape = reader.text[reader.at]
        reader.at += 1
        print(out, escape == 'u' ? read_unicode(reader) : ESCAPES[escape])
    end
end

# After \u: four hex digits, and the second half of a surrogate pair.
function read_unicode(reader::JsonReader)
    code = read_four(reader)
    if 0xd800 <= code <= 0xdbff
        expect(reader, "\\u")
        code = 0x10000 + ((code - 0xd800) << 10) + (read_four(reader) - 0xdc00)
    end
    return Char(code)
end

function read_four(reader::JsonReader)
    digits = SubString(reader.text, reader.at, reader.at + 3)
    reader.at += 4
    return parse(UInt32, digits; base=16)
end

function read_number(reader::JsonReader)
    found = match(r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", SubString(reader.text, reader.at))
    found === nothing && error("JSON: no value at byte $(reader.at)")
    reader.at += ncodeunits(found.match)
    whole = found.captures[1] === nothing && found.captures[2] === nothing
    return whole ? parse(Int, found.match) : parse(Float64, found.match)
end

# ---------------------------------------------------------------- fields as the conformance files give them

# A vector that Julia's types cannot say.
struct NotExpressible <: Exception end

vector_text(value::AbstractString) = String(value)
vector_text(value::AbstractDict) = String(hex2bytes(value["hex"]))

vector_fields(fields) = Pair{String,Any}[vector_text(field["name"]) => vector_value(field) for field in fields]

function vector_map(fields)
    given = vector_fields(fields)
    length(unique(first.(given))) == length(given) || throw(NotExpressible())    # a name twice in a Dict
    return Dict{String,Any}(given)
end

function vector_value(field)
    kind = field["type"]
    value = get(field, "value", nothing)
    if kind == "null" || kind == "bool"
        return value
    elseif kind == "int"
        return parse(BigInt, value)
    elseif kind == "f64"
        return reinterpret(Float64, parse(UInt64, value[3:end]; base=16))
    elseif kind == "f32"
        return reinterpret(Float32, parse(UInt32, value[3:end]; base=16))
    elseif kind == "text"
        return vector_text(value)
    elseif kind == "bytes"
        return hex2bytes(value)
    elseif kind == "digest"
        return Digest(value)
    end
    any(item -> !isempty(get(item, "flags", [])), value) && throw(NotExpressible())    # flags inside a list or map
    kind == "list" && return Any[vector_value(item) for item in value]
    return vector_map(value)
end
