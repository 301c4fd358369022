#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# usage: run.sh --build DIR --source DIR --work DIR --cc CC --cxx CXX --python PYTHON NAME
# Builds and runs one consumer of the installed library; `install` makes the prefix that the others use.
set -euo pipefail
while [ $# -gt 1 ]; do
  case "$1" in
    --build) build=$2 ;; --source) source=$2 ;; --work) work=$2 ;; --cc) cc=$2 ;; --cxx) cxx=$2 ;; --python) python=$2 ;;
    *) sed -n 3,4p "$0" >&2; exit 2 ;;
  esac
  shift 2
done
name=$1
here=$source/tests/consumers
prefix=$work/prefix
dir=$work/$name
libdir() { sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt"; }
lib=$prefix/$(libdir)
[ "$name" = install ] && rm -rf "$prefix"  # those that need no prefix may be at work beside it
rm -rf "$dir"
mkdir -p "$dir"
store=$dir/store
export PKG_CONFIG_PATH=$lib/pkgconfig CC=$cc CXX=$cxx TLC_DIR=$dir/elsewhere
unset LD_LIBRARY_PATH BUILD_SHARED_LIBS
warnings=(-Wall -Wextra -Wpedantic -Werror)

configure_and_run() { # project folder, cmake arguments...
  local project=$1
  shift
  cmake -S "$here/$project" -B "$dir/build" "$@" >"$dir/log" 2>&1 || { cat "$dir/log"; return 1; }
  cmake --build "$dir/build" -j 2 >>"$dir/log" 2>&1 || { tail -50 "$dir/log"; return 1; }
}
links_archive() { if links_shared "$1"; then echo "$1 links the shared library"; return 1; fi; }
links_shared() { readelf -dW "$1" | grep -q 'NEEDED.*\[libtlcache\.so\.0\]'; }

case "$name" in
  install)
    cmake --install "$build" --prefix "$prefix" >"$dir/log"
    for file in include/tlcache/tlcache.h include/tlcache/backend.h include/tlcache/remote.h include/tlcache/version.h \
                "$(libdir)/libtlcache.so" "$(libdir)/libtlcache.so.0" "$(libdir)/libtlcache.a" "$(libdir)/pkgconfig/tlcache.pc"; do
      [ -e "$prefix/$file" ] || { echo "$file was not installed"; exit 1; }
    done
    # Nothing that is installed knows the folder it was built or installed from.
    if grep -rlF -e "$build" -e "$source" "$prefix"; then echo "the files above name the build's folders"; exit 1; fi
    ;;
  pkgconfig_shared)
    "$cc" -std=c99 "${warnings[@]}" "$here/consumer.c" -o "$dir/consumer" $(pkg-config --cflags --libs tlcache) "-Wl,-rpath,$lib"
    links_shared "$dir/consumer"
    "$dir/consumer" "$store"
    [ "$(realpath -m "$(pkg-config --variable=backenddir tlcache)")" = "$(realpath -m "$lib/tlcache/backends")" ]
    # Public flags are the library's own: a program that links it need not have its dependencies' headers.
    if pkg-config --libs tlcache | grep -E 'lmdb|sodium|xxhash|stdc'; then echo "private libraries are public"; exit 1; fi
    ;;
  pkgconfig_static)
    # The shared library out of reach, as where only the archive is installed.
    cp -a "$prefix" "$dir/prefix"
    rm "$dir/prefix/$(libdir)"/libtlcache.so*
    export PKG_CONFIG_PATH=$dir/prefix/$(libdir)/pkgconfig
    pkg-config --static --cflags tlcache | grep -q -- -DTLC_STATIC
    "$cc" -std=c99 "${warnings[@]}" "$here/consumer.c" -o "$dir/consumer" $(pkg-config --static --cflags --libs tlcache)
    links_archive "$dir/consumer"
    "$dir/consumer" "$store"
    ;;
  find_package_shared | find_package_static)
    configure_and_run cmake "-DWANT=${name##*_}" "-DCMAKE_PREFIX_PATH=$prefix"
    if [ "$name" = find_package_shared ]; then links_shared "$dir/build/consumer"; else links_archive "$dir/build/consumer"; fi
    "$dir/build/consumer" "$store"
    ;;
  find_package_refusals) configure_and_run refused "-DCMAKE_PREFIX_PATH=$prefix" ;;
  cxx)
    for standard in c++11 c++20; do
      "$cxx" -std=$standard "${warnings[@]}" "$here/consumer.cpp" -o "$dir/consumer" $(pkg-config --cflags --libs tlcache) "-Wl,-rpath,$lib"
      "$dir/consumer" "$store-$standard"
    done
    ;;
  ctypes) "$python" "$here/consumer.py" "$lib/libtlcache.so" "$store" ;;
  moved_prefix)
    cp -a "$prefix" "$dir/elsewhere-entirely"
    configure_and_run cmake -DWANT=any "-DCMAKE_PREFIX_PATH=$dir/elsewhere-entirely"
    "$dir/build/consumer" "$store"
    readelf -dW "$dir/build/consumer" | grep -q 'elsewhere-entirely'
    PKG_CONFIG_PATH=$dir/elsewhere-entirely/$(libdir)/pkgconfig pkg-config --cflags tlcache | grep -q elsewhere-entirely
    if [ -x "$dir/elsewhere-entirely/bin/tlcache" ]; then "$dir/elsewhere-entirely/bin/tlcache" --version; fi
    ;;
  tool)
    [ -x "$prefix/bin/tlcache" ] || { echo "the tlcache command was not built"; exit 77; }
    "$prefix/bin/tlcache" --version | grep -F "$(pkg-config --modversion tlcache)"
    links_shared "$prefix/bin/tlcache"
    ;;
  absolute_libdir)
    # A distribution's way: absolute folders. Described only, not built, so that the folders need not exist.
    cmake -S "$source" -B "$dir/build" -DTLC_BUILD_TESTS=OFF -DTLC_BUILD_TOOLS=OFF -DCMAKE_INSTALL_PREFIX=/opt/tlc/usr \
      -DCMAKE_INSTALL_LIBDIR=/opt/tlc/lib64 -DCMAKE_INSTALL_INCLUDEDIR=/opt/tlc/inc >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    export PKG_CONFIG_PATH=$dir/build/generated
    [ "$(pkg-config --variable=libdir tlcache)" = /opt/tlc/lib64 ]
    [ "$(pkg-config --variable=includedir tlcache)" = /opt/tlc/inc ]
    ;;
  add_subdirectory)
    configure_and_run subdirectory "-DTLC_SOURCE=$source"
    for kind in tlcache shared static cxx; do "$dir/build/consumer_$kind" "$store-$kind"; done
    ;;
  backend_spirv)
    "$python" "$source/tools/checks/quotes.py" # what docs/backends.md quotes from it
    [ -x "$prefix/bin/tlcache" ] || { echo "the tlcache command was not built"; exit 77; }
    configure_and_run ../../examples/backend-spirv "-DCMAKE_PREFIX_PATH=$prefix" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
      -DCMAKE_INSTALL_LIBDIR=lib || {
      if grep -E 'configuration file provided by "(glslang|SPIRV-Tools[a-z-]*)"' "$dir/log"; then exit 77; fi
      exit 1
    }
    cmake --install "$dir/build" --prefix "$dir/installed" >>"$dir/log"
    plugin=$dir/installed/lib/tlcache/backends/tlcache_spirv.so
    if readelf -dW "$plugin" | grep 'NEEDED.*tlcache'; then echo "the plugin links the library"; exit 1; fi
    readelf -dW "$plugin" | grep -q NODELETE
    PYTHONDONTWRITEBYTECODE=1 "$python" "$here/backend_spirv.py" "$lib/libtlcache.so" "$prefix/bin/tlcache" "$plugin" \
      "$source/examples/backend-spirv" "$dir"
    ;;
  rust)
    command -v cargo >/dev/null || { echo "there is no cargo"; exit 77; }
    # The crates without their repository, beside a program of their own.
    mkdir "$dir/crates"
    cp -r "$source"/bindings/rust/{Cargo.toml,Cargo.lock,tlcache,tlcache-sys} "$dir/crates"
    cp -r "$here/rust" "$dir/app"
    cp "$source/bindings/rust/Cargo.lock" "$dir/app" # the versions that are tested
    export CARGO_TARGET_DIR=$dir/target
    cargo() { (cd "$dir/app" && command cargo "$@") >>"$dir/log" 2>&1; }
    # What cannot be found is said, with what to do.
    if PKG_CONFIG_PATH=/nonexistent PKG_CONFIG_LIBDIR=/nonexistent cargo build; then echo "it was built without the library"; exit 1; fi
    grep -q 'let pkg-config find tlcache.pc (PKG_CONFIG_PATH), or set TLCACHE_LIB_DIR' "$dir/log"
    DOCS_RS=1 PKG_CONFIG_PATH=/nonexistent PKG_CONFIG_LIBDIR=/nonexistent cargo doc --no-deps -p tlcache || { tail -50 "$dir/log"; exit 1; }
    cargo build || { tail -50 "$dir/log"; exit 1; }
    links_shared "$dir/target/debug/consumer"
    LD_LIBRARY_PATH=$lib "$dir/target/debug/consumer" "$store"
    env -u PKG_CONFIG_PATH TLCACHE_LIB_DIR="$lib" bash -c 'cd "$1/app" && cargo build' _ "$dir" >>"$dir/log" 2>&1 || { tail -50 "$dir/log"; exit 1; }
    LD_LIBRARY_PATH=$lib "$dir/target/debug/consumer" "$store"
    cargo build --features static || { tail -50 "$dir/log"; exit 1; }
    links_archive "$dir/target/debug/consumer"
    "$dir/target/debug/consumer" "$store"
    ;;
  languages)
    # What `rust` built last links the archive: a copy of the library of its own, as a library and as a program.
    rust=$work/rust/target/debug
    [ -f "$rust/libconsumer.so" ] || { echo "there is no Rust: consumers.rust was skipped"; exit 77; }
    [ -n "${TLC_TEST_PYTHON:-}" ] || { echo "no Python has the package tlcache (TLC_TEST_PYTHON)"; exit 77; }
    c=("$cc" -std=c11 -D_GNU_SOURCE "${warnings[@]}" "$here/languages/worker.c" $(pkg-config --cflags --libs tlcache) "-Wl,-rpath,$lib")
    "${c[@]}" -o "$dir/worker"
    "${c[@]}" -shared -fPIC -DCONSUMER_LIBRARY -o "$dir/libworker.so"
    PYTHONDONTWRITEBYTECODE=1 "$TLC_TEST_PYTHON" "$here/languages/languages.py" --c "$dir/worker" --c-library "$dir/libworker.so" \
      --rust "$rust/worker" --rust-library "$rust/libconsumer.so" --kernels "$source/examples/kernels" \
      --julia-package "$source/bindings/julia" --library "$lib/libtlcache.so.0"
    ;;
  wheel)
    # An environment without compilers, headers or packages but what the wheel asks for, beside another version of the library.
    [ -n "${TLC_TEST_WHEEL:-}" ] || { echo "there is no wheel (TLC_TEST_WHEEL)"; exit 77; }
    "$cc" -shared -fPIC "${warnings[@]}" "$here/wheel/other_version.c" -o "$dir/libtlcache.so.0" -Wl,-soname,libtlcache.so.0 \
      "-Wl,--version-script=$source/cmake/tlcache.map"
    "$python" "$here/wheel/wheel.py" "$TLC_TEST_WHEEL" "$dir" "$lib/libtlcache.so.0"
    ;;
  *) echo "no consumer '$name'" >&2; exit 2 ;;
esac
