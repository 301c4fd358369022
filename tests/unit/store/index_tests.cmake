# SPDX-License-Identifier: MIT
# The index's unit tests: included by this folder's CMakeLists.txt.
foreach(topic roundtrip protocol writer validator)
  tlc_add_test(NAME unit.index_${topic} SOURCES ${CMAKE_CURRENT_LIST_DIR}/index_${topic}.cpp LABELS unit)
endforeach()
tlc_add_test(NAME unit.index_corruption SOURCES ${CMAKE_CURRENT_LIST_DIR}/index_corruption.cpp LABELS unit
             TIMEOUT 600)
