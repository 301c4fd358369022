# SPDX-License-Identifier: MIT
# One compile for many: compile locks, and the whole flow.
#
# Nothing of the caller's runs under a frame of C. A compile function is called by Julia, between two calls of the library,
# so that it may throw, wait, move to another thread and start tasks like any other function. Waiting is done by Julia too:
# tasks of this process wait for each other (Flight), and for other processes by asking again and sleeping, so that a wait
# blocks no thread and Ctrl-C ends it.

const DEFAULT_WAIT = 600.0    # seconds
const FIRST_PAUSE = 0.001
const LONGEST_PAUSE = 0.05

function wait_seconds(timeout)
    timeout === nothing && return DEFAULT_WAIT
    timeout >= 0 || throw(ArgumentError("timeout is $timeout; it is seconds, 0 or more, or nothing for ten minutes"))
    return Float64(timeout)
end

# ---------------------------------------------------------------- compile locks

"""
    CompileLock

The right to compile a key on this host, from `begin_compile`. `publish!`, `fail!` or `abandon!` ends it, from any task. One
that is lost is abandoned when the garbage collector finds it.
"""
mutable struct CompileLock
    @atomic ptr::Ptr{tlc_lock}

    function CompileLock(ptr::Ptr{tlc_lock})
        lock = new(ptr)
        return finalizer(abandon_later, lock)
    end
end

# Takes the handle out, once whatever tasks do. Null: the lock was ended.
take_handle(lock::CompileLock) = (@atomicswap lock.ptr = Ptr{tlc_lock}(C_NULL))

function handle_to_end(lock::CompileLock)
    ptr = take_handle(lock)
    ptr == C_NULL && throw(ArgumentError("the compile lock was ended already; take another with begin_compile"))
    return ptr
end

# A finalizer must not wait, and the last reference to a cache may be the lock's: a task ends it.
function abandon_later(lock::CompileLock)
    ptr = take_handle(lock)
    (ptr == C_NULL || ENDING[]) || Threads.@spawn tlc_lock_abandon(ptr)
    return nothing
end

Base.isopen(lock::CompileLock) = (@atomic lock.ptr) != C_NULL
Base.show(io::IO, lock::CompileLock) = print(io, isopen(lock) ? "CompileLock(held)" : "CompileLock(ended)")

"""
    publish!(lock, members; label, compile_time, types)

Publishes the members and ends the lock; as `put!`. `compile_time` is the time since the lock was taken where it is not given.
"""
function publish!(lock::CompileLock, members; label=nothing, compile_time=nothing, types=())
    bundle = as_bundle(members, label, compile_time, types)
    out, err = Ref{Ptr{tlc_artifact}}(C_NULL), new_error()
    status = with_native(bundle) do native
        tlc_lock_publish(handle_to_end(lock), native, out, err)
    end
    return published(status, out, err)
end

"""
    fail!(lock, message; status=TLCache.TLC_E_COMPILE)

Ends the lock; threads of this process that wait for it in C get this status and message, other processes compile.
"""
function fail!(lock::CompileLock, message::AbstractString; status::Integer=TLC_E_COMPILE)
    status < 0 || throw(ArgumentError("status is $status; a failure is one of the constants TLCache.TLC_E_*"))
    tlc_lock_fail(handle_to_end(lock), Int32(status), message)
    return nothing
end

"""
    abandon!(lock)

Ends the lock; the next one that waits compiles. Does nothing to one that was ended.
"""
function abandon!(lock::CompileLock)
    ptr = take_handle(lock)
    ptr == C_NULL || tlc_lock_abandon(ptr)
    return nothing
end

# Looks once, and takes the lock if it is free: an Artifact, a CompileLock, or nothing where another compiles.
function try_begin(cache::Cache, key::Key)
    artifact, lock, err = Ref{Ptr{tlc_artifact}}(C_NULL), Ref{Ptr{tlc_lock}}(C_NULL), new_error()
    status = using_cache(() -> tlc_cache_begin(cache, key, TLC_WAIT_NONE, C_NULL, artifact, lock, err), cache)
    status == TLC_OK && return Artifact(artifact[])
    status == TLC_LOCKED && return CompileLock(lock[])
    status == TLC_TIMEOUT && return nothing
    throw(make_error(status, err))
end

# The same, waiting until the deadline.
function wait_turn(cache::Cache, key::Key, deadline::Float64)
    pause = FIRST_PAUSE
    while true
        turn = try_begin(cache, key)
        turn === nothing || return turn
        left = deadline - time()
        left <= 0 && return nothing
        sleep(clamp(left, FIRST_PAUSE, pause))
        pause = min(2 * pause, LONGEST_PAUSE)
    end
end

"""
    begin_compile(cache, key; timeout=nothing)
    begin_compile(f, cache, key; timeout=nothing)

Looks the key up and, if it is absent, takes its compile lock, waiting while another process or task compiles it. Returns an
`Artifact`, or a `CompileLock`: then you compile. `timeout` is in seconds; 0: do not wait; `nothing`: ten minutes.

With `f`, returns an `Artifact` either way: `f(lock)` is called if there is something to compile, and returns the members (then
they are published) or the artifact of a `publish!` of its own. If it throws, the lock is failed.

Throws a `TLCacheError` with status `TLC_TIMEOUT` where the time is over: compile for yourself, and `put!`.
"""
function begin_compile(cache::Cache, key::Key; timeout=nothing)
    turn = wait_turn(cache, key, time() + wait_seconds(timeout))
    turn === nothing &&
        throw(TLCacheError(TLC_TIMEOUT, "another process or task still compiles this key; compile for yourself and put!"))
    return turn
end

function begin_compile(f, cache::Cache, key::Key; timeout=nothing)
    turn = begin_compile(cache, key; timeout=timeout)
    turn isa Artifact && return turn
    try
        made = f(turn)
        made isa Artifact && return made
        return publish!(turn, made)
    catch exception
        isopen(turn) && fail!(turn, failure_text(exception); status=failure_status(exception))
        rethrow()
    finally
        abandon!(turn)
    end
end

failure_status(::CompileError) = TLC_E_COMPILE
failure_status(::InterruptException) = TLC_E_CANCELLED
failure_status(exception::TLCacheError) = exception.status < 0 ? exception.status : TLC_E_CALLBACK
failure_status(::Any) = TLC_E_CALLBACK

failure_text(exception::CompileError) = exception.message
failure_text(exception::TLCacheError) = exception.message
failure_text(exception) = sprint(showerror, exception)

# ---------------------------------------------------------------- tasks of this process

# A compile under way in this process; tasks that want the same key wait for its end.
mutable struct Flight
    owner::Task
    landed::Threads.Condition
    over::Bool
    exception::Any    # what the compile threw, else nothing
end
Flight() = Flight(current_task(), Threads.Condition(), false, nothing)

# By the key alone: caches of one folder share a store.
const FLIGHTS = Dict{Digest,Flight}()
const FLIGHTS_LOCK = ReentrantLock()

function locked(f::F, guard) where {F}
    lock(guard)
    try
        return f()
    finally
        unlock(guard)
    end
end

# The key's flight, and whether it is this task's to land.
function board(key::Digest)
    return locked(FLIGHTS_LOCK) do
        flight = get(FLIGHTS, key, nothing)
        flight === nothing || return (flight, false)
        flight = Flight()
        FLIGHTS[key] = flight
        return (flight, true)
    end
end

function land(key::Digest, flight::Flight, exception)
    locked(FLIGHTS_LOCK) do
        get(FLIGHTS, key, nothing) === flight && delete!(FLIGHTS, key)
    end
    locked(flight.landed) do
        flight.over = true
        flight.exception = exception
        notify(flight.landed)
    end
    return nothing
end

# Waits until it has landed; false: the deadline passed.
function wait_for(flight::Flight, deadline::Float64)
    left = deadline - time()
    left <= 0 && return locked(() -> flight.over, flight.landed)
    timer = Timer(_ -> locked(() -> notify(flight.landed), flight.landed), left)
    try
        return locked(() -> wait_landed(flight, deadline), flight.landed)
    finally
        close(timer)
    end
end

# With flight.landed held.
function wait_landed(flight::Flight, deadline::Float64)
    while !flight.over && time() < deadline
        wait(flight.landed)
    end
    return flight.over
end

# ---------------------------------------------------------------- get or compile

# What a compile made, on its way into the library: members, or a failure.
mutable struct Delivery
    bundle::Union{Nothing,Bundle}
    status::Int32
    message::String
    called::Bool
    exception::Any
end
Delivery(bundle::Bundle) = Delivery(bundle, TLC_OK, "", false, nothing)
Delivery(status::Int32, message::String) = Delivery(nothing, status, message, false, nothing)

# tlc_compile_fn. Lets no exception out, waits for nothing.
function on_compile(::Ptr{tlc_request}, ::Ptr{tlc_key}, native::Ptr{tlc_bundle}, log::Ptr{tlc_log}, err::Ptr{tlc_error},
                    user_data::Ptr{Cvoid})::tlc_status
    try
        delivery = unsafe_pointer_to_objref(user_data)::Delivery
        delivery.called = true
        bundle = delivery.bundle
        if bundle === nothing
            write_error(err, delivery.status, delivery.message)
            return delivery.status
        end
        try
            tlc_log_append(log, bundle.log)
            fill_bundle(native, bundle)
            return TLC_OK
        catch exception
            delivery.exception = exception
            return TLC_E_CALLBACK
        end
    catch
        return TLC_E_CALLBACK
    end
end

# One call of tlc_cache_get_or_compile: (status, artifact or nothing, log or nothing, error).
function run_flow(cache::Cache, request::Request, delivery::Union{Nothing,Delivery}, flags::UInt64)
    artifact, log, err = Ref{Ptr{tlc_artifact}}(C_NULL), Ref{Ptr{tlc_blob}}(C_NULL), new_error()
    status = GC.@preserve delivery begin
        callback, data = C_NULL, C_NULL
        if delivery !== nothing
            callback = @cfunction(on_compile, tlc_status, (Ptr{tlc_request}, Ptr{tlc_key}, Ptr{tlc_bundle}, Ptr{tlc_log},
                                                           Ptr{tlc_error}, Ptr{Cvoid}))
            data = pointer_from_objref(delivery)
        end
        # The waiting is over: 1 ms is for what this process holds itself.
        options = Ref(tlc_compile_options(size_to_last(tlc_compile_options), callback, data, C_NULL, C_NULL, 1, flags))
        using_cache(() -> tlc_cache_get_or_compile(cache, request, options, artifact, log, err), cache)
    end
    said = log[] == C_NULL ? nothing : take_string(log)
    if delivery !== nothing && delivery.exception !== nothing
        throw(delivery.exception)
    end
    found = artifact[] == C_NULL ? nothing : Artifact(artifact[], TLC_OK, "", said)
    return (status, found, said, err)
end

# The artifact of a call of run_flow, or its error.
function flow_result(status::Int32, found, said, err)
    status == TLC_OK && return found::Artifact
    status == TLC_E_COMPILE && throw(CompileError(first(error_details(status, err)), said === nothing ? "" : said))
    throw(make_error(status, err))
end

# A hit that is complete, or nothing.
function look(cache::Cache, request::Request, flags::UInt64)
    status, found, said, err = run_flow(cache, request, nothing, flags | TLC_COMPILE_NEVER)
    (status == TLC_MISS || status == TLC_REJECTED) && return nothing
    return flow_result(status, found, said, err)
end

"""
    get_or_compile(f, cache, request; timeout=nothing, keep_failure=false, closed=false)
    get_or_compile(cache, request; timeout=nothing, keep_failure=false, closed=false)

The whole flow: key, look up, lock, compile, publish. One compile a key among all processes and tasks of the host.

`f(request, key)` makes the members: a `Bundle`, a `Dict` of names to bytes, a pair. Without it the backend does that is registered
for the request's target and engine. What `f` throws reaches the caller as it is, and tasks of this process that wait for the
same key; it throws `CompileError` where the source is at fault.

- `timeout`: seconds to wait for another's compile, then compile here; `nothing`: ten minutes
- `keep_failure=true`: remember a `CompileError` for a day, and answer it without compiling
- `closed=true`: a hit counts only if everything that the artifact requires is there too

The artifact's `log` has the compiler's output if this call compiled.
"""
function get_or_compile(f, cache::Cache, request::Request; timeout=nothing, keep_failure::Bool=false, closed::Bool=false)
    return flow(f, cache, request, wait_seconds(timeout), keep_failure, closed)
end
function get_or_compile(cache::Cache, request::Request; timeout=nothing, keep_failure::Bool=false, closed::Bool=false)
    return flow(nothing, cache, request, wait_seconds(timeout), keep_failure, closed)
end

function flow(f, cache::Cache, request::Request, seconds::Float64, keep_failure::Bool, closed::Bool)
    flags = closed ? TLC_COMPILE_CLOSED : UInt64(0)
    found = look(cache, request, flags)
    found === nothing || return found
    key = Key(cache, request)
    deadline = time() + seconds
    while true
        flight, mine = board(key.digest)
        # A compile that asks for its own key compiles for itself.
        !mine && flight.owner === current_task() && return compile_for(f, cache, request, key, nothing, flags, keep_failure)
        if mine
            return lead(f, cache, request, key, flight, deadline, flags, keep_failure)
        end
        wait_for(flight, deadline) || return compile_for(f, cache, request, key, nothing, flags, keep_failure)
        flight.exception === nothing || throw(flight.exception)
        found = look(cache, request, flags)
        found === nothing || return found
    end
end

# This task speaks for the process.
function lead(f, cache::Cache, request::Request, key::Key, flight::Flight, deadline::Float64, flags::UInt64,
              keep_failure::Bool)
    turn = nothing
    thrown = nothing
    try
        while true
            turn = wait_turn(cache, key, deadline)
            turn isa Artifact || break
            found = look(cache, request, flags)
            found === nothing || return found
            invalidate!(cache, turn)    # incomplete: a miss that the next publish replaces
        end
        return compile_for(f, cache, request, key, turn, flags, keep_failure)
    catch exception
        thrown = exception
        if turn isa CompileLock && isopen(turn)
            fail!(turn, failure_text(exception); status=failure_status(exception))
        end
        rethrow()
    finally
        turn isa CompileLock && abandon!(turn)
        # One that was interrupted says nothing of the source: the next task compiles.
        land(key.digest, flight, thrown isa InterruptException ? nothing : thrown)
    end
end

# Compiles by the registered backend and publishes.
function compile_for(::Nothing, cache::Cache, request::Request, ::Key, ::Union{Nothing,CompileLock}, flags::UInt64,
                     keep_failure::Bool)
    keep = keep_failure ? TLC_COMPILE_KEEP_FAILURE : UInt64(0)
    return flow_result(run_flow(cache, request, nothing, flags | keep)...)
end

# Compiles by the caller's function and publishes: by the lock if it is held, else as one who did not wait.
function compile_for(f, cache::Cache, request::Request, key::Key, turn::Union{Nothing,CompileLock}, flags::UInt64,
                     keep_failure::Bool)
    keep = keep_failure ? TLC_COMPILE_KEEP_FAILURE : UInt64(0)
    if keep_failure
        # Asks for a failure that is kept: where there is none, the library asks for a compile, which is still to be done.
        probe = Delivery(TLC_E_CALLBACK, "not compiled yet")
        result = run_flow(cache, request, probe, flags | keep)
        probe.called || return flow_result(result...)
    end
    started = time()
    made = nothing
    try
        made = f(request, key)
    catch exception
        if keep_failure && exception isa CompileError
            run_flow(cache, request, Delivery(TLC_E_COMPILE, exception.message), flags | keep)
        end
        rethrow()
    end
    bundle = as_bundle(made, nothing, nothing, ())
    if bundle.compile_time === nothing
        bundle = as_bundle(bundle, nothing, time() - started, ())
    end
    turn === nothing && return flow_result(run_flow(cache, request, Delivery(bundle), flags)...)
    return publish_compiled(turn, request, bundle)
end

# What tlc_cache_get_or_compile does with what its callback made.
function publish_compiled(turn::CompileLock, request::Request, bundle::Bundle)
    isempty(bundle.members) && throw(CompileError("the compile made no members"; log=bundle.log))
    made = [member.name for member in bundle.members]
    absent = [name for name in request.required if !(name in made)]
    isempty(absent) ||
        throw(CompileError("the compile did not make what the request requires: $(join(absent, ", "))"; log=bundle.log))
    labelled = bundle.label === nothing ? as_bundle(bundle, request.label, nothing, ()) : bundle
    out, err = Ref{Ptr{tlc_artifact}}(C_NULL), new_error()
    status = with_native(labelled) do native
        tlc_lock_publish(handle_to_end(turn), native, out, err)
    end
    return published(status, out, err, bundle.log)
end
