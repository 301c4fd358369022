# SPDX-License-Identifier: MIT
# tlc_add_libraries(): libtlcache.so and libtlcache.a of the core's objects and those of the built-in backends and remotes.
# Consumers say tlcache::tlcache (BUILD_SHARED_LIBS chooses), tlcache::shared or tlcache::static, in the build tree and
# from an installed package alike.

function(tlc_add_libraries)
  set(objects "")
  foreach(part tlcache_objects tlc_backend_support ${TLC_BUILTIN_BACKENDS})
    if(TARGET tlc_backend_${part})
      set(part tlc_backend_${part})
    endif()
    if(TARGET ${part})
      list(APPEND objects $<TARGET_OBJECTS:${part}>)
    endif()
  endforeach()

  foreach(remote IN LISTS TLC_BUILTIN_REMOTES)
    list(APPEND objects $<TARGET_OBJECTS:tlc_remote_${remote}>)
  endforeach()

  # For the unit tests, which reach hidden symbols and include from src/. Never installed.
  add_library(tlc_all_objects STATIC EXCLUDE_FROM_ALL ${objects})
  set_target_properties(tlc_all_objects PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(tlc_all_objects INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tlc_all_objects INTERFACE ${TLC_DEPENDENCIES})

  if(TLC_BUILD_SHARED)
    add_library(tlcache_shared SHARED ${objects})
    add_library(tlcache::shared ALIAS tlcache_shared)
    tlc_library_properties(tlcache_shared shared)
    set(map ${PROJECT_SOURCE_DIR}/cmake/tlcache.map)
    if(TLC_PRIVATE_COPY)
      tlc_private_map(map ${map})
      set_target_properties(tlcache_shared PROPERTIES OUTPUT_NAME tlcache-${TLC_PRIVATE_COPY})
    endif()
    set_target_properties(tlcache_shared PROPERTIES INSTALL_RPATH "" VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                          LINK_DEPENDS ${map})
    target_link_libraries(tlcache_shared PRIVATE tlc_build_flags ${TLC_DEPENDENCIES})
    # nodelete: mappings, fork handlers and threads may outlive a dlclose. -Bsymbolic: several copies of the library in
    # one process each call their own functions. exclude-libs: nothing of a static dependency leaks out.
    target_link_options(tlcache_shared PRIVATE
      -Wl,--version-script=${map} -Wl,-z,nodelete -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--build-id=sha1
      -Wl,-z,relro -Wl,-z,now -Wl,--as-needed)
    if(NOT TLC_SANITIZE)
      target_link_options(tlcache_shared PRIVATE -Wl,-z,defs)
    endif()
  endif()

  if(TLC_BUILD_STATIC)
    add_library(tlcache_static STATIC ${objects})
    add_library(tlcache::static ALIAS tlcache_static)
    tlc_library_properties(tlcache_static static)
    target_compile_definitions(tlcache_static PUBLIC TLC_STATIC)
    # stdc++ by name: a project in C alone has no C++ linker.
    target_link_libraries(tlcache_static PRIVATE ${TLC_DEPENDENCIES} stdc++)
  endif()

  if(TLC_BUILD_SHARED AND (NOT TLC_BUILD_STATIC OR NOT DEFINED BUILD_SHARED_LIBS OR BUILD_SHARED_LIBS))
    add_library(tlcache::tlcache ALIAS tlcache_shared)
  else()
    add_library(tlcache::tlcache ALIAS tlcache_static)
  endif()
endfunction()

# Sets a variable to the version script with the word in the names of its nodes.
function(tlc_private_map variable script)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  file(READ ${script} text)
  string(REPLACE "TLC_0." "TLC_${TLC_PRIVATE_COPY}_0." text "${text}")
  set(private ${PROJECT_BINARY_DIR}/tlcache-${TLC_PRIVATE_COPY}.map)
  file(CONFIGURE OUTPUT ${private} CONTENT "${text}" @ONLY)
  set(${variable} ${private} PARENT_SCOPE)
endfunction()

function(tlc_library_properties target export_name)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME tlcache LINKER_LANGUAGE CXX EXPORT_NAME ${export_name})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()
