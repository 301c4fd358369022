# SPDX-License-Identifier: MIT
# The index's stress tests: included by this folder's CMakeLists.txt. The torture defines pwrite and writev for the
# liblmdb it is linked with, so it needs the shared one. Each mutation weakens one rule and must be noticed.
tlc_add_test(NAME stress.index_oracle SOURCES ${CMAKE_CURRENT_LIST_DIR}/index_oracle.cpp LABELS stress)
tlc_add_test(NAME stress.index_torture SOURCES ${CMAKE_CURRENT_LIST_DIR}/index_torture.cpp LABELS stress
             ARGS --seconds 10)
foreach(mutation no-final-check accept-two no-prepublish)
  add_test(NAME stress.index_torture.${mutation}
           COMMAND test_stress_index_torture --mutation ${mutation} --keys 60 --seconds 8)
  set_tests_properties(stress.index_torture.${mutation} PROPERTIES LABELS stress TIMEOUT 120)
endforeach()
