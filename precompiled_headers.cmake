# Precompiled headers: the library headers that many sources include, parsed once for all of them.
# They only save time: every source includes what it uses, and builds with
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON too. The tests have a set of their own (tests/CMakeLists.txt).
#
# GCC accepts a precompiled header only if the source has the same options. So a target whose sources
# have options of their own (an instruction set, OpenMP) sets DISABLE_PRECOMPILE_HEADERS.

set(scorecast_std_headers
  <algorithm> <array> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map>
  <memory> <mutex> <optional> <span> <string> <string_view> <unordered_map> <utility> <variant>
  <vector>)

# scorecast_header_set(NAME LINK … HEADERS …): the standard headers and HEADERS, for targets to reuse.
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

# scorecast_precompile(TARGET LIBRARY …): gives the target the set for the libraries that it links. The headers
# of scorecast_coordinator_json include nlohmann/json.hpp.
function(scorecast_precompile target)
  if(Boost::headers IN_LIST ARGN)
    target_precompile_headers(${target} REUSE_FROM scorecast_asio_headers)
  elseif(nlohmann_json::nlohmann_json IN_LIST ARGN OR scorecast_coordinator_json IN_LIST ARGN)
    target_precompile_headers(${target} REUSE_FROM scorecast_json_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM scorecast_headers)
  endif()
endfunction()
