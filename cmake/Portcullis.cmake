# Warnings, sanitizers and the helpers that make one folder one library and one test binary one
# ctest entry per test case.

option(PORTCULLIS_WERROR "Warnings are errors" OFF)
set(PORTCULLIS_TEST_PARTS 0 CACHE STRING
    "Processes that share the cases of a test binary; 0: one for each case")
set(PORTCULLIS_SANITIZE "" CACHE STRING "address;undefined or thread")

add_library(portcullis_flags INTERFACE)
target_include_directories(portcullis_flags INTERFACE ${PROJECT_SOURCE_DIR}
                                                      ${PROJECT_SOURCE_DIR}/include)
target_compile_options(portcullis_flags INTERFACE -Wall -Wextra -Wconversion
                       $<$<BOOL:${PORTCULLIS_WERROR}>:-Werror>)
# Alone for what sees the front door and no private header.
add_library(portcullis_sanitizers INTERFACE)
if(PORTCULLIS_SANITIZE)
  list(JOIN PORTCULLIS_SANITIZE "," sanitizers)
  target_compile_options(portcullis_sanitizers INTERFACE -fsanitize=${sanitizers}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(portcullis_sanitizers INTERFACE -fsanitize=${sanitizers})
endif()
target_link_libraries(portcullis_flags INTERFACE portcullis_sanitizers)

# DPDK's EAL, public headers only. pkg-config's whole --libs list names a hundred libraries; the
# few that are used are linked by name. The log left the EAL in DPDK 23.11.
find_package(PkgConfig REQUIRED)
pkg_check_modules(DPDK REQUIRED libdpdk>=22.11)
# "-include rte_config.h": DPDK's headers include it themselves (rte_common.h), and gcc passes over
# a precompiled header that is not the first file that it reads.
list(FIND DPDK_CFLAGS_OTHER -include at)
if(NOT at EQUAL -1 AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  list(REMOVE_AT DPDK_CFLAGS_OTHER ${at})
  list(REMOVE_AT DPDK_CFLAGS_OTHER ${at})
endif()
add_library(portcullis_eal INTERFACE)
target_include_directories(portcullis_eal SYSTEM INTERFACE ${DPDK_INCLUDE_DIRS})
target_compile_options(portcullis_eal INTERFACE ${DPDK_CFLAGS_OTHER})
target_link_libraries(portcullis_eal INTERFACE rte_eal rte_kvargs rte_pci rte_bus_pci
                      $<$<VERSION_GREATER_EQUAL:${DPDK_VERSION},23.11>:rte_log>)

# fmt, of which Debian has only a shared library. A program with the property PORTCULLIS_STATIC is
# linked without shared libraries and brings fmt's code itself (tools/failover_check).
find_package(fmt REQUIRED)
add_library(portcullis_fmt INTERFACE)
target_link_libraries(portcullis_fmt INTERFACE
                      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:PORTCULLIS_STATIC>>>:fmt::fmt>)
# gcc 13 reports fmt 9's own bigint::assign() as out of bounds where it inlines it (Ubuntu 24.04 has
# these two); gcc 12 and 14 do not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND fmt_VERSION VERSION_LESS 10
   AND CMAKE_CXX_COMPILER_VERSION MATCHES "^13\\.")
  target_compile_options(portcullis_flags INTERFACE -Wno-error=array-bounds)
endif()

# portcullis_enable_c(): for a folder that has C beside C++. How a precompiled header is called
# stands in a variable of no language, which the C compiler sets anew: where cc is clang and c++ is
# gcc, the folder's C++ would look for headers that nobody makes.
macro(portcullis_enable_c)
  set(portcullis_pch_extension "${CMAKE_PCH_EXTENSION}")
  enable_language(C)
  set(CMAKE_PCH_EXTENSION "${portcullis_pch_extension}")
endmacro()

# The tests with the label polled run the driver and the model on cores of their own; they are what
# ThreadSanitizer is for, and `ninja polled_tests` builds no others.
add_custom_target(polled_tests)

# Code that goes into programs and into libportcullis.so alike. Hidden symbols let the compiler see
# through calls as it does without -fPIC, so the programs lose nothing by it (./dev cost).
function(portcullis_library_code target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# portcullis_read_once(NAME header source [target ..]): the header is read twice, once with the
# flags of DPDK's headers, and not in each source of a target that is REUSE_FROM NAME_eal or
# NAME_flags.
# The presets with sanitizers do without: there a source that does not name what it uses is seen,
# and ccache knows clang's precompiled headers in one folder alone.
function(portcullis_read_once name header source)
  foreach(flavour flags eal)
    add_library(${name}_${flavour} OBJECT ${source})
    target_precompile_headers(${name}_${flavour} PRIVATE ${header})
    target_link_libraries(${name}_${flavour} PRIVATE portcullis_flags portcullis_${flavour}
                          portcullis_fmt ${ARGN})
  endforeach()
endfunction()

# portcullis_library(NAME file.cpp .. LINKS target .. [READS header]): the folder NAME as library
# portcullis_NAME. Its precompiled header is READS, else base/read_once.hpp.
function(portcullis_library name)
  cmake_parse_arguments(ARG "" "READS" "LINKS" ${ARGN})
  add_library(portcullis_${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  portcullis_library_code(portcullis_${name})
  target_link_libraries(portcullis_${name} PUBLIC portcullis_flags ${ARG_LINKS})
  # A compiler takes no precompiled header that was made with other flags than a source has.
  portcullis_links(has_eal portcullis_eal ${ARG_LINKS})
  portcullis_links(has_fmt portcullis_fmt ${ARG_LINKS})
  if(ARG_READS)
    target_precompile_headers(portcullis_${name} PRIVATE ${ARG_READS})
  elseif(has_eal)
    target_precompile_headers(portcullis_${name} REUSE_FROM portcullis_read_eal)
  elseif(has_fmt)
    target_precompile_headers(portcullis_${name} REUSE_FROM portcullis_read_flags)
  endif()
endfunction()

# portcullis_links(OUT WANTED target ..): whether one of them hands WANTED on to whoever links it.
function(portcullis_links out wanted)
  set(${out} FALSE PARENT_SCOPE)
  set(seen "")
  set(next ${ARGN})
  while(next)
    list(POP_FRONT next target)
    if(target STREQUAL wanted)
      set(${out} TRUE PARENT_SCOPE)
      return()
    endif()
    if(target IN_LIST seen OR NOT TARGET "${target}")
      continue()
    endif()
    list(APPEND seen ${target})
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(APPEND next ${links})
    endif()
  endwhile()
endfunction()

# portcullis_test(NAME file.cpp .. LINKS target .. [LABELS label] [COST n]): one GoogleTest binary,
# one ctest entry NAME.Suite.Case per test case, found when ctest runs. A process starts slowly with
# a sanitizer: with PORTCULLIS_TEST_PARTS that many entries share the cases, by GoogleTest's own
# sharding, but for those that are slow. A fresh clone knows no test's time, and whatever begins
# last is waited for by itself: a COST has it begin before what has none or less.
function(portcullis_test name)
  cmake_parse_arguments(ARG "" "COST" "LINKS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES PORTCULLIS_TEST ON)
  target_link_libraries(${name} PRIVATE portcullis_flags ${ARG_LINKS}
                        GTest::gmock GTest::gtest_main)
  # Who stands before the front door has no fmt, and reads for itself.
  portcullis_links(has_eal portcullis_eal ${ARG_LINKS})
  portcullis_links(has_fmt portcullis_fmt ${ARG_LINKS})
  if(has_eal)
    target_precompile_headers(${name} REUSE_FROM portcullis_tests_read_eal)
  elseif(has_fmt)
    target_precompile_headers(${name} REUSE_FROM portcullis_tests_read_flags)
  endif()
  # For a machine with other work to do and for sanitizers: no case takes a minute alone. Of slow
  # ones, with ASan and beside builds, one took ten minutes and another was not done after fifteen.
  set(properties TIMEOUT 900)
  if("slow" IN_LIST ARG_LABELS)
    set(properties TIMEOUT 5400 COST 100)
  endif()
  if(ARG_COST)
    list(APPEND properties COST ${ARG_COST})
  endif()
  list(LENGTH ARG_LABELS labels)
  if(labels GREATER 1)
    message(FATAL_ERROR "${name}: ${labels} labels, but gtest_discover_tests hands on only one")
  elseif(ARG_LABELS)
    list(APPEND properties LABELS ${ARG_LABELS})
  endif()
  if(PORTCULLIS_TEST_PARTS AND NOT "slow" IN_LIST ARG_LABELS)
    foreach(part RANGE 1 ${PORTCULLIS_TEST_PARTS})
      math(EXPR index "${part} - 1")
      add_test(NAME ${name}.part_${part} COMMAND ${name} --gtest_brief=1)
      set_tests_properties(${name}.part_${part} PROPERTIES ${properties} TIMEOUT 1800 ENVIRONMENT
                           "GTEST_TOTAL_SHARDS=${PORTCULLIS_TEST_PARTS};GTEST_SHARD_INDEX=${index}")
    endforeach()
  else()
    # A busy machine may take longer than CMake's 5 s to list what a binary has.
    # A parameter's value is in no name: printed as bytes it is another each time.
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 NO_PRETTY_VALUES
                         TEST_PREFIX ${name}. PROPERTIES ${properties})
  endif()
  if("polled" IN_LIST ARG_LABELS)
    add_dependencies(polled_tests ${name})
  endif()
endfunction()
