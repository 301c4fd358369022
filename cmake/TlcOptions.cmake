# SPDX-License-Identifier: MIT
# Build options, and the one interface target that carries warnings, sanitizers and what makes builds reproducible.
# Everything is set for this project's folders only: a project that adds this one keeps its own flags.
option(TLC_BUILD_SHARED "Build libtlcache.so" ON)
option(TLC_BUILD_STATIC "Build libtlcache.a" ON)
option(TLC_BUILD_TOOLS "Build the tlcache command" ${PROJECT_IS_TOP_LEVEL})
option(TLC_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TLC_BUILD_BENCH "Build the benchmarks" OFF)
option(TLC_BUILD_FUZZERS "Build the fuzz targets (clang)" OFF)
option(TLC_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
option(TLC_WERROR "Warnings are errors" OFF)
option(TLC_COVERAGE "Instrument for coverage" OFF)
set(TLC_SANITIZE "" CACHE STRING "Sanitizers for the build: empty, 'address,undefined' or 'thread'")
set(TLC_BUILTIN_BACKENDS "cpu;cuda;hip;opencl;metal" CACHE STRING "Backends that are part of the library: folders of backends/")
set(TLC_BUILTIN_REMOTES "dir" CACHE STRING "Remotes that are part of the library: folders of remotes/")
if(NOT TLC_BUILD_SHARED AND NOT TLC_BUILD_STATIC)
  message(FATAL_ERROR "TLC_BUILD_SHARED and TLC_BUILD_STATIC are both OFF: there is no library to build")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
# An installed program finds the library beside it, wherever the prefix has been moved.
file(RELATIVE_PATH TLC_BIN_TO_LIB ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(CMAKE_INSTALL_RPATH $ORIGIN/${TLC_BIN_TO_LIB})
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
  endif()
endif()
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  message(FATAL_ERROR "TLCache needs a 64-bit system: a store's files are mapped whole")
endif()

add_library(tlc_build_flags INTERFACE)
target_compile_options(tlc_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>
  $<$<BOOL:${TLC_WERROR}>:-Werror>)
if(TLC_SANITIZE)
  target_compile_options(tlc_build_flags INTERFACE
    -fsanitize=${TLC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tlc_build_flags INTERFACE -fsanitize=${TLC_SANITIZE})
endif()
if(TLC_BUILD_TESTS)
  target_compile_definitions(tlc_build_flags INTERFACE TLC_TEST_STEPS)  # port/step.hpp
endif()
if(TLC_COVERAGE)
  target_compile_options(tlc_build_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(tlc_build_flags INTERFACE --coverage)
else()
  # No path of the machine that built it: two builds in two folders give the same bytes. (gcov needs the real paths.)
  target_compile_options(tlc_build_flags INTERFACE
    -ffile-prefix-map=${PROJECT_BINARY_DIR}=build -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()

# tlc_add_if_present(folder): adds a folder that has a CMakeLists.txt; a source archive may leave folders out.
macro(tlc_add_if_present folder)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    add_subdirectory(${folder})
  endif()
endmacro()
