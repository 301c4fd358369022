# SPDX-License-Identifier: MIT
# Toolchain file: builds for aarch64 Linux with Debian's cross compiler and runs tests under qemu-user.
# TLC_SYSROOT names a folder with the libraries' packages of that machine unpacked; tools/aarch64 makes it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TLC_SYSROOT)
if(NOT TLC_SYSROOT)
  message(FATAL_ERROR "Set TLC_SYSROOT; tools/dev aarch64 does")
endif()
set(ENV{PKG_CONFIG_LIBDIR} ${TLC_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${TLC_SYSROOT})
set(CMAKE_BUILD_RPATH ${TLC_SYSROOT}/usr/lib/aarch64-linux-gnu)
# Libraries of libraries, which only the sysroot has.
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link,${TLC_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
find_program(TLC_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(TLC_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${TLC_QEMU} -L /usr/aarch64-linux-gnu)
endif()
