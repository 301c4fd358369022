# SPDX-License-Identifier: MIT
# The scenarios that every language is tested with (tests/conformance/scenarios.json): the same steps, the same outcomes.

const SCENARIOS = joinpath(@__DIR__, "..", "..", "..", "tests", "conformance", "scenarios.json")

# What a scenario has by name: caches, artifacts, locks; and the folder that is its own.
struct Stage
    folder::String
    requests::Dict{String,Any}
    caches::Dict{String,Cache}
    artifacts::Dict{String,Artifact}
    locks::Dict{String,CompileLock}
end
Stage(folder, requests) = Stage(folder, requests, Dict{String,Cache}(), Dict{String,Artifact}(), Dict{String,CompileLock}())

# What a step came to.
struct Outcome
    status::Int32
    artifact::Union{Nothing,Artifact}
    message::String
end
Outcome(status::Integer) = Outcome(Int32(status), nothing, "")
Outcome(artifact::Artifact) = Outcome(artifact.status, artifact, artifact.reason)
Outcome(::Nothing) = Outcome(TLCache.TLC_OK)
hit_or_miss(artifact) = artifact === nothing ? Outcome(TLCache.TLC_MISS) : Outcome(artifact)
done_or_miss(done::Bool) = Outcome(done ? TLCache.TLC_OK : TLCache.TLC_MISS)

outcome_of(exception::TLCacheError) = Outcome(exception.status, nothing, exception.message)
outcome_of(exception::CompileError) = Outcome(TLCache.TLC_E_COMPILE, nothing, exception.message)

status_value(name) = Int32(getfield(TLCache, Symbol(name)))

member_bytes(value::AbstractString) = Vector{UInt8}(codeunits(String(value)))
member_bytes(value::AbstractDict) = haskey(value, "hex") ? hex2bytes(value["hex"]) : member_bytes(value["repeat"]^value["times"])
members_of(step) = Dict{String,Vector{UInt8}}(name => member_bytes(value) for (name, value) in step["members"])

function request_of(stage::Stage, name)
    given = stage.requests[name]
    toolchain = get(given, "toolchain", nothing)
    return Request(given["namespace"]; target=get(given, "target", nothing), engine=get(given, "engine", nothing),
                   toolchain=toolchain == "none" ? NO_TOOLCHAIN : toolchain === nothing ? nothing : hex2bytes(toolchain),
                   label=get(given, "label", nothing), fields=vector_fields(given["fields"]), require=get(given, "require", String[]))
end
key_of(stage::Stage, name) = Key(request_of(stage, name))

cache_of(stage::Stage, step) = stage.caches[get(step, "cache", "c")]

function bundle_of(stage::Stage, step)
    bundle = Bundle(members_of(step); label=get(step, "label", nothing))
    for name in get(step, "requires", String[])
        require!(bundle, key_of(stage, name))
    end
    return bundle
end

# ---------------------------------------------------------------- steps

function step_open(stage, step)
    options = Dict(Symbol(name) => true for name in get(step, "options", String[]))
    folder = joinpath(stage.folder, get(step, "folder", "store"))
    stage.caches[get(step, "cache", "c")] = Cache(folder; ignore_environment=true, limit=get(step, "limit", 0), options...)
    return nothing
end

function step_close(stage, step)
    close(pop!(stage.caches, get(step, "cache", "c")))
    return nothing
end

step_file(stage, step) = (write(joinpath(stage.folder, step["folder"]), "no folder"); nothing)
step_key(stage, step) = (key_of(stage, step["request"]); nothing)
step_cache_key(stage, step) = (Key(cache_of(stage, step), request_of(stage, step["request"])); nothing)
step_get(stage, step) = hit_or_miss(get(cache_of(stage, step), key_of(stage, step["key"]), nothing))
step_put(stage, step) = put!(cache_of(stage, step), key_of(stage, step["key"]), bundle_of(stage, step))
step_remove(stage, step) = done_or_miss(TLCache.remove!(cache_of(stage, step), key_of(stage, step["key"])))
step_invalidate(stage, step) = done_or_miss(TLCache.invalidate!(cache_of(stage, step), stage.artifacts[step["artifact"]]))
step_link(stage, step) = TLCache.link!(cache_of(stage, step), key_of(stage, step["from"]), key_of(stage, step["to"]))

function step_replace(stage, step)
    seen = step["seen"] === nothing ? nothing : stage.artifacts[step["seen"]]
    return TLCache.replace_generation!(cache_of(stage, step), key_of(stage, step["key"]), bundle_of(stage, step); seen=seen)
end

function step_amend(stage, step)
    return TLCache.amend!(cache_of(stage, step), key_of(stage, step["key"]), bundle_of(stage, step); seen=stage.artifacts[step["seen"]])
end

function step_clear(stage, step)
    @test TLCache.clear!(cache_of(stage, step), step["namespace"]) == step["removed"]
    return nothing
end

function step_find(stage, step)
    digits = bytes2hex(key_of(stage, step["key"]).digest)[1:step["digits"]]
    return hit_or_miss(TLCache.find_artifact(cache_of(stage, step), digits))
end

function step_begin(stage, step)
    turn = begin_compile(cache_of(stage, step), key_of(stage, step["key"]); timeout=get(step, "timeout_ms", 0) / 1000)
    turn isa Artifact && return turn
    stage.locks[step["lock"]] = turn
    return Outcome(TLCache.TLC_LOCKED)
end

step_publish(stage, step) = publish!(stage.locks[step["lock"]], bundle_of(stage, step))
step_abandon(stage, step) = abandon!(stage.locks[step["lock"]])
step_fail(stage, step) = fail!(stage.locks[step["lock"]], step["text"]; status=status_value(step["status"]))

function step_member(stage, step)
    artifact = stage.artifacts[step["artifact"]]
    haskey(artifact, step["name"]) && return nothing
    @test thrown_by(() -> artifact[step["name"]]) isa KeyError
    return Outcome(TLCache.TLC_E_NOT_FOUND, nothing, join(keys(artifact), ", "))
end

function step_check(stage, step)
    artifact = stage.artifacts[step["artifact"]]
    wanted = members_of(step)
    @test sort!(collect(keys(artifact))) == sort!(collect(keys(wanted)))
    for (name, bytes) in wanted
        @test artifact[name] == bytes
        @test TLCache.read_member(artifact, name) == bytes
    end
    facts = TLCache.info(artifact)
    haskey(step, "namespace") && @test facts.namespace == step["namespace"]
    haskey(step, "label") && @test facts.label == step["label"]
    return nothing
end

function step_stats(stage, step)
    now = TLCache.stats(cache_of(stage, step), get(step, "namespace", nothing))
    for (name, value) in get(step, "is", Dict{String,Any}())
        @test getproperty(now, Symbol(name)) == value
    end
    return nothing
end

# The compile function of a step; says that it ran.
function compile_of(step, ran)
    compile = step["compile"]
    return function (_, _)
        ran[] = true
        if haskey(compile, "fails")
            status = status_value(compile["fails"])
            status == TLCache.TLC_E_COMPILE && throw(CompileError(compile["text"]; log=get(compile, "log", "")))
            throw(TLCacheError(status, compile["text"]))
        end
        return Bundle(members_of(compile); log=get(compile, "log", ""))
    end
end

function step_get_or_compile(stage, step)
    ran = Ref(false)
    log = ""
    outcome = try
        made = get_or_compile(compile_of(step, ran), cache_of(stage, step), request_of(stage, step["request"]);
                              keep_failure=get(step, "keep_failure", false), closed=get(step, "closed", false))
        log = something(made.log, "")
        Outcome(made)
    catch exception
        exception isa Union{TLCacheError,CompileError} || rethrow()
        exception isa CompileError && (log = exception.log)
        outcome_of(exception)
    end
    haskey(step, "compiled") && @test ran[] == step["compiled"]
    haskey(step, "log") && @test log == step["log"]
    return outcome
end

const STEPS = Dict{String,Function}(
    "open" => step_open, "close" => step_close, "file" => step_file, "key" => step_key, "cache_key" => step_cache_key, "get" => step_get,
    "put" => step_put, "remove" => step_remove, "invalidate" => step_invalidate, "link" => step_link, "replace" => step_replace,
    "amend" => step_amend, "clear" => step_clear, "find" => step_find, "begin" => step_begin, "publish" => step_publish,
    "abandon" => step_abandon, "fail" => step_fail, "member" => step_member, "check" => step_check, "stats" => step_stats,
    "get_or_compile" => step_get_or_compile,
)

as_outcome(outcome::Outcome) = outcome
as_outcome(other) = Outcome(other)

function run_step(stage, step)
    outcome = try
        as_outcome(STEPS[step["do"]](stage, step))
    catch exception
        exception isa Union{TLCacheError,CompileError} || rethrow()
        outcome_of(exception)
    end
    expected = get(step, "expect", "TLC_OK")
    names = expected isa AbstractVector ? expected : [expected]
    @test TLCache.status_name(outcome.status) in names
    haskey(step, "message") && @test contains(outcome.message, step["message"])
    haskey(step, "as") && (stage.artifacts[step["as"]] = outcome.artifact)
    return nothing
end

if isfile(SCENARIOS)
    const SUITE = read_json(read(SCENARIOS, String))
    @testset "scenarios: $(scenario["name"])" for scenario in SUITE["scenarios"]
        mktempdir() do folder
            stage = Stage(folder, SUITE["requests"])
            foreach(step -> run_step(stage, step), scenario["steps"])
            foreach(close, values(stage.caches))
        end
    end
else
    skip_test("conformance: scenarios", "there is no tests/conformance/scenarios.json")
end
