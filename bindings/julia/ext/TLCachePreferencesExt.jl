# SPDX-License-Identifier: MIT
# Writes the place of the library as a preference, where Preferences.jl is loaded. Reading it needs no extension.
module TLCachePreferencesExt

using Preferences: Preferences
using TLCache: TLCache

function TLCache.set_library!(path::AbstractString)
    isfile(path) || throw(ArgumentError("there is no file $(repr(path)); give the path of libtlcache.so.0"))
    Preferences.set_preferences!(TLCache, "library" => abspath(path); force=true)
    return nothing
end

end
