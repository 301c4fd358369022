# SPDX-License-Identifier: MIT
# What the library is linked with: system packages, by pkg-config. The prefix TLC_ keeps the cache variables and imported
# targets apart from those of a project that adds this one; tlcacheConfig.cmake makes the same targets for static users.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(TLC_LMDB REQUIRED IMPORTED_TARGET GLOBAL lmdb)
pkg_check_modules(TLC_SODIUM REQUIRED IMPORTED_TARGET GLOBAL libsodium)
pkg_check_modules(TLC_XXHASH REQUIRED libxxhash) # its header only: src/trust compiles XXH3 in
set(TLC_DEPENDENCIES PkgConfig::TLC_LMDB PkgConfig::TLC_SODIUM Threads::Threads ${CMAKE_DL_LIBS})
