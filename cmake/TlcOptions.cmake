# SPDX-License-Identifier: MIT
# Build options, and the one interface target that carries warnings and sanitizers.
option(TLC_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TLC_WERROR "Warnings are errors" OFF)
set(TLC_SANITIZE "" CACHE STRING "Sanitizers for the build: empty, 'address,undefined' or 'thread'")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_library(tlc_build_flags INTERFACE)
target_compile_options(tlc_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>
  $<$<BOOL:${TLC_WERROR}>:-Werror>)
if(TLC_SANITIZE)
  target_compile_options(tlc_build_flags INTERFACE -fsanitize=${TLC_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tlc_build_flags INTERFACE -fsanitize=${TLC_SANITIZE})
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(LMDB REQUIRED IMPORTED_TARGET lmdb)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
