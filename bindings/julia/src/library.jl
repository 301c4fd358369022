# SPDX-License-Identifier: MIT
# Finding libtlcache, and refusing one that does not fit this package.
#
# 1. TLCACHE_LIBRARY in the environment: a path.
# 2. The preference "library" of this package (LocalPreferences.toml; `set_library!`): a path.
# 3. libtlcache.so.0 where the system's loader looks.
#
# It is opened when the package is loaded. Where that fails the package still loads, and the first use says why.

const LIBRARY = Ref{Ptr{Cvoid}}(C_NULL)
const LIBRARY_PATH = Ref{String}("")
const LIBRARY_PROBLEM = Ref{String}("libtlcache was not opened yet")

# The parts of the ABI's number: (major << 16) | minor.
abi_major(version::UInt32) = version >> 16
abi_minor(version::UInt32) = version & 0xffff

# The preference, as Preferences.jl reads it, without needing that package. Empty: none.
function preferred_library()
    try
        uuid = Base.PkgId(@__MODULE__).uuid
        uuid === nothing && return ""
        chosen = get(Base.get_preferences(uuid), "library", "")
        return chosen isa AbstractString ? String(chosen) : ""
    catch
        return ""
    end
end

# Which file to open, and who says so.
function library_choice()
    chosen = get(ENV, "TLCACHE_LIBRARY", "")
    isempty(chosen) || return (chosen, "TLCACHE_LIBRARY")
    chosen = preferred_library()
    isempty(chosen) || return (chosen, "the preference \"library\" of TLCache")
    return ("libtlcache.so.0", "")
end

const HOW_TO_CHOOSE = "set TLCACHE_LIBRARY to the path of libtlcache.so.0, or call TLCache.set_library!(path) with " *
                      "Preferences loaded, or install libtlcache where the system's loader finds it; then start Julia again"

# What keeps a library of this ABI from being used; empty if nothing does.
function version_problem(version::UInt32)
    major, minor = abi_major(version), abi_minor(version)
    if major != TLC_ABI_MAJOR
        return "it has ABI $(Int(major)).$(Int(minor)), and this package needs ABI $(Int(TLC_ABI_MAJOR)).x: " *
               "use the TLCache package of the library's version, or another library"
    elseif minor < TLC_ABI_MINOR
        return "it has ABI $(Int(major)).$(Int(minor)), and this package needs at least " *
               "$(Int(TLC_ABI_MAJOR)).$(Int(TLC_ABI_MINOR)): update the library"
    end
    return ""
end

# tlc_abi_layout() as a table: (struct, member) -> (offset, size).
function library_layout()
    count = Ref{Csize_t}(0)
    rows = tlc_abi_layout(count)
    table = Dict{Tuple{String,String},Tuple{Int,Int}}()
    for index in 1:Int(count[])
        row = unsafe_load(rows, index)
        member = row.member == C_NULL ? "" : unsafe_string(row.member)
        table[(unsafe_string(row.struct_name), member)] = (Int(row.offset), Int(row.size))
    end
    return table
end

# tlc_abi_constants() as a table.
function library_constants()
    count = Ref{Csize_t}(0)
    rows = tlc_abi_constants(count)
    table = Dict{String,Int64}()
    for index in 1:Int(count[])
        row = unsafe_load(rows, index)
        table[unsafe_string(row.name)] = row.value
    end
    return table
end

# What a layout table has otherwise than this package's structs. A struct of the library may be longer: members are only
# ever appended.
function layout_differences(table)
    differences = String[]
    for mirror in MIRRORS
        name = string(nameof(mirror))
        for index in 1:fieldcount(mirror)
            ours = (Int(fieldoffset(mirror, index)), Int(sizeof(fieldtype(mirror, index))))
            theirs = get(table, (name, string(fieldname(mirror, index))), nothing)
            if theirs != ours
                push!(differences, "$name.$(fieldname(mirror, index)) is (offset, size) $theirs, here $ours")
            end
        end
    end
    return differences
end

# Constants that have another value in the library.
function constant_differences(table)
    differences = String[]
    for (name, value) in table
        (name == "TLC_ABI_MINOR" || !isdefined(@__MODULE__, Symbol(name))) && continue
        ours = Int64(getfield(@__MODULE__, Symbol(name)))
        ours == value || push!(differences, "$name is $value, here $ours")
    end
    return sort!(differences)
end

# Opens and checks the library. Returns what is wrong, or an empty text.
function open_library!()
    path, chosen_by = library_choice()
    chosen = isempty(chosen_by) ? "" : " (from $chosen_by)"
    handle = C_NULL
    try
        handle = Libdl.dlopen(path, Libdl.RTLD_NOW | Libdl.RTLD_LOCAL)
    catch exception
        return "cannot open $(repr(path))$chosen: $(sprint(showerror, exception)); $HOW_TO_CHOOSE"
    end
    version = Libdl.dlsym(handle, :tlc_abi_version; throw_error=false)
    if version === nothing
        return "$(repr(path))$chosen is not libtlcache: it has no tlc_abi_version; $HOW_TO_CHOOSE"
    end
    address_of_tlc_abi_version[] = version
    problem = version_problem(tlc_abi_version())
    isempty(problem) || return "$(repr(path))$chosen does not fit: $problem"
    for (name, address) in ADDRESSES
        found = Libdl.dlsym(handle, name; throw_error=false)
        found === nothing && return "$(repr(path))$chosen has no function $name: update the library"
        address[] = found
    end
    differences = append!(layout_differences(library_layout()), constant_differences(library_constants()))
    if !isempty(differences)
        return "$(repr(path))$chosen does not fit this package: " * join(first(differences, 5), "; ") *
               "; use the TLCache package of the library's version"
    end
    LIBRARY[] = handle
    LIBRARY_PATH[] = path
    return ""
end

# Every object of the package is made behind this.
@inline function require_library()
    LIBRARY[] == C_NULL && throw(ErrorException("TLCache: " * LIBRARY_PROBLEM[]))
    return nothing
end

# Set when the process ends: finalizers start no task any more.
const ENDING = Ref{Bool}(false)

function __init__()
    LIBRARY_PROBLEM[] = open_library!()
    atexit(close_all)
    return nothing
end

"""
    TLCache.set_library!(path)

Remembers, for the active project, which `libtlcache.so.0` to open (in `LocalPreferences.toml`); it counts from the next
start of Julia. Needs Preferences.jl to be loaded. The variable `TLCACHE_LIBRARY` goes before it.
"""
function set_library! end

"""
    TLCache.library_path()

The file that was opened as libtlcache, as it was named; empty if none was.
"""
library_path() = LIBRARY_PATH[]

"""
    TLCache.library_version()

Version of the library that is running.
"""
function library_version()
    require_library()
    return VersionNumber(unsafe_string(tlc_version_string()))
end

"""
    TLCache.abi_version()

ABI of the library that is running, as `(major, minor)`.
"""
function abi_version()
    require_library()
    version = tlc_abi_version()
    return (Int(abi_major(version)), Int(abi_minor(version)))
end

"""
    TLCache.build_info()

How the library was built: compiler, options, versions of its libraries.
"""
function build_info()
    require_library()
    return unsafe_string(tlc_build_info())
end

"""
    TLCache.load_plugin(path)

Loads a plugin file with a backend. The path is absolute; others must not be able to write to it.
"""
function load_plugin(path::AbstractString)
    require_library()
    err = new_error()
    check(tlc_load_plugin(path, err), err)
    return nothing
end
