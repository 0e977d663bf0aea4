# cmake -P embed_html.cmake -- OUTPUT NAME=FILE|FILE...: writes the C++ source of html_parts() (src/bench/html_parts.hpp).
# Characters one by one: a string literal has a least length that compilers must take, and escapes of its own.

set(arguments)
set(begun FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(begun)
    list(APPEND arguments "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(begun TRUE)
  endif()
endforeach()
list(POP_FRONT arguments output)

set(arrays "")
set(members "")
foreach(argument IN LISTS arguments)
  string(REGEX MATCH "^([a-z_]+)=(.*)$" matched "${argument}")
  set(name ${CMAKE_MATCH_1})
  string(REPLACE "|" ";" files "${CMAKE_MATCH_2}")
  set(bytes "")
  foreach(file IN LISTS files)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "(..)" "'\\\\x\\1'," characters "${hex}")
    string(APPEND bytes "${characters}\n")
  endforeach()
  # The NUL at the end is not part of the text: an array has at least one element.
  string(APPEND arrays "constexpr char ${name}[] = {\n${bytes}'\\0'};\n")
  string(APPEND members "      .${name} = {${name}, sizeof ${name} - 1},\n")
endforeach()

file(WRITE "${output}" "// Made by cmake/embed_html.cmake.
#include \"bench/html_parts.hpp\"

namespace precast::bench {
namespace {
${arrays}
constexpr HtmlParts all{
${members}};
}  // namespace

const HtmlParts& html_parts() {
  return all;
}

}  // namespace precast::bench
")
