# The page of `precast perf --html`: uPlot, which draws its charts, and src/bench/page/ become part of precast_bench, so
# that a page needs nothing beside it.

set(PRECAST_HTML AUTO CACHE STRING "precast perf --html: ON, OFF, or AUTO: whether .deps/uplot is there (tools/setup test)")
set_property(CACHE PRECAST_HTML PROPERTY STRINGS AUTO ON OFF)

set(PRECAST_UPLOT ${PRECAST_DEPS}/uplot)
set(PRECAST_WITH_HTML ${PRECAST_HTML})
if(PRECAST_HTML STREQUAL AUTO)
  set(PRECAST_WITH_HTML OFF)
  if(EXISTS ${PRECAST_UPLOT}/uPlot.iife.min.js)
    set(PRECAST_WITH_HTML ON)
  else()
    message(STATUS "No .deps/uplot (tools/setup test, or tools/setup build where npm is): precast perf --html is left out")
  endif()
elseif(PRECAST_HTML AND NOT EXISTS ${PRECAST_UPLOT}/uPlot.iife.min.js)
  message(FATAL_ERROR "PRECAST_HTML is ON and there is no ${PRECAST_UPLOT}: run tools/setup test, which fetches uPlot "
    "with npm, or give -DPRECAST_HTML=OFF")
endif()

# NAME=FILE|FILE...: the member NAME of HtmlParts (src/bench/html_parts.hpp) is these files after one another. Off: all
# are empty.
set(html_parts)
set(html_inputs)
function(precast_html_part name)
  if(PRECAST_WITH_HTML)
    list(JOIN ARGN "|" files)
    set(html_parts ${html_parts} "${name}=${files}" PARENT_SCOPE)
    set(html_inputs ${html_inputs} ${ARGN} PARENT_SCOPE)
  else()
    set(html_parts ${html_parts} "${name}=" PARENT_SCOPE)
  endif()
endfunction()
set(page ${PROJECT_SOURCE_DIR}/src/bench/page)
precast_html_part(page ${page}/page.html)
precast_html_part(style ${page}/page.css)
precast_html_part(script ${page}/data.js ${page}/draw.js ${page}/charts.js ${page}/rows.js ${page}/page.js)
precast_html_part(library_licence ${PRECAST_UPLOT}/LICENSE)
precast_html_part(library_style ${PRECAST_UPLOT}/uPlot.min.css)
precast_html_part(library ${PRECAST_UPLOT}/uPlot.iife.min.js)

set(html_source ${PROJECT_BINARY_DIR}/generated/html_parts.cpp)
set(html_generator ${PROJECT_SOURCE_DIR}/cmake/embed_html.cmake)
# The command line is part of what ninja compares: ON and OFF make the file anew.
add_custom_command(OUTPUT ${html_source}
  COMMAND ${CMAKE_COMMAND} -P ${html_generator} -- ${html_source} ${html_parts}
  DEPENDS ${html_inputs} ${html_generator}
  COMMENT "Embedding the page of perf --html" VERBATIM)
target_sources(precast_bench PRIVATE ${html_source})
