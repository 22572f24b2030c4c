# What makes builds short: ccache, unity builds, the JSON library without its literals, fewer garbage collections of
# the compiler, and a fast linker.

# ccache, if it is installed. ccache compares paths relative to the tree, and objects have such paths, so a clone in any
# folder takes the objects that another one has compiled. (Only reports of UndefinedBehaviorSanitizer may name the
# folder of the other one.) Without a run of the preprocessor (CCACHE_DEPEND), an object that is not in the cache takes
# hardly longer than without ccache.
find_program(SCORECAST_CCACHE ccache DOC "The compiler cache; empty to compile without one")
find_program(SCORECAST_ENV env REQUIRED)
mark_as_advanced(SCORECAST_ENV)
if(SCORECAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SCORECAST_ENV} CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_DEPEND=1
      ${SCORECAST_CCACHE})
endif()
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=./)

# Because of two inline literals at the end of nlohmann/json.hpp, every source that includes it instantiates the
# whole parser, which takes about a second, although no source uses the literals. Sources therefore include a copy
# without the literals.
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
# therefore differ. Only sources with the same options are compiled together; those that the build generates, or that
# have definitions of their own, are compiled alone.
#
# CMake's own unity sources include by absolute paths, so no other clone could take their objects from ccache. These
# include by paths from the root of the tree.
set(SCORECAST_UNITY_BATCH 32 CACHE STRING
    "Sources that are compiled as one; 8 makes the build of one changed source faster, and that of all slower")
function(scorecast_unity target)
  # The directory's file may add sources and set their options after this call.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL scorecast_write_unity_sources ${target})")
endfunction()

function(scorecast_write_unity_sources target)
  get_target_property(sources ${target} SOURCES)
  set(kinds)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(source MATCHES "[.]cc$" AND NOT IS_ABSOLUTE ${source} AND NOT definitions)
      string(REPLACE ";" " " kind "${options}")
      list(APPEND kinds "${kind}")
      set(options_${kind} "${options}")
      list(APPEND sources_${kind} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES kinds)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(number 0)
  foreach(kind IN LISTS kinds)
    set(together ${sources_${kind}})
    list(LENGTH together count)
    # Of equal size, because two cores wait for the larger one.
    math(EXPR batches "(${count} + ${SCORECAST_UNITY_BATCH} - 1) / ${SCORECAST_UNITY_BATCH}")
    if(count EQUAL batches)
      continue()
    endif()
    math(EXPR last "${batches} - 1")
    foreach(batch RANGE ${last})
      math(EXPR begin "${count} * ${batch} / ${batches}")
      math(EXPR size "${count} * (${batch} + 1) / ${batches} - ${begin}")
      list(SUBLIST together ${begin} ${size} included)
      list(TRANSFORM included REPLACE "(.+)" "#include \"${folder}/\\1\"\n")
      list(JOIN included "" text)
      set(unity ${CMAKE_CURRENT_BINARY_DIR}/${target}_unity_${number}.cc)
      math(EXPR number "${number} + 1")
      file(CONFIGURE OUTPUT ${unity} CONTENT "${text}" @ONLY)
      list(APPEND sources ${unity})
      if(options_${kind})
        set_source_files_properties(${unity} PROPERTIES COMPILE_OPTIONS "${options_${kind}}")
      endif()
    endforeach()
    list(REMOVE_ITEM sources ${together})
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${sources})
  # GCC takes the included sources for headers, and would warn of their unnamed namespaces.
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
