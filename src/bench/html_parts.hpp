// What a page of perf --html is made of; cmake/PrecastHtml.cmake embeds the files.
#pragma once

#include <string_view>

namespace precast::bench {

struct HtmlParts {
  std::string_view page;    // with {{name}} where something is to stand
  std::string_view style;   // of precast's own
  std::string_view script;  // of precast's own
  std::string_view library_licence;
  std::string_view library_style;
  std::string_view library;  // uPlot
};

// Each is empty in a build with PRECAST_HTML=OFF.
[[nodiscard]] const HtmlParts& html_parts();

}  // namespace precast::bench
