# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: headers, libraries, tlcache.pc, the CMake package, licence. The command installs itself
# (tools/tlcache). Relocatable: moving the prefix breaks nothing, unless CMAKE_INSTALL_LIBDIR is absolute.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/tlcache DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/tlcache COMPONENT runtime)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tlcache)
foreach(kind shared static)
  if(TARGET tlcache_${kind})
    install(TARGETS tlcache_${kind} EXPORT tlcache-${kind}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
    # A file each, so that a program which wants the shared library needs none of the static one's dependencies.
    install(EXPORT tlcache-${kind} NAMESPACE tlcache:: FILE tlcache-${kind}.cmake DESTINATION ${package_dir}
            COMPONENT development)
  endif()
endforeach()

configure_package_config_file(cmake/tlcacheConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/tlcacheConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Until 1.0 a minor version may break; from then on COMPATIBILITY SameMajorVersion.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/tlcacheConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/tlcacheConfig.cmake ${PROJECT_BINARY_DIR}/generated/tlcacheConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)

# tlcache.pc finds its prefix from where it lies; an absolute folder is written down as it is.
function(tlc_pc_folder out folder)
  if(IS_ABSOLUTE "${folder}")
    set(${out} "${folder}" PARENT_SCOPE)
  else()
    set(${out} "\${prefix}/${folder}" PARENT_SCOPE)
  endif()
endfunction()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(TLC_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(TLC_PC_PREFIX "\${pcfiledir}/${up}")
endif()
tlc_pc_folder(TLC_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
tlc_pc_folder(TLC_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
configure_file(pkgconfig/tlcache.pc.in ${PROJECT_BINARY_DIR}/generated/tlcache.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/tlcache.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
