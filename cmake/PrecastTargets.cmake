# One function per kind of target, so that every one of them is compiled in the same way.

function(precast_options target)
  target_compile_features(${target} PUBLIC cxx_std_23)
  # A designated initialiser that leaves members out means their defaults; -Wextra would complain.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-missing-field-initializers
    -fvisibility=hidden)
  target_compile_definitions(${target} PRIVATE _FILE_OFFSET_BITS=64 PRECAST_VERSION="${PROJECT_VERSION}")
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  if(PRECAST_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(PRECAST_SANITIZE)
    # Less optimised and with line numbers only: half the time to build, and reports are as readable.
    target_compile_options(${target} PRIVATE -fsanitize=${PRECAST_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all -O1 -gline-tables-only)
    target_link_options(${target} PRIVATE -fsanitize=${PRECAST_SANITIZE})
  endif()
endfunction()

# precast_layer(NAME [DEPS lower layers...] [LIBS libraries...]): src/NAME/*.cpp as the static library precast_NAME
function(precast_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  add_library(precast_${name} STATIC ${sources})
  set_target_properties(precast_${name} PROPERTIES LINKER_LANGUAGE CXX)
  precast_options(precast_${name})
  list(TRANSFORM ARG_DEPS PREPEND precast_)
  target_link_libraries(precast_${name} PUBLIC ${ARG_DEPS} ${ARG_LIBS} PRIVATE fmt::fmt-header-only)
endfunction()

# precast_program(NAME SOURCES files... [DEPS layers...] [LIBS libraries...]): build/bin/NAME
function(precast_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  precast_options(${name})
  list(TRANSFORM ARG_DEPS PREPEND precast_)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} fmt::fmt-header-only)
endfunction()
