# Five ways to save compile time: precompiled headers, unity builds, the JSON library without its literals, fewer
# garbage collections of the compiler, and a fast linker.
#
# Precompiled headers are the library headers that many sources include, parsed once for all of them. They only
# save time: every source includes the headers that it uses, and also builds with
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON. The tests have a set of their own (tests/CMakeLists.txt).
#
# GCC accepts a precompiled header only if the source is compiled with the same options. A target whose sources
# have options of their own (an instruction set, OpenMP) therefore sets DISABLE_PRECOMPILE_HEADERS.

# Because of two inline literals at the end of nlohmann/json.hpp, every source that includes it instantiates the
# whole parser, which takes about a second, although no source uses the literals. A precompiled header does not
# help, because GCC instantiates templates anew in each source. Sources therefore include a copy without the
# literals.
function(scorecast_remove_json_literals)
  get_target_property(directories nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
  find_file(header nlohmann/json.hpp HINTS ${directories} REQUIRED NO_CACHE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} text)
  string(REGEX REPLACE "JSON_HEDLEY_NON_NULL\\(1\\)\ninline [a-z_:]+ operator \"\" ?_json(_pointer)?\\([^}]*}" "" text "${text}")
  string(REGEX REPLACE "using nlohmann::literals::json_literals::operator \"\" ?_json(_pointer)?;" "" text "${text}")
  file(CONFIGURE OUTPUT include/nlohmann/json.hpp CONTENT "${text}" @ONLY)
  include_directories(BEFORE SYSTEM ${CMAKE_CURRENT_BINARY_DIR}/include)
endfunction()
scorecast_remove_json_literals()

# scorecast_unity(TARGET): compiles many of the target's sources as one translation unit, so that headers are parsed
# and templates instantiated once for all of them. Names in unnamed namespaces of one target's sources must
# therefore differ. Sources with options of their own are compiled by themselves.
set(SCORECAST_UNITY_BATCH 32 CACHE STRING
    "Sources that are compiled as one; 8 makes the build of one changed source faster, and that of all slower")
function(scorecast_unity target)
  # Of equal size, because two cores wait for the larger one.
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  math(EXPR batches "(${count} + ${SCORECAST_UNITY_BATCH} - 1) / ${SCORECAST_UNITY_BATCH}")
  math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  # In a unity build, GCC takes the sources for headers, and would warn of their unnamed namespaces.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()

# GCC collects its garbage from 128 MB on. From 300 MB on takes a sixth less time, and a tenth more memory: 1.3 GB for
# the largest sources.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=300000)
endif()

# The linker gold takes half the time of the default linker.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold SCORECAST_HAVE_GOLD)
if(SCORECAST_HAVE_GOLD)
  add_link_options(-fuse-ld=gold)
endif()

set(scorecast_std_headers
  <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map>
  <memory> <mutex> <optional> <span> <string> <string_view> <unordered_map> <utility> <variant>
  <vector>)

# scorecast_header_set(NAME LINK … HEADERS …): makes a set of precompiled headers that targets can reuse: the
# standard headers and HEADERS.
function(scorecast_header_set name)
  cmake_parse_arguments(arg "" "" "LINK;HEADERS" ${ARGN})
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${scorecast_std_headers} ${arg_HEADERS})
endfunction()

scorecast_header_set(scorecast_headers)
scorecast_header_set(scorecast_json_headers
  LINK nlohmann_json::nlohmann_json
  HEADERS <nlohmann/json.hpp>)
scorecast_header_set(scorecast_asio_headers
  LINK Boost::headers Threads::Threads
  HEADERS <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp>
          <boost/asio/read.hpp> <boost/asio/steady_timer.hpp> <boost/asio/write.hpp>)

# scorecast_precompile(TARGET LIBRARY …): gives the target the set that fits the libraries that it links.
# scorecast_coordinator_json is in the condition because its headers include nlohmann/json.hpp.
function(scorecast_precompile target)
  if(Boost::headers IN_LIST ARGN)
    target_precompile_headers(${target} REUSE_FROM scorecast_asio_headers)
  elseif(nlohmann_json::nlohmann_json IN_LIST ARGN OR scorecast_coordinator_json IN_LIST ARGN)
    target_precompile_headers(${target} REUSE_FROM scorecast_json_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM scorecast_headers)
  endif()
endfunction()
